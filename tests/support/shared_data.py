"""Data of others, beside the checkout in ``../shared``; a test that needs them is skipped without them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

_SHARED: Final = Path(__file__).parents[3] / "shared"
FEMNIST: Final = _SHARED / "data" / "femnist"
HEART: Final = _SHARED / "data" / "heart"
NODE_LISTS: Final = _SHARED / "data" / "fbas"
EXACT_VALUES: Final = _SHARED / "paper" / "exact_values.json"


def needs(path: Path) -> pytest.MarkDecorator:
    """Skip a test where this file or folder is missing."""
    where = f"../shared/{path.relative_to(_SHARED)}"
    return pytest.mark.skipif(
        not path.exists(),
        reason=f"{where} is missing: copy it there (docs/datasets.md says where data come from)",
    )
