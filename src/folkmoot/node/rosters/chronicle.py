"""The rosters of a node, from the one in its file to the one in force, and what is proposed to come next."""

from __future__ import annotations

from folkmoot.node.membership.roster import Roster
from folkmoot.node.storage.storage import Storage


class Chronicle:
    """What one node knows of the rosters of its moot; ``root`` is the one in its file.

    A command may make one beside a node that runs: the node finds what it stores (``look_again``).
    """

    def __init__(self, storage: Storage, root: Roster, clock: float) -> None:
        self.storage = storage
        self.rosters = [root]  # the newest last
        self.since = [clock]  # when each came into force here; of the root it is not known

    @property
    def tip(self) -> Roster:
        """The roster in force."""
        return self.rosters[-1]


class Renewals:
    """Which certificates were one member's, one after the other, as far as this node has seen it."""

    def __init__(self, storage: Storage) -> None:
        self._groups: dict[str, list[str]] = {}  # the newest last; of one member all share a list
        for old, new in storage.database.all("SELECT old, new FROM renewed ORDER BY rowid"):
            group = self._groups.setdefault(old, [old])
            joined = [each for each in self._groups.get(new, [new]) if each not in group]
            group += joined
            if new in group[:-1]:  # back to an earlier one
                group.remove(new)
                group.append(new)
            self._groups |= dict.fromkeys(group, group)

    def newest(self, fingerprint: str) -> str:
        """The certificate that the member with this one had last."""
        return self._groups.get(fingerprint, [fingerprint])[-1]
