"""``deceptive-member``: what a few lying members of a small moot cost, by the way to an answer.

Moots have 6, 7 or 10 of ten language detectors (``votes.json``), or 6 or 7 of seven sentiment lexica
(``sentiment.json``). Of them 1, 2 and 3 lie, the most that a network tolerates. ``capitals.py`` has answers
that are texts. All ways to an answer see the same votes. A chairman is one member, drawn by lot, that reads
all votes and decides. If it is honest, it takes the plurality, with its own vote where that is tied. If it
lies, it says its lie.

Liars know all honest votes. For each input they agree on the wrong label that most honest members gave, or on
the next language if nobody was wrong. They lie always, or on a quarter of inputs and shown rows.

For peer review and ``auto`` each member shows ten labelled messages, which are not scored. Liars show theirs
with wrong labels, or with right ones if they lie on a quarter only. Nobody can tell shown rows from inputs.

No constant was chosen by these votes. The seed of a draw chooses the members, the liars and the shown rows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from experiments.deceptive_member import capitals
from experiments.experiment import Experiment, Finding, Plan, Result
from folkmoot.aggregation import Auto, DawidSkene, Known, PeerReview, Plurality, Rows
from folkmoot.aggregation.aggregating import aggregate
from folkmoot.arrays import Floats, Ints
from folkmoot.votes import NO_VOTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILES: Final = {"detectors": "votes.json", "lexica": "sentiment.json"}
# Voters, members, and how many of them may lie.
MOOTS: Final = (
    ("detectors", 6, 1),
    ("detectors", 7, 2),
    ("detectors", 10, 3),
    ("lexica", 6, 1),
    ("lexica", 7, 2),
)
SHOWN: Final = 10  # rows of each member
LIES: Final = ("nobody", "always", "a quarter")
_LYING: Final = {"nobody": "nobody lies", "always": "1 lies always"}
WAYS: Final = (
    "a member alone",  # the mean honest member
    "chairman",  # one member reads all votes and decides
    "majority",  # the plurality of votes, ties shared
    "Dawid-Skene",  # votes by how well they fit together
    "moot, plurality",  # at least f + 1 votes, ties undecided
    "moot, peer review",  # the plurality of final votes
    "moot, auto",  # the plurality of final votes, each by the rule that rows left out bear out
)


@dataclass(frozen=True)
class Config:
    """How many draws of members and liars."""

    draws: int = 20


@dataclass(frozen=True)
class DeceptiveResult(Result):
    """Accuracy by members, lie and way: the mean over draws, and its standard error.

    ``texts`` has that of a language model's answers, by lie and way.
    """

    accuracy: dict[str, dict[str, tuple[float, float]]]
    texts: dict[str, dict[str, float]]


@cache
def recorded(voters: str) -> tuple[Ints, Ints]:
    """Votes (voter, text) and the truth, as classes."""
    found = json.loads((Path(__file__).parent / FILES[voters]).read_text(encoding="utf-8"))
    labels = sorted({*found["truth"], *(each for said in found["votes"].values() for each in said if each)})
    place = {label: i for i, label in enumerate(labels)}
    votes = [[place[each] if each else NO_VOTE for each in said] for said in found["votes"].values()]
    return np.array(votes), np.array([place[each] for each in found["truth"]])


def lies(honest: Ints, truth: Ints) -> Ints:
    """The wrong label of each input that most honest members gave; the next class if there is none."""
    classes = int(max(honest.max(), truth.max())) + 1
    counts = np.stack([(honest == each).sum(axis=0) for each in range(classes)])
    counts[truth, np.arange(len(truth))] = -1
    return np.where(counts.max(axis=0) > 0, counts.argmax(axis=0), (truth + 1) % classes)


def shares(votes: Ints, truth: Ints) -> Floats:
    """How right the plurality is on each input: a tie of m labels counts 1/m if one of them is right."""
    counts = np.stack([(votes == each).sum(axis=0) for each in range(int(max(votes.max(), truth.max())) + 1)])
    level = counts == counts.max(axis=0)
    right: Floats = level[truth, np.arange(len(truth))] / level.sum(axis=0)
    return right


def one(voters: str, members: int, liars: int, lie: str, seed: int) -> dict[str, float]:
    """The accuracy of every way in one draw."""
    rng = np.random.default_rng([seed, members])
    everybody, right = recorded(voters)
    order = rng.permutation(len(right))
    shown, scored = order[: members * SHOWN], order[members * SHOWN :]
    votes = everybody[rng.permutation(len(everybody))[:members]].copy()
    lying = np.arange(members) < (0 if lie == "nobody" else liars)
    told = right.copy()
    falsehood = lies(votes[~lying], right)
    if lying.any():
        at = np.ones(len(right), dtype=bool) if lie == "always" else rng.random(len(right)) < 0.25
        votes[lying] = np.where(at, falsehood, votes[lying])
    owner = np.arange(len(shown)) % members
    labels = told[shown]
    if lie == "always":
        labels = np.where(lying[owner], falsehood[shown], labels)
    table, truth = votes[:, scored], right[scored]
    plural = float(shares(table, truth).mean())
    known = Known(rows=Rows(votes[:, shown], labels, owner))
    reviewed, best = (rule.final_votes(table, known).votes.copy() for rule in (PeerReview(), Auto()))
    for final in (reviewed, best):
        final[lying] = table[lying]
    return {
        "a member alone": float((table[~lying] == truth).mean()),
        "chairman": float(
            np.mean([_chaired(table, truth, chair, bool(lying[chair])) for chair in range(members)])
        ),
        "majority": plural,
        "Dawid-Skene": float((aggregate(table, DawidSkene()).decision == truth).mean()),
        "moot, plurality": float((aggregate(table, Plurality(least=liars + 1)).decision == truth).mean()),
        "moot, peer review": float((aggregate(reviewed, Plurality()).decision == truth).mean()),
        "moot, auto": float((aggregate(best, Plurality()).decision == truth).mean()),
    }


def _chaired(table: Ints, truth: Ints, chair: int, lying: bool) -> float:
    """How often a chairman is right."""
    if lying:
        return float((table[chair] == truth).mean())
    counts = np.stack([(table == each).sum(axis=0) for each in range(int(table.max()) + 1)]) * 2.0
    voted = table[chair] != NO_VOTE
    counts[table[chair][voted], np.flatnonzero(voted)] += 1  # breaks a tie, and overrules nobody
    return float((counts.argmax(axis=0) == truth).mean())


def cells(config: Config, seed: int) -> Plan:
    """A cell for each draw."""
    return {
        "draws": {
            (voters, members, liars, lie, draw): partial(
                one, voters=voters, members=members, liars=liars, lie=lie, seed=1000 * seed + draw
            )
            for voters, members, liars in MOOTS
            for lie in LIES
            for draw in range(config.draws)
        },
        "texts": {lie: partial(capitals.scored, lies=lie == "always") for lie in LIES[:2]},
    }


def named(voters: str, members: int, liars: int, lie: str) -> str:
    """A setting in words."""
    if lie == "nobody":
        return f"{members} {voters}, nobody lies"
    verb = "lies" if liars == 1 else "lie"
    return f"{members} {voters}, {liars} {verb} {lie if lie == 'always' else 'on a quarter'}"


def result(config: Config, found: Any) -> DeceptiveResult:
    """Means over draws; ours beside the ways that it replaces."""
    accuracy: dict[str, dict[str, tuple[float, float]]] = {}
    for voters, members, liars in MOOTS:
        for lie in LIES:
            some = [found["draws"][voters, members, liars, lie, draw] for draw in range(config.draws)]
            values = {way: np.array([each[way] for each in some]) for way in WAYS}
            accuracy[named(voters, members, liars, lie)] = {
                way: (float(all_.mean()), float(all_.std(ddof=1) / len(all_) ** 0.5))
                for way, all_ in values.items()
            }
    findings = [
        Finding(
            setting,
            "beyond the paper",
            "; ".join(f"{way} {mean:.3f} ± {error:.3f}" for way, (mean, error) in by.items()),
            holds=None if "nobody" in setting else by["moot, auto"][0] > by["chairman"][0],
        )
        for setting, by in accuracy.items()
    ]
    texts = {f"{capitals.MEMBERS} prompts, {_LYING[lie]}": found["texts"][lie] for lie in LIES[:2]}
    findings += [
        Finding(
            setting,
            "beyond the paper",
            "; ".join(f"{way} {share:.3f}" for way, share in by.items()),
            holds=None if "nobody" in setting else by["moot, same"] > by["chairman"],
        )
        for setting, by in texts.items()
    ]
    held = sum(bool(each.holds) for each in findings)
    of = sum(each.holds is not None for each in findings)
    return DeceptiveResult(
        f"a moot is ahead of a chairman in {held} of {of} settings with liars",
        tuple(findings),
        (
            f"{config.draws} draws of members, liars and shown rows; 1,500 messages in 25 languages, and "
            "1,496 snippets that are positive or negative",
            "voters were made by others; their errors correlate, and so do those of language models",
            "of two labels, whoever always lies tells the truth turned round: rules that learn this are then "
            "right, and only lies on a quarter are a fair measure of lexica",
            f"prompts are SmolLM2-135M under {capitals.MEMBERS} prompts, asked for the capitals of "
            f"{len(capitals.recorded())} countries: a standard error is about .1, and "
            f"{capitals.unreadable():.0%} of the choices of its own were in no form of a choice",
        ),
        accuracy,
        texts,
    )


def figures(found: DeceptiveResult) -> dict[str, Figure]:
    """Accuracy by way, for each moot with nobody lying and with liars."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 6.6), layout="constrained")
    panels = figure.subplots(2, 3).flat
    ways = [way for way in WAYS if way != "a member alone"]
    colours = ("#c0504d", "#e0a030", "#7f7f7f", "#9db8d9", "#2f6db5", "#1b3f73")
    for axes, (voters, members, liars) in zip(panels, MOOTS, strict=False):
        for i, (way, colour) in enumerate(zip(ways, colours, strict=True)):
            by = [found.accuracy[named(voters, members, liars, lie)][way] for lie in LIES]
            places = np.arange(len(LIES)) + 0.13 * (i - 2.5)
            axes.bar(
                places,
                [mean for mean, _ in by],
                0.12,
                yerr=[error for _, error in by],
                color=colour,
                label=way,
            )
        axes.set_xticks(range(len(LIES)), ["nobody lies", "always", "on a quarter"])
        axes.set_title(f"{members} {voters}, {liars} deceptive", fontsize=10)
        axes.set_ylim(0.4, 1.0)
    _draw_texts(figure.axes[-1], found.texts)
    first = figure.axes[0]
    for axes in figure.axes[::3]:
        axes.set_ylabel("accuracy")
    figure.legend(*first.get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8)
    return {"deceptive-member": figure}


def _draw_texts(axes: Any, texts: dict[str, dict[str, float]]) -> None:
    """Shares of right answers by way."""
    ways = [way for way in capitals.WAYS if way != "a member alone"]
    for i, (label, by) in enumerate(texts.items()):
        axes.barh(
            np.arange(len(ways)) + 0.36 * i, [by.get(way, np.nan) for way in ways], 0.34,
            color=("#9db8d9", "#c0504d")[i], label=label.partition(", ")[2],
        )  # fmt: skip
    axes.set_yticks(np.arange(len(ways)) + 0.18, ways, fontsize=8)
    axes.invert_yaxis()
    axes.set(xlim=(0.0, 1.0), xlabel="right answers")
    axes.set_title(f"SmolLM2, {capitals.MEMBERS} prompts", fontsize=10)
    axes.legend(fontsize=8)


EXPERIMENT: Final = Experiment(
    name="deceptive-member",
    about="a few deceptive members against a chairman, a majority, Dawid-Skene and a moot",
    claim="beyond the paper: one deceptive member of six steers a chairman, and hardly a moot",
    full=Config(),
    quick=Config(draws=4),
    cells=cells,
    result=result,
    figures=figures,
)
