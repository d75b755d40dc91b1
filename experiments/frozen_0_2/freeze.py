"""Freeze what folkmoot 0.2 answers: first votes, lies, decisions, weights and reports of many settings.

    PYTHONPATH=tests python experiments/frozen_0_2/freeze.py --femnist FOLDER --heart FOLDER

It needs folkmoot 0.2, commit 880f490. Later versions have another interface; README.md says how to compare
them with the files without running this again. FOLDER of FEMNIST holds the parquet file or the LEAF sample,
that of heart disease UCI's four ``processed.*.data``; a family whose folder is not given is left out. Parts
that are done are kept in ``--work`` and not made again; ``--pack`` writes the files from what is there.

A moot is a table of first votes and all that its participants know besides. A lie says what some of them hand
in instead. A setting is a moot, a lie or none, and one way to answer; what came of it are arrays and figures.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import sklearn
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import folkmoot
from folkmoot import (
    ConsensusClassifier,
    ConsensusRegressor,
    Everyone,
    Hierarchy,
    Leaders,
    Neighbours,
    Slush,
    Snowball,
    Snowflake,
    StrongConfidence,
    agree,
    cluster,
    compare,
    deliberate,
)
from folkmoot.accuracy import log_odds, share_right
from folkmoot.adversaries import (
    ATTACKS,
    NUMBER_ATTACKS,
    PARTITION_ATTACKS,
    FarAway,
    PerfectlyMalicious,
    Silent,
    Steadfast,
    colluding_votes,
    handed_in,
    numbers_handed_in,
)
from folkmoot.aggregation import RULES
from folkmoot.baselines.majority import majority_answer
from folkmoot.comparison import central_decisions
from folkmoot.comparison.lines import single_lines
from folkmoot.datasets import load_digits_moot, load_heart
from folkmoot.federated import Federated, QuorumSet
from folkmoot.learning.base_learners import MODELS, for_table
from folkmoot.learning.check_rows import label_kept, published
from folkmoot.paper.femnist.writer_votes import CASE, DIGITS
from folkmoot.paper.peer_review.lies import LIES, claims_of, lie_named, story_on, told_on_rows
from folkmoot.paper.peer_review.shown_rows import Sample, show
from folkmoot.paper.trust.attacks import ATTACKS as STORIES
from folkmoot.paper.trust.attacks import HONEST, first_votes, liars_order
from folkmoot.simulation.peer_reviewed import listeners_of, review_gold_first, with_lies
from folkmoot.simulation.self_anchored import listen_first
from folkmoot.trust import Anchor, check_answers, listen_all, opening, review_all, split_gold
from folkmoot.trust.checked import labels_of
from support.crowds import dense_crowd, sparse_crowd
from support.planted import planted

Arrays = dict[str, np.ndarray[Any, Any]]
Figures = dict[str, float]
Made = tuple[Arrays, Figures]

HERE: Final = Path(__file__).resolve().parent
CHOSEN: Final = (0, 1, 2)  # to choose constants and mechanisms by; 0.2 chose its own on seeds 0 to 2, too
JUDGE: Final = (1000, 1001, 1002)  # nobody has looked at these
FIRST: Final = (CHOSEN[0], JUDGE[0])
SECOND: Final = (CHOSEN[1], JUDGE[1])
ABSENT: Final = -1
AS_MODEL: Final = -2  # of a liar: as its model says
WRITERS, TEST_WRITERS, INPUTS, TREES = 80, 100, 1500, 100
LIARS: Final = (25, 48)  # of 80
TEN: Final = 10  # rows shown by each
JUDGES: Final = 8  # who review where not everybody does
ROUNDS_AFTER: Final = 15  # of the talk after listening, as in the tables
SURE_INPUTS: Final = 600  # inputs of FEMNIST whose probabilities are kept


# ---- what is kept, and where -----------------------------------------------------------------------------


class Lie(NamedTuple):
    """What ``liars`` hand in instead: on inputs, on rows that are shown, and as labels of their own rows."""

    name: str
    arrays: Arrays

    @property
    def liars(self) -> Any:
        return self.arrays["liars"].astype(np.int64)


NOBODY: Final = Lie("nobody", {"liars": np.zeros(0, dtype=np.int16)})


@dataclass
class Work:
    """Parts that are done, one file each."""

    folder: Path
    only: str | None = None

    def wants(self, name: str) -> bool:
        return self.only is None or name.startswith(self.only)

    def made(self, path: Path, about: Mapping[str, Any], make: Callable[[], Made]) -> Made:
        """What is in a file, or what is made now and put there."""
        file, said = self.folder / f"{path}.npz", self.folder / f"{path}.json"
        if file.exists() and said.exists():
            with np.load(file) as kept:
                return dict(kept), json.loads(said.read_text())["figures"]
        started = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            arrays, figures = make()
        seconds = round(time.perf_counter() - started, 2)
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(".part.npz")
        np.savez_compressed(unfinished, allow_pickle=False, **arrays)
        unfinished.replace(file)
        told = sorted({f"{each.category.__name__}: {each.message}" for each in caught if _ours(each)})
        figures = {name: float(value) for name, value in figures.items()}
        text = json.dumps({**about, "figures": figures, "warnings": told, "seconds": seconds})
        said.write_text(text)
        print(f"{path}  {seconds:.1f} s", flush=True)
        return arrays, figures


def _ours(each: warnings.WarningMessage) -> bool:
    return each.category.__module__.startswith("folkmoot") or issubclass(each.category, RuntimeWarning)


@dataclass
class Moot:
    """First votes and what else participants know; settings are made of it one by one."""

    work: Work
    name: str
    base: Arrays
    classes: int
    seed: int

    @property
    def votes(self) -> Any:
        return self.base["votes"].astype(np.int64)

    @property
    def truth(self) -> Any:
        return self.base["truth"].astype(np.int64)

    def lie(self, name: str, about: str, make: Callable[[], Arrays]) -> Lie:
        told = self.work.made(Path(self.name) / "lies" / name, {"about": about}, lambda: (make(), {}))
        return Lie(name, told[0])

    def heard(self, lie: Lie) -> Any:
        """The first votes with those of the liars in their place."""
        votes = self.votes
        if len(lie.liars):
            votes[lie.liars] = lie.arrays["votes"]
        return votes

    def setting(
        self, name: str, rule: str, options: Mapping[str, Any], make: Callable[[], Made], lie: Lie = NOBODY
    ) -> None:
        about = {"rule": rule, "lie": lie.name, "options": dict(options)}
        whole = f"{name}.{lie.name}"
        self.work.made(Path(self.name) / "settings" / whole, about, make)


def new_moot(
    work: Work, name: str, seed: int, classes: int, about: str, make: Callable[[], Arrays]
) -> Moot | None:
    if not work.wants(name):
        return None
    use = "chosen" if seed < JUDGE[0] else "judge"
    said = {"about": about, "seed": seed, "use": use, "classes": classes}
    base, _ = work.made(Path(name) / "base", said, lambda: (make(), {}))
    return Moot(work, name, base, classes, seed)


def small(array: Any) -> Any:
    """The same whole numbers in the smallest type that holds them."""
    array = np.asarray(array)
    if array.dtype == np.bool_ or not array.size:
        return array if array.dtype == np.bool_ else array.astype(np.int8)
    for kind in (np.int8, np.uint8, np.int16, np.uint16, np.int32):
        if np.iinfo(kind).min <= array.min() and array.max() <= np.iinfo(kind).max:
            return array.astype(kind)
    return array


# ---- figures ---------------------------------------------------------------------------------------------


def about_votes(heard: Any, truth: Any, classes: int, liars: Any) -> Figures:
    """The majority with ties shared, and single honest participants, as 0.2's reports have them."""
    counted = majority_answer(heard, classes)
    honest = np.delete(heard, liars, axis=0)
    mean, best = single_lines(honest, truth, classes)
    found = {
        "majority": share_right(counted.decision, truth, counted.level),
        "mean_participant": mean.accuracy,
    }
    return found | ({} if best.accuracy is None else {"best_participant": best.accuracy})


def decided(name: str, decision: Any, truth: Any) -> Figures:
    """Of decisions ([repeat,] input): the share that is right, and how many are none."""
    rows = np.atleast_2d(decision)
    return {
        f"right/{name}": share_right(rows, truth).mean(),
        f"undecided/{name}": (rows == ABSENT).sum(1).mean(),
    }


def finals(name: str, held: Any, deciding: Any, truth: Any, classes: int) -> Figures:
    """Of final votes (judge, input): of those who decide at all, the mean, the worst and the plurality."""
    if not deciding.any():
        return {}
    kept = held[deciding]
    each, counted = share_right(kept, truth), majority_answer(kept, classes)
    return {
        f"mean/{name}": each.mean(),
        f"worst/{name}": each.min(),
        f"plurality/{name}": share_right(counted.decision, truth, counted.level),
    }


