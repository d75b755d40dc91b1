"""In a notebook results are small tables, figures are pictures, and the diagram shows participants.

What is shown is asked of IPython's own formatter, in a process of its own: pyplot is not imported there.
"""

from __future__ import annotations

import base64
import json
import pickle
import subprocess
import sys
from html.parser import HTMLParser
from typing import Any

import pytest
from matplotlib.figure import Figure

from folkmoot.pictures.canvas import canvas

SCRIPT = r"""
import base64, json, sys
import numpy as np
from IPython.core.interactiveshell import InteractiveShell
from sklearn.naive_bayes import GaussianNB
from folkmoot import explain, plot_convergence
from folkmoot import ConsensusClassifier, Slush, compare, deliberate, plan
from folkmoot.datasets import homogeneous_votes

format = InteractiveShell.instance().display_formatter.format
NASTY = "<script>alert(1)</script>"
rng = np.random.default_rng(0)
votes, truth, _ = homogeneous_votes(15, p=0.7, inputs=200, seed=0)
names = [NASTY, *(f"worker {i}" for i in range(14))]
X = rng.normal(size=(90, 2))
y = np.where(X[:, 0] + 0.3 * rng.normal(size=90) > 0, "up", "down")
groups = np.array([NASTY, "mid", "south"])[np.arange(90) % 3]
moot = ConsensusClassifier([GaussianNB()], random_state=0).fit(X, y, groups=groups)
many = ConsensusClassifier([GaussianNB()] * 20, random_state=0)
outcome = deliberate(votes, Slush(5, 3), record=True)
report = compare(votes, Slush(5, 3), truth=truth, names=names, labels=[NASTY, "b"])
things = {
    "outcome": outcome,
    "repeated": deliberate(votes, Slush(5, 3), repeats=3),
    "report": report,
    "participants": report.participants,
    "explanation": explain(report.outcome, 0),
    "plan": plan(n=7, p=0.8, protocol="slush"),
    "moot": moot,
    "many": many,
    "figure": plot_convergence(outcome),
    "confusion": report.plot(),
}
assert "matplotlib.pyplot" not in sys.modules
found = {}
for name, thing in things.items():
    data, _ = format(thing)
    found[name] = {k: base64.b64encode(v).decode() if isinstance(v, bytes) else v for k, v in data.items()}
agreement = float(outcome.agreement.mean())
found["numbers"] = {"undecided": outcome.undecided, "agreement": agreement, "queries": int(outcome.queries)}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    script = tmp_path_factory.mktemp("notebook") / "notebook.py"
    script.write_text(SCRIPT)
    result = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stderr
    found: dict[str, dict[str, Any]] = json.loads(result.stdout)
    return found


class Read(HTMLParser):
    """The tags of a page, and the cells of its tables."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.rows: list[list[str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] in ("td", "th"):
            self.rows[-1][-1] += data


TABLES = [
    "outcome", "repeated", "report", "participants", "explanation", "plan",
]  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_results_are_small_tables_of_text_without_style_or_script(
    shown: dict[str, dict[str, Any]], name: str
) -> None:
    read = Read(shown[name]["text/html"])
    assert set(read.tags) <= {
        "p", "br", "table", "caption", "thead", "tbody", "tr", "th", "td", "h3", "h4", "ul", "li", "section"
    }  # fmt: skip
    assert read.attributes <= {"scope", "class"}
    assert 2 <= len(read.rows) <= 21
    assert len({len(row) for row in read.rows}) == 1


def test_names_and_labels_are_shown_as_they_are(shown: dict[str, dict[str, Any]]) -> None:
    for name in ("participants", "explanation"):
        cells = [cell for row in Read(shown[name]["text/html"]).rows for cell in row]
        assert "<script>alert(1)</script>" in cells, name


def test_an_outcome_says_what_it_came_to(shown: dict[str, dict[str, Any]]) -> None:
    rows = dict(Read(shown["outcome"]["text/html"]).rows[1:])
    numbers = shown["numbers"]
    assert rows["decided"].startswith(f"{1 - numbers['undecided'] / 200:.3f} ")
    assert rows["agreement"].startswith(f"{numbers['agreement']:.3f} ")
    assert rows["queries"] == f"{numbers['queries']:,}"


@pytest.mark.parametrize("name", ["figure", "confusion"])
def test_plots_are_pictures_though_nobody_imported_pyplot(
    shown: dict[str, dict[str, Any]], name: str
) -> None:
    assert base64.b64decode(shown[name]["image/png"]).startswith(b"\x89PNG")


def test_the_diagram_shows_participants_and_their_models(shown: dict[str, dict[str, Any]]) -> None:
    html = shown["moot"]["text/html"]
    for word in (
        "mid",
        "south",
        "GaussianNB",
        "ConsensusClassifier",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
    ):
        assert word in html, word
    assert "<script>alert(1)" not in html
    many = shown["many"]["text/html"]
    assert "gaussiannb-12" in many
    assert "and 8 more participants" in many
    # Its own block, and not what scikit-learn draws where making it failed.
    assert many.count("sk-parallel-item") >= 13


def test_a_picture_is_a_figure_that_can_be_saved_and_pickled() -> None:
    figure, axes = canvas(None, (3.0, 2.0))
    axes.plot([0, 1])
    assert isinstance(figure, Figure)
    again = pickle.loads(pickle.dumps(figure))  # noqa: S301
    assert again._repr_png_().startswith(b"\x89PNG")
