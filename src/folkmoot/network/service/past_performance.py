"""What members' answers weigh by a file that ``node.toml`` names, instead of by this node's own records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from folkmoot.files.weight_files import read_weight_file
from folkmoot.node.membership.roster import Roster

UNKNOWN = 1.0  # the weight of a member that the file does not name


class PastPerformance:
    """Weights by fingerprint; a member that has none weighs 1.

    Parameters
    ----------
    weights : mapping
        From fingerprint to weight.
    """

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._weights = dict(weights)

    @classmethod
    def read(cls, path: Path, roster: Roster) -> PastPerformance:
        """The weights in a file that are of members of the roster, by their fingerprints."""
        stored = read_weight_file(path)
        found = {each.fingerprint: stored[each.fingerprint] for each in roster if each.fingerprint in stored}
        if not found:
            raise ValueError(
                f"{path} must have the weight of a member by its fingerprint: its {len(stored)} names are "
                f"none of the {len(roster)} fingerprints in the roster"
            )
        return cls(found)

    def __len__(self) -> int:
        return len(self._weights)

    def weights(self, members: Sequence[str], classes: int) -> list[float]:  # noqa: ARG002 (any number)
        """What the answers of these members weigh, by their fingerprints."""
        return [self._weights.get(each, UNKNOWN) for each in members]
