"""The Python API: a page for each public package and each public name, written when the site is built.

What is public is what ``tools/check_docstrings.py`` holds to numpydoc: whatever an ``__all__`` names, on the
page of the first (shortest) place that names it.
"""

from __future__ import annotations

import importlib
import inspect
import operator
import sys
from pathlib import Path
from types import ModuleType

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.typing import ExtensionMetadata

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from check_docstrings import members, public_names
from numpydoc.xref import DEFAULT_LINKS

import folkmoot
from outside import aliases

FOLDER = Path(__file__).parents[1] / "api"
# The names that most people need, by topic; all others are on the pages of their packages.
TOPICS = {
    "Estimators": (
        "Fit, predict and report; the interface is scikit-learn's.",
        "ConsensusClassifier ConsensusRegressor ConsensusClusterer FunctionModel read_moot learning.reports",
    ),
    "Votes in, answer out": (
        "No model is needed: a table of votes is enough.",
        "aggregate deliberate compare cluster read_votes read_partitions Outcome Report Clustering "
        "VoteTable PartitionTable",
    ),
    "Public aggregations": (
        "The same pure function of the table for everybody.",
        "aggregation.Plurality aggregation.Weighted aggregation.DawidSkene aggregation.Pool "
        "aggregation.TrimmedMean aggregation.Median aggregation.Mean aggregation.GeometricMedian "
        "aggregation.Krum",
    ),
    "Own aggregations": (
        "Each participant uses what only it knows, and casts a final vote.",
        "HoldoutTrust PeerReview Listen aggregation.Known aggregation.Rows",
    ),
    "Protocols": (
        "How votes travel: one table for all, or queries of k peers as in the paper.",
        "Council Slush Snowflake Snowball StrongConfidence Others Everyone Neighbours",
    ),
    "Why, who and pictures": (
        "Look instead of reading figures.",
        "explain Explanation play Player plot_convergence",
    ),
    "Plan and simulate": (
        "Which settings to take, and many runs at once.",
        "plan plan_for Plan sweep Sweep",
    ),
    "Theory": (
        "The paper's formulas as exact functions.",
        "theory.SlushChain theory.LocalSlushChain theory.majority_accuracy theory.poisson_binomial "
        "theory.accuracy_gap theory.threshold_accuracy theory.control_ratio",
    ),
    "Data by participant": (
        "Real tables with an owner for each row, and votes of known accuracy.",
        "datasets.load_digits_moot datasets.load_femnist datasets.load_heart "
        "datasets.homogeneous_votes datasets.split_dirichlet",
    ),
    "A network": ("Ask a running node from Python.", "Client"),
}


def pages() -> dict[str, str]:
    """Every page by its name: of packages (``folkmoot.theory``) and names (``folkmoot.theory.gap``)."""
    names = public_names()
    homes = {id(thing): name for name, thing in names.items()}
    inside = {
        f"folkmoot.{name}" for name in folkmoot.__all__ if isinstance(getattr(folkmoot, name), ModuleType)
    }
    packages = sorted(
        inside | {name.rpartition(".")[0] for name in names}, key=lambda name: (name.count("."), name)
    )
    made = {_file(name): _page(name, thing) for name, thing in names.items()}
    for package in packages:
        made[package] = _package(importlib.import_module(package), homes)
    made["index"] = _index(packages, homes)
    return made


def _file(name: str) -> str:
    """``folkmoot.plan`` and ``folkmoot.Plan`` need files that differ where case does not count."""
    return name if name.rpartition(".")[2][0].isupper() else f"{name}-function"


def _heading(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n\n"


def _page(name: str, thing: object) -> str:
    home, _, short = name.rpartition(".")
    text = f"{_heading(short)}.. currentmodule:: {home}\n\n"
    if not inspect.isclass(thing):
        return f"{text}.. autofunction:: {home}.{short}\n"
    ours = [each.rpartition(".")[2] for each, _ in members(name, thing)]
    text += f".. autoclass:: {home}.{short}\n"
    return text + (f"   :members: {', '.join(ours)}\n" if ours else "")


def _package(package: ModuleType, homes: dict[int, str]) -> str:
    name = package.__name__
    kinds: dict[str, list[str]] = {"Classes": [], "Functions": [], "Constants": [], "Packages": []}
    public = getattr(package, "__all__", None) or [
        each for each, thing in vars(package).items() if homes.get(id(thing), "").endswith(f".{each}")
    ]
    for each in sorted(public, key=str.lower):
        thing = getattr(package, each)
        if isinstance(thing, ModuleType):
            kinds["Packages"].append(f"* :doc:`{thing.__name__}`\n")
        elif id(thing) in homes:
            kind = "Classes" if inspect.isclass(thing) else "Functions"
            kinds[kind].append(_line(each, homes[id(thing)], thing))
        else:
            kinds["Constants"].append(f".. autodata:: {name}.{each}\n   :no-value:\n")
    text = f"{_heading(name)}.. automodule:: {name}\n   :no-members:\n\n"
    for kind, lines in kinds.items():
        if lines:
            text += _heading(kind, "-") + "\n".join(lines) + "\n"
    own = [_file(home) for home in homes.values() if home.rpartition(".")[0] == name]
    return text + _hidden(sorted(own, key=str.lower))


def _hidden(pages: list[str]) -> str:
    return "\n.. toctree::\n   :hidden:\n\n" + "".join(f"   {page}\n" for page in pages)


def _line(short: str, home: str, thing: object) -> str:
    """``* Slush: what it is``; with the docstring's first sentence."""
    about = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    return f"* :doc:`{short} <{_file(home)}>`: {about}\n"


def _index(packages: list[str], homes: dict[int, str]) -> str:
    text = _heading("Python API")
    text += "The names that most people need, by topic. "
    text += "``from folkmoot import ...`` has those without a package.\n\n"
    for topic, (about, names) in TOPICS.items():
        text += f"{_heading(topic, '-')}{about}\n\n"
        for name in names.split():
            thing = operator.attrgetter(name)(folkmoot)
            text += _line(name, homes[id(thing)], thing)
        text += "\n"
    text += _heading("Every public name, by package", "-")
    for package in packages:
        about = (importlib.import_module(package).__doc__ or "").split("\n\n")[0]
        text += f"* :doc:`{package}`: {' '.join(about.split())}\n"
    return text + _hidden(packages)


def _write(_app: Sphinx) -> None:
    """Write pages that changed, and remove those of names that are gone."""
    FOLDER.mkdir(exist_ok=True)
    wanted = {FOLDER / f"{name}.rst": text for name, text in pages().items()}
    for path in FOLDER.glob("*.rst"):
        if path not in wanted:
            path.unlink()
    for path, text in wanted.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _tell_names(_app: Sphinx, config: Config) -> None:
    """Types in docstrings that are public names of ours lead to their pages; no others do."""
    DEFAULT_LINKS.clear()  # outside-names.txt has those that lead to pages of others
    names = {name.rpartition(".")[2]: name for name in public_names()}
    ours = {short: name for short, name in names.items() if short[0].isupper()}
    config["numpydoc_xref_aliases"] = aliases() | ours


def setup(app: Sphinx) -> ExtensionMetadata:
    """Write the pages before others are read."""
    app.connect("config-inited", _tell_names, priority=100)  # before numpydoc looks
    app.connect("builder-inited", _write, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
