"""Rosters in a row for tests: members with keys that are the same in every test, by name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache

from folkmoot.network.wire.succession import Succession
from folkmoot.node.membership.certificates import fingerprint_of
from folkmoot.node.membership.roster import Member, Roster
from support.network.moot_in_memory import certificate_of
from support.network.signatures import RememberingKey


@lru_cache
def key_of(name: str, generation: int = 0) -> RememberingKey:
    """The key of a member, or the one it has after so many changes."""
    return RememberingKey(hashlib.sha256(f"{name} {generation}".encode()).digest())


@lru_cache
def member(name: str, generation: int = 0) -> Member:
    """A member, with its certificate of that generation."""
    certificate = certificate_of(name, key_of(name, generation).real)
    return Member(name, "", fingerprint_of(certificate), (f"{name}.example:7654",), certificate)


def roster_of(names: Iterable[str]) -> Roster:
    """The first roster of these members."""
    return Roster(map(member, names))


def signatures(succession: Succession, old: Roster, names: Iterable[str]) -> dict[int, bytes]:
    """What members of the old roster sign, with the keys of their first generation."""
    places = {each.name: place for place, each in enumerate(old)}
    return {places[name]: succession.signed_by(key_of(name), places[name]) for name in names}
