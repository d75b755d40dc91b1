"""A node that plays an adversary: another session, and nothing of it in the honest one."""

from __future__ import annotations

import ast
import random
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import folkmoot.network
from folkmoot.adversaries import ATTACKS, Knows, Sees
from folkmoot.network.session.phases import Phase
from folkmoot.network.wire import messages as m
from folkmoot.network.wire.packing import unpack
from folkmoot.testing.liars import PLAYABLE, Liar, LyingSession
from support.network.one_session import Table, colours

ALL_A, MIXED = colours(0, 0, 0, 0), colours(0, 1, -1, 1)


def lying(name: str, **options: object) -> Table:
    liar = Liar(ATTACKS[name](), random.Random(0))
    return Table(kind=partial(LyingSession, liar), **options)  # type: ignore[arg-type]


def test_what_no_node_can_know_no_node_can_play() -> None:
    for name, kind in ATTACKS.items():
        assert (name in PLAYABLE) == (Knows.POPULATION not in kind.knows)
        if name not in PLAYABLE:
            with pytest.raises(ValueError, match=f"a node cannot play '{name}'"):
                Liar(kind(), random.Random(0))


@pytest.mark.parametrize("name", [name for name in PLAYABLE if ATTACKS[name].sees is not Sees.DIE])
def test_it_tells_each_asker_what_its_adversary_would(name: str) -> None:
    adversary, liar = ATTACKS[name](), Liar(ATTACKS[name](), random.Random(0))
    votes = np.array([0, 1, 2, -1, 1], dtype=np.int8)
    first = [-1 if v < 0 else adversary.first_vote(vote=v, truth=v, classes=3) for v in votes.tolist()]
    assert liar.first(votes, 3).tolist() == first
    for asker in range(5):
        seen = asker if adversary.sees is Sees.ASKER else 0
        told = [-1 if v < 0 else adversary.answer(seen, vote=v, truth=v, classes=3) for v in votes.tolist()]
        answer = liar.answer(asker, votes, 3)
        assert (None if answer is None else answer.tolist()) == (None if set(told) == {-1} else told)


def test_it_votes_and_answers_lies_asks_nobody_and_signs_them() -> None:
    table = lying("malicious")
    table.vote(MIXED)
    assert unpack(table.session.minutes.own.first, 4, 2).tolist() == [1, 0, -1, 0]
    table.gather(ALL_A)
    assert table.phase() is Phase.TALKING
    assert not [message for _, message in table.out() if isinstance(message, m.Ask)]
    assert table.session.view().held == {"a": 0.666667, "b": 0.333333}  # it can be looked at, too
    table.session.receive(0.0, 2, m.Ask(table.name, 0, None))
    ((_, told),) = table.out()
    assert isinstance(told, m.Answer)
    assert unpack(told.votes, 4, 2).tolist() == [1, 0, -1, 0]
    for place in (0, 2):  # it leaves when others do
        assert table.phase() is Phase.TALKING
        table.session.receive(1.0, place, table.close(place, ALL_A, ALL_A))
    assert table.phase() is Phase.CLOSING
    assert unpack(table.session.closes[1].decisions, 4, 2).tolist() == [1, 0, -1, 0]


def test_a_silent_one_is_silent_to_the_end() -> None:
    table = lying("faulty")
    table.vote(MIXED)
    table.gather(ALL_A)
    table.session.receive(0.0, 2, m.Ask(table.name, 0, None))
    for place in (0, 2):
        table.session.receive(1.0, place, table.close(place, ALL_A, ALL_A))
    table.session.tick(29.0)
    assert 1 not in table.session.closes
    assert not [message for _, message in table.out() if isinstance(message, m.Answer | m.Close)]


def test_with_trust_it_neither_waits_for_first_votes_nor_listens() -> None:
    table = lying("malicious", trust=True)
    table.vote(MIXED)
    table.session.receive(0.0, 2, table.commit(2, ALL_A))
    table.out()
    table.session.receive(0.0, 2, m.Ask(table.name, 0, None))
    assert [type(message) for _, message in table.out()] == [m.Answer]
    table.gather(ALL_A)
    assert table.phase() is Phase.TALKING


def test_no_module_of_a_node_knows_of_liars() -> None:
    (folder,) = map(Path, folkmoot.network.__path__)
    modules = [*folder.rglob("*.py")]
    assert len(modules) > 50
    for module in modules:
        names = {
            node.id if isinstance(node, ast.Name) else node.attr
            for node in ast.walk(ast.parse(module.read_text()))
            if isinstance(node, ast.Name | ast.Attribute)
        }
        assert not [name for name in names if re.search("liar|adversar|attack", name.lower())], module


def test_the_same_votes_without_a_liar_are_told_as_they_are() -> None:
    table = Table()
    table.vote(MIXED)
    assert unpack(table.session.minutes.own.first, 4, 2).tolist() == MIXED.tolist()
