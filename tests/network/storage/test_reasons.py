"""Why an input of a motion was decided so, as one node knows it: against the messages that it was sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from folkmoot.network.session.talking import MOST_ANSWERS
from folkmoot.network.storage.account import account
from folkmoot.network.storage.reasons import reason
from folkmoot.network.storage.retention import stored_bytes
from folkmoot.network.wire import messages as m
from folkmoot.network.wire.packing import unpack
from support.command import assert_refused, run, run_json
from support.network.moot_in_memory import Moot
from support.network.stored_motion import folder_of

N, INPUTS, ALPHA = 9, 40, 3
VOTES = np.random.default_rng(3).integers(0, 2, (N, INPUTS)).astype(np.int8)


def answers_to(hall: Moot, place: int) -> dict[int, dict[int, Any]]:
    """What each peer answers this node, by the round of the question; filled as the moot runs."""
    heard: dict[int, dict[int, Any]] = {}

    def listen(peer: int) -> None:
        world = hall.network.of(peer)
        send = world.send

        def watched(to: int, frame: bytes) -> None:
            message = m.decode(frame)
            if to == place and isinstance(message, m.Answer):
                heard.setdefault(message.round + 1, {})[peer] = unpack(message.votes, INPUTS, 2)
            send(to, frame)

        world.send = watched  # type: ignore[method-assign, assignment]

    for peer in range(hall.n):
        if peer != place:
            listen(peer)
    return heard


@pytest.fixture(scope="module")
def talked() -> tuple[Moot, dict[int, dict[int, Any]]]:
    hall = Moot(VOTES, seed=5)
    heard = answers_to(hall, 0)
    hall.put(k=5, alpha=ALPHA)
    hall.network.run(60.0)
    return hall, heard


def test_own_changes_follow_from_the_answers(talked: tuple[Moot, dict[int, dict[int, Any]]]) -> None:
    hall, heard = talked
    storage = hall.storages[0]
    (stored,) = storage.motions()
    names = stored.names
    changes = 0
    for i in range(INPUTS):
        held, expected = int(VOTES[0, i]), []
        for number, said in sorted(heard.items()):
            for colour in (0, 1):
                if sum(int(each[i]) == colour for each in said.values()) >= ALPHA and colour != held:
                    asked = {names[peer]: "ab"[int(each[i])] for peer, each in said.items()}
                    expected.append((number, "ab"[held], "ab"[colour], asked))
                    held = colour
        why = reason(storage, stored, i)
        assert why.changes is not None
        assert [
            (each.round, each.before, each.after, {answer.name: answer.label for answer in each.answers})
            for each in why.changes
        ] == expected[:4]
        assert all(each.name == names[0] for each in why.changes)
        assert why.voices[0].holds == "ab"[held]
        changes += len(expected)
    assert changes > 5


def test_first_and_last_votes_of_all(talked: tuple[Moot, dict[int, dict[int, Any]]]) -> None:
    hall, _ = talked
    (stored,) = hall.storages[0].motions()
    told = account(hall.storages[0], stored)
    decided = 0
    for i in range(INPUTS):
        why = reason(hall.storages[0], stored, i)
        assert why.answer == told.decisions[i]
        assert [voice.voted for voice in why.voices] == ["ab"[colour] for colour in VOTES[:, i]]
        if why.answer is None:
            assert str(told.why_undecided[i]) in why.sentence
            continue
        signed = sum(voice.holds == why.answer for voice in why.voices)
        voted = int((VOTES[:, i] == "ab".index(why.answer)).sum())
        assert (
            f"{signed} of {N} signed it in the end ({told.quorum} must) and {voted} had voted" in why.sentence
        )
        decided += 1
    assert decided > 10
    assert why.missing[-1].startswith("A node knows its own changes of mind")
    assert why.plot().axes


def test_at_the_prompt(talked: tuple[Moot, dict[int, dict[int, Any]]], tmp_path: Path) -> None:
    folder = folder_of(talked[0], 0, tmp_path / "p000")
    shown = run("motions", "last", "--via", folder, "--why", "17", "--why", "3")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("input 17: ")
    assert "\ninput 3: " in shown.stdout
    assert "who else asked whom is not known here" in shown.stdout.replace("\n", " ")
    facts = run_json("motions", "last", "--via", folder, "--why", "17")
    assert facts["why"][0]["answer"] == facts["decisions"][17]
    assert "why" in facts
    assert facts["inputs"] == INPUTS
    for typed in ("40", "-1"):
        message = f"--why must be an input of the motion, 0 to 39: got {typed}"
        assert_refused(message, "motions", "last", "--via", folder, f"--why={typed}")
    assert_refused("--why must be given with a motion", "motions", "--via", folder, "--why", "3")


def test_who_did_not_close_and_who_contradicted_itself() -> None:
    hall = Moot(VOTES, seed=7, two_faced=[2])
    hall.put(k=5, alpha=ALPHA)
    hall.at(0.2, lambda: hall.crash(4))
    hall.network.run(60.0)
    (stored,) = hall.storages[0].motions()
    why = reason(hall.storages[0], stored, 0)
    assert str(why).count(stored.names[4]) == 2  # among those without a vote, and why it does not count
    parts = {voice.name: voice.part for voice in why.voices}
    assert parts[stored.names[2]] == "accused"
    assert parts[stored.names[4]] == "absent"
    unheard = dict(why.unheard)
    assert unheard[stored.names[2]].startswith("proven to have contradicted itself: ")
    assert unheard[stored.names[4]] == "has not signed what it held in the end"


def test_a_motion_from_before_changes_were_kept() -> None:
    hall = Moot(VOTES, seed=5)
    hall.put(k=5, alpha=ALPHA)
    hall.network.run(60.0)
    for stored in hall.storages[0].motions():
        for key in ("changes", "place"):
            del stored.summary[key]
        why = reason(hall.storages[0], stored, 0)
        assert why.changes is None
        assert str(why)


def test_what_is_remembered_is_bounded_and_charged_for() -> None:
    votes = np.random.default_rng(1).integers(0, 2, (N, 3000)).astype(np.int8)
    hall = Moot(votes, seed=1)
    hall.put(k=5, alpha=ALPHA)
    hall.network.run(60.0)
    (stored,) = hall.storages[0].motions()
    kept = stored.summary["changes"]
    assert sum(len(answers) for *_, answers in kept) <= MOST_ANSWERS
    assert len(kept) > 400
    charged = stored_bytes(stored.motion, len(stored.header), N)
    few = msgspec.structs.replace(stored.motion, inputs=1)
    assert len(json.dumps(kept)) < charged - stored_bytes(few, len(stored.header), N)
    assert all(len(json.dumps(each)) + 2 <= 48 + 20 * len(each[-1]) for each in kept)
    last = {place for place, *_ in kept}
    mine = unpack(hall.storages[0].closes(stored.name)[0].decisions, 3000, 2)
    other = next(i for i in range(3000) if i not in last and mine[i] != votes[0, i])
    why = reason(hall.storages[0], stored, other)
    assert why.changes is not None
    (change,) = why.changes  # that it changed is known, but no more when and after whose answers
    assert (change.round, change.before, change.after) == (0, "ab"[votes[0, other]], "ab"[mine[other]])
    assert f"{stored.names[0]}, {change.before} -> {change.after}" in str(why)
