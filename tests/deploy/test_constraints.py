"""constraints.txt has one version of all that the project's own environments install; no index is asked."""

from __future__ import annotations

import re
from importlib import metadata
from itertools import pairwise

import pytest
from packaging.utils import canonicalize_name

from support.closure import CHAIN, PROJECT, closure
from support.fresh import ROOT

LINES = (ROOT / "constraints.txt").read_text().splitlines()
PINNED = {canonicalize_name(line.split("==")[0]): line for line in LINES if not line.startswith("#")}
# The two need other versions of the same packages of CUDA, and no test installs them.
CUDA = ("gpu", "gpu12")
EXTRAS = [each for each in PROJECT["optional-dependencies"] if each not in CUDA]
EXTRAS += [f"folkmoot-chain {each}" for each in CHAIN["optional-dependencies"]]


@pytest.mark.parametrize("extra", EXTRAS)
def test_all_that_an_extra_brings_is_pinned(extra: str) -> None:
    """As far as it is installed here: of what is not, the name itself must be pinned."""
    found, _ = closure([extra])
    assert found
    loose = {f"{name} (of {asks})" for name, asks in found.items() if name not in PINNED}
    assert not loose, "append NAME==VERSION to constraints.txt for each"


def test_all_that_builds_the_project_is_pinned() -> None:
    assert "hatchling" in closure(["dev"])[0], "tests build the wheel with what is installed"


def test_what_is_pinned_and_installed_is_asked_for() -> None:
    """A line that nobody needs is explained by a comment above it, or goes."""
    found, absent = closure(EXTRAS)
    here = {canonicalize_name(each.metadata["Name"]) for each in metadata.distributions()}
    explained = {canonicalize_name(b.split("==")[0]) for a, b in pairwise(LINES) if a[:1] == "#"}
    strange = (PINNED.keys() & here) - found.keys() - explained
    if not absent:  # nothing is left that could ask for the others
        strange = PINNED.keys() - found.keys() - explained
    assert not strange


def test_each_line_is_a_version_and_stands_once() -> None:
    lines = [line for line in LINES if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!-]+", line)] == []
    assert len(PINNED) == len(lines)
    assert lines == sorted(lines, key=lambda line: canonicalize_name(line.split("==")[0]))
