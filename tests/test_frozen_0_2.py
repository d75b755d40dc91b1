"""``experiments/frozen_0_2``: the files can be read as its README says, and figures follow from the arrays.

Nothing of folkmoot is imported: whoever compares a later version with the files needs numpy alone.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

FOLDER: Final = Path(__file__).resolve().parents[1] / "experiments" / "frozen_0_2"
INDEX: Final[dict[str, Any]] = json.loads((FOLDER / "index.json").read_text())
MOOTS: Final = sorted(INDEX["moots"])
NOTHING, AS_MODEL = -1, -2


@cache
def arrays_of(moot: str) -> dict[str, Any]:
    with np.load(FOLDER / INDEX["moots"][moot]["file"], allow_pickle=False) as file:
        return dict(file)


def settings_of(moot: str) -> list[dict[str, Any]]:
    return [each for each in INDEX["settings"] if each["moot"] == moot]


def heard(moot: str, lie: str) -> tuple[Any, Any]:
    """First votes with those of the liars in their place, and who does not lie."""
    arrays = arrays_of(moot)
    votes = arrays["votes"].astype(int)
    honest = np.ones(len(votes), dtype=bool)
    if lie != "nobody":
        who, told = arrays[f"lies/{lie}/liars"], arrays[f"lies/{lie}/votes"]
        votes[who] = np.where(told == AS_MODEL, votes[who], told)
        honest[who] = False
    return votes, honest


def shared(counts: Any, truth: Any) -> float:
    """The mean over inputs of: is the truth among the classes with most votes, and how many are these."""
    best = (counts == counts.max(axis=-1, keepdims=True)) & (counts > 0)
    right = np.take_along_axis(best, truth[:, None], axis=-1)[:, 0]
    return float((right / np.maximum(best.sum(axis=-1), 1)).mean())


def tally(votes: Any, classes: int) -> Any:
    return np.stack([(votes == label).sum(axis=0) for label in range(classes)], axis=-1)


def decided_on(setting: dict[str, Any]) -> Any:
    """Which inputs of the moot a setting is about."""
    arrays, options = arrays_of(setting["moot"]), setting["options"]
    if "gold" in options:
        return np.sort(arrays["gold_order"][options["gold"] :])
    if options.get("votes") == "probabilities":
        return arrays["sure_inputs"]
    return slice(None)


def single_participants(votes: Any, truth: Any) -> tuple[float, float | None]:
    cast = (votes != NOTHING).sum(axis=1)
    right = (votes == truth).sum(axis=1)
    proven = (cast >= 10) & (cast >= len(truth) / 20)
    share = right[cast > 0] / cast[cast > 0]
    return float(share.mean()), float((right[proven] / cast[proven]).max()) if proven.any() else None


def recomputed(setting: dict[str, Any], figure: str) -> float | None:
    """A figure from the arrays; None for what 0.2 alone can say."""
    arrays, moot = arrays_of(setting["moot"]), INDEX["moots"][setting["moot"]]
    part = setting["name"].partition("/")[2]
    kind, _, name = figure.partition("/")

    def own(what: str) -> Any:
        return arrays[f"settings/{part}/{what}"]

    if kind in ("report", "settled"):
        return None
    if figure == "score":
        return recomputed(setting, "right/predict")
    if figure == "judges":
        return float(len(own("judge")))
    if figure == "anchored":
        return float(own("anchored").sum()) if "anchored" in setting["arrays"] else None
    if kind in ("accepted_honest", "accepted_liars"):
        liars = np.zeros(own("accepted").shape[1], dtype=bool)
        liars[arrays[f"lies/{setting['lie']}/liars"] if setting["lie"] != "nobody" else []] = True
        return float(own("accepted")[:, liars == (kind == "accepted_liars")].mean())
    if kind == "rmse":
        return float(np.sqrt(((own(name) - arrays["target"]) ** 2).mean()))
    truth = arrays["truth"].astype(int)
    if kind == "rand":
        return float(adjusted_rand_score(truth, own(name)))
    truth = truth[decided_on(setting)]
    if figure in ("majority", "mean_participant", "best_participant"):
        votes, honest = heard(setting["moot"], setting["lie"])
        votes = votes[:, decided_on(setting)]
        if figure == "majority":
            return shared(tally(votes, moot["classes"]), truth)
        return single_participants(votes[honest], truth)[figure == "best_participant"]
    if kind in ("mean", "worst", "plurality"):
        kept = own(name)[own("anchored")].astype(int)
        each = (kept == truth).mean(axis=1)
        if kind == "plurality":
            return shared(tally(kept, moot["classes"]), truth)
        return float(each.mean() if kind == "mean" else each.min())
    given = own(name)
    if kind == "log_loss":
        return float(-np.log(np.maximum(given[np.arange(len(truth)), truth].astype(float), 1e-4)).mean())
    if kind == "shared":
        counts, voters = own(f"{name}_counts").astype(int), own(f"{name}_voters")
        top = counts.max(axis=-1, keepdims=True)
        best = counts == top
        enough = 2 * (top * best.sum(axis=-1, keepdims=True))[..., 0] > voters
        right = np.take_along_axis(best, np.broadcast_to(truth, best.shape[:-1])[..., None], axis=-1)[..., 0]
        return float((right * enough / best.sum(axis=-1)).mean())
    if given.dtype.kind == "f":
        given = given.argmax(axis=1)
    rows = np.atleast_2d(given)
    return float((rows == truth).mean() if kind == "right" else (rows == NOTHING).sum(axis=1).mean())


def test_the_index_names_all_files() -> None:
    named = {each["file"] for each in INDEX["moots"].values()}
    there = {f"moots/{file.name}" for file in (FOLDER / "moots").iterdir()}
    assert named == there
    assert len({each["name"] for each in INDEX["settings"]}) == len(INDEX["settings"]) > 300


def test_seeds_to_choose_by_are_not_those_to_judge_by() -> None:
    chosen, judge = INDEX["seeds"]["chosen"], INDEX["seeds"]["judge"]
    assert not set(chosen) & set(judge)
    for each in (*INDEX["moots"].values(), *INDEX["settings"]):
        assert each["seed"] in INDEX["seeds"][each["use"]]
    kinds = [
        {name.rpartition("-s")[0] for name in MOOTS if INDEX["moots"][name]["use"] == use}
        for use in INDEX["seeds"]
    ]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("moot", MOOTS)
def test_arrays_are_what_the_index_says(moot: str) -> None:
    arrays, about = arrays_of(moot), INDEX["moots"][moot]
    wanted = set(about["arrays"])
    for setting in settings_of(moot):
        assert setting["lie"] in about["lies"]
        wanted |= {f"settings/{setting['name'].partition('/')[2]}/{name}" for name in setting["arrays"]}
    told = {key for key in arrays if key.startswith("lies/")}
    assert {key.split("/")[1] for key in told} == set(about["lies"]) - {"nobody"}
    assert wanted | told == set(arrays)
    for key, array in arrays.items():
        assert array.dtype.kind in "biuf", key
        assert key.rpartition("/")[2] in INDEX["arrays"], key
    for key, shape in about["arrays"].items():
        assert list(arrays[key].shape) == shape


@pytest.mark.parametrize(
    "moot", [name for name in MOOTS if INDEX["moots"][name]["classes"] and "clusters" not in name]
)
def test_votes_are_classes_and_shapes_agree(moot: str) -> None:
    arrays, classes = arrays_of(moot), INDEX["moots"][moot]["classes"]
    participants, inputs = arrays["votes"].shape
    assert arrays["truth"].shape == (inputs,)
    assert arrays["truth"].min() >= 0
    for lie in INDEX["moots"][moot]["lies"]:
        votes, honest = heard(moot, lie)
        assert votes.shape == (participants, inputs)
        assert votes.min() >= NOTHING
        assert votes.max() < classes
        assert honest.any()
    for shown in ("", "all_", "ten_", "eps1_"):
        if f"{shown}row_votes" in arrays:
            rows = arrays[f"{shown}row_labels"]
            assert arrays[f"{shown}row_votes"].shape == (participants, len(rows))
            assert arrays[f"{shown}row_owner"].shape == rows.shape
            assert 0 <= rows.min() <= rows.max() < classes
            for lie in set(INDEX["moots"][moot]["lies"]) - {"nobody"}:
                if f"lies/{lie}/{shown}row_labels" in arrays:
                    theirs = np.isin(arrays[f"{shown}row_owner"], arrays[f"lies/{lie}/liars"])
                    assert len(arrays[f"lies/{lie}/{shown}row_labels"]) == theirs.sum()
                    assert arrays[f"lies/{lie}/{shown}row_votes"].shape[1] == len(rows)
    for setting in settings_of(moot):
        part = f"settings/{setting['name'].partition('/')[2]}/"
        for name in {"final", "after"} & set(setting["arrays"]):
            judges, on = arrays[part + name].shape
            assert len(arrays[part + "judge"]) == judges == len(arrays[part + "anchored"])
            assert on == len(arrays["truth"][decided_on(setting)])
            nothing = (arrays[part + name] == NOTHING).all(axis=1)
            np.testing.assert_array_equal(~nothing, arrays[part + "anchored"])


@pytest.mark.parametrize("moot", MOOTS)
def test_figures_follow_from_the_arrays(moot: str) -> None:
    known = 0
    for setting in settings_of(moot):
        for figure, value in setting["figures"].items():
            assert figure.partition("/")[0] + ("/" if "/" in figure else "") in MEANINGS, figure
            found = recomputed(setting, figure)
            if found is not None:
                known += 1
                assert found == pytest.approx(value, abs=2e-5, rel=1e-4), f"{setting['name']}: {figure}"
        # What 0.2's reports say of first votes is said of the votes that are kept.
        for line, figure in (("majority", "majority"), ("mean participant", "mean_participant")):
            reported = setting["figures"].get(f"report/{line}")
            if reported is not None and figure in setting["figures"]:
                assert reported == pytest.approx(setting["figures"][figure], abs=2e-6)
    assert known


MEANINGS: Final = {key.partition("/")[0] + ("/" if "/" in key else "") for key in INDEX["figures"]}


def test_the_readme_reads_them() -> None:
    text = (FOLDER / "README.md").read_text()
    block = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert block is not None
    code = block[1].replace('folder = Path("experiments/frozen_0_2")', f"folder = Path({str(FOLDER)!r})")
    scope: dict[str, Any] = {}
    exec(code, scope)  # noqa: S102
    assert scope["mean"] == pytest.approx(scope["setting"]["figures"]["mean/final"], abs=2e-6)
