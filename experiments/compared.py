"""``folkmoot.compare`` as experiments use it: by the paper's rules, and without warnings.

Whoever has no vote talks and adopts one, as in the paper. What stays open is part of the results, and nobody
who runs an experiment could act on a warning about it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from folkmoot.comparison import OpenInputsWarning, Report, compare
from folkmoot.protocols import SnowProtocol
from folkmoot.votes import Votes


def compared(
    votes: Votes, talks: Mapping[str, SnowProtocol[Any]], *, truth: Votes, seed: int, **options: Any
) -> Report:
    """The talks beside the rules of a centre; ``options`` are those of ``compare``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OpenInputsWarning)
        return compare(votes, talks, truth=truth, seed=seed, missing="uncoloured", **options)
