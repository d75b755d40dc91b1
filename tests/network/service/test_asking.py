"""Putting motions from Python: terms, and a moot of real processes."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import folkmoot.network
from folkmoot.network import Account, Asker, Batch, Terms, ask
from folkmoot.network.service.asking import put_of
from folkmoot.network.service.control import MotionProgress, put
from folkmoot.network.service.door import UNIX, Door
from folkmoot.network.wire.motion import LOCAL
from support.network.real_moot import real_moot


def test_terms_that_cannot_be_are_refused_before_anybody_is_asked() -> None:
    bad: list[tuple[dict[str, Any], str]] = [
        ({"protocol": "paxos"}, "one of slush, snowflake, snowball: got 'paxos'"),
        ({"weights": "mine"}, "weights must be 'equal', 'record' or 'learnt': got 'mine'"),
        ({"alpha": "global"}, "alpha must be a whole number or 'local': got 'global'"),
        ({"labels": "yes"}, "labels must be several"),
    ]
    for options, why in bad:
        with pytest.raises(ValueError, match=why):
            Terms(**options)


def test_terms_of_peer_review_say_what_the_talk_is_about() -> None:
    batch, chances = Batch([[1, 2]]), Terms(peer_review=True, voting="probabilities")
    assert (chances.answers, chances.talk) == ("probabilities", "labels")
    told = put_of(batch, chances)
    assert (told.protocol, told.alpha, told.beta, told.tol) == ("slush", None, 20, 0.0)
    numbers = Terms(peer_review=True, regression=True, tol=0.5, least_voters=3)
    assert (numbers.answers, numbers.talk) == ("numbers", "numbers")
    told = put_of(batch, numbers)
    assert (told.protocol, told.alpha, told.beta, told.tol) == ("trimmed-mean", None, 1, 0.5)
    assert Terms(voting="probabilities").talk == "probabilities"


def test_terms_say_what_the_door_is_told() -> None:
    batch = Batch([[1, 2], [3, 4]])
    told = put_of(batch, Terms(alpha="local", weights="record", labels=["a", "b"], seconds=9.0))
    assert (told.alpha, told.weighted, told.labels, told.seconds) == (LOCAL, True, ("a", "b"), 9.0)
    assert (told.inputs, told.columns, told.dtype, told.chunks) == (2, 2, "<i8", batch.digests())
    assert (put_of(batch, Terms()).alpha, put_of(batch, Terms(alpha=3)).alpha) == (None, 3)


def test_a_folder_without_a_node(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no node in"):
        Asker(tmp_path)
    with pytest.raises(ValueError, match="must be a node's folder or HOST:PORT"):
        ask([[1.0]], via=tmp_path / "nowhere")


def test_every_public_name_is_there() -> None:
    assert set(folkmoot.network.__all__) == {"Account", "Asker", "Batch", "Column", "Terms", "ask"}
    for name in folkmoot.network.__all__:
        assert getattr(folkmoot.network, name) is not None


def test_a_moot_of_processes_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with real_moot(tmp_path, 4, monkeypatch) as nodes:
        folder = nodes.settings[1].folder
        seen: list[MotionProgress] = []
        numbers = np.arange(10, 40)[:, None]
        account = ask(numbers, via=folder, terms=Terms(seconds=10.0, rounds=20))
        assert isinstance(account, Account)
        assert account.decisions == ["odd" if number % 2 else "even" for number in range(10, 40)]
        assert (account.asker, account.participants, account.rounds) == ("node001", 4, 20)
        asker = Asker(str(folder))
        again = asker.ask(Batch(numbers[:3]), Terms(seconds=10.0, labels=["odd", "even"]), seen.append)
        assert again.decisions == ["even", "odd", "even"]
        assert again.labels == ["odd", "even"]
        assert {each.motion for each in seen} == {again.motion}
        with pytest.raises(ValueError, match="k must satisfy 1 <= k <= 3"):
            asker.ask(numbers, Terms(k=4))


def test_control_c_before_all_of_a_motion_was_told_says_that_nothing_was_put(tmp_path: Path) -> None:
    def chunks() -> Iterator[bytes]:
        raise KeyboardInterrupt
        yield b""

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "door.sock"))
        listening.listen()
        door = Door(f"{UNIX}{tmp_path / 'door.sock'}", "token", 1)
        with pytest.raises(KeyboardInterrupt, match="nothing was put"):
            put(door, put_of(Batch([[1]]), Terms()), chunks())
