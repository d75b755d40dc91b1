"""Members that contradict themselves or speak for others, over real TLS: evidence, and against them alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from folkmoot.network.storage.storage import DATABASE, Storage
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from support.command import run_json
from support.network.hostile_peer import INPUTS, Hall, Puppet, name_in, within

ONES, NONE = np.ones(INPUTS, np.int8), np.zeros(INPUTS, np.int8)


def takes_part(puppet: Puppet, peer: int, message: m.AnyMessage, *, two_faced: bool = False) -> None:
    """An honest enough member: commits when it hears of a motion, and answers."""
    if isinstance(message, m.Announce):
        for each in puppet.lines:
            puppet.say(each, puppet.commit(name_in(message), ONES))
    elif isinstance(message, m.Commit) and message.want:
        puppet.say(peer, puppet.commit(message.motion, ONES))
    elif isinstance(message, m.Ask):
        puppet.say(peer, puppet.answer(message, NONE if two_faced and peer % 2 else ONES))
    elif isinstance(message, m.Close) and message.node == peer:
        puppet.say(peer, puppet.close(message.motion, ONES, ONES))


def test_a_member_that_does_as_it_should_is_not_accused(tmp_path: Path) -> None:
    async def play() -> None:
        async with Hall(tmp_path) as hall, Puppet(hall) as puppet:
            puppet.behave = takes_part
            session = await hall.ask()
            assert 5 in session.closes
            assert not session.cheats

    within(play())


def convict(hall: Hall, kind: str) -> None:
    """The evidence in the databases holds offline, and from the shell."""
    found = 0
    key, fingerprint = hall.roster[5].public_key, bytes.fromhex(hall.roster[5].fingerprint)
    for place in hall.honest:
        storage = Storage(hall.folder / f"p{place}" / DATABASE)
        for stored in storage.motions():
            for node, proof in storage.evidence(stored.name):
                assert (node, statements.accused(proof)) == (5, 5)
                assert statements.kind(proof) == kind
                assert statements.proves(proof, key, fingerprint)
                assert not statements.proves(proof, hall.roster[0].public_key, fingerprint)
                assert statements.read_evidence(statements.write_evidence(proof)) == proof
                found = place + 1
        storage.close()
    assert found
    told = run_json("evidence", hall.folder / f"p{found - 1}", "--roster", hall.folder / "roster.toml")
    assert [(x["against"], x["what"], x["holds"]) for x in told["evidence"]] == [("p5", kind, True)]


def test_two_different_answers_of_one_version_are_evidence(tmp_path: Path) -> None:
    hall = Hall(tmp_path)

    async def play() -> None:
        async with hall, Puppet(hall) as puppet:
            puppet.behave = lambda p, peer, message: takes_part(p, peer, message, two_faced=True)
            await hall.ask(rounds=30)
            assert sum(hall.count("evidence", place) for place in hall.honest) >= 1

    within(play())
    convict(hall, "two answers")


@pytest.mark.parametrize("kind", ["two commitments", "two closes", "broken commitment"])
def test_contradictions_are_evidence(tmp_path: Path, kind: str) -> None:
    hall = Hall(tmp_path)

    def cheat(puppet: Puppet, peer: int, message: m.AnyMessage) -> None:
        if isinstance(message, m.Announce) and kind == "two commitments":
            for each in puppet.lines:
                puppet.say(each, puppet.commit(name_in(message), NONE))
        takes_part(puppet, peer, message)
        if isinstance(message, m.Close) and message.node == peer and kind == "two closes":
            puppet.say(peer, puppet.close(message.motion, NONE, ONES))

    def breaks(puppet: Puppet, peer: int, message: m.AnyMessage) -> None:
        if isinstance(message, m.Close) and message.node == peer:
            puppet.say(peer, puppet.close(message.motion, ONES, NONE))
        else:
            takes_part(puppet, peer, message)

    async def play() -> None:
        async with hall, Puppet(hall) as puppet:
            puppet.behave = breaks if kind == "broken commitment" else cheat
            session = await hall.ask()
            assert 5 in session.cheats
            assert 5 not in session.verdict().closed

    within(play())
    convict(hall, kind)


def test_closes_forged_in_the_name_of_others_change_nothing(tmp_path: Path) -> None:
    async def play() -> None:
        async with Hall(tmp_path) as hall, Puppet(hall) as puppet:

            def forge(puppet: Puppet, peer: int, message: m.AnyMessage) -> None:
                takes_part(puppet, peer, message)
                if isinstance(message, m.Announce | m.Ask):
                    for node in (*range(5), 6, 2**31 - 1):
                        puppet.say(peer, puppet.close(name_in(message), 1 - hall.votes, ONES, node=node))
                        commit = puppet.commit(name_in(message), ONES)
                        puppet.say(peer, m.Commit(commit.motion, node, *_of(commit), want=True))

            puppet.behave = forge
            session = await hall.ask()
            assert session.cheats == set()
            for node, close in session.closes.items():
                key = hall.roster[node].public_key
                assert statements.holds(key, close.signature, statements.closing(close))
            for node, commit in session.commits.items():
                assert commit.node == node

    within(play())


def _of(commit: m.Commit) -> tuple[bytes, bytes]:
    return commit.commitment, commit.signature


def test_what_was_signed_in_an_old_motion_counts_for_nothing_in_a_new_one(tmp_path: Path) -> None:
    async def play() -> None:
        async with Hall(tmp_path) as hall, Puppet(hall) as puppet:
            puppet.behave = takes_part
            old = await hall.ask()
            said = [x for _, x in puppet.heard if isinstance(x, m.Commit | m.Close | m.Answer | m.Announce)]
            said += [*old.closes.values(), *old.commits.values()]
            hall.votes[:] = 1 - hall.votes  # now the opposite is right

            def replay(puppet: Puppet, peer: int, message: m.AnyMessage) -> None:
                if isinstance(message, m.Announce | m.Ask):
                    new = name_in(message)
                    for each in said:
                        puppet.say(peer, each)
                        if isinstance(each, m.Commit):
                            puppet.say(peer, m.Commit(new, each.node, *_of(each), want=True))
                        elif isinstance(each, m.Close):
                            fields = (each.decisions, each.salt, each.first, each.reason, each.signature)
                            puppet.say(peer, m.Close(new, each.node, *fields))
                    if isinstance(message, m.Ask):
                        packed, signature = old.closes[5].decisions, old.closes[5].signature
                        puppet.say(peer, m.Answer(new, message.round, 1, packed, signature))

            puppet.behave = replay
            session = await hall.ask()
            assert session.name != old.name
            assert 5 not in session.closes
            assert 5 not in session.commits
            assert session.cheats == set()
            for place in hall.honest:
                assert len(hall.storages[place].motions()) == 2, "the old announcement opens nothing"
                assert hall.storages[place].closes(old.name).keys() <= {0, 1, 2, 3, 4, 5}
                assert not hall.storages[place].evidence(session.name)

    within(play())
