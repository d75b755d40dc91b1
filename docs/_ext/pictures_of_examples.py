"""The pictures of the gallery: each example writes the file that it is told to, and this finds it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import figure_rst

_FOLDER = Path(tempfile.mkdtemp(prefix="folkmoot-gallery-"))


def argument(_settings: dict[str, Any], variables: dict[str, Any]) -> list[str]:
    """What an example is started with: where to draw."""
    return [str(_FOLDER / f"{Path(variables['src_file']).stem}.png")]


def found_picture(_block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """The picture that the example has drawn since, for sphinx-gallery."""
    drawn = Path(argument(settings, variables)[0])
    if not drawn.exists():
        return ""
    place = next(variables["image_path_iterator"])
    shutil.move(drawn, place)
    return str(figure_rst([place], settings["src_dir"]))