def talked(name: str, outcome: Any, truth: Any, *, counts: bool = True) -> Made:
    """A talk: decisions, how many honest ones hold what, whether it is settled."""
    arrays = {name: small(outcome.decision), f"{name}_settled": outcome.settled}
    figures = decided(name, outcome.decision, truth)
    if counts:
        arrays |= {f"{name}_counts": small(outcome.counts), f"{name}_rounds": small(outcome.rounds)}
        arrays[f"{name}_voters"] = small(outcome.voters)
        figures[f"shared/{name}"] = outcome.accuracy(truth)
    return arrays, figures


def central(heard: Any, truth: Any, classes: int, skills: Any = None) -> Made:
    """The rules of a centre that sees all first votes."""
    found = central_decisions(heard, classes, skills)
    arrays = {name.replace("-", "_").replace(" ", "_").lower(): small(each) for name, each in found.items()}
    figures: Figures = {}
    for name, each in arrays.items():
        figures |= decided(name, each, truth)
    return arrays, figures


def joined(*made: Made) -> Made:
    arrays: Arrays = {}
    figures: Figures = {}
    for these, those in made:
        arrays |= these
        figures |= those
    return arrays, figures


# ---- plain votes: the Snow protocols, and what stands beside them in the outlook --------------------------


class Drawn(NamedTuple):
    """Simulated voters: how many, on how many labels, how accurate, and which share of votes is absent."""

    participants: int
    classes: int
    low: float
    high: float
    absent: float = 0.0
    inputs: int = 300


DRAWN: Final = {
    "n4-c2": Drawn(4, 2, 0.6, 0.9),
    "n5-c10": Drawn(5, 10, 0.6, 0.9),
    "n7-c10": Drawn(7, 10, 0.6, 0.9),
    "n15-c2": Drawn(15, 2, 0.55, 0.8),
    "n25-c2": Drawn(25, 2, 0.55, 0.8),
    "n25-c10": Drawn(25, 10, 0.3, 0.7),
    "n51-c3-sparse": Drawn(51, 3, 0.4, 0.8, 0.6),
    "n101-c2": Drawn(101, 2, 0.5, 0.7),
}


def draw(of: Drawn, seed: int) -> Arrays:
    rng = np.random.default_rng([seed, of.participants, of.classes])
    accuracy = rng.uniform(of.low, of.high, of.participants)
    truth = rng.integers(0, of.classes, of.inputs)
    shape = of.participants, of.inputs
    wrong = (truth + rng.integers(1, of.classes, shape)) % of.classes
    votes = np.where(rng.random(shape) < accuracy[:, None], truth, wrong)
    votes[rng.random(shape) < of.absent] = ABSENT
    return {"votes": small(votes), "truth": small(truth), "accuracy": accuracy}


def plain(work: Work) -> None:
    for seed in FIRST:
        for name, of in DRAWN.items():
            about = f"{of.participants} simulated voters of accuracy {of.low} to {of.high}"
            moot = new_moot(
                work,
                f"plain-{name}-s{seed}",
                seed,
                of.classes,
                about,
                lambda of=of, seed=seed: draw(of, seed),
            )
            if moot is None:
                continue
            _plain_settings(moot, name, of.participants)


