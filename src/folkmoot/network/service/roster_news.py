"""What nodes tell each other about rosters: proposals as messages, and who of two holds more of them."""

from __future__ import annotations

from folkmoot.network.storage.chronicle import Chronicle, Proposal
from folkmoot.network.wire import messages as m


def known(chronicle: Chronicle) -> tuple[str, list[tuple[bytes, bytes]]]:
    """The roster in force, and who has signed what is to come next."""
    return chronicle.tip.digest, [(each.succession.name, bits(each)) for each in chronicle.proposals]


def bits(proposal: Proposal) -> bytes:
    """A bit for every place of the old roster that has signed."""
    number = sum(1 << place for place in proposal.signatures)
    return number.to_bytes(-(-len(proposal.old) // 8), "little")


def more(one: bytes, other: bytes) -> bool:
    """Whether there is a bit in one that is not in the other."""
    return bool(int.from_bytes(one, "little") & ~int.from_bytes(other, "little"))


def successor(proposal: Proposal) -> m.Successor:
    """A proposal with all signatures that are held, to be passed on."""
    previous = bytes.fromhex(proposal.old.digest)
    signatures = tuple(sorted(proposal.signatures.items()))
    return m.Successor(previous, proposal.succession.content, signatures)
