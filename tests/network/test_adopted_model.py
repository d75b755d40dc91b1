"""A model that is adopted beside a running node: labels, columns and answers change with it, all at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest
from sklearn.base import clone
from sklearn.svm import LinearSVC

from folkmoot.network.service.improve import adopting
from folkmoot.network.service.improve.improving import Improving
from folkmoot.network.service.improve.setup import load_candidate
from folkmoot.network.service.metrics import metrics
from folkmoot.network.storage.account import account
from folkmoot.network.wire.schema import MismatchError
from folkmoot.skops_files import read_skops, write_skops
from support.network.improving_moot import ESTIMATOR, LABELS, Improved, ImprovingMoot, digits

HIGH = LABELS[5:]


def improved(folder: Path, estimator: Any = ESTIMATOR) -> ImprovingMoot:
    """The second member's model knows the digits below 5 only; a pool has made a candidate of it."""
    moot, data = ImprovingMoot(folder), digits()
    X, y = data.rows[1]
    low = y.astype(int) < 5
    write_skops(folder / "p001" / "model.skops", clone(ESTIMATOR).fit(X[low], y[low]))
    write_skops(folder / "p001" / "unfitted.skops", estimator)
    moot.crash(1)
    moot.start(1)
    moot.ask(data.pool, improve=True)
    moot.network.run(until=60.0)
    return moot


@pytest.fixture
def moot(tmp_path: Path) -> ImprovingMoot:
    return improved(tmp_path)


def current(member: Improved) -> tuple[str, list[str]]:
    assert member.models is not None
    found = member.models.choice.current_model()
    assert found.labels is not None
    return found.id, list(found.labels)


def took_part(moot: ImprovingMoot, name: bytes) -> bool:
    return "p001" in account(moot.storages[0], moot.storages[0].motion(name)).took_part


def test_admission_and_default_labels_follow_an_adoption_and_a_motion_under_way_keeps_its_own(
    moot: ImprovingMoot,
) -> None:
    data, member, storage = digits(), moot.members[1], moot.storages[1]
    X = data.test[0][:40]
    (report,) = member.reports
    assert report.why is None, report.why
    assert current(member) == ("", list(LABELS[:5]))
    before = moot.ask(X, at=61.0, labels=HIGH, rounds=7)
    moot.network.run(until=100.0)
    assert not took_part(moot, before)
    told = account(moot.storages[0], moot.storages[0].motion(before)).refused
    assert told == {"p001": "none of the labels is one that the model of this node knows"}
    during = moot.ask(X, at=101.0, rounds=8)
    while not storage.knows(during):
        moot.network.run(until=moot.network.time + 0.01)
    adopting.adopt(member.settings, storage, report)  # as another process does: the node is told nothing
    assert current(member) == (report.motion, list(LABELS))
    after = moot.ask(X, at=moot.network.time, labels=HIGH, rounds=9)
    moot.network.run(until=160.0)
    assert took_part(moot, after)
    old = read_skops(member.settings.model)
    assert moot.first_votes(1, during) == old.predict(X).tolist(), "opened before it was adopted"
    new = read_skops(str(member.settings.folder / "improve" / report.motion / "model.skops"))
    said = [HIGH[LABELS[5:].index(each)] if each in HIGH else None for each in new.predict(X).tolist()]
    voted = storage.held(after).voted
    assert voted is not None
    colours = storage.motion(after).motion.form.unpack_first(voted.first).tolist()
    assert [None if colour < 0 else HIGH[colour] for colour in colours] == said
    adopting.undo(member.settings, storage)
    assert current(member) == ("", list(LABELS[:5]))
    again = moot.ask(X, at=161.0, labels=HIGH, rounds=10)
    moot.network.run(until=200.0)
    assert not took_part(moot, again)


def test_what_is_known_of_a_candidate_without_loading_it_is_what_it_says_once_it_is_loaded(
    moot: ImprovingMoot,
) -> None:
    member, storage = moot.members[1], moot.storages[1]
    (report,) = member.reports
    strange = replace(member.settings, labels=("0", "ten"))
    with pytest.raises(ValueError, match=r"must be among those of the model.* got 'ten'"):
        adopting.adopt(strange, storage, report)
    adopting.adopt(member.settings, storage, report)
    assert member.models is not None
    loaded = load_candidate(member.models.candidates, report.motion, member.settings)
    id_, facts, labels = member.models.choice.current_facts()
    assert (id_, labels, facts.labels) == (report.motion, loaded.labels, loaded.labels)
    assert (facts.columns, facts.schema, facts.kinds()) == (loaded.columns, loaded.schema, loaded.kinds())
    assert "probabilities" in facts.kinds()


