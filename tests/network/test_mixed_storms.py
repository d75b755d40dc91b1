"""The roster changes in the middle of motions of every kind, with crashes and one hostile member of seven.

No two honest nodes hold certificates that contradict each other or accuse an honest member, a motion ends
under the roster that it was put under, and when the storm is over all get on: what is asked then is answered.
"""

from __future__ import annotations

from collections import Counter

import pytest

from support.network.epoch_storms import NAMES
from support.network.message_faults import played
from support.network.mixed_storms import ASKED, KINDS, QUICK, MixedMoot, play
from support.network.moot_of_epochs import joined

PARTS = 2


@pytest.mark.parametrize("part", range(PARTS))
def test_rosters_change_in_the_middle_of_every_kind_of_motion(part: int) -> None:
    found = sum(played(QUICK[part::PARTS], 1200 * part, play), Counter[str]())
    assert_all_get_on(found, len(QUICK) // PARTS)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_rosters_change_in_the_middle_of_every_kind_of_motion_in_hundreds_of_storms(part: int) -> None:
    found = sum((play(seed) for seed in range(10_000 + 20 * part, 10_020 + 20 * part)), Counter[str]())
    assert_all_get_on(found, 20)


def assert_all_get_on(found: Counter[str], storms: int) -> None:
    assert found["epochs"] >= storms, "the storms leave something to change"
    for what in ASKED:
        assert found[f"{what}, in the storm"] > 0 or what == "labels"
        assert found[f"{what}, calm"] > 0
        if what != "check rows":
            assert found[f"{what}, decided"] > 0.8 * found[f"{what}, calm"]
    assert found["learnt from"] > 0


def test_who_gathered_check_rows_for_an_older_roster_is_told_to_ask_again() -> None:
    moot = MixedMoot(3)
    moot.network.at(0.5, lambda: moot.crash("gina"))  # so that the asker waits
    moot.ask(["anna"], "check rows", 1.0)

    def sign() -> None:
        moot.propose("bert", joined("hugo"))
        for who in NAMES[2:-1]:
            moot.sign(who, joined("hugo")(moot.root))

    moot.network.at(1.1, sign)
    moot.network.run(20.0)
    assert moot.tip("anna").epoch == 1
    assert moot.refused == ["the roster has changed since this motion was made: ask again"]
    assert moot.over == {}


def test_the_kinds_are_of_every_motion() -> None:
    assert {*QUICK} <= {*KINDS}
