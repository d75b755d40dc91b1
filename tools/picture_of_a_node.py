"""Makes docs/images/node-page.png: what a node of a local moot shows in Chromium when a motion is over.

The moot is the one that docs/watch-a-node.md names under the picture: ten nodes that learn whom to trust,
three of which tell different askers different things.

    python tools/picture_of_a_node.py [FILE]
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "watch-a-node.md"
WIDTH, HEIGHT, SCALE = 1400, 1330, 0.8
LONGEST = 300.0  # seconds for the motion, on a busy machine


def command() -> list[str]:
    """The command that stands under the picture."""
    found = re.search(r"^\*What a node of `folkmoot (local .*?--page)` sees", PAGE.read_text(), flags=re.M)
    if found is None:
        raise SystemExit(f"{PAGE} does not name the command of the picture any more")
    return shlex.split(found[1])


def address(folder: Path, moot: subprocess.Popen[str]) -> str:
    """Where the page is, with its token; it is there once the command has started."""
    end = time.monotonic() + LONGEST
    while not (folder / "page.json").exists():
        if moot.poll() is not None or time.monotonic() > end:
            raise SystemExit(f"the moot did not start: {moot.stderr and moot.stderr.read()}")
        time.sleep(0.2)
    told = json.loads((folder / "page.json").read_text())
    return f"{told['url']}/#token={told['token']}"


def take(url: str, browser: str, path: Path) -> None:
    """One node, once the motion is over, with the first accusation open."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = running.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=SCALE, reduced_motion="reduce"
        )
        page.goto(url)
        page.wait_for_function(
            "() => [...document.querySelectorAll('#seen-by option')].some(each => each.value === 'node000')"
        )
        page.select_option("#seen-by", "node000")
        page.wait_for_selector("text=/Motion .* is over/", timeout=1000 * LONGEST)
        page.locator("#accused summary").first.click()
        page.mouse.move(0, 0)
        page.evaluate("document.activeElement.blur()")
        page.wait_for_timeout(1500)  # the table and the curve are drawn
        page.screenshot(path=str(path))
        running.close()


def main(path: str = str(ROOT / "docs" / "images" / "node-page.png")) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("no Chromium here: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        moot = subprocess.Popen(
            [sys.executable, "-m", "folkmoot", *command(), "--out", folder],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            take(address(Path(folder), moot), browser, Path(path))
        finally:
            moot.send_signal(signal.SIGINT)
            moot.wait(LONGEST)
    print(f"wrote {path}: {Path(path).stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(*sys.argv[1:])
