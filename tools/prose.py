"""Count what makes a sentence hard to read, by page and by folder of the code, and hold it to a budget.

    python tools/prose.py [NAME ...]   # which are above their budgets; all findings of these
    python tools/prose.py --write      # the counts of today as budgets; a review sees which rose

It reads pages, docstrings of public names, help of options and messages of errors. ``make check`` runs it.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
BUDGET: Final = ROOT / "tools" / "prose_budget.json"
NEW: Final = 100  # a new page may have one finding in so many words
MOST_WORDS: Final = 25
COUNTED = "line|row|member|node|participant|input|query|round|vote|file|core|second|minute|request|process"
PATTERNS: Final = {
    "opens with a relative clause": re.compile(r"^(Who|Whom|Whose|What|Where)\b[^?]*$"),
    'has "a" for "per"': re.compile(rf"\b(one|two|three|ten|\d[\d,.]*)( \w+)? \w+ an? ({COUNTED})\b"),
    "tells history": re.compile(r"\b[Ii]n 0\.[12]\b"),
}


def findings(text: str) -> Iterator[str]:
    """What is hard to read in prose, each with the beginning of its sentence."""
    for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z\"(])|\n\n+", text):
        words = sentence.split()
        found = [name for name, pattern in PATTERNS.items() if pattern.search(" ".join(words))]
        if len(words) > MOST_WORDS:
            found.append(f"has {len(words)} words")
        yield from (f"{name}: {' '.join(words[:12])} ..." for name in found)


def of_page(text: str) -> str:
    """The prose of a page: no code, tables, headings, comments and addresses."""
    text = re.sub(r"^(```|~~~|:::).*?^\1\s*$|<!--.*?-->", "\n\n", text, flags=re.M | re.S)
    text = re.sub(r"^(\||#|\$ |!\[|---).*$", "\n\n", text, flags=re.M)
    text = re.sub(r"^\s*([-*]|\d+\.) ", "\n\n", text, flags=re.M)
    return plain(re.sub(r"\]\([^)]*\)", "]", text))


def plain(text: str) -> str:
    """Code and formulas are one word each."""
    return re.sub(r"(`+).+?\1|\$[^$\n]+\$|\*|\[|\]", lambda m: "Code" if len(m[0]) > 1 else "", text)


def of_code(source: str) -> str:
    """The prose of a module: docstrings of public names, help and messages."""
    parts = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if not getattr(node, "name", "").startswith("_"):
                parts.append(
                    re.sub(
                        r"^\s*(>>>.*|\.\.\. .*|-+|\w+ : .*)$", "\n", ast.get_docstring(node) or "", flags=re.M
                    )
                )
        elif isinstance(node, ast.Raise):
            parts += [text for each in ast.walk(node) for text in _text(each)]
        elif isinstance(node, ast.keyword) and node.arg == "help":
            parts += _text(node.value)
    return "\n\n".join(plain(re.sub(r"``", "`", each)) for each in parts)


def _text(node: ast.AST) -> list[str]:
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def texts() -> Iterator[tuple[str, str]]:
    """All prose: by page, and by folder of the package."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("chain/*.md")]
    for page in sorted(set(pages) - {ROOT / "CHANGELOG.md"}):
        if not {"_build", "api", "gallery"} & set(page.parts):
            yield page.relative_to(ROOT).as_posix(), of_page(page.read_text(encoding="utf-8"))
    by_folder: dict[str, list[str]] = {}
    for package in (ROOT / "src" / "folkmoot", ROOT / "chain" / "src" / "folkmoot_chain"):
        for path in sorted(package.rglob("*.py")):
            below = path.relative_to(package).parts
            name = f"{package.name}/{below[0]}" if len(below) > 1 else package.name
            by_folder.setdefault(name, []).append(of_code(path.read_text(encoding="utf-8")))
    yield from ((name, "\n\n".join(parts)) for name, parts in by_folder.items())


def main(arguments: list[str]) -> int:
    found = {name: (list(findings(text)), len(text.split())) for name, text in texts()}
    if arguments == ["--write"]:
        counts = {name: len(each) for name, (each, _) in found.items()}  # 0 too: it stays without any
        BUDGET.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
        return 0
    budget: dict[str, int] = json.loads(BUDGET.read_text(encoding="utf-8"))
    above = False
    for name, (each, words) in found.items():
        most = budget.get(name, words // NEW)
        if len(each) > most or name in arguments:
            above |= len(each) > most
            print(
                f"{name}: {len(each)} findings, at most {most}",
                *(each if name in arguments else ()),
                sep="\n  ",
            )
    if above:
        print("python tools/prose.py NAME shows them, to be written more plainly; --write allows as many")
    return int(above)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
