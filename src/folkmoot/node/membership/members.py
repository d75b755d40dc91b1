"""The members of a roster as a motion knows them: how many, how many may lie, and their keys."""

from __future__ import annotations

from folkmoot.node.membership.certificates import holds
from folkmoot.node.membership.roster import Roster
from folkmoot.node.session.statement import Members


def members_of(roster: Roster) -> Members:
    """Members by their place in the roster."""
    keys = [each.public_key for each in roster]
    return Members(
        len(keys), roster.faults, lambda member, words, signature: holds(keys[member], signature, words)
    )
