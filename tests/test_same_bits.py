"""What is promised to be the same on every processor is, with both kinds of floating point."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.kinds_of_floats import COMPILED_WITHOUT, NUDGED, WIDE, WITHOUT, computed

ROOT = Path(__file__).parents[1]
ALL = "from support.same_bits import main; main()"
NOT_PROMISED = {"exp", "log", "product", "compiled for"}


def assert_same(one: dict[str, str], other: dict[str, str]) -> None:
    assert one.keys() == other.keys()
    assert {name for name in one if one[name] != other[name]} <= NOT_PROMISED


def test_values_that_are_off_in_the_last_place_change_nothing_that_is_promised() -> None:
    here, nudged = computed(ALL), computed(ALL, first=NUDGED)
    assert here["exp"] != nudged["exp"]
    assert_same(here, nudged)


def test_a_processor_that_can_do_less_changes_nothing_that_is_promised() -> None:
    here, without = computed(ALL), computed(ALL, environment=WITHOUT)
    assert here["exp"] != without["exp"] or not WIDE  # else this machine has one kind only
    assert_same(here, without)


@pytest.mark.slow
def test_nor_does_code_that_is_compiled_for_it() -> None:
    here, without = computed(ALL), computed(ALL, environment=WITHOUT | COMPILED_WITHOUT)
    assert without["compiled for"] == "generic"
    assert_same(here, without)


@pytest.mark.slow
def test_nodes_on_other_processors_sign_the_same_results_of_a_thousand_motions_by_each_rule() -> None:
    thousand = "from support.same_bits import main; main(1000)"
    here, without = computed(thousand), computed(thousand, environment=WITHOUT)
    assert_same(here, without)
    assert_same(here, computed(thousand, first=NUDGED))


def test_the_page_names_functions_that_are_there() -> None:
    package = ROOT / "src" / "folkmoot"
    page = (ROOT / "docs" / "same-bits.md").read_text(encoding="utf-8")
    rows = re.findall(r"`(node/[\w/.]+\.py)` (`\w+`(?:, `\w+`)*)", page)
    named = [(file, name) for file, names in rows for name in re.findall(r"\w+", names)]
    assert len(named) > 15
    for file, name in named:
        source = (package / file).read_text(encoding="utf-8")
        assert re.search(rf"^ *def {name}\(", source, flags=re.M), (file, name)
