"""A page that plays deliberations: ``Player``, as a file or inside a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from folkmoot.player.document import document, part
from folkmoot.player.form import Input, PlayedMoot, form

DELIBERATIONS = "deliberations"  # the identifier under which player.js finds its data
SCRIPTS = ("parts.js", "deliberation.js", "player.js")


@dataclass(frozen=True)
class Player:
    """A page that plays deliberations. In a notebook it shows itself, in a frame that can do nothing but run
    it.

    Parameters
    ----------
    html : str
        The whole page.

    Examples
    --------
    >>> from folkmoot import Slush, deliberate, play
    >>> outcome = deliberate([[0], [0], [0], [1]], Slush(k=2, alpha=2))
    >>> player = play(outcome)
    >>> player.html[:15], len(player.html) < 100_000
    ('<!doctype html>', True)
    """

    html: str

    def __repr__(self) -> str:
        return f"Player({len(self.html) / 1000:.0f} kB of HTML: save(path) writes it)"

    def _repr_html_(self) -> str:
        """A frame without an origin: it runs the script of the page and has no other right."""
        page = escape(self.html, quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" title="A deliberation, step by step" '
            'width="100%" height="900" frameborder="0"></iframe>'
        )

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page.

        Parameters
        ----------
        path : str or path
            The file, such as ``"deliberation.html"``; it is overwritten.

        Returns
        -------
        Path
            The same.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        where = Path(path)
        where.write_text(self.html, encoding="utf-8")
        return where


def player_data(
    labels: Sequence[str],
    inputs: Sequence[Input],
    moots: Sequence[PlayedMoot],
    *,
    noun: str = "malicious",
    ink: bool = False,
    node: bool = False,
) -> dict[str, Any]:
    """The data of the player's script, by identifier."""
    return {DELIBERATIONS: form(labels, inputs, moots, noun=noun, ink=ink, node=node)}


def player_page(title: str, about: str, data: dict[str, Any]) -> Player:
    """A page with nothing but the player on it; title and text are escaped."""
    body = (
        f'<main class="page">\n<header><h1>{escape(title)}</h1><p>{escape(about)}</p></header>\n'
        f"{part('player.html')}</main>"
    )
    return Player(
        document(
            title, body, styles=[part("player.css")], scripts=[part(name) for name in SCRIPTS], data=data
        )
    )
