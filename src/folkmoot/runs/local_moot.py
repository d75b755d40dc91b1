"""A whole moot on one machine: real processes with their own keys and models, real sockets, real faults.

What it comes to is put beside the centralised majority of the same first votes, and beside ``simulation``
of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from folkmoot import checks
from folkmoot.accuracy import share_right
from folkmoot.adversaries import ATTACKS
from folkmoot.arrays import Ints, PartProgress
from folkmoot.comparing import ACCURACY, CONSENSUS, Line, ParticipantTable, Report, compare
from folkmoot.comparing.participants import Role, participant_table
from folkmoot.datasets import MootData, load_digits_moot
from folkmoot.learning.base_learners import MODELS
from folkmoot.learning.participants import Task, fit_classifier
from folkmoot.network import Account, Terms
from folkmoot.network.service.asking import Voting
from folkmoot.network.storage.account import find, outcome_of
from folkmoot.network.storage.storage import DATABASE, Storage
from folkmoot.network.wire.verdict import first_votes
from folkmoot.protocols import Slush
from folkmoot.runs.processes import (
    Nodes,
    ask_while_some_fail,
    check_members,
    check_shown_rows,
    name_of,
    prepare,
)
from folkmoot.testing.node import attack_called
from folkmoot.votes import UNCOLOURED, Votes
from folkmoot.web.page import Opened, opened_at


@dataclass(frozen=True)
class LocalMoot:
    """How many take part, what goes wrong, and what is asked."""

    nodes: int = 25
    byzantine: int = 0
    attack: str = "malicious"
    kill: int = 0
    pause: int = 0
    inputs: int = 100
    k: int | None = None
    rounds: int = 50
    deadline: float = 30.0
    trust: bool = False
    repeats: int = 200  # of the simulation that it is compared with
    check_rows: int = 0  # that each shows: then it is by peer review, and by trust beside it
    voting: Voting = "labels"  # what is handed in, and weighed by peer review

    def check(self) -> None:
        """ValueError, with what is wrong."""
        check_members(self.nodes, 300, byzantine=self.byzantine, kill=self.kill, pause=self.pause)
        attack_called(self.attack)
        check_shown_rows(self.check_rows)
        if self.check_rows and self.trust:
            raise ValueError("give --peer-review or --trust, not both: peer review shows trust beside it")
        if not 1 <= checks.integer("inputs", self.inputs) <= 449:
            raise checks.ArgumentError(
                "{inputs} must satisfy 1 <= inputs <= 449, the digits set aside: got {inputs=}",
                inputs=self.inputs,
            )

        self._check_kind()

    def _check_kind(self) -> None:
        if self.voting not in get_args(Voting):
            raise ValueError(
                f"--voting must be {' or '.join(map(repr, get_args(Voting)))}: got {self.voting!r}"
            )
        if self.voting != "labels" and not self.check_rows:
            raise ValueError(
                f"--voting {self.voting} must be given with --peer-review: else labels are voted for"
            )

    @property
    def holds_out(self) -> bool:
        """Whether participants hold rows out, which tell them how good their models are."""
        return self.trust or self.check_rows > 0


@dataclass(frozen=True, eq=False)
class LocalResult:
    """What a local moot came to."""

    config: LocalMoot
    account: Account
    accuracy: float  # of what the moot decided; undecided is not right
    lines: list[Line]  # what a centre would have made of the same first votes
    simulated: float  # mean accuracy of the simulation of the same votes
    simulated_spread: float
    simulated_agreement: float
    contradictions: int  # inputs on which two honest nodes claim different decisions: must be 0
    byzantine: list[str]
    killed: list[str]
    paused: list[str]
    participants: ParticipantTable  # by what was revealed, and by what each signed at the end
    seconds: float
    folder: Path
    by_trust: float | None = None  # with peer review: accuracy of a motion by trust among the same nodes


@dataclass(frozen=True)
class LocalPage:
    """The page of the node that asks: its address; what is told where it is, and of the result."""

    address: str
    shown: Callable[[Opened], None]
    stay: Callable[[LocalResult], None]  # the nodes run until it returns


def play(
    config: LocalMoot,
    seed: int,
    folder: Path,
    report: PartProgress | None = None,
    page: LocalPage | None = None,
) -> LocalResult:
    """Fit, start, ask, break, compare; with ``page`` the nodes run until its ``stay`` returns."""
    config.check()
    began = time.monotonic()
    # What rows held out tell is worth something only if the inputs are somewhat like them.
    data = load_digits_moot(config.nodes, 10.0 if config.holds_out else 1.0, seed)
    assert data.X_test is not None  # noqa: S101 (the digits have a test set)
    assert data.y_test is not None  # noqa: S101
    inputs, truth = data.X_test[: config.inputs], data.y_test[: config.inputs]
    # The first one asks; who lies, is killed or paused is drawn among the others.
    drawn = (1 + np.random.default_rng(seed).permutation(config.nodes - 1)).tolist()
    liars, rest = drawn[: config.byzantine], drawn[config.byzantine :]
    killed, paused = rest[: config.kill], rest[config.kill : config.kill + config.pause]
    models, holdouts, measured = _fit(data, folder, set(liars), inputs, truth, config, report)
    nodes = prepare(
        folder, models, dict.fromkeys(liars, config.attack), holdouts=holdouts, check_rows=config.check_rows
    )
    if page is not None:
        nodes.pages[0] = page.address

    def result() -> LocalResult:
        honest = [place for place in range(config.nodes) if place not in liars]
        gone = {"killed": killed, "paused": paused}
        took = time.monotonic() - began
        found = _result(config, nodes, account, truth, liars, honest, gone, measured, took)
        return found if by_trust is None else replace(found, by_trust=_right(by_trust, truth))

    try:
        for place in range(config.nodes):
            nodes.start(place)
        nodes.wait(range(config.nodes), 60.0, _told(report, "nodes start", config.nodes))
        if page is not None:
            page.shown(opened_at(nodes.settings[0].folder))
        # Nobody fails in the motion that is only shown beside.
        by_trust = (
            _ask(replace(config, check_rows=0, voting="labels", trust=True), nodes, inputs, [], [], report)
            if config.check_rows
            else None
        )
        account = _ask(config, nodes, inputs, killed, paused, report)
        if page is not None:
            found = result()
            page.stay(found)
            return found
    finally:
        nodes.stop()
    return result()


def _fit(
    data: MootData,
    folder: Path,
    liars: set[int],
    inputs: Any,
    truth: Any,
    config: LocalMoot,
    report: PartProgress | None,
) -> tuple[list[str], dict[int, Path], Ints]:
    """A model on each one's own rows, as a file; a liar's knows the answers, so that it can avoid them.

    With trust the honest hold every third row out, which tells them how good their models are; then these
    are fitted on all rows. What a node is given of the rows held out is what the model said before that. With
    peer review all hold these rows out to show some of them, and no model has seen them.
    """
    import skops.io
    from sklearn.neighbors import KNeighborsClassifier

    files = []
    holdouts = {}
    measured = np.zeros((2, int(data.groups.max()) + 1), dtype=np.int64)  # right, held out
    for place in range(int(data.groups.max()) + 1):
        own = data.groups == place
        held = np.flatnonzero((np.arange(int(own.sum())) % 3 == 2) & config.holds_out)
        if config.check_rows:
            holdouts[place] = folder / f"{name_of(place)}.npz"
            np.savez(holdouts[place], X=data.X[own][held], y=data.y[own][held])
        if place in liars:
            model = KNeighborsClassifier(1).fit(inputs, truth)
        else:
            rows, labels = data.X[own], data.y[own]
            learner, again = MODELS["logistic"](), not config.check_rows
            participant = fit_classifier(
                Task(name_of(place), learner, None, rows, labels, None, held, None, refit=again)
            )
            model = participant.model
            measured[:, place] = participant.right, participant.held_out
            if participant.held_out and not config.check_rows:
                holdouts[place] = folder / f"{name_of(place)}.npz"
                true, said, times = zip(*participant.confusion, strict=True)
                np.savez(holdouts[place], y=np.repeat(true, times), answers=np.repeat(said, times))
        path = folder / f"{name_of(place)}.skops"
        skops.io.dump(model, path)
        files.append(str(path))
        if report is not None:
            report("models fitted", place + 1, int(data.groups.max()) + 1)
    return files, holdouts, measured


def _ask(
    config: LocalMoot,
    nodes: Nodes,
    inputs: Any,
    killed: list[int],
    paused: list[int],
    report: PartProgress | None,
) -> Account:
    terms = Terms(
        k=config.k,
        rounds=config.rounds,
        seconds=config.deadline,
        trust=config.trust,
        voting=config.voting,
        peer_review=config.check_rows > 0,
        labels=[str(digit) for digit in range(10)],
    )
    return ask_while_some_fail(nodes, inputs, terms, killed, paused, report)


def _result(
    config: LocalMoot,
    nodes: Nodes,
    account: Account,
    truth: Any,
    liars: list[int],
    honest: list[int],
    gone: dict[str, list[int]],
    measured: Ints,
    seconds: float,
) -> LocalResult:
    names = [participant.name for participant in nodes.roster]
    decided = _decided(account)
    votes, contradictions = _stored(nodes, account, honest)
    report = _simulated(config, account, votes, truth, liars, {*gone["killed"], *gone["paused"]})
    each = report.outcome.accuracies(truth)
    return LocalResult(
        config=config,
        account=account,
        accuracy=float(share_right(decided, truth)),
        lines=[line for line in report.lines if line.name != CONSENSUS],
        simulated=float(each.mean()),
        simulated_spread=float(each.std(ddof=1)) if len(each) > 1 else 0.0,
        simulated_agreement=float(report.outcome.agreement.mean()),
        contradictions=contradictions,
        byzantine=[names[place] for place in sorted(liars)],
        killed=[names[place] for place in sorted(gone["killed"])],
        paused=[names[place] for place in sorted(gone["paused"])],
        participants=_table(
            account.labels, account.trust, names, votes, decided, truth, liars, gone, measured
        ),
        seconds=seconds,
        folder=nodes.folder,
    )


def _decided(account: Account) -> Votes:
    labels = {label: number for number, label in enumerate(account.labels)}
    return np.array([UNCOLOURED if x is None else labels[x] for x in account.decisions])


def _right(account: Account, truth: Any) -> float:
    return float(share_right(_decided(account), truth))


def _table(
    labels: list[str],
    trusted: dict[str, float] | None,
    names: list[str],
    votes: Votes,
    decided: Votes,
    truth: Any,
    liars: list[int],
    gone: dict[str, list[int]],
    measured: Ints,
) -> ParticipantTable:
    """The row of each node, by what it revealed.

    ``trusted`` is how far the node that asked trusts each: it alone decides for itself.
    """
    faults = {i: f"{what} during the talk" for what, places in gone.items() for i in places}
    roles: list[Role] = [
        "malicious" if i in liars else "faulty" if i in faults else "honest" for i in range(len(names))
    ]
    right, held_out = measured
    return participant_table(
        ACCURACY,
        votes,
        truth,
        np.ones(len(truth), dtype=np.bool_),
        decided,
        names=names,
        roles=roles,
        classes=10,
        labels=labels,
        faults=faults,
        groups=(),
        weights=None if trusted is None else np.array([trusted.get(name, np.nan) for name in names]),
        estimated=None,
        holdout=(np.where(held_out > 0, right / np.maximum(held_out, 1), np.nan), held_out),
    )


def _simulated(
    config: LocalMoot, account: Account, votes: Votes, truth: Any, liars: list[int], gone: set[int]
) -> Report:
    """A simulation of the talk of those who stayed, beside other rules on the same first votes."""
    spoke = [i for i in range(len(votes)) if (votes[i] != UNCOLOURED).any() and i not in gone]
    own = votes[spoke]
    lying = [i for i, place in enumerate(spoke) if place in liars]
    own[lying] = truth  # what their models say; the adversaries do the rest
    return compare(
        own,
        Slush(account.k, checks.least_alpha(account.k)).scaled(len(spoke)),
        truth=truth,
        adversaries={i: ATTACKS[config.attack]() for i in lying},
        classes=10,
        rounds=config.rounds,
        repeats=config.repeats,
        batch="shared",
        missing="uncoloured",
    )


def _stored(nodes: Nodes, account: Account, honest: list[int]) -> tuple[Votes, int]:
    """First votes as revealed, and how many inputs honest nodes' claims differ on."""
    claims = []
    votes = None
    for place in honest:
        storage = Storage(nodes.settings[place].folder / DATABASE)
        try:
            stored = find(storage, account.motion)
            claims.append(outcome_of(storage, stored).decisions)
            if place == 0:
                held, n = storage.held(stored.name), len(nodes.roster)
                votes = first_votes(stored.motion, n, held.closes, held.committed, held.owners)
        except ValueError:
            continue  # killed before it heard of the motion
        finally:
            storage.close()
    table = np.stack(claims)
    highest = table.max(axis=0)
    lowest = np.where(table == UNCOLOURED, highest, table).min(axis=0)
    assert votes is not None  # noqa: S101 (place 0 has asked)
    return votes.astype(np.int64), int((highest != lowest).sum())


def _told(report: PartProgress | None, what: str, whole: int) -> Callable[[int], None] | None:
    return None if report is None else lambda done: report(what, done, whole)
