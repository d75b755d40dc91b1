"""The account of a motion: what was decided, who took part, what it cost; from what one node has stored."""

from __future__ import annotations

from typing import Any

import msgspec

from folkmoot.network.storage.storage import Held, Storage, StoredMotion
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import LOCAL
from folkmoot.network.wire.verdict import Verdict, verdict


class Account(msgspec.Struct, frozen=True):
    """Everything that people ask about a motion; participants by name."""

    motion: str
    state: str  # "open", "closed"
    asker: str
    created: float
    inputs: int
    labels: list[str]
    protocol: str
    k: int
    alpha: int | str
    rounds: int
    decisions: list[str | None]  # a label where a quorum has signed it
    agreement: list[float]
    undecided: int
    participants: int
    quorum: int
    took_part: list[str]
    silent: list[str]
    late: list[str]
    abstained: dict[str, str]
    evidence: dict[str, str]
    trust: dict[str, float] | None  # this node's own, if the motion wanted it
    anchored: bool | None
    why: str  # on what the trust rests, or why there is none
    rounds_played: int
    queries: int
    bytes_sent: int
    bytes_received: int
    seconds: float


def account(storage: Storage, stored: StoredMotion) -> Account:
    """What this node knows of a motion."""
    motion, names, said = stored.motion, stored.names, stored.summary
    held = storage.held(stored.name)
    proofs, outcome = held.evidence, _outcome(stored, held)
    return Account(
        motion=stored.name.hex(),
        state="open" if stored.closed is None else "closed",
        asker=names[motion.asker],
        created=motion.created,
        inputs=motion.inputs,
        labels=list(motion.labels),
        protocol=motion.protocol,
        k=motion.k,
        alpha="local" if motion.alpha == LOCAL else motion.alpha,
        rounds=motion.rounds,
        decisions=[None if colour < 0 else motion.labels[colour] for colour in outcome.decisions.tolist()],
        agreement=[round(share, 6) for share in outcome.agreement.tolist()],
        undecided=outcome.undecided,
        participants=len(names),
        quorum=outcome.quorum,
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
    )


def outcome_of(storage: Storage, stored: StoredMotion) -> Verdict:
    """The verdict of the closes that are stored."""
    return _outcome(stored, storage.held(stored.name))


def _outcome(stored: StoredMotion, held: Held) -> Verdict:
    cheats = {place for place, _ in held.evidence}
    place, trust = stored.summary.get("place"), stored.summary.get("trust")
    return verdict(stored.motion, len(stored.members), held.closes, cheats, place, trust)


def find(storage: Storage, prefix: str) -> StoredMotion:
    """The motion whose name begins so; ValueError if there is none or more than one."""
    found: list[bytes] = []
    if prefix == "last":
        found = storage.names(last=1)
    elif 4 <= len(prefix) <= 64 and not prefix.lower().strip("0123456789abcdef"):
        found = storage.names(prefix=prefix.lower())
    if len(found) == 1:
        return storage.motion(found[0])
    if found:
        raise ValueError(
            f"{prefix!r} must begin the name of one motion: {len(found)} begin so; type more of it"
        )
    raise ValueError(
        f"there is no motion {prefix!r} at this node: type 4 or more digits of its name, or 'last' "
        "(folkmoot motions lists them)"
    )


def as_dict(value: Account) -> dict[str, Any]:
    """For ``--json``."""
    return msgspec.structs.asdict(value)
