"""Settings of folkmoot 0.2 as an own aggregation meets them: a table, what is known, and what 0.2 made of it.

The files and their arrays are described in ``experiments/frozen_0_2/README.md``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from folkmoot.aggregation import HoldoutTrust, Known, Median, PeerReview, Rows
from folkmoot.aggregation.interface import Answers, OwnAggregation
from folkmoot.arrays import Array, Bools, Floats, Ints

FOLDER: Final = Path(__file__).resolve().parents[1] / "frozen_0_2"
AS_MODEL: Final = -2
_PUBLIC: Final = -1


@cache
def index() -> dict[str, Any]:
    """All moots and settings."""
    found: dict[str, Any] = json.loads((FOLDER / "index.json").read_text())
    return found


@cache
def arrays(moot: str) -> dict[str, Any]:
    """All arrays of a moot."""
    with np.load(FOLDER / index()["moots"][moot]["file"], allow_pickle=False) as file:
        return dict(file)


@dataclass(frozen=True, eq=False)
class Setting:
    """A moot, a lie or none, and one way to answer."""

    name: str
    moot: str
    rule: str  # trust, peer-10, gold-11, ...
    lie: str
    use: str  # "chosen" or "judge"
    votes: Array
    truth: Array
    known: Known
    aggregation: OwnAggregation
    anchored: Bools  # (judge,): which decided anything in 0.2
    old: dict[str, float]  # figures

    @property
    def judges(self) -> Ints:
        """The honest participants whose final votes are known of 0.2."""
        return np.arange(len(self.votes)) if self.known.judges is None else self.known.judges


def settings(*, moots: str = "", rules: tuple[str, ...] = (), lies: str = "") -> Iterator[Setting]:
    """The settings of own aggregations, by how their moots begin, their rules and how their lies begin."""
    for each in index()["settings"]:
        rule = each["name"].partition("/")[2].partition(".")[0]
        if not each["moot"].startswith(moots) or not each["lie"].startswith(lies):
            continue
        if rules and rule not in rules:
            continue
        if (made := _made(each, rule)) is not None:
            yield made


def _made(each: dict[str, Any], rule: str) -> Setting | None:
    found = arrays(each["moot"])
    if rule.startswith("gold"):
        return _crowd(each, rule, found)
    if "values" in found:
        return _numbers(each, rule, found) if rule in ("holdout", "peer-review") else None
    if rule == "trust" and (len(found["votes"]) < 80 or f"settings/trust.{each['lie']}/judge" in found):
        return _listening(each, rule, found)
    return _reviewing(each, rule, found) if rule.startswith("peer") else None


def _start(each: dict[str, Any], rule: str, arrays: dict[str, Any]) -> dict[str, Any]:
    moot = index()["moots"][each["moot"]]
    kept = f"settings/{rule}.{each['lie']}/"
    return {
        "name": each["name"],
        "moot": each["moot"],
        "rule": rule,
        "lie": each["lie"],
        "use": moot["use"],
        "truth": arrays["truth"].astype(np.int64),
        "anchored": arrays.get(kept + "anchored", np.zeros(0, dtype=np.bool_)),
        "old": each["figures"],
    }


def heard(arrays: dict[str, Any], lie: str, what: str = "votes", base: str | None = None) -> Array:
    """What everybody hears, with what the liars say in place of what their models do."""
    votes: Array = arrays[base or what].astype(np.int64)
    if lie != "nobody" and f"lies/{lie}/{what}" in arrays:
        who, told = arrays[f"lies/{lie}/liars"], arrays[f"lies/{lie}/{what}"]
        votes[who] = np.where(told == AS_MODEL, votes[who], told)
    return votes


def _listening(each: dict[str, Any], rule: str, arrays: dict[str, Any]) -> Setting:
    liars = arrays[f"lies/{each['lie']}/liars"] if each["lie"] != "nobody" else []
    honest = np.setdiff1d(np.arange(len(arrays["votes"])), liars)
    judges = arrays.get(f"settings/trust.{each['lie']}/judge", honest).astype(np.int64)
    rows = held_rows(arrays["confusion"].astype(np.int64))
    known = Known(classes=index()["moots"][each["moot"]]["classes"], rows=rows, judges=judges)
    start = _start(each, rule, arrays)
    return Setting(votes=heard(arrays, each["lie"]), known=known, aggregation=HoldoutTrust(), **start)


def held_rows(confusions: Ints) -> Rows:
    """Rows that each holds back, and its own votes on them, from (participant, true class, answer) counts."""
    who, true, said = np.nonzero(confusions)
    times = confusions[who, true, said]
    owner, truth, own = (np.repeat(part, times) for part in (who, true, said))
    votes = np.full((len(confusions), len(owner)), -1)
    votes[owner, np.arange(len(owner))] = own
    return Rows(votes, truth, owner)


def _reviewing(each: dict[str, Any], rule: str, arrays: dict[str, Any]) -> Setting | None:
    lie, kept = each["lie"], f"settings/{rule}.{each['lie']}/"
    options = each["options"]
    if kept + "judge" not in arrays:
        return None
    classes = index()["moots"][each["moot"]]["classes"]
    epsilon = options.get("label_epsilon") or options.get("privacy")
    if "row_votes" in arrays:
        rank = arrays["row_rank"].astype(np.int64)
        shown = rank < (options["rows"] if options["rows"] != "all" else rank.max() + 1)
        owner, labels = arrays["row_owner"].astype(np.int64), arrays["row_labels"].astype(np.int64)
        on_rows = heard(arrays, lie, "row_votes")
        if lie != "nobody":
            labels[np.isin(owner, arrays[f"lies/{lie}/liars"])] = arrays[f"lies/{lie}/row_labels"]
        on_rows, labels, owner = on_rows[:, shown], labels[shown], owner[shown]
        if kept + "published" in arrays:
            labels = arrays[kept + "published"].astype(np.int64)
    else:
        which = "eps1" if "eps1" in rule else "ten" if rule == "peer-10" else "all"
        on_rows = heard(arrays, lie, f"{which}_row_votes")
        owner = arrays[f"{which}_row_owner"].astype(np.int64)
        labels = arrays[f"{which}_row_labels"].astype(np.int64)
        if lie != "nobody":
            labels[np.isin(owner, arrays[f"lies/{lie}/liars"])] = arrays[f"lies/{lie}/{which}_row_labels"]
    likely = 1.0 if epsilon is None else np.exp(epsilon) / (np.exp(epsilon) + classes - 1)
    votes, start = heard(arrays, lie), _start(each, rule, arrays)
    if rule.endswith("sure"):
        inputs = arrays["sure_inputs"].astype(np.int64)
        votes = as_sure(arrays["sure"], arrays["votes"].astype(int)[:, inputs], votes[:, inputs])
        said = arrays["row_votes"].astype(int)[:, arrays["sure_rows"].astype(np.int64)]
        on_rows = as_sure(arrays["row_sure"], said, on_rows)
        start["truth"] = start["truth"][inputs]
    rows = Rows(on_rows, labels, owner, kept=float(likely))
    known = Known(classes=classes, rows=rows, judges=arrays[kept + "judge"].astype(np.int64))
    aggregation = PeerReview(10) if "10" in rule else PeerReview("all")
    return Setting(votes=votes, known=known, aggregation=aggregation, **start)


def as_sure(levels: Array, said: Array, told: Array) -> Floats:
    """Probabilities as they are heard: liars are sure wherever they do not say what their model says."""
    likely = levels / levels.sum(axis=2, keepdims=True, dtype=np.float64)
    who, where = np.nonzero(said != told)
    likely[who, where] = np.eye(likely.shape[2])[told[who, where]]
    return np.asarray(likely, dtype=np.float64)


def _crowd(each: dict[str, Any], rule: str, arrays: dict[str, Any]) -> Setting:
    votes, truth = heard(arrays, each["lie"]), arrays["truth"].astype(np.int64)
    gold = np.sort(arrays["gold_order"].astype(np.int64)[: each["options"]["gold"]])
    left = np.setdiff1d(np.arange(len(truth)), gold)
    rows = Rows(votes[:, gold], truth[gold], np.full(len(gold), _PUBLIC))
    liars = arrays[f"lies/{each['lie']}/liars"] if each["lie"] != "nobody" else []
    trusting = rule.endswith("trust")
    judges = np.setdiff1d(np.arange(len(votes)), liars)
    if trusting:
        judges = arrays[f"settings/{rule}.{each['lie']}/judge"].astype(np.int64)
    known = Known(classes=index()["moots"][each["moot"]]["classes"], rows=rows, judges=judges)
    start = _start(each, rule, arrays) | {"truth": truth[left]}
    rule_now: OwnAggregation = HoldoutTrust() if trusting else PeerReview()
    return Setting(votes=votes[:, left], known=known, aggregation=rule_now, **start)


def _numbers(each: dict[str, Any], rule: str, arrays: dict[str, Any]) -> Setting:
    lie = each["lie"]
    values, on_rows = numbers_heard(arrays, lie), arrays["row_values"].astype(np.float64)
    judges = np.arange(len(values))
    if lie != "nobody":
        judges = np.setdiff1d(judges, arrays[f"lies/{lie}/liars"])
    target, owner = arrays["row_target"].astype(np.float64), arrays["row_owner"].astype(np.int64)
    on_rows = _unseen(on_rows, target, owner, arrays["squares"].astype(np.float64))
    known = Known(rows=Rows(on_rows, target, owner), judges=judges)
    start = _start(each, rule, arrays | {"truth": np.zeros(0)})
    start |= {"truth": arrays["target"].astype(np.float64), "anchored": np.ones(len(judges), dtype=np.bool_)}
    if f"settings/{rule}.{lie}/final" in arrays:
        apart = arrays[f"settings/{rule}.{lie}/final"].astype(np.float64)[judges] - arrays["target"][:, 0]
        start["old"] = start["old"] | {"rmse/final": float(np.sqrt((apart**2).mean()))}
    aggregation: OwnAggregation = HoldoutTrust() if rule == "holdout" else PeerReview("all")
    return Setting(votes=values, known=known, aggregation=aggregation, **start)


def numbers_heard(arrays: dict[str, Any], lie: str) -> Floats:
    """(participant, input, output): everybody's numbers, NaN for silence."""
    values: Floats = np.array(arrays["values"], dtype=np.float64)
    if lie != "nobody":
        values[arrays[f"lies/{lie}/liars"].astype(np.int64)] = arrays[f"lies/{lie}/values"]
    return values


