"""What a page holds for its scripts, read as anybody could."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any


def held_in(page: str, name: str = "deliberations") -> dict[str, Any]:
    """The data under one identifier."""
    found = re.search(rf'<script type="application/json" id="{name}">(\{{.*?\}})</script>', page)
    assert found is not None
    data = json.loads(zlib.decompress(base64.b64decode(json.loads(found[1])["deflated"])))
    assert isinstance(data, dict)
    return data
