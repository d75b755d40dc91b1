"""The contents of a node's file: a certificate, evidence, an audit log or a roster, as the file says itself.

All of it is checked with the roster alone: signatures, hashes, and the answer of a motion, which is computed
again. A ``ValueError`` of one line says what does not hold.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias

from folkmoot.node import certificate
from folkmoot.node.account import Account, account_of_outcome
from folkmoot.node.certificate import CAVEAT, Outcome
from folkmoot.node.evidence import Proven, check_evidence
from folkmoot.node.membership.roster import Roster
from folkmoot.node.rosters.history import Proposal
from folkmoot.node.rosters.roster_file import read_roster_text
from folkmoot.node.storage.audit import check_export, check_goes_on

Kind: TypeAlias = Literal["certificate", "evidence", "audit", "roster"]
NAMES: Final[dict[Kind, str]] = {
    "certificate": "a certificate",
    "evidence": "a piece of evidence",
    "audit": "an audit log",
    "roster": "a roster that replaces another",
}
MOST_BYTES: Final = 1 << 30  # of any file: an audit log has a line for each entry
_SAID: Final = re.compile(rb'"format":"folkmoot (certificate|evidence|audit) \d{1,4}"')
_SAID_WITHIN: Final = 400  # bytes
_FOLLOWS: Final = re.compile(rb"^signatures = \[", re.MULTILINE)


@dataclass(frozen=True, eq=False)
class Motion:
    """The contents of a certificate: a motion, its votes, and the answer that follows from them."""

    kind: ClassVar[Kind] = "certificate"
    outcome: Outcome
    account: Account

    def __str__(self) -> str:
        decided = self.account.inputs - self.account.undecided
        return (
            f"the certificate holds: a quorum signed the votes of motion {self.account.motion[:12]} by "
            f"{self.account.asker}, and they decide {decided} of {self.account.inputs} inputs; {CAVEAT}"
        )


@dataclass(frozen=True)
class Log:
    """The statement of an audit log: its node wrote these entries, in this order."""

    kind: ClassVar[Kind] = "audit"
    node: str
    first: int  # the number of the first entry that was not let go
    entries: int
    forgotten: int  # entries of which only the digest is left
    head: str  # the link of the last one; "" without entries
    goes_on: bool  # whether an earlier one was given, from which it goes on

    def __str__(self) -> str:
        more = f", {self.forgotten:,} of them digests of what was forgotten" if self.forgotten else ""
        since = ", and it goes on from the earlier one" if self.goes_on else ""
        return (
            f"the audit log of {self.node} holds: {self.entries:,} entries from {self.first:,} on{more}, "
            f"head {self.head[:16] or 'none'}{since}"
        )


@dataclass(frozen=True)
class Succeeds:
    """A roster with signatures: members that consent that it replaces the given one, and whether it does."""

    kind: ClassVar[Kind] = "roster"
    proposal: Proposal

    @property
    def in_force(self) -> bool:
        """Whether the members' nodes agreed that it is the next one."""
        return self.proposal.agreed is not None and self.proposal.standing.complete

    def __str__(self) -> str:
        standing, epoch = self.proposal.standing, self.proposal.successor.roster.epoch
        owed = f", and {', '.join(standing.owed)} must sign with the old key" if standing.owed else ""
        state = "a quorum agreed that it is the next one" if self.in_force else "it is not agreed on yet"
        return (
            f"the signatures of the roster of epoch {epoch} hold: {standing.counted} of {standing.needed} "
            f"that are needed{owed}; {state}"
        )


Verified: TypeAlias = Motion | Proven | Log | Succeeds


def kind_of(data: bytes, name: str = "the file") -> Kind:
    """Which kind of file it says it is; ValueError if it says none."""
    said = _SAID.search(data[:_SAID_WITHIN])
    if said is not None:
        return said.group(1).decode()  # type: ignore[return-value]
    if _FOLLOWS.search(data):
        return "roster"
    raise ValueError(
        f"{name} must be {', '.join(list(NAMES.values())[:-1])} or {NAMES['roster']}, as folkmoot writes "
        "them: it is none of these"
    )


def verify(data: bytes, roster: Roster, *, earlier: bytes | None = None) -> Verified:
    """The kind of a file and what it shows, checked with a roster alone; ``str`` of it is one sentence.

    The roster has the members whose keys must have signed it; of a roster that replaces another, it is that
    other one. ``earlier`` is an earlier audit log of the same node, which this one continues. ValueError
    of one line if anything does not hold.
    """
    if len(data) > MOST_BYTES:
        raise ValueError(f"a file must have at most {MOST_BYTES:,} bytes: got {len(data):,}")
    kind = kind_of(data)
    if earlier is not None and kind != "audit":
        raise ValueError(f"only an audit log goes on from an earlier one: this is {NAMES[kind]}")
    if kind == "certificate":
        outcome = certificate.verify(data, roster)
        return Motion(outcome, account_of_outcome(outcome, [member.name for member in roster], data))
    if kind == "evidence":
        return check_evidence(data, roster)
    if kind == "roster":
        return Succeeds(read_roster_text(data, roster))
    return _log(data, roster, earlier)


def _log(data: bytes, roster: Roster, earlier: bytes | None) -> Log:
    entries, node = check_export(_text(data), roster)
    if earlier is not None:
        before, other = check_export(_text(earlier), roster)
        if other != node:
            raise ValueError(f"an earlier audit log must be of the same node, {node}: this one is of {other}")
        check_goes_on(entries, before)
    first, head = (entries[0].seq, entries[-1].link.hex()) if entries else (1, "")
    gone = sum(entry.text is None for entry in entries)
    return Log(node, first, len(entries), gone, head, earlier is not None)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ValueError("an audit log must be text in UTF-8: this is none") from None
