"""``talk``: the player of the first page, made by folkmoot when the site is built: one file, no network."""

from __future__ import annotations

import warnings
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

SOURCE = Path(__file__).parents[2] / "src" / "folkmoot"
PAGE = "_static/deliberation.html"


class Talk(SphinxDirective):
    """A frame with the player, which can do nothing but run it."""

    def run(self) -> list[nodes.Node]:
        """The frame; the file is written when the rest is."""
        frame = (
            f'<iframe class="player-frame" src="{PAGE}" sandbox="allow-scripts" loading="lazy" '
            'title="30 readers agree on a digit, step by step"></iframe>'
        )
        return [nodes.raw("", frame, format="html")]


def _write(app: Sphinx, problem: Exception | None) -> None:
    """The talk of docs/watch.md, unless the one that is there is newer than the code."""
    path = Path(app.outdir) / PAGE
    if problem is not None or app.builder.format != "html":
        return
    files = [Path(__file__), *(file for file in SOURCE.rglob("*") if file.suffix != ".pyc")]
    newest = max(file.stat().st_mtime for file in files)
    if path.exists() and path.stat().st_mtime > newest:
        return
    import numpy as np
    from sklearn.tree import DecisionTreeClassifier

    from folkmoot import ConsensusClassifier, Slush, play
    from folkmoot.datasets import load_digits_moot

    data = load_digits_moot(n_participants=30, seed=0)
    moot = ConsensusClassifier([DecisionTreeClassifier()], protocol=Slush(k=10, alpha=6), random_state=0)
    talks = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about participants with rows of one class
        moot.fit(data.X, data.y, data.groups)
        for name, malicious in (("nobody malicious", None), ("3 malicious", 3), ("10 malicious", 10)):
            talks[name] = moot.deliberate(data.X_test, data.y_test, adversaries=malicious)
    title = "30 readers agree on a digit"
    truth, images = np.asarray(data.y_test), np.asarray(data.X_test).reshape(-1, 8, 8)
    honest, few, _ = talks.values()
    shown = np.flatnonzero((few.decision == truth) & (honest.decision == truth))[:12].tolist()
    play(talks, path, truth=truth, images=images, inputs=shown, title=title)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive, and write what it shows at the end."""
    app.add_directive("talk", Talk)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
