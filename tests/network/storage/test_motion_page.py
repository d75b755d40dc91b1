"""A motion as a page: the first votes, closes and own questions that the messages show, and nobody else's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot.network.storage.account import account
from folkmoot.network.storage.motion_page import motion_page
from folkmoot.network.wire.verdict import last_votes
from support.command import assert_refused, run
from support.network.moot_in_memory import Moot
from support.network.stored_motion import folder_of
from support.page_data import held_in

N, INPUTS, ALPHA = 9, 20, 3
VOTES = np.random.default_rng(3).integers(0, 2, (N, INPUTS)).astype(np.int8)


def numbers(code: str) -> list[int]:
    return [ord(letter) - 40 for letter in code]


@pytest.fixture(scope="module")
def hall() -> Moot:
    moot = Moot(VOTES, seed=5)
    moot.put(k=5, alpha=ALPHA)
    moot.network.run(60.0)
    return moot


def pages(hall: Moot, place: int) -> dict[str, Any]:
    storage = hall.storages[place]
    (stored,) = storage.motions()
    return held_in(motion_page(storage, stored).html)


def test_first_votes_closes_and_own_questions(hall: Moot) -> None:
    changed = 0
    for place in (0, 4):
        storage = hall.storages[place]
        (stored,) = storage.motions()
        told = account(storage, stored)
        closes = last_votes(stored.motion, N, storage.held(stored.name).closes)
        data = pages(hall, place)
        [moot] = data["moots"]
        assert (data["noun"], data["node"], moot["names"]) == ("accused", True, stored.names)
        assert numbers(moot["honest"]) == [1] * N
        assert moot["score"] == {"right": None, "undecided": told.undecided, "inputs": INPUTS}
        for shown, talk in zip(data["inputs"], moot["talks"], strict=True):
            i = int(shown["name"].split()[1])
            assert numbers(talk["first"]) == VOTES[:, i].tolist()
            decision = told.decisions[i]
            assert (None if talk["decision"] < 0 else data["labels"][talk["decision"]]) == decision
            # Only this node asks here, and a question is kept because it changed its mind.
            assert set(numbers(talk["askers"])) <= {place}
            assert all(code >= 2 for code in numbers(talk["after"]))
            held = VOTES[:, i].tolist()
            held[place] = numbers(talk["after"])[-1] - 2 if talk["askers"] else held[place]
            ended = numbers(talk["end"]) if talk["end"] else held
            assert ended == closes[:, i].tolist()
            own = [each for each in stored.summary["changes"] if each[0] == i]
            assert len(talk["askers"]) == len(own)
            at = 0
            for (_, _, _, after, alpha, answers), size in zip(own, numbers(talk["sizes"]), strict=True):
                peers = np.cumsum(numbers(talk["peers"])[at : at + size]).tolist()
                assert peers == sorted(peer for peer, _, _ in answers)
                assert sum(colour == after for _, colour, fine in answers if fine) >= alpha == ALPHA
                at += size
            changed += len(own)
    assert changed > 3


def test_those_who_contradicted_themselves_are_accused() -> None:
    moot = Moot(VOTES, seed=7, two_faced=[2])
    moot.put(k=5, alpha=ALPHA)
    moot.at(0.2, lambda: moot.crash(4))
    moot.network.run(60.0)
    [shown] = pages(moot, 0)["moots"]
    assert list(shown["liars"]) == ["2"]
    assert numbers(shown["honest"]) == [1, 1, 0, 1, 0, 1, 1, 1, 1]  # nor does 4 count, which did not close


def test_a_motion_from_before_changes_were_kept(hall: Moot) -> None:
    (stored,) = hall.storages[0].motions()
    for key in ("changes", "place"):
        del stored.summary[key]
    page = motion_page(hall.storages[0], stored).html
    assert "What this node knows of it" in page
    assert all(not talk["askers"] for talk in held_in(page)["moots"][0]["talks"])


def test_undecided_inputs_come_first(hall: Moot) -> None:
    storage = hall.storages[0]
    (stored,) = storage.motions()
    told = account(storage, stored)
    shown = [int(each["name"].split()[1]) for each in pages(hall, 0)["inputs"]]
    leads = np.abs(2 * VOTES.sum(axis=0, dtype=int) - N)
    assert shown == sorted(range(INPUTS), key=lambda i: (told.decisions[i] is not None, leads[i], i))


def test_at_the_prompt(hall: Moot, tmp_path: Path) -> None:
    folder = folder_of(hall, 0, tmp_path / "north")
    path = tmp_path / "motion.html"
    result = run("motions", "last", "--via", folder, "--play", path)
    assert result.returncode == 0, result.stderr
    assert f"wrote {path} (open it in a browser)" in result.stderr
    (stored,) = hall.storages[0].motions()
    assert f"What {stored.names[0]} knows of it" in path.read_text(encoding="utf-8")
    assert_refused(
        "--play must name a file ending in .html, .htm: got motion.pdf",
        "motions", "last", "--via", folder, "--play", "motion.pdf",
    )  # fmt: skip
    assert_refused("--play must be given with a motion", "motions", "--via", folder, "--play", path)
