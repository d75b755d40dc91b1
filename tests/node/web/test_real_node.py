"""A real node over HTTP: what is put is decided by all, and everything can be asked about it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np

from folkmoot.node.certificate import verify
from folkmoot.node.client import Client
from support.node.moot import Moot, model
from support.node.served import opened

LABELS = ["no", "yes"]
X = np.arange(60.0).reshape(30, 2)


def voter(shift: int) -> Any:
    """A model that answers each row by its number, and another than the others on some."""
    return model(
        lambda rows: [LABELS[(int(row[0]) // 2 + (int(row[0]) // 2) % 7 // (4 + shift)) % 2] for row in rows]
    )


def by_hand(n: int, least: int) -> list[str | None]:
    """The plurality of these models, counted."""
    decided: list[str | None] = []
    for i in range(len(X)):
        said = [LABELS[(i + i % 7 // (4 + shift)) % 2] for shift in range(n)]
        yes = said.count("yes")
        most = max(yes, n - yes)
        decided.append(None if 2 * yes == n or most < least else LABELS[yes > n - yes])
    return decided


def test_a_motion_over_http_is_decided_by_all_and_told_in_full(tmp_path: Path) -> None:
    moot = Moot([voter(shift) for shift in range(4)])
    node = moot.nodes[0]
    assert node is not None

    def ask(client: Client) -> dict[str, Any]:
        name = client.put(X, columns=["a", "b"], labels=LABELS, seconds="20s")
        live = client.motion(name)["live"]
        answer = client.answer(name, wait=True)
        voted = client.why(name, 3)["reason"]["voters"]
        client.tell(name, {0: "no", 1: "yes"})
        return {
            "live": live, "answer": answer, "voted": voted, "certificate": client.certificate(name),
            "motions": client.motions(), "status": client.status(), "access": client.access(),
            "records": client.records(), "roster": client.roster(), "evidence": client.evidence(),
            "audit": client.audit(), "play": client.play(name), "reloaded": client.reload(),
            "roster file": client.roster_file(), "checked": client.check(X, labels=LABELS),
            "events": next(iter(client.events())),
        }  # fmt: skip

    async def main() -> dict[str, Any]:
        async with opened(node, tmp_path):
            asking = asyncio.create_task(asyncio.to_thread(ask, Client(tmp_path)))
            while not asking.done():  # the network in memory has a time of its own
                moot.network.run(moot.network.time + 0.05)
                await asyncio.sleep(0.005)
            return await asking

    told = asyncio.run(main())
    answer = told["answer"]
    phases = {"waiting", "making first votes", "agreeing on who voted", "agreeing on first votes"}
    assert told["live"] is None or told["live"]["phase"] in phases  # None: decided before it was asked
    assert answer.decisions == by_hand(4, least=2)
    assert answer.details["own_votes"] == [LABELS[(i + i % 7 // 4) % 2] for i in range(30)]
    assert [each["first"] for each in told["voted"]] == [LABELS[3 % 2]] * 4
    assert verify(told["certificate"], moot.roster).motion.hex() == answer.motion
    assert [each["motion"] for each in told["motions"]["motions"]] == [answer.motion]
    assert told["motions"]["motions"][0]["live"] is None
    assert (told["status"]["participants"], told["status"]["quorum"]) == (4, 3)
    assert set(told["records"]) == {each.name for each in moot.identities}
    assert told["roster"]["n"] == 4
    assert told["evidence"] == []
    assert json.loads(told["audit"].splitlines()[0])
    assert told["play"].startswith("<!doctype html>")
    assert told["checked"]["labels"] == LABELS
    assert told["events"].kind == "moot"