def test_a_motion_that_only_the_old_model_could_answer_is_refused_once_another_is_adopted(
    tmp_path: Path,
) -> None:
    """The new estimator gives no probabilities; the one that votes does."""
    moot = improved(tmp_path, LinearSVC(random_state=0))
    member, storage = moot.members[1], moot.storages[1]
    (report,) = member.reports
    assert (report.why, report.probabilities) == (None, False)
    motion = msgspec.structs.replace(
        storage.motion(bytes.fromhex(report.motion)).motion, answers="probabilities", improve=False
    )
    assert member.models is not None
    member.models.choice.current_model().check(motion)
    adopting.adopt(member.settings, storage, report)
    with pytest.raises(MismatchError, match="gives no probabilities"):
        member.models.choice.current_model().check(motion)
    voter, _ = member.models.choice.of(bytes(32))  # a motion of before
    voter.check(motion)


def test_four_pools_are_kept_at_a_time_and_none_beyond_its_bytes(moot: ImprovingMoot, tmp_path: Path) -> None:
    member = moot.members[1]
    improving, (report,) = member.improving, member.reports
    assert isinstance(improving, Improving)
    motion = moot.storages[1].motion(bytes.fromhex(report.motion)).motion
    names = [bytes([number]) * 32 for number in range(6)]
    kept = [improving.pool(name, motion, "p000") is not None for name in names]
    assert kept == [True] * 4 + [False] * 2
    assert len(list((tmp_path / "p001" / "improve").glob("*.pool"))) == 4
    assert [each["why"] for each in member.log if each["event"] == "pool not kept"] == [
        "4 pools are kept already"
    ] * 2
    assert improving.pool(names[0], motion, "p000") is not None, "announced again"
    for name in names:
        improving._pools.discard(name)
    most = 256 * 2**20 // (4096 * 8)
    for inputs, fine in ((most, True), (most + 1, False)):
        large = msgspec.structs.replace(motion, inputs=inputs, columns=4096, dtype="<f8")
        assert (improving.pool(bytes([inputs % 256]) * 32, large, "p000") is not None) == fine
    assert member.log[-1]["why"] == "a pool may have 268,435,456 bytes at the most: got 268,468,224"
    assert improving.counts["refused_pool"] == 3


def test_metrics_tell_that_an_adopted_model_votes(moot: ImprovingMoot) -> None:
    class Nowhere:
        """A transport with nobody connected."""

        counts: ClassVar[dict[str, int]] = {}

        def __getattr__(self, name: str) -> Any:
            return lambda: {} if name in ("skews", "latencies") else []

    member, node = moot.members[1], moot.nodes[1]
    assert node is not None
    mesh, delay = Nowhere(), type("Delay", (), {"quantile": lambda _self, _share: 0.0})()
    mesh.now = node.transport.now  # type: ignore[attr-defined]

    def told() -> list[str]:
        text = metrics(node, mesh, delay, member.models)  # type: ignore[arg-type]
        return [line for line in text.splitlines() if line.startswith("folkmoot_model_adopted")]

    assert told() == ["folkmoot_model_adopted 0"]
    adopting.adopt(member.settings, moot.storages[1], member.reports[0])
    assert told() == ["folkmoot_model_adopted 1"]


def test_memory_and_time_of_a_refit_are_those_of_the_settings(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    def refit(job: Any) -> Any:
        seen.append((job.most_megabytes, job.most_seconds))
        raise ValueError("the refit needs more memory than most_megabytes, 700 MB")

    moot = ImprovingMoot(tmp_path, refit=refit, terms={"most_megabytes": 700, "most_seconds": 9})
    moot.ask(digits().pool, improve=True)
    moot.network.run(until=60.0)
    assert seen == [(700, 9)]
    (report,) = moot.members[1].reports
    assert report.why == "the refit needs more memory than most_megabytes, 700 MB"
    settings = replace(moot.members[1].settings)
    with pytest.raises(ValueError, match="was refused: the refit needs more memory"):
        adopting.adopt(settings, moot.storages[1], report)
