"""Numbers and signs for people: no ± 3.7e-17, once and not 1 times, and why the first run takes longer."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest
from numba import njit

from folkmoot.cli.output import COMPILING, progress_bar, progress_bars
from folkmoot.comparing.printing import plus_minus, times


@pytest.mark.parametrize(
    ("error", "digits", "told"),
    [(3.7e-17, 4, " ± 0"), (0.0, 4, " ± 0"), (0.00651, 4, " ± 0.0065"), (0.00004, 4, " ± 0"),
     (0.00005001, 4, " ± 0.0001"), (0.0652, 3, " ± 0.065"), (None, 4, "")],
)  # fmt: skip
def test_an_error_is_a_number_that_can_be_read(error: float | None, digits: int, told: str) -> None:
    assert plus_minus(error, digits) == told


def test_once() -> None:
    assert [times(count) for count in (1, 2, 10, 1000)] == ["once", "2 times", "10 times", "1,000 times"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("several", [False, True])
def test_the_first_run_says_that_it_compiles_and_the_second_does_not(
    several: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    doubled: Any = njit(lambda x: 2 * x)

    def shown() -> str:
        screen = Terminal()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", screen)
            patch.setenv("TERM", "xterm")
            with progress_bars() if several else progress_bar("working") as report:
                assert report is not None
                assert doubled(21) == 42
        return screen.getvalue()

    assert COMPILING == "compiling (first run)"
    assert COMPILING in shown()
    assert COMPILING not in shown()


def test_nothing_is_said_where_nobody_is_watching() -> None:
    tripled: Any = njit(lambda x: 3 * x)
    with progress_bar("working") as report:
        assert report is None
        assert tripled(2) == 6
