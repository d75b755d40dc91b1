"""What members' answers weigh by their records on a chain, for a node whose ``node.toml`` names the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from folkmoot.network.membership.roster import Roster
from folkmoot.weight_files import read_weight_file

UNKNOWN = 1.0  # the contract's weight of somebody without a record


class PastPerformance:
    """Weights by fingerprint; a member that has none weighs as much as one without a record.

    Parameters
    ----------
    weights : mapping
        From fingerprint to weight.
    """

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._weights = dict(weights)

    @classmethod
    def read(cls, path: Path, roster: Roster) -> PastPerformance:
        """That of a file, for the members whose lines name their address, signed by both keys."""
        stored = read_weight_file(path)
        found = {
            each.fingerprint: stored[each.chain.address]
            for each in roster
            if each.chain is not None and each.chain.address in stored
        }
        if not found:
            raise ValueError(
                f"{path} must have the weight of a member: none of {len(roster)} in the roster names one "
                f"of its {len(stored)} addresses; folkmoot chain tie DIR makes a line that does"
            )
        return cls(found)

    def __len__(self) -> int:
        return len(self._weights)

    def weights(self, members: Sequence[str], classes: int) -> list[float]:  # noqa: ARG002 (any number)
        """What the answers of these members weigh, by their fingerprints."""
        return [self._weights.get(each, UNKNOWN) for each in members]
