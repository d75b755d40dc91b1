"""Makes docs/images/player.gif, the looping picture in the README, with the real player in Chromium.

The page is the one that docs/watch.md makes. One digit in three moots of 30 participants: nobody lies, five
lie, ten lie and win. Frames are steps of the player: changes of mind, then the end of the talk.

    python tools/picture_of_the_player.py [FILE]
"""

from __future__ import annotations

import io
import os
import re
import runpy
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

if TYPE_CHECKING:
    from playwright.sync_api import FloatRect, Page

ROOT = Path(__file__).parents[1]
DIGIT = 22  # among those on the page: a close one
MOOTS = ("1", "2", "3")  # the keys of "no liars", "5 liars" and "10 liars"
STEP, END = 420, 2400  # milliseconds
WIDTH, COLOURS = 760, 96
MOST_FRAMES = 14  # of a talk


def talk_page(folder: Path) -> Path:
    """The page of docs/watch.md, made by its own lines."""
    block = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "watch.md").read_text(), flags=re.S)
    if block is None:
        raise SystemExit("docs/watch.md has no block of Python any more")
    script = folder / "page.py"
    script.write_text(block[1])
    before = Path.cwd()
    os.chdir(folder)
    try:
        runpy.run_path(str(script))
    finally:
        os.chdir(before)
    return folder / "deliberation.html"


def shots(page: Page, key: str) -> list[tuple[Image.Image, int]]:
    """One talk: its first frame, changes of mind in even steps, its last."""
    page.keyboard.press("Home")
    page.keyboard.press(key)
    steps = page.locator(".log li").count()
    frames = [(seen(page), 2 * STEP)]
    every = max(1, -(-steps // MOST_FRAMES))
    for step in range(1, steps + 1):
        page.keyboard.press("n")
        if step % every == 0:
            frames.append((seen(page), STEP))
    page.keyboard.press("End")
    return [*frames, (seen(page), END)]


def seen(page: Page) -> Image.Image:
    """The moots, the ring and this step, without the cards below them."""
    top = page.locator(".moots").bounding_box()
    ring = page.locator(".ring").bounding_box()
    if top is None or ring is None:
        raise SystemExit("the player shows no ring: was its script changed?")
    high = ring["y"] + ring["height"] - top["y"] + 16
    area: FloatRect = {"x": 0, "y": top["y"] - 8, "width": 1100, "height": high}
    picture = Image.open(io.BytesIO(page.screenshot(clip=area, full_page=True))).convert("RGB")
    size = (WIDTH, round(picture.height * WIDTH / picture.width))
    return picture.resize(size, Image.Resampling.LANCZOS)


def main(path: str = str(ROOT / "docs" / "images" / "player.gif")) -> None:
    from playwright.sync_api import sync_playwright

    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("no Chromium here: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        talks = talk_page(Path(folder))
        running = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        context = running.new_context(
            viewport={"width": 1100, "height": 1000}, reduced_motion="reduce", device_scale_factor=1
        )
        page = context.new_page()
        page.goto(talks.as_uri())
        page.locator(".inputs button").nth(DIGIT).click()
        frames = [frame for key in MOOTS for frame in shots(page, key)]
        running.close()
    # One palette for all, or colours flicker from frame to frame; no dithering, which would flicker, too.
    some = [picture for picture, _ in frames[:: max(1, len(frames) // 6)]]
    sheet = Image.new("RGB", (WIDTH, sum(picture.height for picture in some)))
    for place, picture in enumerate(some):
        sheet.paste(picture, (0, place * picture.height))
    palette = sheet.quantize(COLOURS)
    pictures = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture, _ in frames]
    pictures[0].save(
        path,
        save_all=True,
        append_images=pictures[1:],
        duration=[lasts for _, lasts in frames],
        loop=0,
        optimize=True,
    )
    print(f"wrote {path}: {len(pictures)} frames, {Path(path).stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(*sys.argv[1:])