def _plain_settings(moot: Moot, name: str, n: int) -> None:
    accuracy = moot.base["accuracy"]

    def rules(lie: Lie) -> Made:
        heard = moot.heard(lie)
        known = central(heard, moot.truth, moot.classes, accuracy)
        return known[0], known[1] | about_votes(heard, moot.truth, moot.classes, lie.liars)

    moot.setting("central", "rules of a centre", {"skills": "the accuracies"}, lambda: rules(NOBODY))

    def talk(what: str, protocol: Any, lie: Lie = NOBODY, liar: Any = None, **more: Any) -> None:
        options = {"rounds": 50, "repeats": 3, "seed": moot.seed, **more}
        told = {key: _described(value) for key, value in options.items()}
        told |= {"protocol": _described(protocol), **({"liar": repr(liar)} if liar is not None else {})}

        def make() -> Made:
            outcome = deliberate(
                moot.votes,
                protocol,
                adversaries={int(i): liar for i in lie.liars},
                truth=moot.truth,
                classes=moot.classes,
                threads=1,
                **options,
            )
            return talked("decision", outcome, moot.truth)

        moot.setting(what, "talk", told, make, lie)

    k = min(10, n - 1)
    usual = Slush(k, k // 2 + 1)
    talk("slush", usual)
    if "sparse" in name:
        talk("slush-absent", usual, missing="absent")
        talk("slush-k4-absent", Slush(4, 3), missing="absent")
    if name == "n15-c2":
        ring = np.zeros((n, n), dtype=np.int64)
        for step in (1, 2, 3):
            ring[np.arange(n), (np.arange(n) + step) % n] = ring[np.arange(n), (np.arange(n) - step) % n] = 1
        talk("slush-everyone", usual, sampling=Everyone())
        talk("slush-ring", Slush(4, 3), sampling=Neighbours(ring))
        talk("leaders", Leaders(4, 3))
        teams = [list(range(5)), list(range(5, 10)), list(range(10, 15))]
        talk("hierarchy", Hierarchy(teams, inner=Slush(4, 3), outer=Slush(2, 2)))
    if name == "n4-c2":
        people = ["a", "b", "c", "d"]
        three = Federated(dict.fromkeys(people, QuorumSet(3, people)))
        silent = moot.lie("silent-1", "the last is silent", lambda: _voted([3], moot.votes[[3]]))
        for lie, liar in ((NOBODY, None), (silent, Silent())):
            options = {"rounds": 50, "seed": moot.seed}

            def make(lie: Lie = lie, liar: Any = liar, options: dict[str, int] = options) -> Made:
                outcome = deliberate(
                    moot.votes,
                    three,
                    adversaries={int(i): liar for i in lie.liars},
                    truth=moot.truth,
                    **options,
                )
                return talked("decision", outcome, moot.truth)

            said = {"protocol": "any three of four", **options, "liar": repr(liar)}
            moot.setting("quorum-sets", "talk", said, make, lie)
    if name in ("n25-c2", "n101-c2"):
        talk("slush-k5-a3", Slush(5, 3))
        talk("slush-k10-a8", Slush(10, 8))
        talk("slush-k20-a15", Slush(20, 15))
        talk("slush-lockstep", usual, schedule="lockstep")
        talk("slush-shared", usual, batch="shared")
        talk("snowflake-b3", Snowflake(10, 7, beta=3))
        talk("snowflake-b10", Snowflake(10, 7, beta=10))
        talk("snowball-b3", Snowball(10, 7, beta=3))
        talk("snowball-b10", Snowball(10, 7, beta=10))
        confident = StrongConfidence(accuracy.round(2))
        talk("slush-local", Slush(10, confident))
        talk("snowflake-local", Snowflake(10, confident, beta=5))
        talk("slush-weighted", Slush(10, 6, weights=log_odds(np.maximum(accuracy, 0.51), 2)))
    liars = {"n7-c10": (1,), "n15-c2": (2,), "n25-c2": (4, 8), "n25-c10": (4, 8)}.get(name, ())
    for f in liars:
        who = list(range(n - f, n))
        for attack, kind in ATTACKS.items():
            liar = kind()
            told = moot.lie(
                f"{attack}-{f}", f"the last {f}: {kind.__name__}",
                lambda who=who, liar=liar: _voted(
                    who, handed_in(moot.votes, dict.fromkeys(who, liar), moot.truth, moot.classes)[who]
                ),
            )  # fmt: skip
            moot.setting("central", "rules of a centre", {}, lambda told=told: rules(told), told)
            talk("slush", usual, told, liar)


def _voted(who: Sequence[int], votes: Any) -> Arrays:
    return {"liars": small(np.array(who)), "votes": small(votes)}


def _described(value: Any) -> Any:
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    if isinstance(value, Slush | Snowflake | Snowball | Leaders):
        fields = {name: _described(each) for name, each in vars(value).items()}
        return type(value).__name__ + "(" + ", ".join(f"{k}={v}" for k, v in fields.items()) + ")"
    if isinstance(value, np.ndarray | list | tuple):
        return [round(float(each), 4) for each in np.asarray(value).ravel()]
    if isinstance(value, StrongConfidence):
        return f"StrongConfidence({_described(value.p)})"
    if isinstance(value, Neighbours):
        return "Neighbours(ring: the three next on either side)"
    return repr(value)


# ---- FEMNIST: forests of single writers -------------------------------------------------------------------


class Writers(NamedTuple):
    """A moot of writers, with the arrays that everything below needs, unpacked."""

    moot: Moot
    rows: Any  # (participant, row): votes on the rows that may be shown
    labels: Any
    owner: Any
    rank: Any


def femnist(work: Work, folder: str) -> None:
    for seed in FIRST:
        for task, classes in ((CASE, 2), (DIGITS, 10)):
            name = f"femnist-{task}-s{seed}"
            about = f"forests of {WRITERS} writers of FEMNIST, {task}; inputs of {TEST_WRITERS} other writers"

            def make(task: str = task, seed: int = seed) -> Arrays:
                return _shown(folder, task, seed)

            moot = new_moot(work, name, seed, classes, about, make)
            if moot is None:
                continue
            base = moot.base
            here = Writers(
                moot,
                base["row_votes"].astype(np.int64),
                base["row_labels"].astype(np.int64),
                base["row_owner"].astype(np.int64),
                base["row_rank"].astype(np.int64),
            )
            _listening(here)
            _reviewing(here)


def _shown(folder: str, task: str, seed: int) -> Arrays:
    shown = show(Sample(folder, task, seed, WRITERS, TEST_WRITERS, INPUTS), TREES)
    chances = shown.chances.array()
    rows = len(shown.labels)
    said = chances.argmax(axis=2)
    some = np.linspace(0, len(shown.truth) - 1, SURE_INPUTS).round().astype(np.int64)
    few = np.flatnonzero(np.array(shown.rank) < TEN)
    return {
        "votes": small(said[:, rows:]),
        "truth": small(shown.truth),
        "row_votes": small(said[:, :rows]),
        "row_labels": small(shown.labels),
        "row_owner": small(shown.owner),
        "row_rank": small(shown.rank),
        "confusion": small(shown.confusion),
        "sure_inputs": small(some),
        "sure": chances[:, rows + some],
        "sure_rows": small(few),
        "row_sure": chances[:, few],
    }


def _listening(here: Writers) -> None:
    """Plain Slush, the rules of a centre, and trust by listening, under every story that liars tell first."""
    moot = here.moot
    order = liars_order(len(moot.votes), moot.seed)
    anchors = [Anchor.of_confusion(table) for table in moot.base["confusion"].astype(np.int64)]
    _plain_and_trust(moot, NOBODY, None, anchors)
    for f in LIARS:
        who = np.sort(order[:f])
        for each in STORIES:
            about = f"{f} of {len(moot.votes)}: {each.about}"

            def make(story: str = each.story, f: int = f, who: Any = who) -> Arrays:
                told = first_votes(story, moot.votes, moot.truth, moot.classes, order, f, moot.seed)
                return _voted(who, told[who])

            told = moot.lie(_named(each.name, f), about, make)
            _plain_and_trust(moot, told, each.talk, anchors, alone=each.story != HONEST)


def _named(what: str, f: int) -> str:
    return f"{what.replace(',', '').replace('%', '').replace(' ', '-')}-{f}"


def _plain_and_trust(moot: Moot, lie: Lie, liar: Any, anchors: list[Anchor], *, alone: bool = True) -> None:
    """``alone`` is False where first votes are honest: then only talks differ from those of nobody."""
    n = len(moot.votes)
    adversaries = {int(i): liar for i in lie.liars}
    options = {"protocol": "Slush(k=10, alpha=6)", "rounds": 50, "seed": moot.seed, "liar": repr(liar)}

    def by_slush() -> Made:
        heard = moot.heard(lie)
        outcome = deliberate(
            heard, Slush(10, 6).scaled(n), adversaries=adversaries, truth=moot.truth, seed=moot.seed,
            threads=1, classes=moot.classes,
        )  # fmt: skip
        found = talked("decision", outcome, moot.truth, counts=False)
        also = central(heard, moot.truth, moot.classes) if alone else ({}, {})
        arrays, figures = joined(found, also)
        return arrays, figures | about_votes(heard, moot.truth, moot.classes, lie.liars)

    moot.setting("plain", "talk and rules of a centre", options, by_slush, lie)

    few = alone and moot.classes > 2 and len(lie.liars) > 0  # who listens to ten classes takes long

    def by_trust() -> Made:
        heard = moot.heard(lie)
        if few:
            return _listened(moot, heard, anchors, _judges(moot, lie))
        if alone or not len(lie.liars):
            listeners = listen_first(
                heard, list(anchors), adversaries=adversaries, truth=moot.truth, classes=moot.classes
            )
        else:
            listeners = _among_liars(_nobody_lies(moot, anchors), lie, heard)
        return _own(listeners, adversaries, moot, lie, keep=alone)

    said = {**options, "rounds": ROUNDS_AFTER, "anchors": "confusion", "classes": moot.classes}
    if few:
        said["judges"] = _judges(moot, lie)
    moot.setting("trust", 'trust="self-anchored"', said, by_trust, lie)


def _judges(moot: Moot, lie: Lie) -> list[int]:
    """Honest participants: the last of the order in which they turn, so that they are the same for all."""
    order = liars_order(len(moot.votes), moot.seed)
    return sorted(order[len(lie.liars) :][::-1][:JUDGES].tolist())


def _listened(moot: Moot, heard: Any, anchors: list[Anchor], judge: list[int]) -> Made:
    """Final votes of a few who listen; without the others there is no talk."""
    some = [anchor if i in judge else None for i, anchor in enumerate(anchors)]
    trusts = listen_all(heard, some, classes=moot.classes)
    held = np.stack([opening(heard, trusts[i]) for i in judge])
    deciding = (held != ABSENT).any(axis=1)
    weight = np.stack([trusts[i].weight for i in judge]).astype(np.float16)
    arrays = {"judge": small(judge), "anchored": deciding, "final": small(held), "weight": weight}
    figures = {"judges": len(judge), "anchored": deciding.sum()}
    return arrays, figures | finals("final", held, deciding, moot.truth, moot.classes)


_HONEST: dict[str, Any] = {}


def _nobody_lies(moot: Moot, anchors: list[Anchor]) -> Any:
    """Everybody that has listened to honest first votes: the same whoever lies in the talk."""
    if moot.name not in _HONEST:
        _HONEST.clear()
        _HONEST[moot.name] = listen_first(moot.votes, list(anchors), classes=moot.classes)
    return _HONEST[moot.name]


def _among_liars(listeners: Any, lie: Lie, heard: Any) -> Any:
    """The same if these lie in the talk: they decide nothing, and can be asked."""
    lying = np.isin(np.arange(len(heard)), lie.liars)
    held = listeners.held.copy()
    held[lying] = heard[lying]
    anchored = listeners.anchored & ~lying
    return replace(listeners, anchored=anchored, speaking=anchored | lying, held=held)


def _own(listeners: Any, adversaries: dict[int, Any], moot: Moot, lie: Lie, *, keep: bool = True) -> Made:
    """Everybody's final votes before and after the guarded talk, and what each makes of its peers."""
    judge = np.setdiff1d(np.arange(len(moot.votes)), lie.liars)
    if listeners is None:
        nothing = np.zeros(len(judge), dtype=np.bool_)
        return {"judge": small(judge), "anchored": nothing}, {"judges": len(judge), "anchored": 0}
    outcome = listeners.talk(
        Slush(10, 6).scaled(int(listeners.speaking.sum())), adversaries, truth=moot.truth,
        rounds=ROUNDS_AFTER, seed=moot.seed, threads=1, classes=moot.classes,
    )  # fmt: skip
    return _finals(moot, listeners, judge, outcome.decisions, outcome.decision, keep=keep)


def _finals(moot: Moot, listeners: Any, judge: Any, after: Any, decision: Any, *, keep: bool = True) -> Made:
    deciding, held = listeners.anchored[judge], listeners.held[judge]
    after = np.where(deciding[:, None], after[judge], ABSENT)
    arrays = {"judge": small(judge), "anchored": deciding, "after": small(after), "decision": small(decision)}
    if keep:
        weight = np.stack([listeners.trusts[i].weight for i in judge])
        arrays |= {"final": small(held), "weight": weight.astype(np.float16)}
    figures = {"judges": len(judge), "anchored": deciding.sum(), **decided("decision", decision, moot.truth)}
    if keep:
        figures |= finals("final", held, deciding, moot.truth, moot.classes)
    return arrays, figures | finals("after", after, deciding, moot.truth, moot.classes)


def _reviewing(here: Writers) -> None:
    """Peer review with ten rows each and with all, in labels and probabilities, under every lie."""
    _review(here, NOBODY, TEN, everybody=True)
    _review(here, NOBODY, None)
    for epsilon in (1.0, 3.0):
        _review(here, NOBODY, TEN, epsilon=epsilon)
    _review(here, NOBODY, None, epsilon=1.0)
    _review(here, NOBODY, TEN, sure=True)
    for f in LIARS:
        for each in LIES:
            told = _lie_on_rows(here, each.name, f)
            _review(here, told, TEN)
            if f == LIARS[-1] and each.name in ("both", "clique", "stealthy, backed", "sparing 100%"):
                _review(here, told, None)
                _review(here, told, TEN, sure=True)
            if f == LIARS[-1] and each.name == "both":
                _review(here, told, TEN, epsilon=1.0)


def _lie_on_rows(here: Writers, name: str, f: int) -> Lie:
    moot, lie = here.moot, lie_named(name)
    who = np.sort(liars_order(len(moot.votes), moot.seed)[:f])

    def make() -> Arrays:
        of_liars = np.isin(here.owner, who)
        claims = claims_of(lie, here.labels, of_liars, moot.classes, moot.seed)
        on_rows = told_on_rows(lie, here.labels, claims, of_liars, moot.classes, moot.seed)
        on_inputs = story_on(lie.story, moot.truth, moot.classes, moot.seed)
        return {
            "liars": small(who),
            "votes": small(np.where(on_inputs == ABSENT, moot.votes[who], on_inputs)),
            "row_votes": small(np.where(on_rows == ABSENT, here.rows[who], on_rows)),
            "row_labels": small(claims[of_liars]),
        }

    return moot.lie("rows-" + _named(name, f), f"{f} of {len(moot.votes)}: {lie.about}", make)


def _review(
    here: Writers,
    lie: Lie,
    rows: int | None,
    *,
    everybody: bool = False,
    epsilon: float | None = None,
    sure: bool = False,
) -> None:
    moot = here.moot
    n = len(moot.votes)
    judges = np.setdiff1d(np.arange(n), lie.liars).tolist() if everybody else _judges(moot, lie)
    if moot.classes > 2 and not everybody:
        judges = judges[: JUDGES // 2]
    name = f"peer-{'all' if rows is None else rows}" + ("-sure" if sure else "")
    name += f"-eps{epsilon:g}" if epsilon else ""
    options: dict[str, Any] = {"rows": rows or "all", "label_epsilon": epsilon, "judges": judges}
    options |= {"votes": "probabilities" if sure else "labels", "talk": "Slush(k=10, alpha=6), guarded"}

    def make() -> Made:
        some = np.flatnonzero(here.rank < rows) if rows else np.arange(len(here.rank))
        votes, on_rows, labels = moot.heard(lie), here.rows.copy(), here.labels.copy()
        truth, classes = moot.truth, moot.classes
        if len(lie.liars):
            on_rows[lie.liars] = lie.arrays["row_votes"]
            labels[np.isin(here.owner, lie.liars)] = lie.arrays["row_labels"]
        arrays: Arrays = {}
        told, kept = labels[some], label_kept(epsilon, classes)
        if epsilon:
            told = published(told, epsilon, classes, np.random.default_rng([moot.seed, 77]))
            arrays["published"] = small(told)
        if sure:
            inputs = moot.base["sure_inputs"].astype(np.int64)
            truth, votes = truth[inputs], _as_sure(moot.base["sure"], moot.votes, votes, lie, inputs)
            shown = _as_sure(moot.base["row_sure"], here.rows, on_rows, lie, some)
        else:
            shown = on_rows[:, some]
        checked = check_answers(shown, told, here.owner[some], classes=classes, kept=kept)
        reviews = review_all(checked, judges=judges, batch=votes)
        lying = np.isin(np.arange(n), lie.liars)
        listeners = listeners_of(reviews, votes, lying, labels_of(votes))
        outcome = None
        if everybody and listeners.anchored.any():
            outcome = listeners.talk(
                Slush(10, 6).scaled(int(listeners.speaking.sum())),
                {int(i): Steadfast() for i in lie.liars},
                truth=truth, rounds=ROUNDS_AFTER, seed=moot.seed, threads=1, classes=classes,
            )  # fmt: skip
        return _reviewed(arrays, reviews, listeners, votes, truth, classes, lie, outcome)

    moot.setting(name, 'trust="peer-review"', options, make, lie)


def _as_sure(levels: Any, said: Any, heard: Any, lie: Lie, places: Any) -> Any:
    """Probabilities as they are heard: liars are sure wherever they do not say what their model says."""
    chances = levels.astype(np.float32)
    chances /= chances.sum(axis=2, keepdims=True)
    for i in lie.liars.tolist():
        moved = np.flatnonzero(said[i, places] != heard[i, places])
        chances[i, moved] = np.eye(chances.shape[2], dtype=np.float32)[heard[i, places[moved]]]
    return chances


def _reviewed(
    arrays: Arrays,
    reviews: Sequence[Any],
    listeners: Any,
    votes: Any,
    truth: Any,
    classes: int,
    lie: Lie,
    outcome: Any,
) -> Made:
    judge = np.array([each.own for each in reviews])
    deciding, held = listeners.anchored[judge], listeners.held[judge]
    accepted = np.stack([each.accepted for each in reviews])
    arrays = arrays | {
        "judge": small(judge),
        "anchored": deciding,
        "final": small(held),
        "weight": np.stack([each.weight for each in reviews]).astype(np.float16),
        "accepted": accepted,
        "muted": np.stack([each.muted for each in reviews]),
        "recognition": np.array([each.recognition for each in reviews], dtype=np.float32),
    }
    figures = {"judges": len(judge), "anchored": deciding.sum()}
    figures |= finals("final", held, deciding, truth, classes)
    figures |= about_votes(labels_of(votes), truth, classes, lie.liars)
    lying = np.isin(np.arange(len(votes)), lie.liars)
    figures["accepted_honest"] = accepted[:, ~lying].mean()
    if lying.any():
        figures["accepted_liars"] = accepted[:, lying].mean()
    if deciding.any():
        likely = np.mean([each.probabilities(votes) for each in reviews if each.anchored], axis=0)
        arrays["likely"] = likely.astype(np.float16)
        figures |= likelihoods("likely", likely, truth)
    if outcome is not None:
        after = np.where(deciding[:, None], outcome.decisions[judge], ABSENT)
        arrays |= {"after": small(after), "decision": small(outcome.decision)}
        figures |= finals("after", after, deciding, truth, classes)
        figures |= decided("decision", outcome.decision, truth)
    return arrays, figures


def likelihoods(name: str, likely: Any, truth: Any) -> Figures:
    """Of probabilities (input, class), rounded as they are kept: right ones and log loss."""
    kept = np.asarray(likely).astype(np.float16).astype(np.float64)
    told = np.maximum(kept[np.arange(len(truth)), truth], 1e-4)
    return {f"right/{name}": (kept.argmax(1) == truth).mean(), f"log_loss/{name}": -np.log(told).mean()}


# ---- estimators on small tables ---------------------------------------------------------------------------


class Table(NamedTuple):
    """Rows to learn from with their owners (None: dealt out by the estimator), and rows to answer."""

    X: Any
    y: Any
    groups: Any
    X_test: Any
    y_test: Any
    tested_by: Any = None  # whose row each of the test is


class Small(NamedTuple):
    """An estimator's moot: its table by seed, its models by seed, and how many lie."""

    about: str
    table: Callable[[int], Table]
    models: Callable[[int], list[Any]]
    liars: tuple[int, ...]
    seeds: tuple[int, ...]
    rules: tuple[str, ...] = ("plain", "trust", "peer-10", "peer-all", "pool-mean", "pool-log")


def _split(load: Callable[..., Any], size: float, groups: int | None = None) -> Callable[[int], Table]:
    def table(seed: int) -> Table:
        X, y = load(return_X_y=True)
        own, new, right, truth = train_test_split(X, y, test_size=size, stratify=y, random_state=seed)
        return Table(own, right, None if groups is None else np.arange(len(right)) % groups, new, truth)

    return table


def _digits(participants: int) -> Callable[[int], Table]:
    def table(seed: int) -> Table:
        data = load_digits_moot(participants, seed=seed)
        return Table(data.X, data.y, data.groups, data.X_test, data.y_test)

    return table


def _dealt_digits(seed: int) -> Table:
    data = load_digits_moot(20, seed=seed)
    return Table(data.X, data.y, None, data.X_test, data.y_test)


def _mixed(seed: int) -> list[Any]:  # noqa: ARG001
    linear = make_pipeline(StandardScaler(), LogisticRegression())
    near = make_pipeline(StandardScaler(), KNeighborsClassifier(3))
    return [linear, GaussianNB(), near, DecisionTreeClassifier(max_depth=3), DecisionTreeClassifier()]


def _logistic(count: int) -> Callable[[int], list[Any]]:
    return lambda seed: [make_pipeline(StandardScaler(), LogisticRegression())] * count  # noqa: ARG005


def _trees(count: int) -> Callable[[int], list[Any]]:
    return lambda seed: [DecisionTreeClassifier()] * count  # noqa: ARG005


def small_moots() -> dict[str, Small]:
    """By name. The test has 45 to 450 rows, 3 to 60 take part: what people really have."""
    return {
        "digits-20-trees": Small(
            "digits of scikit-learn by Dirichlet skew over 20 participants, a tree each",
            _digits(20), _trees(1), (0, 5, 12), (*FIRST, *SECOND),
        ),
        "digits-20-logistic": Small(
            "the same with logistic regression",
            _digits(20), lambda seed: [LogisticRegression(max_iter=1000)], (0, 5, 12), FIRST,  # noqa: ARG005
        ),
        "digits-60-trees": Small(
            "digits of scikit-learn dealt out to 60 trees: crisp models, ten classes",
            _dealt_digits, _trees(60), (0, 15), FIRST,
            ("plain", "trust", "pool-mean", "pool-log", "pool-all"),
        ),
        "cancer-5": Small(
            "breast cancer over five hospitals, five kinds of model, 109 inputs",
            _split(load_breast_cancer, 109 / 569, 5), _mixed, (0, 1), (*CHOSEN, *JUDGE),
        ),
        "cancer-12": Small(
            "breast cancer dealt out to 12 trees",
            _split(load_breast_cancer, 0.3), _trees(12), (0, 3, 7), FIRST,
        ),
        "wine-3": Small("wine dealt out to three", _split(load_wine, 0.3), _logistic(3), (0,), FIRST),
        "iris-7": Small("iris dealt out to seven", _split(load_iris, 0.5), _logistic(7), (0, 2), FIRST),
    }  # fmt: skip


def hospitals(folder: str) -> dict[str, Small]:
    """The four hospitals of UCI's heart disease, which measure differently."""

    def table(seed: int) -> Table:
        data = load_heart(folder, test_size=0.3, seed=seed)
        return Table(data.X, data.y, data.groups, data.X_test, data.y_test, data.groups_test)

    def model(kind: str) -> Callable[[int], list[Any]]:
        def models(seed: int) -> list[Any]:
            data = load_heart(folder, test_size=0.3, seed=seed)
            return [for_table(MODELS[kind](), len(data.feature_names), data.categorical)]

        return models

    rules = ("plain", "trust", "peer-10", "peer-all", "peer-all-eps1", "pool-mean", "pool-log")
    about = "heart disease over four hospitals, "
    return {
        "heart-4-logistic": Small(
            about + "logistic regression each", table, model("logistic"), (0, 1), (*CHOSEN, *JUDGE), rules
        ),
        "heart-4-rf": Small(about + "a random forest each", table, model("rf"), (0, 1), FIRST, rules),
    }


SHOWN: Final[dict[str, dict[str, Any]]] = {
    "all": {"check_rows": "all"},
    "ten": {"check_rows": TEN},
    "eps1": {"check_rows": "all", "privacy": 1.0},
}
ANSWERS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "plain": ("all", {"trust": None}),
    "trust": ("all", {"trust": "self-anchored"}),
    "peer-10": ("ten", {"trust": "peer-review"}),
    "peer-all": ("all", {"trust": "peer-review"}),
    "peer-all-eps1": ("eps1", {"trust": "peer-review"}),
    "pool-mean": ("all", {"trust": None, "voting": "probabilities"}),
    "pool-log": ("all", {"trust": None, "voting": "probabilities", "pool": "log"}),
    "pool-all": ("all", {"trust": None, "voting": "probabilities", "trim": 0}),
}


def estimators(work: Work, kinds: Mapping[str, Small]) -> None:
    for kind, small_moot in kinds.items():
        for seed in small_moot.seeds:
            _estimator(work, f"{kind}-s{seed}", small_moot, seed)


def _estimator(work: Work, name: str, of: Small, seed: int) -> None:
    table = cache(lambda: of.table(seed))

    @cache
    def fitted(shown: str) -> Any:
        moot = ConsensusClassifier(of.models(seed), trust="peer-review", random_state=seed, **SHOWN[shown])
        rows = table()
        return moot.fit(rows.X, rows.y, groups=rows.groups)

    def base() -> Arrays:
        from folkmoot.levels import to_levels
        from folkmoot.old.ballot import anchors_of

        moot, rows = fitted("all"), table()
        labels = moot.classes_
        soft = moot._soft_ballot(rows.X_test)
        arrays = {
            "votes": small(moot.votes(rows.X_test)),
            "truth": small(np.searchsorted(labels, rows.y_test)),
            "sure": to_levels(soft.chances),
            "confusion": small([each.counts for each in anchors_of(moot.participants_, labels)]),
        }
        if rows.tested_by is not None:
            names = [each.name for each in moot.participants_]
            arrays["owner"] = small([names.index(each) for each in rows.tested_by.tolist()])
        for shown in ("all", "ten", "eps1"):
            if shown == "all" or any(ANSWERS[each][0] == shown for each in of.rules):
                checked = fitted(shown).checked_
                assert shown == "all" or (fitted(shown).votes(rows.X_test) == arrays["votes"]).all()  # noqa: S101
                arrays |= {
                    f"{shown}_row_votes": small(checked.votes),
                    f"{shown}_row_labels": small(checked.truth),
                    f"{shown}_row_owner": small(checked.publisher),
                }
        return arrays

    classes = len(np.unique(table().y)) if work.wants(name) else 0
    moot = new_moot(work, name, seed, classes, of.about, base)
    if moot is None:
        return
    for f in of.liars:
        lie = _malicious(moot, f, fitted) if f else NOBODY
        for rule in of.rules:
            shown, changed = ANSWERS[rule]
            options = {**changed, **SHOWN[shown], "adversaries": f, "random_state": seed, "rounds": 50}

            def make(
                shown: str = shown, changed: dict[str, Any] = changed, lie: Lie = lie, f: int = f
            ) -> Made:
                usual = {"voting": "labels", "pool": "mean", "trim": None, "adversaries": f or None}
                return _answered(fitted(shown).set_params(**usual | changed), table(), moot, lie)

            moot.setting(rule, f"ConsensusClassifier, {rule}", options, make, lie)


def _malicious(moot: Moot, f: int, fitted: Callable[[str], Any]) -> Lie:
    """Perfectly malicious participants, as ``adversaries=f`` draws them; they publish wrong labels."""

    def make() -> Arrays:
        seed = fitted("all").seed_
        who = np.sort(np.random.default_rng(seed).permutation(len(moot.votes))[:f])
        liars = {int(i): PerfectlyMalicious() for i in who}
        arrays = _voted(who.tolist(), handed_in(moot.votes, liars, moot.truth, moot.classes)[who])
        for shown in ("all", "ten", "eps1"):
            if f"{shown}_row_votes" in moot.base:
                told = with_lies(fitted(shown).checked_, liars)
                arrays[f"{shown}_row_votes"] = small(told.votes[who])
                arrays[f"{shown}_row_labels"] = small(told.truth[np.isin(told.publisher, who)])
        return arrays

    return moot.lie(f"malicious-{f}", f"{f} of {len(moot.votes)}: the same wrong vote on everything", make)


def _answered(estimator: Any, rows: Table, moot: Moot, lie: Lie) -> Made:
    """What the estimator answers: predict, probabilities, the talk, final votes, and its report."""
    truth, classes = moot.truth, moot.classes
    report = estimator.report(rows.X_test, rows.y_test, repeats=3, stacking=False)
    outcome = estimator.deliberate(rows.X_test, rows.y_test)
    sure = report.certainty
    arrays, figures = talked("decision", outcome, truth, counts=False)
    arrays |= {
        "predict": small(sure.answers),
        "likely": np.asarray(sure.likely)[:, :classes].astype(np.float16),
    }
    figures |= decided("predict", sure.answers, truth) | likelihoods("likely", arrays["likely"], truth)
    figures["score"] = estimator.score(rows.X_test, rows.y_test)
    figures |= about_votes(moot.heard(lie), truth, classes, lie.liars)
    for line in report.lines:
        if line.accuracy is not None:
            figures[f"report/{line.name}"] = line.accuracy
    if report.listeners is not None:
        judge = np.setdiff1d(np.arange(len(moot.votes)), lie.liars)
        listeners = report.listeners
        found = _finals(moot, listeners, judge, outcome.decisions, outcome.decision)
        arrays, figures = joined((arrays, figures), found)
    elif report.anchored is not None:
        figures["anchored"] = report.anchored
    if "owner" in moot.base and estimator.trust == "peer-review" and not len(lie.liars):
        each = [estimator.predict_proba_for(i, rows.X_test) for i in range(len(moot.votes))]
        own = np.stack(each)[moot.base["owner"], np.arange(len(truth))]
        arrays["own_likely"] = own.astype(np.float16)
        figures |= likelihoods("own_likely", arrays["own_likely"], truth)
    return arrays, figures


# ---- numbers ----------------------------------------------------------------------------------------------


def error(numbers: Any, truth: Any) -> float:
    """Root mean squared error, over inputs and outputs."""
    return float(np.sqrt(np.mean((np.asarray(numbers) - truth) ** 2)))


def numbers(work: Work) -> None:
    """Simulated numbers of ten participants: every rule under every lie, with all asked and with five."""
    for seed in FIRST:
        for outputs in (1, 2):
            name = f"numbers-10-d{outputs}-s{seed}"

            def make(seed: int = seed, outputs: int = outputs) -> Arrays:
                rng = np.random.default_rng([seed, outputs])
                truth = rng.normal(10, 5, (60, outputs))
                values = truth + rng.normal(0, rng.uniform(0.5, 3, (10, 1, 1)), (10, 60, outputs))
                return {"values": values.astype(np.float32), "target": truth.astype(np.float32)}

            moot = new_moot(
                work, name, seed, 0, f"ten simulated participants, numbers of {outputs} outputs", make
            )
            if moot is None:
                continue
            for rule, kind in RULES.items():
                for attack in (None, *NUMBER_ATTACKS):
                    for k in (None, 5) if rule in ("trimmed-mean", "median") else (None,):
                        _agreed(moot, rule, kind(), attack, k)


def _agreed(moot: Moot, rule: str, combine: Any, attack: str | None, k: int | None) -> None:
    values = moot.base["values"].astype(np.float64)
    who = [8, 9] if attack else []
    liars = {i: NUMBER_ATTACKS[attack]() for i in who} if attack else {}
    lie = NOBODY
    if attack:
        lie = moot.lie(
            f"{attack}-2", f"the last two: {attack}",
            lambda: {"liars": small(who), "values": numbers_handed_in(values, liars)[who].astype(np.float32)},
        )  # fmt: skip

    def make() -> Made:
        found = agree(values, combine, adversaries=liars, k=k, seed=moot.seed)
        arrays = {
            "decision": found.decision.astype(np.float32), "held": found.numbers.astype(np.float32),
            "settled": found.settled, "rounds": small(found.rounds),
        }  # fmt: skip
        return arrays, {
            "rmse/decision": error(arrays["decision"], moot.base["target"]),
            "settled": found.settled.mean(),
        }

    name = rule + (f"-k{k}" if k else "")
    moot.setting(
        name, f"agree, {rule}", {"k": k, "rounds": 50, "seed": moot.seed, "attack": attack}, make, lie
    )


GROUPED_BY: Final = {"bmi": 2, "s5": 8, "chance": None}
GROUPS, TESTED, NUMBER_LIARS = 31, 7, 7


def regression(work: Work) -> None:
    """Diabetes by groups of one column, seven of 31 groups kept for the test (docs/regression.md)."""
    models = {
        "ridge": lambda: make_pipeline(StandardScaler(), Ridge(10)),
        "trees": lambda: DecisionTreeRegressor(max_depth=3),
    }
    for seed in FIRST:
        for column in GROUPED_BY:
            for kind, model in models.items():
                _regressor(work, f"diabetes-{column}-{kind}-s{seed}", column, model, seed)


def _diabetes(column: str, seed: int) -> Table:
    X, y = load_diabetes(return_X_y=True)
    rng, place = np.random.default_rng([seed, 31]), GROUPED_BY[column]
    order = rng.permutation(len(y)) if place is None else np.argsort(X[:, place], kind="stable")
    group = np.empty(len(y), dtype=np.int64)
    group[order] = np.arange(len(y)) * GROUPS // len(y)
    tested = np.isin(group, rng.permutation(GROUPS)[:TESTED])
    return Table(X[~tested], y[~tested], group[~tested], X[tested], y[tested])


def _regressor(work: Work, name: str, column: str, model: Callable[[], Any], seed: int) -> None:
    table = cache(lambda: _diabetes(column, seed))

    @cache
    def fitted(weights: str) -> Any:
        rows = table()
        moot = ConsensusRegressor([model()], weights=weights, random_state=seed)
        return moot.fit(rows.X, rows.y, groups=rows.groups)

    def base() -> Arrays:
        moot, rows = fitted("peer-review"), table()
        seen = moot.checked_
        return {
            "values": moot._numbers(rows.X_test)[0].astype(np.float32),
            "target": rows.y_test.reshape(-1, 1).astype(np.float32),
            "row_values": seen.answers.astype(np.float32),
            "row_target": seen.truth.astype(np.float32),
            "row_owner": small(seen.publisher),
            "squares": seen.squares.astype(np.float32),
        }

    about = f"diabetes, {GROUPS} groups by {column}, {TESTED} of them tested on"
    moot = new_moot(work, name, seed, 0, about, base)
    if moot is None:
        return
    n = len(moot.base["values"])
    who = np.sort(np.random.default_rng([seed, 32]).permutation(n)[:NUMBER_LIARS]).tolist()
    kinds = {"far-away-500": FarAway(500), **{attack: kind() for attack, kind in NUMBER_ATTACKS.items()}}
    lies: list[tuple[Lie, dict[int, Any]]] = [(NOBODY, {})]
    for attack, liar in kinds.items():
        liars = dict.fromkeys(who, liar)

        def told(liars: dict[int, Any] = liars) -> Arrays:
            values = fitted("peer-review")._numbers(table().X_test)[0]
            return {"liars": small(who), "values": numbers_handed_in(values, liars)[who].astype(np.float32)}

        lies.append((moot.lie(f"{attack}-{NUMBER_LIARS}", f"{NUMBER_LIARS} of {n}: {liar!r}", told), liars))
    for lie, liars in lies:
        every = lie.name in ("nobody", f"far-away-500-{NUMBER_LIARS}")
        for rule in RULES if every else ("trimmed-mean", "median"):
            _regressed(moot, rule, {"rule": rule, "weights": None}, "peer-review", fitted, table, lie, liars)
        for weights in ("holdout", "peer-review"):
            _regressed(
                moot,
                weights,
                {"rule": "trimmed-mean", "weights": weights},
                weights,
                fitted,
                table,
                lie,
                liars,
            )


def _regressed(
    moot: Moot,
    name: str,
    changed: dict[str, Any],
    fit: str,
    fitted: Any,
    table: Any,
    lie: Lie,
    liars: dict[int, Any],
) -> None:
    def make() -> Made:
        rows, estimator = table(), fitted(fit)
        before = estimator.get_params(deep=False)
        try:
            estimator.set_params(adversaries=liars or None, **changed)
            values, there, _, _ = estimator._numbers(rows.X_test)
            found = estimator.deliberate(rows.X_test)
            report = estimator.report(rows.X_test, rows.y_test, stacking=False)
            decision = found.decision.reshape(-1, 1).astype(np.float32)
            arrays = {
                "decision": decision,
                "held": found.numbers.astype(np.float32),
                "settled": found.settled,
            }
            if changed["weights"] is not None:
                opened = estimator._opened(values, there, liars, estimator._trimmed(len(values)))
                arrays["final"] = opened[..., 0].astype(np.float32)
        finally:
            estimator.set_params(
                adversaries=before["adversaries"], rule=before["rule"], weights=before["weights"]
            )
        figures = {"rmse/decision": error(decision, moot.base["target"]), "settled": found.settled.mean()}
        figures |= {f"report/{line.name}": line.error for line in report.lines if line.error is not None}
        return arrays, figures

    options = {**changed, "rounds": 50, "random_state": moot.seed, "adversaries": len(liars)}
    moot.setting(name, "ConsensusRegressor", options, make, lie)


# ---- crowds with gold -------------------------------------------------------------------------------------


def _hard(seed: int) -> Any:
    return dense_crowd(seed, deceptive=0.0)


def _deceptive(seed: int) -> Any:
    return dense_crowd(seed, deceptive=0.25)


def _sparse(seed: int) -> Any:
    return sparse_crowd(100, 500, 3, 10, seed=seed)


def _sparse4(seed: int) -> Any:
    return sparse_crowd(100, 500, 3, 10, classes=4, seed=seed)


CROWDS: Final = {
    "hard": (2, "39 workers on 108 tasks, hard ones", _hard),
    "deceptive": (2, "39 workers on 108 tasks, a quarter of them deceptive", _deceptive),
    "sparse": (2, "100 workers, 500 tasks of 3 to 10 votes", _sparse),
    "sparse4": (4, "the same with four labels", _sparse4),
}
GOLD: Final = (11, 44)


def crowds(work: Work) -> None:
    for seed in (*CHOSEN, *JUDGE):
        for kind, (classes, about, crowd) in CROWDS.items():

            def make(crowd: Any = crowd, seed: int = seed) -> Arrays:
                votes, truth = crowd(seed)
                order = np.random.default_rng([seed, 40]).permutation(len(truth))
                return {"votes": small(votes), "truth": small(truth), "gold_order": small(order)}

            moot = new_moot(work, f"crowd-{kind}-s{seed}", seed, classes, about, make)
            if moot is None:
                continue
            n = len(moot.votes)
            who = np.sort(np.random.default_rng([seed, 41]).permutation(n)[: round(0.6 * n)])
            story = colluding_votes(len(moot.truth), classes, seed=seed)
            wrong = (moot.truth + 1) % classes
            lies = [NOBODY]
            for lie, told, what in (("wrong", wrong, "always wrong"), ("story", story, "one story")):
                said = np.where(moot.votes[who] == ABSENT, ABSENT, told)
                lies.append(
                    moot.lie(
                        f"{lie}-60%", f"60%: {what}", lambda who=who, said=said: _voted(who.tolist(), said)
                    )
                )
            for lie in lies:
                for gold in GOLD:
                    _with_gold(moot, lie, gold, dense=kind in ("hard", "deceptive"))


def _with_gold(moot: Moot, lie: Lie, gold: int, *, dense: bool) -> None:
    heard, truth, classes = moot.heard(lie), moot.truth, moot.classes
    known = np.full(len(truth), ABSENT)
    known[moot.base["gold_order"][:gold]] = truth[moot.base["gold_order"][:gold]]
    left = np.flatnonzero(known == ABSENT)
    options = {"gold": gold, "classes": classes, "missing": "absent"}
    adversaries = {int(i): Steadfast() for i in lie.liars}

    def by_review() -> Made:
        told = split_gold(heard, known, classes)
        listeners = review_gold_first(
            heard[:, left], told, adversaries=adversaries, truth=truth[left], classes=classes
        )
        arrays, figures = central(heard[:, left], truth[left], classes)
        figures |= about_votes(heard[:, left], truth[left], classes, lie.liars)
        arrays["left"] = small(left)
        talk = compare(
            heard[:, left], Slush(10, 6), truth=truth[left], adversaries=adversaries, classes=classes,
            repeats=3, seed=moot.seed, threads=1, rules=["majority"],
        ).outcome  # fmt: skip
        arrays["slush"] = small(talk.decision)
        figures |= decided("slush", talk.decision, truth[left])
        if listeners is None:
            return arrays, figures | {"anchored": 0}
        first = int(np.flatnonzero(listeners.anchored)[0])
        review: Any = listeners.trusts[first]
        arrays |= {
            "decision": small(listeners.held[first]), "likely": review.chances.astype(np.float16),
            "weight": review.weight.astype(np.float16),
        }  # fmt: skip
        figures |= decided("decision", listeners.held[first], truth[left])
        figures |= likelihoods("likely", arrays["likely"], truth[left])
        return arrays, figures | {"anchored": listeners.anchored.sum()}

    moot.setting(f"gold-{gold}", "gold, reviewed", options, by_review, lie)

    def by_trust() -> Made:
        told = split_gold(heard, known, classes)
        listeners = listen_first(
            heard[:, left],
            told.anchors,
            gold=told,
            adversaries=adversaries,
            truth=truth[left],
            classes=classes,
        )
        judge = np.setdiff1d(np.arange(len(heard)), lie.liars)
        if listeners is None:
            nothing = np.zeros(len(judge), dtype=np.bool_)
            return {"judge": small(judge), "anchored": nothing}, {"judges": len(judge), "anchored": 0}
        deciding, held = listeners.anchored[judge], listeners.held[judge]
        arrays = {"left": small(left), "judge": small(judge), "anchored": deciding, "final": small(held)}
        arrays["weight"] = np.stack([listeners.trusts[i].weight for i in judge]).astype(np.float16)
        figures = {"judges": len(judge), "anchored": deciding.sum()}
        return arrays, figures | finals("final", held, deciding, truth[left], classes)

    if dense:
        moot.setting(f"gold-{gold}-trust", 'trust="self-anchored", by gold', options, by_trust, lie)


# ---- clusters ---------------------------------------------------------------------------------------------


def clusters(work: Work) -> None:
    from sklearn.metrics import adjusted_rand_score

    from folkmoot.clustering.agreeing import lied

    for seed in FIRST:

        def make(seed: int = seed) -> Arrays:
            partitions, truth = planted(12, 120, 5, 0.3, seed)
            return {"partitions": small(partitions), "truth": small(truth)}

        moot = new_moot(
            work, f"clusters-12-s{seed}", seed, 5, "twelve partitions of 120 objects, errors 30%", make
        )
        if moot is None:
            continue
        partitions = moot.base["partitions"].astype(np.int64)
        for attack in (None, *PARTITION_ATTACKS):
            liars = dict.fromkeys(range(7, 12), PARTITION_ATTACKS[attack]) if attack else {}
            lie = NOBODY
            if attack:
                handed = lied(partitions, liars, 5, seed)[0][7:]
                lie = moot.lie(
                    f"{attack}-5", f"the last five: {attack}",
                    lambda handed=handed: {"liars": small(range(7, 12)), "partitions": small(handed)},
                )  # fmt: skip

            def agreed(
                said: Any = partitions, truth: Any = moot.truth, liars: Any = liars, seed: int = seed
            ) -> Made:
                found = cluster(said, 5, adversaries=liars, seed=seed)
                arrays = {
                    "labels": small(found.labels),
                    "held": small(found.held),
                    "anchored": found.anchored,
                }
                arrays["weight"] = found.weights.astype(np.float16)
                right = adjusted_rand_score(truth, found.labels)
                return arrays, {"rand/labels": right, "anchored": found.anchored.sum()}

            moot.setting("cluster", "cluster", {"n_clusters": 5, "seed": seed}, agreed, lie)


# ---- the files --------------------------------------------------------------------------------------------

ARRAYS: Final = {
    "votes": "(participant, input) first votes as models cast them, as numbers of classes, -1 for none; "
    "of a lie (liar, input): what liars hand in, -2 for what their model says; one row if all say the same",
    "truth": "(input,) right classes",
    "accuracy": "(participant,) with what accuracy votes were drawn",
    "liars": "(liar,) who lies",
    "row_votes": "(participant, row) votes on rows that may be shown; of a lie (liar, row), -2 as above",
    "row_labels": "(row,) their right labels; of a lie (row of a liar,): what liars publish of their "
    "own rows, in the order of the rows",
    "row_owner": "(row,) whose row it is; -1: everybody's",
    "row_rank": "(row,) who shows m rows shows those of its rows with rank below m",
    "confusion": "(participant, true class, answer) counts on rows that each held out: what trust rests on",
    "sure": "(participant, input, class) probabilities, uint8: of FEMNIST in 255ths (scale to 1), of "
    "estimators the cell: (level + 0.5) / 256, then scaled",
    "sure_inputs": "(sure input,) which inputs ``sure`` of FEMNIST is of",
    "sure_rows": "(sure row,) which rows ``row_sure`` is of: those of rank below 10",
    "row_sure": "(participant, sure row, class) as sure",
    "owner": "(input,) to which participant's kind an input belongs",
    "all_row_votes": "as row_votes, every row of everybody shown",
    "all_row_labels": "as row_labels, every row shown",
    "all_row_owner": "as row_owner, every row shown",
    "ten_row_votes": "as row_votes, the ten rows that each shows",
    "ten_row_labels": "as row_labels, of these",
    "ten_row_owner": "as row_owner, of these",
    "eps1_row_votes": "as row_votes, every row shown",
    "eps1_row_labels": "as row_labels, published by randomised response with epsilon 1",
    "eps1_row_owner": "as row_owner, of these",
    "gold_order": "(task,) the first g are the gold tasks",
    "values": "(participant, input, output) first numbers, float32; of lies (liar, input, output): what a "
    "server would be sent (to others liars may say something else), nan for silence",
    "target": "(input, output) right numbers",
    "row_values": "(participant, row, output) numbers for the rows that are shown, float32",
    "row_target": "(row, output) their right numbers",
    "squares": "(participant, peer) mean squared error of each peer on each one's rows, float32",
    "partitions": "(participant, object) clusters by names of each one's own; of a lie (liar, object)",
    "decision": "([repeat,] input) what the moot decides, -1 for nothing; of numbers (input, output)",
    "decision_settled": "([repeat,] input) whether no more talk could change it",
    "decision_counts": "([repeat,] input, class) how many honest participants hold each class at the end",
    "decision_voters": "(input,) honest participants there",
    "weighted_majority": "(input,) by log-odds of accuracies (Dawid-Skene's where nobody says its own)",
    "dawid_skene": "(input,) by Dawid and Skene's estimate",
    "slush": "(repeat, input) by Slush(10, 6) scaled to those who voted on the input",
    "judge": "(judge,) whose final votes follow: honest participants",
    "anchored": "(judge,) who decides at all; of clusters (participant,)",
    "final": "(judge, input) final votes before any talk, -1 for none; of numbers (participant, input)",
    "after": "(judge, input) the same after the guarded talk",
    "weight": "(judge, participant) float16: what each one's vote counts for; one row where it is public",
    "accepted": "(judge, participant) whose published rows were believed",
    "muted": "(judge, participant) who was not heard",
    "recognition": "(judge,) z-score of one's own rows under a rule that had not seen them, float32",
    "published": "(shown row,) labels as published by randomised response, in the order of the shown rows",
    "likely": "(input, class) float16: probabilities that the moot gives",
    "own_likely": "(input, class) float16: probabilities for the input's owner (predict_proba_for)",
    "predict": "(input,) what predict answers: the decision, or the likeliest class where there is none",
    "labels": "(object,) the agreed cluster",
}
# Made, and not kept: it follows from what is kept, or is said by figures.
DROPPED: Final = ("majority", "supermajority", "held", "left", "decision_rounds", "settled", "rounds")
FIGURES: Final = {
    "majority": "share of right answers by most of the votes that are heard; tied classes share",
    "mean_participant": "mean over honest participants of the share of right first votes, of those cast",
    "best_participant": "the largest of these, among those with ten votes and a twentieth of the inputs",
    "right/X": "share of inputs on which X is the truth (probabilities: their argmax); mean over repeats",
    "undecided/X": "inputs on which X is -1; mean over repeats",
    "shared/X": "as right, but where classes are tied by X_counts, which together have more than half of "
    "X_voters, the input counts as the share of right ones among them",
    "mean/X": "mean over judges that anchor of the share of inputs that their final votes X are right on",
    "worst/X": "the least of these",
    "plurality/X": "share of right answers by most of the final votes X of judges that anchor; ties share",
    "judges": "honest participants of whom it is known",
    "anchored": "how many of them decide at all",
    "accepted_honest": "share of honest participants whose rows were believed, mean over judges",
    "accepted_liars": "the same of liars",
    "log_loss/X": "mean of -log of the probability of the truth, at least 1e-4, of float16 as kept",
    "rmse/X": "root mean squared error of X to target, over inputs and outputs",
    "settled": "share of inputs on which honest numbers came within a thousandth of their first spread",
    "rand/X": "adjusted Rand index of X and truth",
    "score": "what score(X, y) said",
    "report/LINE": "what 0.2's report said: accuracies with tied classes shared (talks: mean of three), of "
    "numbers root mean squared errors",
}


def lean(arrays: Arrays, name: str, base: Arrays) -> Arrays:
    """Without what follows from the rest, and votes of liars in the shortest of their forms."""
    kept = {key: each for key, each in arrays.items() if key not in DROPPED}
    attacked = not name.endswith(".nobody")
    if name.startswith("trust.") and attacked and "final" in kept:
        kept.pop("after", None)  # within one in a hundred of the final votes; kept where these are honest
    if "decision_counts" not in kept:
        kept.pop("decision_settled", None)
    if attacked and not name.startswith(("pool-", "peer-10-sure")):
        kept.pop("likely", None)
    if attacked and "far-away-500" not in name and "values" in base:
        kept.pop("final", None)
    for key in ("votes", *(f"{shown}row_votes" for shown in ("", "all_", "ten_", "eps1_"))):
        if "liars" in kept and key in kept:
            forms = list(_forms(kept[key], base[key][kept["liars"].astype(np.int64)]))
            kept[key] = min(forms, key=lambda form: len(zlib.compress(form.tobytes())))
    return kept


def _forms(told: Any, own: Any) -> Iterator[Any]:
    """What liars say: as it is, as far as it is not what their models say, or one row for all of them."""
    yield told
    yield np.where(told == own, AS_MODEL, told).astype(np.int8)
    as_model, alike = (told == own).all(axis=0), (told == told[:1]).all(axis=0)
    if (as_model | alike).all():
        yield np.where(as_model, AS_MODEL, told[:1]).astype(np.int8)
        yield np.where(alike, told[:1], AS_MODEL).astype(np.int8)


def told_of(figures: Mapping[str, float], arrays: Arrays) -> dict[str, float]:
    """The figures of arrays that are kept, and those of no array."""
    return {
        name: round(value, 6)
        for name, value in figures.items()
        if "/" not in name or name.startswith("report/") or name.partition("/")[2] in arrays
    }


def pack(work: Work) -> None:
    """One file for each moot, and the index."""
    out = HERE / "moots"
    out.mkdir(exist_ok=True)
    for file in out.glob("*.npz"):
        file.unlink()
    moots, settings = {}, []
    for folder in sorted(each for each in work.folder.iterdir() if (each / "base.json").exists()):
        arrays: Arrays = {}
        lies = {"nobody": "nobody lies"}
        said = json.loads((folder / "base.json").read_text())
        base = _read(folder / "base.npz")
        arrays |= base
        for file in sorted(folder.glob("lies/*.npz")):
            lies[file.stem] = json.loads(file.with_suffix(".json").read_text())["about"]
            told = _read(file)
            kept = lean(told, file.stem, base)
            arrays |= {f"lies/{file.stem}/{key}": each for key, each in kept.items()}
        for file in sorted(folder.glob("settings/*.npz")):
            kept = lean(_read(file), file.stem, base)
            arrays |= {f"settings/{file.stem}/{key}": each for key, each in kept.items()}
            about = json.loads(file.with_suffix(".json").read_text())
            settings.append(
                {
                    "name": f"{folder.name}/{file.stem}", "moot": folder.name, "seed": said["seed"],
                    "use": said["use"], "lie": about["lie"], "rule": about["rule"],
                    "options": about["options"], "arrays": sorted(kept),
                    "figures": told_of(about["figures"], kept),
                    "warnings": about["warnings"],
                }
            )  # fmt: skip
        np.savez_compressed(out / f"{folder.name}.npz", allow_pickle=False, **arrays)
        moots[folder.name] = {
            "file": f"moots/{folder.name}.npz", "seed": said["seed"], "use": said["use"],
            "about": said["about"], "classes": said["classes"], "lies": lies,
            "arrays": {key: list(each.shape) for key, each in base.items()},
        }  # fmt: skip
    head = {
        "made_by": made_by(),
        "seeds": {"chosen": CHOSEN, "judge": JUDGE},
        "arrays": ARRAYS,
        "figures": FIGURES,
    }
    lines = [f"{json.dumps(key)}: {json.dumps(each)}" for key, each in head.items()]
    lines.append(
        '"moots": {\n' + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in moots.items()) + "\n}"
    )
    lines.append('"settings": [\n' + ",\n".join(map(json.dumps, settings)) + "\n]")
    (HERE / "index.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    size = sum(file.stat().st_size for file in out.iterdir()) + (HERE / "index.json").stat().st_size
    print(f"{len(settings)} settings of {len(moots)} moots, {size / 1e6:.1f} MB")


def _read(file: Path) -> Arrays:
    with np.load(file) as kept:
        return dict(kept)


def made_by() -> dict[str, str]:
    """Versions, and what kind of processor it was."""
    with np.errstate(all="ignore"):
        features = np.show_config(mode="dicts")["SIMD Extensions"]
    return {
        "folkmoot": f"{folkmoot.__version__}, commit 880f490",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "processor": f"{platform.machine()}, found: {', '.join(features.get('found', []))}",
    }


def families(arguments: argparse.Namespace) -> Iterator[tuple[str, Callable[[Work], None]]]:
    yield "plain", plain
    yield "crowds", crowds
    yield "numbers", numbers
    yield "regression", regression
    yield "clusters", clusters
    yield "estimators", lambda work: estimators(work, small_moots())
    if arguments.heart:
        yield "heart", lambda work: estimators(work, hospitals(arguments.heart))
    if arguments.femnist:
        yield "femnist", lambda work: femnist(work, arguments.femnist)


def main() -> None:
    parser = argparse.ArgumentParser(description="Freeze what folkmoot 0.2 answers.")
    parser.add_argument("--femnist", default=os.environ.get("FOLKMOOT_FEMNIST"), help="folder of FEMNIST")
    parser.add_argument("--heart", default=os.environ.get("FOLKMOOT_HEART"), help="folder of heart disease")
    parser.add_argument("--work", type=Path, default=Path("build/frozen"), help="folder of what is done")
    parser.add_argument("--family", help="only this family")
    parser.add_argument("--only", help="only moots whose name begins so")
    parser.add_argument("--pack", action="store_true", help="only write the files of what is done")
    arguments = parser.parse_args()
    if not folkmoot.__version__.startswith("0.2."):
        sys.exit(f"freeze.py needs folkmoot 0.2 (commit 880f490): this is {folkmoot.__version__}")
    work = Work(arguments.work, arguments.only)
    if not arguments.pack:
        for name, family in families(arguments):
            if arguments.family in (None, name):
                family(work)
    pack(work)


if __name__ == "__main__":
    main()
