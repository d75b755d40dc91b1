"""How large a page of the player is, and how long a browser takes for a step.

    python benchmarks/player.py [--json]

Readers of handwritten digits (decision trees, Dirichlet label skew, seed 0), 24 inputs in four moots: nobody
lies, a sixth does, a third does, and a third with trust. A step is drawn and laid out in Chromium (Debian's,
by playwright); the fastest 30 in a row count, of the first 300 steps of the longest talk, six times.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from folkmoot import ConsensusClassifier, Slush, play
from folkmoot.datasets import load_digits_moot
from timing import report

SIZES = {30: 370_000, 101: 1_700_000}  # participants -> bytes at the most
STEP = 4.0  # milliseconds at the most
MEASURE = """() => {
  const { player } = document.querySelector(".player");
  let longest = [0, 0, 0];
  for (let moot = 0; moot < 3; moot++)
    for (let input = 0; input < 24; input += 8) {
      player.choose(input, moot);
      if (player.frames().length > longest[0]) longest = [player.frames().length, input, moot];
    }
  player.choose(longest[1], longest[2]);
  const last = Math.min(longest[0], 300);
  let best = Infinity;
  for (let i = 0, frame = 0; i < 60; i++, frame = frame + 60 <= last ? frame + 30 : 0) {
    const start = performance.now();
    for (let each = frame; each < frame + 30; each++) {
      player.go(each);
      document.body.offsetHeight; // lays the page out
    }
    best = Math.min(best, (performance.now() - start) / 30);
  }
  return { steps: longest[0], milliseconds: best };
}"""


def page(participants: int, path: Path) -> Path:
    data = load_digits_moot(n_participants=participants, seed=0)
    moot = ConsensusClassifier([DecisionTreeClassifier()], protocol=Slush(k=10, alpha=6), random_state=0)
    moot.fit(data.X, data.y, data.groups)
    few, many = participants // 6, participants // 3
    talks = {}
    for name, liars in (("no liars", None), (f"{few} liars", few), (f"{many} liars", many)):
        talks[name] = moot.deliberate(data.X_test, data.y_test, adversaries=liars)
    images = np.asarray(data.X_test).reshape(-1, 8, 8)
    return play(talks, path, truth=np.asarray(data.y_test), images=images)


def measure() -> dict[str, object]:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    results: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), sync_playwright() as playwright:
        warnings.simplefilter("ignore")  # about participants with rows of one class
        browser = None
        if chromium is not None:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for participants, most in SIZES.items():
            path = page(participants, Path(folder) / f"{participants}.html")
            size = path.stat().st_size
            found: dict[str, object] = {
                "bytes": size, "target": most, "reached": size <= most,
            }  # fmt: skip
            results[f"{participants} participants"] = found
            if browser is None:
                continue
            opened = browser.new_page(viewport={"width": 1400, "height": 900})
            opened.goto(path.as_uri())
            opened.wait_for_selector(".ring .dot")
            step = opened.evaluate(MEASURE)
            found |= {
                "steps": step["steps"],
                "milliseconds a step": round(step["milliseconds"], 2),
                "target a step": STEP,
                "reached": size <= most and step["milliseconds"] <= STEP,
            }
        if browser is not None:
            browser.close()
    return results


if __name__ == "__main__":
    report(measure, __doc__)
