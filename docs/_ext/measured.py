"""What benchmarks wrote into benchmarks/results.json: ``measurements`` shows all, ``measured`` one table."""

from __future__ import annotations

import ast
import json
from itertools import groupby
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
RESULTS = BENCHMARKS / "results.json"
UNITS = {"seconds": "s", "MB": "MB", "bytes": "bytes", "milliseconds": "ms"}
JUDGED = ("target", "reached")


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(map(_number, value))
    if isinstance(value, dict):
        return "; ".join(f"{key} {_number(each)}" for key, each in value.items())
    return str(value)


def row(name: str, value: Any) -> tuple[str, str, str]:
    """What was measured, what came out, and the target it was held to, if any."""
    if not isinstance(value, dict):
        return name, _number(value), ""
    target = _number(value["target"]) if "target" in value else ""
    if "reached" in value:
        target += " (reached)" if value["reached"] else " (**not** reached)"
    parts = []
    for key, each in value.items():
        if key not in JUDGED:
            unit = UNITS.get(key)
            parts.append(f"{_number(each)} {unit}" if unit else f"{key} {_number(each)}")
    return name, "; ".join(parts), target


def figures(value: Any) -> tuple[str, ...]:
    """The names of what was measured, where it is more than one figure."""
    names = tuple(key for key in value if key not in JUDGED) if isinstance(value, dict) else ()
    return names if len(names) > 1 else ()


def table(results: dict[str, Any]) -> str:
    """Markdown of one benchmark's results; rows that follow each other with the same figures have columns."""
    parts = []
    for names, found in groupby(results.items(), key=lambda item: figures(item[1])):
        rows = list(found)
        if names and len(rows) > 1:
            head = [name.replace("_", " ") for name in names]
            cells = [
                [name, *(_number(value[each]) for each in names), row(name, value)[2]] for name, value in rows
            ]
        else:
            head, cells = ["measured"], [list(row(name, value)) for name, value in rows]
        parts.append(_markdown(["", *head, "target"], cells))
    return "\n\n".join(parts)


def _markdown(head: list[str], rows: list[list[str]]) -> str:
    """A table, without its last column if that is empty."""
    if not any(cells[-1] for cells in rows):
        head, rows = head[:-1], [cells[:-1] for cells in rows]
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in cells] for cells in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def provenance(name: str, entry: dict[str, Any]) -> str:
    """How to measure it again, and when, of what and where it was measured."""
    machine = entry["machine"]
    return (
        f"*`python benchmarks/{name}.py --record`, {entry['date']}, commit `{entry['commit']}`, "
        f"{machine['cores']} cores ({machine['processor']}), {machine['system']}, "
        f"Python {machine['python']}; load {machine['load']} when it began.*\n"
    )


def page(results: dict[str, Any]) -> str:
    """Markdown of all of them; what each does is the first lines of its script."""
    parts = []
    for name, entry in results.items():
        about = ast.get_docstring(ast.parse((BENCHMARKS / f"{name}.py").read_text(encoding="utf-8"))) or ""
        first, *rest = [part for part in about.split("\n\n") if not part.startswith("    ")]
        parts.append(
            f"### {name.replace('_', ' ')}\n\n{' '.join(first.split())}\n\n{table(entry['results'])}\n\n"
            f"{' '.join(' '.join(rest).split())}\n\n{provenance(name, entry)}"
        )
    return "\n".join(parts).replace("``", "`")


def part(name: str, results: dict[str, Any]) -> str:
    """Markdown of one benchmark, for the page that speaks of it."""
    if name not in results:
        return f"Not measured since the code last changed: `python benchmarks/{name}.py --record` does it.\n"
    return f"{table(results[name]['results'])}\n\n{provenance(name, results[name])}"


class Measurements(SphinxDirective):
    """A section for each benchmark that has been recorded."""

    def run(self) -> list[nodes.Node]:
        """Sections in the order of the file."""
        self.env.note_dependency(str(RESULTS))
        text = page(json.loads(RESULTS.read_text(encoding="utf-8")))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


class Measured(SphinxDirective):
    """The table of one benchmark."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The table, or how to measure it."""
        (name,) = self.arguments
        if not (BENCHMARKS / f"{name}.py").exists():
            raise self.error(f"there is no benchmarks/{name}.py")
        self.env.note_dependency(str(RESULTS))
        return self.parse_text_to_nodes(part(name, json.loads(RESULTS.read_text(encoding="utf-8"))))


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directives."""
    app.add_directive("measurements", Measurements)
    app.add_directive("measured", Measured)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
