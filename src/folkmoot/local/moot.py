"""A moot on one machine: models on digits in real processes, of which some lie or die, and what it decides.

Each participant fits a model on its own digits. A malicious one votes for the label after the right one, as
all others of its kind do. Or it breaks the rules of the motion (``testing/malicious.py``) as well.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from folkmoot import checks
from folkmoot.arrays import Array, Bools, Ints, PartProgress
from folkmoot.datasets import load_digits_moot
from folkmoot.datasets.moot_data import MootData
from folkmoot.learning.base_learners import MODELS
from folkmoot.local.processes import Member, Nodes, name_of, prepare
from folkmoot.node.service.operation import web_server
from folkmoot.outcome import share_right
from folkmoot.testing.malicious import MALICIOUS
from folkmoot.votes import NO_VOTE

WRONG_VOTES: Final = "wrong-votes"
ATTACKS: Final = (WRONG_VOTES, *MALICIOUS)
MOST_NODES: Final = 300
MOST_INPUTS: Final = 449  # digits that are set aside
_DIGITS: Final = 10
_ROWS: Final = 10  # validation rows that each may show
_STARTED: Final = 120.0  # seconds until all must run


@dataclass(frozen=True)
class LocalMoot:
    """Members, faults and terms of a local moot."""

    nodes: int = 7
    malicious: int = 0
    attack: str = WRONG_VOTES
    kill: int = 0
    inputs: int = 100
    terms: dict[str, Any] = field(default_factory=dict)
    seed: int = 0

    def check(self) -> None:
        """ArgumentError, with what is wrong."""
        if not 3 <= checks.integer("nodes", self.nodes) <= MOST_NODES:
            raise checks.ArgumentError(
                f"{{nodes}} must satisfy 3 <= nodes <= {MOST_NODES}: got {{nodes=}}", nodes=self.nodes
            )
        if not 1 <= checks.integer("inputs", self.inputs) <= MOST_INPUTS:
            raise checks.ArgumentError(
                f"{{inputs}} must be within 1..{MOST_INPUTS}, the digits set aside: got {{inputs=}}",
                inputs=self.inputs,
            )
        checks.one_of("attack", self.attack, ATTACKS)
        for name, many in (("malicious", self.malicious), ("kill", self.kill)):
            checks.integer(name, many, least=0)
        if self.malicious + self.kill > self.nodes - 2:
            raise checks.ArgumentError(
                "{malicious} and {kill} must leave two honest nodes: got {many!s} of {n!s}",
                many=self.malicious + self.kill, n=self.nodes,
            )  # fmt: skip

    @property
    def holds_out(self) -> bool:
        """Whether members need rows that tell them how good their models are."""
        return self.terms.get("believe") == "own" or self.terms.get("alpha") == "local"


@dataclass(frozen=True, eq=False)
class LocalResult:
    """The result of a local moot."""

    moot: LocalMoot
    account: dict[str, Any]
    decided: float  # accuracy; undecided is not right
    best: float  # of the honest models
    mean: float
    majority: float  # of all first votes
    contradictions: int  # inputs on which two honest nodes hold different answers
    malicious: list[str]
    killed: list[str]
    seconds: float


@dataclass(frozen=True, eq=False)
class _Setting:
    """The digits, who lies, who is killed, and what each model says of the inputs."""

    inputs: Array
    truth: Ints
    malicious: list[int]
    killed: list[int]
    said: Ints  # (node, input)


def play(moot: LocalMoot, folder: Path, report: PartProgress | None = None) -> LocalResult:
    """Fit, start, ask, break, compare."""
    moot.check()
    web_server()  # whose packages may be missing
    began = time.monotonic()
    members, setting = _fitted(moot, folder, report)
    nodes = prepare(folder, members)
    try:
        connected = None if report is None else (lambda done: report("nodes connected", done, moot.nodes))
        nodes.start_all(_STARTED, connected)
        account = _asked(moot, nodes, setting, report)
        answers = _answers(moot, nodes, setting, account)
    finally:
        nodes.stop()
    honest = [place for place in range(moot.nodes) if place not in setting.malicious]
    each = np.array([share_right(setting.said[place], setting.truth) for place in honest])
    return LocalResult(
        moot,
        account,
        float(share_right(_numbers(account["decisions"]), setting.truth)),
        float(each.max()),
        float(each.mean()),
        float(share_right(_most_voted(setting.said), setting.truth)),
        _contradictions(answers),
        [name_of(place) for place in sorted(setting.malicious)],
        [name_of(place) for place in sorted(setting.killed)],
        time.monotonic() - began,
    )


def _fitted(moot: LocalMoot, folder: Path, report: PartProgress | None) -> tuple[list[Member], _Setting]:
    """A model on each one's own digits, as a file; a malicious one answers as all of them do."""
    import skops.io
    from sklearn.neighbors import KNeighborsClassifier

    # Held-out rows measure accuracy only if inputs resemble them.
    data = load_digits_moot(moot.nodes, 10.0 if moot.holds_out else 1.0, moot.seed)
    assert data.X_test is not None  # noqa: S101 (the digits have a test set)
    assert data.y_test is not None  # noqa: S101
    inputs, truth = data.X_test[: moot.inputs], data.y_test[: moot.inputs].astype(np.int64)
    # The first one asks; who lies or is killed is drawn among the others.
    drawn = (1 + np.random.default_rng(moot.seed).permutation(moot.nodes - 1)).tolist()
    malicious, killed = drawn[: moot.malicious], drawn[moot.malicious : moot.malicious + moot.kill]
    members, said = [], np.full((moot.nodes, moot.inputs), NO_VOTE, dtype=np.int64)
    for place in range(moot.nodes):
        held, settings = _held_out(moot, data, place), {}
        rows, labels = data.X[data.groups == place], data.y[data.groups == place]
        if place in malicious:
            model: Any = KNeighborsClassifier(1).fit(inputs, (truth + 1) % _DIGITS)
        else:
            model = MODELS["logistic"]().fit(rows[~held], labels[~held])
        if held.any():
            settings["holdout"] = f"../{name_of(place)}.npz"
            np.savez(folder / f"{name_of(place)}.npz", X=rows[held], y=labels[held])
        said[place] = model.predict(inputs)
        skops.io.dump(model, folder / f"{name_of(place)}.skops")
        settings["model"] = f"../{name_of(place)}.skops"
        lies = MALICIOUS.get(moot.attack) if place in malicious else None
        policy = {"validation_rows": _ROWS} if held.any() and moot.terms.get("rows") else {}
        members.append(Member(settings.pop("model"), settings, policy, lies))
        if report is not None:
            report("models fitted", place + 1, moot.nodes)
    return members, _Setting(inputs, truth, malicious, killed, said)


