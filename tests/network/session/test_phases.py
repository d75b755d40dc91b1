"""The table of a session: it goes forward, and it ends."""

from __future__ import annotations

import pytest

from folkmoot.network.session.phases import WITH_TRUST, WITHOUT_TRUST, Event, Phase, Table

ORDER = list(Phase)


@pytest.mark.parametrize("table", [WITH_TRUST, WITHOUT_TRUST])
def test_every_step_goes_forward_and_every_phase_ends(table: Table) -> None:
    for (phase, _), after in table.items():
        assert ORDER.index(after) > ORDER.index(phase)
    for phase in ORDER[:-1]:
        assert table[phase, Event.OUT_OF_TIME] is Phase.OVER
    assert not [phase for phase, _ in table if phase is Phase.OVER]


def test_first_votes_are_revealed_only_with_trust() -> None:
    assert Phase.REVEALING in WITH_TRUST.values()
    assert Phase.REVEALING not in WITHOUT_TRUST.values()


@pytest.mark.parametrize("table", [WITH_TRUST, WITHOUT_TRUST])
def test_nobody_talks_before_all_commitments_or_closes_before_the_talk(table: Table) -> None:
    """But for a node that had closed before it was started again."""
    ways = [[Phase.VOTING]]
    ends = []
    while ways:
        way = ways.pop()
        if way[-1] is Phase.OVER:
            ends.append(way)
        for (phase, event), after in table.items():
            if phase is way[-1] and event not in (Event.OUT_OF_TIME, Event.CLOSED_BEFORE):
                ways.append([*way, after])
    whole = [phase for phase in ORDER if phase is not Phase.REVEALING or table is WITH_TRUST]
    assert ends == [whole]
