"""Members join and leave while real nodes run, over TLS; motions go on, under the roster in force."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from folkmoot.local.held_ports import HeldPorts
from folkmoot.local.processes import Member, prepare
from folkmoot.node.certificate import verify
from folkmoot.node.client import NodeAwayError
from folkmoot.node.membership.identity import create
from folkmoot.node.membership.roster import Roster
from folkmoot.node.storage.storage import create_storage

SECONDS = 60.0
MODELS = """
def odd(X):
    return ["odd" if row[0] % 2 else "even" for row in X]

odd.labels, odd.columns = ["even", "odd"], 1
"""
ROWS = [[float(row)] for row in range(6)]


def until(there: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not there():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


@pytest.mark.slow
def test_one_joins_and_one_leaves_while_all_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "odd_rows.py").write_text(MODELS)
    monkeypatch.syspath_prepend(tmp_path)
    nodes, more = prepare(tmp_path, [Member("odd_rows:odd")] * 3), HeldPorts(1)
    first = nodes.roster
    new = create(tmp_path / "node003", name="node003", listen=f"127.0.0.1:{more.numbers[0]}")
    create_storage(tmp_path / "node003", new.fingerprint, 0.0)
    with (tmp_path / "node003" / "node.toml").open("a") as file:
        file.write('roster = "next.toml"\nmodel = "odd_rows:odd"\n')

    def epochs(places: range) -> set[int]:
        try:
            return {nodes.client(place).status()["epoch"] for place in places}
        except NodeAwayError:
            return set()

    try:
        nodes.start_all()
        proposed = nodes.client(0).propose(add=[new.member().line()])
        assert (proposed["counted"], proposed["needed"], proposed["in_force"]) == (1, 2, False)
        until(lambda: bool(nodes.client(1).roster()["proposals"]))  # the nodes pass it on
        nodes.client(1).sign(proposed["proposal"][:8])
        until(lambda: epochs(range(3)) == {1})

        signed = nodes.client(2).roster_file()
        (tmp_path / "node003" / "next.toml").write_bytes(signed)
        nodes.roster = Roster.read(tmp_path / "node003" / "next.toml")
        assert [each.name for each in nodes.roster] == [f"node00{place}" for place in range(4)]
        nodes.members.append(Member(""))
        nodes.processes.append(None)
        nodes.start(3)
        nodes.wait(range(4))
        asked = nodes.client(3).ask(ROWS, seconds=SECONDS)
        assert asked.decisions == ["even", "odd"] * 3
        assert len(asked.details["took_part"]) >= 3
        assert (asked.details["participants"], asked.details["faults"]) == (4, 1)
        certificate = nodes.client(0).certificate(asked.motion)
        assert verify(certificate, nodes.roster).motion.hex() == asked.motion
        with pytest.raises(ValueError, match="give the roster under which the motion was put"):
            verify(certificate, first)

        leaving = nodes.client(3).propose(remove=["node000"])
        for place in (1, 2):
            until(lambda place=place: bool(nodes.client(place).roster()["proposals"]))  # type: ignore[misc]
            nodes.client(place).sign(leaving["proposal"])
        until(lambda: epochs(range(4)) == {2})
        assert not nodes.client(0).status()["present"]
        with pytest.raises(ValueError, match="not in the roster in force"):
            nodes.client(0).ask(ROWS, seconds=SECONDS)
        asked = nodes.client(1).ask(ROWS, seconds=SECONDS)
        assert asked.decisions == ["even", "odd"] * 3
        assert "node000" not in asked.details["took_part"]
    finally:
        nodes.stop()
        more.close()