def _held_out(moot: LocalMoot, data: MootData, place: int) -> Bools:
    """Every third row of a participant, if members need to know how good their models are."""
    own = int((data.groups == place).sum())
    held: Bools = (np.arange(own) % 3 == 2) & moot.holds_out
    return held


def _asked(moot: LocalMoot, nodes: Nodes, setting: _Setting, report: PartProgress | None) -> dict[str, Any]:
    """The first node asks; as soon as members have committed to votes, some are killed."""
    left = list(setting.killed)

    def progress(account: dict[str, Any]) -> None:
        live = account["live"]
        if live is None:
            return
        if report is not None:
            report("members that voted", len(live["committed"]), moot.nodes)
        if live["committed"]:
            while left:
                nodes.kill(left.pop())

    terms = {"labels": [str(digit) for digit in range(_DIGITS)], **moot.terms}
    return nodes.client(0).ask(setting.inputs, progress=progress, **terms).details


def _answers(moot: LocalMoot, nodes: Nodes, setting: _Setting, account: dict[str, Any]) -> list[list[Any]]:
    """The decisions at each honest node that runs, after the motion."""
    gone = {*setting.malicious, *setting.killed}
    found = []
    for place in range(moot.nodes):
        if place not in gone:
            answer = nodes.client(place).answer(account["motion"], wait=30.0)
            if answer.details["state"] == "decided":
                found.append(answer.decisions)
    return found


def _contradictions(answers: Sequence[Sequence[Any]]) -> int:
    return sum(len(set(each)) > 1 for each in zip(*answers, strict=True))


def _numbers(decisions: Sequence[str | None]) -> Ints:
    return np.array([NO_VOTE if each is None else int(each) for each in decisions], dtype=np.int64)


def _most_voted(said: Ints) -> Ints:
    """The label that most models gave; of several, the first: no rule of ours, to compare with."""
    counts = (said[:, :, None] == np.arange(_DIGITS)).sum(axis=0)
    found: Ints = counts.argmax(axis=1).astype(np.int64)
    return found
