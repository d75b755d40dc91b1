"""The pages about the network and its code say the same: log lines, reasons, limits, what people are told."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from folkmoot.network.storage.account import account, find
from folkmoot.network.wire.motion import Motion
from folkmoot.node.membership.roster import Roster
from support.network.moot_in_memory import Moot

ROOT = Path(__file__).parents[1]
CODE = {
    path: path.read_text()
    for part in ("network", "node", "web")  # a node, and what shows it
    for path in (ROOT / "src" / "folkmoot" / part).rglob("*.py")
}
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
# How a connection can end without anything being wrong.
ORDINARY = {"lost", "closed", "leaving", "too many connections"}


def texts(node: ast.expr) -> list[str]:
    """The strings that an expression may be: a constant, or one of two."""
    if isinstance(node, ast.IfExp):
        return texts(node.body) + texts(node.orelse)
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def events() -> Iterator[tuple[str, set[str], set[str]]]:
    """Every line that the code may write: its event, its possible levels, and its fields."""
    for text in CODE.values():
        tree = ast.parse(text)
        named = {
            target.id: texts(each.value)
            for each in ast.walk(tree)
            if isinstance(each, ast.Assign)
            for target in each.targets
            if isinstance(target, ast.Name)
        }
        for call in ast.walk(tree):
            if not isinstance(call, ast.Call) or len(call.args) < 2:
                continue
            what = ast.unparse(call.func).split(".")[-2:]
            level, event = call.args[:2]
            if what[-1] == "_warn":
                levels = {"warning"}
            elif what[-1] == "_log" or what == ["log", "write"]:
                levels = set(texts(level))
            else:
                continue
            found = named.get(event.id, []) if isinstance(event, ast.Name) else texts(event)
            for each in found:
                yield each, levels, {key.arg for key in call.keywords if key.arg} - {"node"}


def test_every_log_line_is_on_the_page_with_its_fields_and_no_other() -> None:
    section = OPERATIONS.split("\n## Logs\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| (\w+) \|(.*)\|$", section, flags=re.M)
    page = {event: (level, fields) for event, level, fields in rows}
    code = list(events())
    assert len(code) > 15
    assert {event for event, _, _ in code} == set(page)
    for event, levels, fields in code:
        assert page[event][0] in levels, event
        for field in fields:
            assert re.search(rf"\b{field}\b", page[event][1]), f"{event}: {field}"


def test_every_reason_to_refuse_is_on_the_page_and_no_other() -> None:
    (listed,) = re.findall(r"^Reasons: (.*?)\n\n", OPERATIONS, flags=re.M | re.S)
    code: set[str] = set()
    for path, text in CODE.items():
        if "web" in path.parts:  # what the page refuses is in http-api.md
            continue
        code |= set(re.findall(r'refuse\(peer, "(\w+)"\)|$', text))
        code |= set(re.findall(r'counts\["refused_(\w+)"\]', text))
        why = set(re.findall(r'\.drop\(f?"([^":]+)', text)) - ORDINARY
        code |= {each.replace(" ", "_") for each in why}
        if path.name == "admission.py":
            code |= set(re.findall(r'return "(\w+)"|$', text)) | set(
                re.findall(r'^[A-Z_]+: Final = "(\w+)"', text, re.M)
            )
    assert set(re.findall(r"`(\w+)`", listed)) == code - {""}


def test_what_a_node_says_when_it_abstains_or_refuses_is_what_the_pages_show() -> None:
    """Each text of a page, a number of inputs aside, is in the code."""
    said = " ".join(re.sub(r'"\s+f?"', "", text) for text in CODE.values())
    network = (ROOT / "docs" / "network.md").read_text()
    shown = re.findall(r"^abstained: \w+: (.*)$", network, flags=re.M)
    shown += [
        part
        for row in re.findall(r"^\| (`(?:abstains|refused) \.\.\. .*?) \|", OPERATIONS, flags=re.M)
        for part in re.findall(r"`(?:(?:abstains|refused) )?(?:\.\.\. )?([^`]+)`", row)
    ]
    assert len(shown) >= 5
    for text in shown:
        assert text in said, text


def test_the_most_inputs_of_a_motion_are_as_the_page_says() -> None:
    page = " ".join((ROOT / "docs" / "wire.md").read_text().split())
    figure = r"([\d,]+)"
    limits = f"at most {figure} inputs, and inputs times labels are at most {figure}"
    said = re.search(rf"{limits} \({figure} inputs with 25 labels\)", page)
    assert said is not None
    most, cells, with_25 = (int(figure.replace(",", "")) for figure in said.groups())
    assert with_25 == cells // 25
    moot = Moot(np.zeros((3, 1), dtype=np.int8), seed=1)

    def motion(inputs: int, labels: int) -> Motion:
        chunks = -(-inputs // 65536)
        names = tuple(map(str, range(labels)))
        digests = (bytes(32),) * chunks
        return moot.motion(k=2, alpha=2, inputs=inputs, chunk_rows=65536, chunks=digests, labels=names)[0]

    for inputs, labels in ((most, 2), (with_25, 25)):
        motion(inputs, labels).check()
        with pytest.raises(ValueError, match="put them in several motions"):
            motion(inputs + 1, labels).check()


def test_a_motion_under_way_when_the_roster_changes_is_closed_at_the_next_start() -> None:
    assert "at the next start the node closes it without having signed it" in " ".join(OPERATIONS.split())
    moot = Moot(np.zeros((5, 4), dtype=np.int8), seed=3)
    moot.put(k=4)
    moot.network.run(0.05)
    storage = moot.storages[2]
    assert account(storage, find(storage, "last")).state == "open"
    moot.crash(2)
    moot.roster = Roster(list(moot.roster)[:4])  # one has left
    moot.start(2)
    told = account(storage, find(storage, "last"))
    assert (told.state, told.undecided) == ("closed", 4)
    assert "p002" not in told.took_part
