"""What pages import comes with the extras that they name, and the tool that checks it finds what does not."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from support.clean_copy import clean_copy

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tools"))  # at the end: names of theirs hide nobody's

from check_page_imports import Page, complaints, environment, failing, imports_of, page_of, pages  # noqa: E402


@pytest.mark.parametrize(
    ("code", "statements"),
    [
        ("import numpy as np\nfrom a.b import c, d\n", ["import numpy as np", "from a.b import c, d"]),
        ("def f():\n    import late\n", ["import late"]),
        ("data = load_digits(as_frame=True)\n", ["import pandas"]),
        ("data = load_digits(as_frame=False)\n", []),
        ("est.set_output(transform='polars')\n", ["import polars"]),
        (":tags: [remove-cell]\n\nimport os\n%matplotlib inline\n!ls\n", ["import os"]),
        ("%%bash\nimport this | folkmoot\n", []),
        ("from __future__ import annotations\nfrom .near import it\n", []),
    ],
)
def test_imports_of_code(code: str, statements: list[str]) -> None:
    assert list(imports_of(code)) == statements


def test_a_page_says_what_it_imports_and_which_extras_it_names(tmp_path: Path) -> None:
    shown = tmp_path / "shown.md"
    shown.write_text(
        '`".[boost]"`, `folkmoot[data]`\n```python\nimport a\n```\n\n```\nprints: import no\n```\n'
        "```toml\nimport = 1\n```\n```python\nimport b\n```\n\n```\nfrom c import d\nd()\n```\n"
    )
    assert page_of(shown, tmp_path) == Page(
        "shown.md", ("import a", "import b", "from c import d"), frozenset({"boost", "data"}), built=False
    )
    notebook = tmp_path / "notebook.md"
    notebook.write_text("---\n---\n```{code-cell} ipython3\n:tags: [x]\n\nimport a\n```\n")
    assert page_of(notebook, tmp_path) == Page("notebook.md", ("import a",), frozenset(), built=True)


def test_every_page_with_python_is_checked() -> None:
    checked = {page.name for page in pages()}
    for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/plot_*.py")]:
        text = path.read_text(encoding="utf-8")
        if "_build" in path.parts or not re.search(r"^(from \S+ )?import \w", text, flags=re.M):
            continue
        assert path.relative_to(ROOT).as_posix() in checked


def test_an_import_that_fails_is_found_with_its_page() -> None:
    asked = [
        Page("fine.md", ("import json", "from folkmoot import Slush"), frozenset(), built=False),
        Page("wrong.md", ("import folkmoot_is_not_all", "import json"), frozenset(), built=False),
        Page("renamed.md", ("from folkmoot import Slosh",), frozenset(), built=False),
    ]
    found = failing(Path(sys.executable), asked)
    assert {page for page, _ in found} == {"wrong.md", "renamed.md"}
    assert "No module named 'folkmoot_is_not_all'" in found["wrong.md", "import folkmoot_is_not_all"]


@pytest.mark.slow
def test_in_a_clean_clone_what_pages_import_comes_with_the_extras_that_they_name(tmp_path: Path) -> None:
    clone = clean_copy(tmp_path / "clone")
    # The tool sees what an extra lacks: folkmoot alone has no Sphinx and no pandas.
    found = failing(environment(frozenset(), tmp_path, clone), [p for p in pages(clone) if p.built], clone)
    assert ("docs/five-organisations.md", "import pandas") in found
    assert any(page == "docs/_ext/command_line.py" for page, _ in found)
    assert complaints(clone, tmp_path) == []
