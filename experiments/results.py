"""Results in a folder: ``NAME.json`` and pictures of each experiment, a table of all in ``results.md``."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import msgspec

from experiments.catalogue import MODULES, RECORDED
from experiments.experiment import Experiment, Result

_LIBRARIES: Final = ("folkmoot", "numpy", "scipy", "scikit-learn", "numba", "joblib")
_HOLDS: Final = {True: "yes", False: "no", None: ""}
_HEAD: Final = """# Results

`python -m experiments` writes this page and the `NAME.json` beside it. Quick results are of smaller settings
than the paper's; `make paper` writes full ones. ([How to run them](../../docs/reproduction.md).)
"""


def write(
    folder: Path, experiment: Experiment[Any], results: Mapping[int, Result], how: Mapping[str, object]
) -> dict[str, Any]:
    """Write results by seed and how they were made; quick ones beside full ones. Draws the first seed."""
    whole = {
        "experiment": experiment.name,
        "claim": experiment.claim,
        "made": {
            **how,
            "seeds": list(results),
            "python": platform.python_version(),
            **{library: version(library) for library in _LIBRARIES},
        },
        "runs": [{"seed": seed, **msgspec.to_builtins(result)} for seed, result in results.items()],
    }
    ending = "-quick" if how["settings"] == "quick" else ""
    text = msgspec.json.format(msgspec.json.encode(whole), indent=0)  # one line: most of it is long lists
    (folder / f"{experiment.name}{ending}.json").write_bytes(text + b"\n")
    for name, figure in experiment.figures(next(iter(results.values()))).items():
        stem = experiment.name if name == experiment.name else f"{experiment.name}-{name}"
        figure.savefig(folder / f"{stem}{ending}.png", dpi=150)
    found: dict[str, Any] = msgspec.json.decode(text)
    return found


def write_page(folder: Path) -> Path:
    """The table of all that is in the folder, in the order of the paper: full results, else quick ones."""
    saved = {name: _saved(folder, name) for name in (*MODULES, *RECORDED)}
    rows, made = [], []
    for name, each in saved.items():
        if each is None and name in RECORDED:
            continue
        if each is None:
            rows.append([name, "", "", "no result yet: `make paper`", ""])
            continue
        rows += rows_of(each)
        about = each["made"]
        libraries = ", ".join(f"{library} {about[library]}" for library in ("python", *_LIBRARIES))
        seeds = ", ".join(map(str, about["seeds"]))
        made.append([name, f"`{about['command']}`", seeds, about["FEMNIST"], libraries])
    page = folder / "results.md"
    page.write_text(
        "\n".join([
            _HEAD,
            *table(["experiment", "finding", "the paper", "here", "holds"], rows),
            "",
            "## How each was made",
            "",
            *table(["experiment", "command", "seeds", "FEMNIST", "versions"], made),
            "",
        ]),
        encoding="utf-8",
    )  # fmt: skip
    return page


def rows_of(saved: Mapping[str, Any]) -> list[list[str]]:
    """Rows of findings: experiment, finding, what the paper says, what comes out, whether it holds."""
    quick = " (quick)" if saved["made"]["settings"] == "quick" else ""
    if saved["experiment"] in RECORDED:
        quick += ", by 0.2"
    return [
        [
            saved["experiment"] + (f", seed {run['seed']}" if len(saved["runs"]) > 1 else "") + quick,
            finding["quantity"],
            finding["paper"],
            finding["ours"],
            _held(finding),
        ]
        for run in saved["runs"]
        for finding in run["findings"]
    ]


def _held(finding: Mapping[str, Any]) -> str:
    """Whether it holds; where it does not, why."""
    why = f": {finding['reason']}" if finding["holds"] is False and finding["reason"] else ""
    return _HOLDS[finding["holds"]] + why


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table in Markdown."""
    cells = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in cells]


def _saved(folder: Path, name: str) -> dict[str, Any] | None:
    for path in (folder / f"{name}.json", folder / f"{name}-quick.json"):
        if path.exists():
            found: dict[str, Any] = msgspec.json.decode(path.read_bytes())
            return found
    return None
