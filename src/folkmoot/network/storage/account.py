"""The account of a motion: what was decided, who took part, what it cost; from what one node has stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from folkmoot.network.storage.storage import Held, Storage, StoredMotion
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import LOCAL, Motion
from folkmoot.network.wire.number_verdict import NumberVerdict, first_numbers
from folkmoot.network.wire.tally import majorities, tallies
from folkmoot.network.wire.verdict import Verdict, first_votes, verdict


class Account(msgspec.Struct, frozen=True):
    """Everything that people ask about a motion, as one node knows it; participants by name.

    Parameters
    ----------
    motion : str
        Its name: the SHA-256 of its header, in hexadecimal.
    state : {"open", "closed"}
        Whether it is over for this node.
    asker : str
        Who put it.
    created : float
        When, in seconds since 1970 by the asker's clock.
    inputs : int
        How many inputs it holds.
    labels : list of str
        The possible answers.
    protocol : str
        The rule of the talk.
    k : int
        How many peers are asked in a round.
    alpha : int or "local"
        How many equal answers win a round.
    rounds : int
        How often each participant asks at the most.
    decisions : list of str or None
        A label for each input on which a quorum has signed one that enough had voted for, else None.
    agreement : list of float
        For each input, the share of those who closed that hold the most common label.
    first_votes : list of dict
        For each input, how many of those who closed had voted for each label at first.
    majority : list of str or None
        The label that most of these had; None if labels are level or nobody voted.
    undecided : int
        Inputs without a decision.
    why_undecided : list of str or None
        Why there is none, for each input; None where there is one.
    participants : int
        How many are in the roster.
    quorum : int
        How many must sign a label.
    least_voters : int
        How many must have voted for it at first; 0 with trust.
    took_part : list of str
        Who signed a close that counts.
    silent : list of str
        Who did not close.
    late : list of str
        Who committed to its votes after the talk had begun.
    abstained : dict
        Who had no vote at first, and why.
    evidence : dict
        Who contradicted itself, and how.
    trust : dict or None
        How far this node trusts each participant, if the motion wanted trust.
    anchored : bool or None
        Whether that trust rests on rows of which this node knows the truth.
    why : str
        On what the trust rests, or why there is none.
    rounds_played : int
        Rounds that this node asked.
    queries : int
        Questions that it sent in them.
    bytes_sent : int
        Bytes that it sent.
    bytes_received : int
        Bytes that it received.
    seconds : float
        How long it took.
    refused : dict
        Who told this node that it takes no part, and why.
    answers : {"labels", "probabilities", "numbers"}
        What was asked for. With numbers, ``decisions`` are the claims as text.
    tol : float or None
        How far apart the numbers of a quorum may be, and so two claims; None for labels.
    claims : list
        For each input the number that is claimed, or a list of a number for each label; None where there is
        none. Probabilities are as they were agreed on, class by class: scale them to add up to 1. Empty for
        labels.
    first_numbers : list of list of float
        For each input the lowest, the median and the highest of the first numbers of those who closed; with
        numbers only.
    windows : list of (list of float) or None
        For each input the ends of the window that the claim is the middle of: the lowest and the highest of a
        quorum's numbers, at most ``tol`` apart; None where nothing is claimed. With numbers only.
    check_rows : dict or None
        How many check rows of each participant this node learnt from; None if the motion has none, or they
        were not opened.
    vanished : list of str
        Whose check rows were dropped, since it did not open their labels.
    without_rows : dict
        At the asker of a motion by peer review: who sent no check rows, and why.
    columns : list of str
        What the columns of the inputs are called; none if they have no names, and nobody could check them.

    Examples
    --------
    >>> from folkmoot.network import ask
    >>> account = ask(X, via="north")  # doctest: +SKIP
    >>> account.undecided, account.silent  # doctest: +SKIP
    (0, ['east'])
    """

    motion: str
    state: str
    asker: str
    created: float
    inputs: int
    labels: list[str]
    protocol: str
    k: int
    alpha: int | str
    rounds: int
    decisions: list[str | None]
    agreement: list[float]
    first_votes: list[dict[str, int]]
    majority: list[str | None]
    undecided: int
    why_undecided: list[str | None]
    participants: int
    quorum: int
    least_voters: int
    took_part: list[str]
    silent: list[str]
    late: list[str]
    abstained: dict[str, str]
    evidence: dict[str, str]
    trust: dict[str, float] | None
    anchored: bool | None
    why: str
    rounds_played: int
    queries: int
    bytes_sent: int
    bytes_received: int
    seconds: float
    refused: dict[str, str] = {}  # msgspec makes a new one for each account
    columns: list[str] = []
    answers: str = "labels"
    tol: float | None = None
    claims: list[float | list[float] | None] = []
    first_numbers: list[list[float]] = []
    windows: list[list[float] | None] = []
    check_rows: dict[str, int] | None = None
    vanished: list[str] = []
    without_rows: dict[str, str] = {}


def account(storage: Storage, stored: StoredMotion) -> Account:
    """What this node knows of a motion."""
    return account_of(stored, storage.held(stored.name))


def account_of(stored: StoredMotion, held: Held) -> Account:
    """The same, of what was read already: no database is needed, so that a thread may do it."""
    motion, names, said = stored.motion, stored.names, stored.summary
    proofs, outcome = held.evidence, outcome_in(stored, held)
    first = tallies(first_votes(motion, len(names), held.closes, outcome.closed, held.owners), motion.labels)
    claims = _claims(motion, outcome)
    return Account(
        motion=stored.name.hex(),
        state="open" if stored.closed is None else "closed",
        asker=names[motion.asker],
        created=motion.created,
        inputs=motion.asked,
        labels=list(motion.labels),
        protocol=motion.protocol,
        k=motion.k,
        alpha="local" if motion.alpha == LOCAL and motion.is_labels else motion.alpha,
        rounds=motion.rounds,
        decisions=_decisions(motion, outcome, claims),
        agreement=[round(share, 6) for share in outcome.agreement.tolist()],
        first_votes=first,
        majority=majorities(first),
        undecided=outcome.undecided,
        why_undecided=why_undecided(stored, outcome),
        participants=len(names),
        quorum=outcome.quorum,
        least_voters=outcome.least_voters,
        took_part=[names[place] for place in outcome.closed],
        silent=[names[place] for place in outcome.silent],
        late=[names[place] for place in said.get("late", [])],
        abstained={names[place]: why for place, why in outcome.abstained.items()},
        evidence={names[place]: statements.kind(proof) for place, proof in proofs},
        trust=dict(zip(names, said["trust"], strict=True)) if "trust" in said else None,
        anchored=said.get("anchored"),
        why=said.get("why", ""),
        rounds_played=said.get("rounds", 0),
        queries=said.get("queries", 0),
        bytes_sent=said.get("bytes_sent", 0),
        bytes_received=said.get("bytes_received", 0),
        seconds=said.get("seconds", 0.0),
        refused={names[int(place)]: why for place, why in said.get("refused", {}).items()},
        columns=[column.name for column in motion.schema],
        answers=motion.answers,
        tol=None if motion.is_labels else motion.tol,
        claims=claims,
        first_numbers=first_numbers(motion, held.closes, outcome.closed, held.owners),
        windows=_windows(motion, outcome),
        check_rows=_check_rows(names, said),
        vanished=[names[place] for place in said.get("vanished", [])],
        without_rows={names[int(place)]: why for place, why in said.get("without_rows", {}).items()},
    )


def _check_rows(names: Sequence[str], said: dict[str, Any]) -> dict[str, int] | None:
    if "check_rows" not in said:
        return None
    return {names[int(place)]: rows for place, rows in said["check_rows"].items()}


def _claims(motion: Motion, outcome: Verdict) -> list[float | list[float] | None]:
    if not isinstance(outcome, NumberVerdict):
        return []
    claimed = zip(outcome.claimed.tolist(), outcome.claims.tolist(), strict=True)
    single = motion.answers == "numbers"
    return [(each[0] if single else each) if there else None for there, each in claimed]


def _windows(motion: Motion, outcome: Verdict) -> list[list[float] | None]:
    if motion.answers != "numbers" or not isinstance(outcome, NumberVerdict):
        return []
    middles, halves = outcome.claims[:, 0].tolist(), (outcome.widths[:, 0] / 2).tolist()
    there = zip(outcome.claimed.tolist(), middles, halves, strict=True)
    return [[middle - half, middle + half] if claimed else None for claimed, middle, half in there]


def _decisions(motion: Motion, outcome: Verdict, claims: Sequence[object]) -> list[str | None]:
    if motion.answers == "numbers":
        return [None if each is None else str(each) for each in claims]
    return [None if colour < 0 else motion.labels[colour] for colour in outcome.decisions.tolist()]


def outcome_of(storage: Storage, stored: StoredMotion) -> Verdict:
    """The verdict of the closes that are stored."""
    return outcome_in(stored, storage.held(stored.name))


def outcome_in(stored: StoredMotion, held: Held) -> Verdict:
    """The same, of what was read already."""
    cheats = {place for place, _ in held.evidence}
    place, trust = stored.summary.get("place"), stored.summary.get("believed", stored.summary.get("trust"))
    return verdict(stored.motion, len(stored.members), held.closes, cheats, place, trust, held.owners)


def why_undecided(stored: StoredMotion, outcome: Verdict) -> list[str | None]:
    """Why each input has no decision; None where it has one."""
    if not stored.motion.trust:
        return outcome.why_undecided()
    anchored = stored.summary.get("anchored", False)
    why = "those whom it trusts do not hold the same" if anchored else "this node trusts nobody"
    return [why if colour < 0 else None for colour in outcome.decisions.tolist()]


def find(storage: Storage, prefix: str) -> StoredMotion:
    """The motion whose name begins so; ValueError if there is none or more than one."""
    return storage.motion(find_name(storage, prefix))


def find_name(storage: Storage, prefix: str) -> bytes:
    """Its name alone, which costs less."""
    found: list[bytes] = []
    if prefix == "last":
        found = storage.names(last=1)
    elif 4 <= len(prefix) <= 64 and not prefix.lower().strip("0123456789abcdef"):
        found = storage.names(prefix=prefix.lower())
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(
            f"{prefix!r} must begin the name of one motion: {len(found)} begin so; type more of it"
        )
    raise ValueError(
        f"there is no motion {prefix!r} at this node: type 4 or more digits of its name, or 'last' "
        "(folkmoot motions lists them)"
    )


def decisions_table(account: Account) -> tuple[list[str], list[list[str]]]:
    """``input,label,agreement``, as it is written for spreadsheets; an undecided input has no label."""
    rows = enumerate(zip(account.decisions, account.agreement, strict=True))
    return ["input", "label", "agreement"], [
        [str(i), label or "", f"{share:.4f}"] for i, (label, share) in rows
    ]


def as_dict(value: Account) -> dict[str, Any]:
    """For ``--json``."""
    return msgspec.structs.asdict(value)