def _unseen(on_rows: Floats, target: Floats, owner: Ints, squares: Floats) -> Floats:
    """Numbers as models say them that have not seen their owners' rows.

    ``row_values`` has those of the fitted models. Of the others only the mean squared error is kept, so a
    model's errors on its owner's rows are scaled to that.
    """
    found = on_rows.copy()
    for i in range(len(found)):
        mine = owner == i
        apart = on_rows[i, mine] - target[mine]
        seen = float((apart**2).mean())
        found[i, mine] = target[mine] + apart * np.sqrt(squares[i, i] / seen if seen > 0 else 0.0)
    return found


def measured(setting: Setting, aggregation: OwnAggregation | None = None) -> dict[str, float]:
    """What an aggregation comes to: its mean over all judges, and over those that decided in 0.2.

    Accuracies of classes, root mean squared errors of numbers.
    """
    final = (aggregation or setting.aggregation).final_votes(setting.votes, setting.known)
    held, judges = final.votes[setting.judges], setting.judges
    found = {"fell_back": float(len(final.fell_back))}
    if setting.votes.dtype.kind == "f" and setting.truth.dtype.kind == "f":
        held = held.reshape(len(held), -1, setting.truth.shape[1])
        found["error"] = float(np.sqrt(((held - setting.truth) ** 2).mean()))
        return found
    right = (held == setting.truth).mean(axis=1)
    found["all"] = float(right.mean())
    if len(setting.anchored) == len(judges) and setting.anchored.any():
        found["anchored"] = float(right[setting.anchored].mean())
    return found


def final_error(setting: Setting) -> float:
    """The root mean squared error of the decision: the median of final numbers, those of liars among them."""
    final = setting.aggregation.final_votes(setting.votes, setting.known).votes
    lying = np.setdiff1d(np.arange(len(final)), setting.judges)
    final[lying] = setting.votes[lying]
    apart = Median().aggregate(final).decision.reshape(setting.truth.shape) - setting.truth
    return float(np.sqrt((apart**2).mean()))


def shared_right(answers: Answers, truth: Ints) -> Floats:
    """(input,): 1 where an answer is right, 1/m where the right class is one of m that are tied."""
    right: Floats = (answers.decision == truth).astype(np.float64)
    if answers.choices is None or answers.tied is None:
        return right
    among = (answers.tied & (answers.choices == truth[:, None])).any(axis=1)
    return np.asarray(np.where(among, 1 / np.maximum(answers.tied.sum(axis=1), 1), right))
