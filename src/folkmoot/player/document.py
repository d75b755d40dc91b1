"""One HTML file that works offline: a policy that lets nothing in, hashed style and script, data beside them.

The policy names the style and the script by their SHA-256. So a browser runs neither once a byte of them is
changed, and fetches nothing from anywhere. Data are deflated JSON, in a script element that is not executed.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

_LEVEL = 9


def part(name: str) -> str:
    """The text of a file beside this one: style, script or markup."""
    return (files(__package__) / name).read_text(encoding="utf-8")


def document(
    title: str,
    body: str,
    *,
    styles: Sequence[str],
    scripts: Sequence[str] = (),
    data: Mapping[str, Any] | None = None,
) -> str:
    """The whole page.

    ``body`` is markup, ``styles`` and ``scripts`` are texts, ``data`` are values of JSON by the identifiers
    under which the scripts find them. The title may be anybody's words.
    """
    style, script = "\n".join(styles), "\n".join(scripts)
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash(style)}; base-uri 'none'; form-action 'none'"
    )
    running = ""
    if script:
        policy += f"; script-src {_hash(script)}"
        running = f"<script>{script}</script>\n"
    told = "".join(
        f'<script type="application/json" id="{escape(name)}">{{"deflated":"{_deflated(value)}"}}</script>\n'
        for name, value in (data or {}).items()
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n"
        f"<body>\n{body}\n{told}{running}</body>\n</html>\n"
    )


def _hash(text: str) -> str:
    """The text as a policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _deflated(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), _LEVEL)).decode()
