"""Check that the Python of every page can be imported with only the extra that the page names.

    python tools/check_page_imports.py [FOLDER]

An environment that has everything hides what an extra lacks. So this makes environments in FOLDER
(build/page-imports) that have only folkmoot and one choice of extras, and runs the import statements of the
pages there: with no extra; with the extras a page names (``".[data]"``) where the page needs more; with
``docs`` for what ``make docs`` runs: notebooks, pictures of the gallery, extensions of Sphinx. It needs no
package itself, and installs with uv where there is one (seconds), else with pip (minutes).
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
BLOCK: Final = re.compile(r"^```([^\n`]*)\n(.*?)^```$", flags=re.M | re.S)
IMPORT: Final = re.compile(r"(from \S+ )?import \w")
NAMED: Final = re.compile(r"(?:folkmoot|\"\.)\[([\w,-]+)\]")
# What a call imports although no statement of the page does: {(keyword, value): statement}.
IMPLIED: Final[dict[tuple[object, object], str]] = {
    ("as_frame", True): "import pandas",  # of scikit-learn's datasets
    ("transform", "pandas"): "import pandas",  # of set_output
    ("transform", "polars"): "import polars",
}
# Runs the statements that stdin lists, and lists those that failed with why.
RUN: Final = """
import json, sys
failed = {}
for statement in json.load(sys.stdin):
    try:
        exec(statement, {})
    except Exception as error:
        failed[statement] = f"{type(error).__name__}: {error}"
print(json.dumps(failed))
"""

Extras = frozenset[str]


class Page(NamedTuple):
    """A file that shows or runs Python, its import statements, and what a reader is told to install."""

    name: str
    imports: tuple[str, ...]
    extras: Extras
    built: bool  # run by make docs


def imports_of(code: str) -> Iterator[str]:
    """The import statements of some Python, and those that its calls imply. Lines of IPython are left out."""
    if code.lstrip().startswith("%%"):  # another language
        return
    lines = [line for line in code.splitlines() if not line.startswith((":", "%", "!"))]
    for node in ast.walk(ast.parse("\n".join(lines))):
        match node:
            case ast.Import():
                yield ast.unparse(node)
            case ast.ImportFrom(level=0, module=module) if module != "__future__":
                yield ast.unparse(node)
            case ast.keyword(arg=name, value=ast.Constant(value=value)) if (name, value) in IMPLIED:
                yield IMPLIED[name, value]


def python_of(text: str) -> list[str]:
    """The blocks of Python of a page, cells of a notebook, and plain blocks that open with an import."""
    return [
        code
        for kind, code in BLOCK.findall(text)
        if kind == "python" or kind.startswith("{code-cell}") or (kind == "" and IMPORT.match(code))
    ]


def page_of(path: Path, root: Path) -> Page:
    """What a page, an example or an extension of Sphinx imports."""
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(root).as_posix()
    blocks = [text] if path.suffix == ".py" else python_of(text)
    imports = tuple(dict.fromkeys(each for block in blocks for each in imports_of(block)))
    extras = frozenset(extra for listed in NAMED.findall(text) for extra in listed.split(","))
    if path.suffix == ".py":
        built = path.name.startswith("plot_") or "examples" not in path.parts
    else:
        built = "```{code-cell}" in text
    return Page(name, imports, extras, built)


def pages(root: Path = ROOT) -> list[Page]:
    """Everything that shows or runs Python, but the project's own modules."""
    paths = [*root.glob("*.md"), *root.glob("docs/*.md"), *root.glob("docs/theorems/*.md")]
    paths += [*root.glob("examples/*.py"), root / "docs" / "conf.py", *root.glob("docs/_ext/*.py")]
    return [page for page in (page_of(path, root) for path in sorted(paths)) if page.imports]


def environment(extras: Extras, folder: Path, root: Path = ROOT) -> Path:
    """Make an environment with folkmoot and these extras alone, and return its python."""
    place = folder / ("-".join(sorted(extras)) or "base")
    shutil.rmtree(place, ignore_errors=True)
    without_pip = ["--without-pip"] if shutil.which("uv") else []
    subprocess.run([sys.executable, "-m", "venv", *without_pip, place], check=True)
    return install(extras, place / "bin" / "python", root)


def install(extras: Extras, python: Path, root: Path = ROOT) -> Path:
    """Install folkmoot and these extras beside what is there already."""
    uv = shutil.which("uv")
    pip = [str(python), "-m", "pip", "install", "--no-compile"]
    command = [uv, "pip", "install", "--python", str(python)] if uv else pip
    wanted = f"{root}[{','.join(sorted(extras))}]" if extras else str(root)
    constraints = root / "constraints.txt"
    subprocess.run([*command, "--quiet", "--constraint", constraints, "--editable", wanted], check=True)
    return python


def failing(python: Path, asked: list[Page], root: Path = ROOT) -> dict[tuple[str, str], str]:
    """Which (page, import statement) fail in the environment of that python, and why."""
    statements = sorted({statement for page in asked for statement in page.imports})
    # docs/conf.py puts the first of these on the path, an extension the second; docs/reproduction.md says to
    # be in the clone. -P: nothing else is there.
    path = {"PYTHONPATH": f"{root / 'docs' / '_ext'}:{root / 'tools'}:{root}", "PATH": "/usr/bin:/bin"}
    told = subprocess.run(
        [python, "-P", "-c", RUN],
        input=json.dumps(statements),
        env=path,
        capture_output=True,
        text=True,
        check=False,
    )
    if told.returncode:
        raise RuntimeError(told.stderr)
    failed = json.loads(told.stdout.splitlines()[-1])
    return {(page.name, each): failed[each] for page in asked for each in page.imports if each in failed}


def complaints(root: Path, folder: Path) -> list[str]:
    """One line for each import that fails with what its page names."""
    asked = pages(root)
    built = [page for page in asked if page.built]
    shown = [page for page in asked if not page.built]
    python = environment(frozenset(), folder, root)
    base = failing(python, shown, root)
    lines = told("", {key: why for key, why in base.items() if not extras_of(key[0], shown)})
    # An extra may be large (a GPU's libraries): installed only where folkmoot alone did not do.
    lacking = {page for page, _ in base}
    for extras in sorted({page.extras for page in shown if page.extras and page.name in lacking}, key=sorted):
        again = [page for page in shown if page.extras == extras]
        lines += told(",".join(sorted(extras)), failing(environment(extras, folder, root), again, root))
    # Beside folkmoot alone, as make docs has it, and because Python has compiled that by now.
    install(frozenset({"docs"}), python, root)
    return lines + told("docs", failing(python, built, root))


def extras_of(name: str, among: list[Page]) -> Extras:
    """The extras that the page of that name names."""
    return next(page.extras for page in among if page.name == name)


def told(extras: str, failed: dict[tuple[str, str], str]) -> list[str]:
    """Say which imports failed with these extras, and what to do."""
    installed = f"folkmoot[{extras}]" if extras else "folkmoot alone"
    mend = "add what is missing to the extra in pyproject.toml"
    if extras != "docs":
        mend += ', or name another on the page: pip install ".[...]"'
    return [
        f"{page}: '{each}' fails with {installed} ({why}); {mend}" for (page, each), why in failed.items()
    ]


def main() -> None:
    """Check the pages of this checkout."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "page-imports"
    found = complaints(ROOT, folder.absolute())
    if found:
        sys.exit("\n".join(found))
    print(
        f"the imports of {len(pages())} pages, examples and extensions work with the extras that these name"
    )


if __name__ == "__main__":
    main()
