"""Makes docs/images/node-page.png: what a node shows in Chromium when a motion is over.

Ten real nodes on the network in memory, three of which give each other's wrong answers. Their models answer
the test half of scikit-learn's digits.

    python tools/picture_of_a_node.py [FILE]
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from folkmoot.arrays import Array  # noqa: E402
from folkmoot.node.client import Client  # noqa: E402
from folkmoot.node.service.models import Model  # noqa: E402
from support.node.moot import Moot, model  # noqa: E402
from support.node.served import LOOPBACK, opened  # noqa: E402

WIDTH, HEIGHT, SCALE = 1400, 1330, 0.8
NODES, WRONG, INPUTS = 10, 3, 60
LABELS = [str(digit) for digit in range(10)]


def voters(X: Array, y: Array) -> list[Model]:
    """Models of different rows; the last ones confuse digits, all in the same way."""
    made = []
    for i in range(NODES):
        rows = np.random.default_rng(i).random(len(X)) < 0.6
        tree = DecisionTreeClassifier(max_features=16, random_state=i).fit(X[rows], y[rows])
        shift = 0 if i < NODES - WRONG else 1

        def answer(rows: Array, tree: DecisionTreeClassifier = tree, shift: int = shift) -> list[str]:
            told = tree.predict(rows)
            off = (np.asarray(rows).sum(axis=1) % 4 < 2) * shift
            return [LABELS[int(each)] for each in (told + off) % 10]

        made.append(model(answer, LABELS))
    return made


def take(url: str, clock: float, browser: str, path: Path) -> None:
    """The page, with the reasons of one answer open."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = running.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=SCALE, reduced_motion="reduce"
        )
        page.clock.set_fixed_time(clock)  # the network in memory has a time of its own
        page.goto(url)
        page.wait_for_selector("text=/Motion .* is over/")
        page.locator(".decisions select").first.select_option("contested")
        page.wait_for_selector("text=/of this kind/")
        page.locator(".decisions tbody button").first.click()
        page.wait_for_selector(".why .table")
        page.mouse.move(0, 0)
        page.wait_for_timeout(500)
        page.screenshot(path=str(path))
        running.close()


async def play(browser: str, path: Path) -> None:
    """Put one motion, let the nodes decide it, and look."""
    X, y = load_digits(return_X_y=True)
    half = len(X) // 2
    moot = Moot(voters(X[:half], y[:half]))
    node = moot.nodes[0]
    with tempfile.TemporaryDirectory() as folder:
        async with opened(node, Path(folder), page=LOOPBACK) as server:

            def ask_and_look() -> None:
                for start in range(0, 3 * INPUTS, INPUTS):
                    rows = X[half + start : half + start + INPUTS]
                    Client(folder).ask(rows, columns=[f"pixel {i}" for i in range(64)], labels=LABELS)
                take(str(server.address), moot.network.world(moot.peers[0]).clock(), browser, path)

            looking = asyncio.create_task(asyncio.to_thread(ask_and_look))
            while not looking.done():
                moot.network.run(moot.network.time + 0.05)
                await asyncio.sleep(0.005)
            await looking


def main(path: str = str(ROOT / "docs" / "images" / "node-page.png")) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("no Chromium here: apt-get install chromium")
    asyncio.run(play(browser, Path(path)))
    print(f"wrote {path}: {Path(path).stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(*sys.argv[1:])
