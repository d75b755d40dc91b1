"""A real browser looks at a page: which pictures it drew, and what it asked for."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import NamedTuple

import pytest

_LOOK = """
<script>
window.addEventListener("load", () => {
  const seen = {
    pictures: [...document.images].map(i => i.complete ? i.naturalWidth : 0),
    fetched: performance.getEntriesByType("resource").map(e => e.name).filter(n => !n.startsWith("data:")),
    text: document.body.innerText.length,
    wide: document.documentElement.scrollWidth,
  };
  document.documentElement.setAttribute("data-seen", JSON.stringify(seen));
});
</script>
"""


class Seen(NamedTuple):
    pictures: list[int]  # their widths in pixels; 0 is broken
    fetched: list[str]
    text: int
    wide: int


def look_at(page: Path, folder: Path) -> Seen:
    """Open a copy of the page that reports on itself. Skips where there is no Chromium."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here")
    html = page.read_text(encoding="utf-8")
    assert "script-src" not in html
    copy = folder / "copy.html"
    allowed = html.replace("default-src 'none';", "default-src 'none'; script-src 'unsafe-inline';", 1)
    copy.write_text(allowed.replace("</body>", f"{_LOOK}</body>", 1), encoding="utf-8")
    dumped = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
         f"--user-data-dir={folder / 'profile'}", "--window-size=1000,800", "--virtual-time-budget=20000",
         "--dump-dom", copy.as_uri()],
        capture_output=True, text=True, timeout=120,
    ).stdout  # fmt: skip
    found = re.search(r'data-seen="([^"]*)"', dumped)
    assert found, dumped[:500]
    return Seen(**json.loads(unescape(found[1])))
