"""``ablation``: every mechanism is left out once where it is used, and put back."""

from __future__ import annotations

import pytest

from experiments.mechanism.ablation import (
    EXPERIMENT,
    MECHANISMS,
    WHOLE,
    AblationResult,
    Bought,
    Config,
    of_moot,
)
from experiments.mechanism.frozen import measured, settings


def test_gains_are_those_of_the_rule_as_it_stands() -> None:
    result = EXPERIMENT.run(Config(moots=("iris-7", "diabetes-s5-ridge")), 0)
    assert isinstance(result, AblationResult)
    whole = {
        (each.moot.rpartition("-s")[0], each.rule, each.lie): measured(each)
        for each in settings(moots="iris-7-s0")
    }
    for each in result.bought:
        if each.moot == "iris-7":
            assert each.whole == pytest.approx(whole[each.moot, each.rule, each.lie]["all"])
    assert {each.mechanism for each in result.bought if each.kind == "numbers"} == set(MECHANISMS["numbers"])
    vetting = max(each.gain for each in result.bought if each.mechanism.startswith("vetting"))
    assert vetting > 0.1  # two of seven always lie, and label their rows so


def test_a_mechanism_is_put_back() -> None:
    before, after = (
        [figure for _, name, _, _, figure in of_moot("wine-3-s0", 3) if name == WHOLE] for _ in range(2)
    )
    assert before == after


def test_of_errors_the_gain_is_a_share() -> None:
    assert Bought("numbers", "any", "m", "r", "l", 50.0, 60.0).gain == pytest.approx(0.2)
    assert Bought("gold", "any", "m", "r", "l", 0.9, 0.8).gain == pytest.approx(0.1)
