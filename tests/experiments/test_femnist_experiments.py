"""The experiments of section 5.1 on small files: pure, stored, judged, drawn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from joblib import Memory

from experiments.catalogue import experiment
from experiments.experiment import cells_of, filled
from experiments.femnist import byzantine_forests, group_networks, single_writers, training_sizes
from experiments.femnist.byzantine_forests import STRONG, WEAK, turning_order
from experiments.femnist.byzantine_sweep import statistics_finding
from experiments.femnist.ensemble import PAPER, TalkSettings
from experiments.femnist.group_networks import representative_order
from experiments.femnist.writer_votes import MemberVotes, Packed
from support.kept_cells import kept

pytestmark = pytest.mark.slow

TALK = TalkSettings(repeats=3)
INDIVIDUAL = single_writers.Config(writers=21, test_writers=(1, 3, 6), families=("rf",), trees=10, talk=TALK)
BYZANTINE = byzantine_forests.Config(
    writers=21, test_writers=(1, 3, 6), trees=10, byzantine=(0, 2, 7), talk=TALK
)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    return Memory(tmp_path_factory.mktemp("cells"), verbose=0)


@pytest.fixture(scope="module")
def individual(letters: str, memory: Memory) -> Any:
    return single_writers.EXPERIMENT.run(replace(INDIVIDUAL, data=letters), 1, memory)


@pytest.fixture(scope="module")
def byzantine(letters: str, memory: Memory, individual: Any) -> Any:  # noqa: ARG001
    folder = Path(memory.location)
    before = kept(folder, "fit_family")
    found = byzantine_forests.EXPERIMENT.run(replace(BYZANTINE, data=letters), 1, memory)
    assert kept(folder, "fit_family") == before  # the forests of femnist-individual
    assert len(kept(folder, "sweep_votes")) == 6
    return found


def forests_of(letters: str) -> MemberVotes:
    (cell,) = cells_of(single_writers.cells(replace(INDIVIDUAL, data=letters), 1))
    votes = cell()
    assert isinstance(votes, MemberVotes)
    return votes


def test_individual(individual: Any, letters: str) -> None:
    (forests,) = individual.families
    assert [test.writers for test in forests.tests] == [1, 3, 6]
    votes = forests_of(letters)
    for test in forests.tests:
        cast, truth = votes.test_set(test.writers)
        assert test.letters == len(truth)
        assert test.accuracies == pytest.approx((cast == truth).mean(axis=1).tolist())
        assert test.method("majority").accuracy == ((2 * cast.sum(axis=0) > 21) == truth).mean()
        assert test.method("majority").accuracy > test.mean  # this can be learnt
    assert "49, 453 and 4741" in individual.notes[0]
    assert str(forests.above_half) in individual.findings[0].ours


def test_byzantine(byzantine: Any, individual: Any) -> None:
    assert [(each.turned, each.writers) for each in byzantine.sweeps] == [
        (kind, size) for kind in (STRONG, WEAK) for size in (1, 3, 6)
    ]
    for each in byzantine.sweeps:
        test = next(test for test in individual.families[0].tests if test.writers == each.writers)
        for name in ("majority", *PAPER):
            assert each.curve(name).accuracy[0] == test.method(name).accuracy
    printed = [finding.paper for finding in byzantine.findings[:6]]
    assert printed[0] == "0.699, 0.714, 0.091"
    assert printed[3] == "0.601, 0.531, 0.114"
    assert printed[5] == "printed for 1, 10 and 100 writers"  # not for 6
    weak = byzantine_forests.PRINTED["weak"]
    assert statistics_finding("turned", weak, 100, np.ones(10)).paper == "0.554, 0.523, 0.053"


def test_order_of_turning() -> None:
    accuracies = np.array([0.9, 0.2, 0.6, 0.8, 0.3, 0.5])  # mean 0.55
    strong, weak = (turning_order(accuracies, kind, 0) for kind in (STRONG, WEAK))
    assert sorted(strong[:3]) == [0, 2, 3]
    assert strong[3:] == [5, 4, 1]
    assert sorted(weak[:3]) == [1, 4, 5]
    assert weak[3:] == [2, 3, 0]


def test_a_representative_sample_has_one_of_each_tenth() -> None:
    accuracies = np.random.default_rng(0).random(40)
    order = representative_order(accuracies, 0)
    assert sorted(order) == list(range(40))
    rank = np.argsort(np.argsort(accuracies))
    assert sorted(rank[order[:10]] // 4) == list(range(10))


def test_training_sizes(letters: str, memory: Memory) -> None:
    config = training_sizes.Config(data=letters, groups=5, writers=21, test_writers=(1, 6))
    found: Any = training_sizes.EXPERIMENT.run(config, 1, memory)
    forests = forests_of(letters)
    assert list(found.writers) == forests.trained_on
    assert len(found.groups) == 5
    assert len(training_sizes.figures(found)["training-sizes"].axes) == 2
    assert "43 of the 3,550" in found.findings[2].reason


@pytest.mark.parametrize("name", ["femnist-individual", "femnist-byzantine"])
def test_pictures_and_json(name: str, individual: Any, byzantine: Any, tmp_path: Path) -> None:
    result = individual if name == "femnist-individual" else byzantine
    experiment(name).figures(result)[name].savefig(tmp_path / "picture.png")
    assert msgspec.json.decode(msgspec.json.encode(result))["verdict"] == result.verdict


def test_quick_settings_make_do_with_few_writers(letters: str, memory: Memory) -> None:
    config = replace(byzantine_forests.EXPERIMENT.quick, data=letters, writers=101, test_writers=(1, 10, 100))
    found: Any = byzantine_forests.EXPERIMENT.run(config, 0, memory)
    assert {each.writers for each in found.sweeps} == {1, 10, 19}
    assert any("fewer writers than the 101 and 100 wanted: 21 train and 19" in note for note in found.notes)
    assert len(byzantine_forests.figures(found)["femnist-byzantine"].axes) == 2 * 3


def test_networks_are_judged_and_drawn(tmp_path: Path) -> None:
    """Without torch: votes that networks might have cast."""
    rng = np.random.default_rng(0)
    config = replace(group_networks.EXPERIMENT.quick, groups=21, byzantine=(0, 2, 7), talk=TALK)
    first_cells = cells_of(group_networks.cells(config, 0))
    assert len(first_cells) == 1 + 7
    assert first_cells[-1].keywords["last"] == 21
    truth = rng.integers(0, 2, 120)
    parts = {}
    for first in range(0, 21, 3):
        votes = np.where(rng.random((3, 120)) < 0.7, truth, 1 - truth)
        names = [f"a{i}+b{i}" for i in range(first, first + 3)]
        parts[first] = MemberVotes(
            0,
            names,
            Packed.of(votes),
            Packed.of(truth),
            [12] * 10,
            [80] * 3,
            [20] * 3,
            [13] * 3,
            [[[7, 3], [4, 6]]] * 3,
        )
    forests = replace(parts[0], votes=Packed.of(np.stack([truth, 1 - truth, 1 - truth])))
    fitted: group_networks.CnnVotes = {"forests": forests, "networks": parts}
    heard = filled(group_networks.then(config, fitted))
    found = group_networks.result(
        config, {**fitted, "ensemble": heard["ensemble"], "sweeps": heard["sweeps"]}
    )
    assert [test.letters for test in found.ensemble.tests] == [12, 60, 120]
    for each, test in zip(found.sweeps, found.ensemble.tests, strict=True):
        assert each.curve("majority").accuracy[0] == test.method("majority").accuracy
    assert found.findings[0].ours.endswith(", 0.333")
    assert found.findings[1].paper == "0.800, 0.816, 0.090"
    group_networks.figures(found)["femnist-cnn"].savefig(tmp_path / "picture.png")
