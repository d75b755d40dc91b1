"""Motions of every kind over HTTP: under way, evidence and certificates, held to by commands offline.

The moots are in memory, with one member that cheats; their nodes are served by a real page, on a real port.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from folkmoot.network.storage.chronicle import Chronicle, Proposal
from folkmoot.network.wire.succession import Succession
from folkmoot.node.log import Journal
from folkmoot.web.page import Page
from support.command import run, run_json
from support.network.moot_in_memory import Moot
from support.network.number_moot import NumberMoot
from support.network.number_storms import TwoInOneVersion
from support.network.paged import Paged, Reply
from support.network.review_moot import ReviewMoot
from support.network.review_storms import SHOWN, between, two_labels, two_maps

LIAR = 3


def served(moot: Moot, place: int, folder: Path, look: Callable[[Paged], dict[str, Any]]) -> dict[str, Any]:
    """What somebody sees who looks at the page of one node of a moot in memory."""
    node: Any = moot.nodes[place]
    node.chronicle = Chronicle(moot.storages[place], moot.roster, 1.0)
    shown: Any = SimpleNamespace(node=node, folder=folder, log=Journal("error"), look=lambda: None)

    async def serve() -> dict[str, Any]:
        page = Page("127.0.0.1:0")
        await page.open(shown)
        try:
            return await asyncio.to_thread(look, Paged(folder))
        finally:
            await page.close()

    moot.roster.write(folder / "roster.toml")
    return asyncio.run(serve())


def reviewed(kind: Any, asker: int = 0) -> ReviewMoot:
    """Every second one is told other labels, or another map of owners."""
    moot = ReviewMoot(7, 10, each=SHOWN)
    between(moot, LIAR, kind(moot, LIAR, random.Random(7)))
    moot.put_review(asker, rounds=8)
    return moot


def numbers(kind: Any) -> NumberMoot:
    values = np.arange(5.0)[:, None] / 100 + np.arange(3.0)
    moot = NumberMoot(values, 2, hostile={} if kind is None else {LIAR: kind()})
    moot.put(0, seconds=20.0)
    return moot


@pytest.mark.parametrize(
    ("make", "place", "what"),
    [
        (lambda: reviewed(two_labels), 1, "broken labels"),
        (lambda: reviewed(two_maps, asker=LIAR), 1, "broken map of owners"),
        (lambda: numbers(TwoInOneVersion), None, "two answers"),
    ],
)
def test_evidence_is_listed_fetched_and_holds(
    make: Callable[[], Moot], place: int | None, what: str, tmp_path: Path
) -> None:
    moot = make()
    moot.network.run(60.0)
    name = moot.storages[0].names()[0]
    caught = [each for each in range(moot.n) if each != LIAR and moot.storages[each].evidence(name)]
    at = caught[0] if place is None else place
    assert at in caught

    def look(paged: Paged) -> dict[str, Any]:
        (told,) = paged.get("/v1/evidence")["evidence"]
        data = paged.send("GET", told["file"]).body
        (tmp_path / "proof").write_bytes(data)
        (tmp_path / "bent").write_bytes(bytes([*data[:-9], data[-9] ^ 1, *data[-8:]]))
        account = paged.get(f"/v1/motions/{told['motion']}")
        assert account["evidence"] == {told["participant"]: told["what"]}
        assert paged.send("GET", told["file"].replace(f"p00{LIAR}", "p001")).status == 404
        return dict(told)

    told = served(moot, at, tmp_path, look)
    assert (told["motion"], told["participant"]) == (name.hex(), f"p00{LIAR}")
    assert told["what"] == what
    (held,) = run_json("evidence", tmp_path / "proof", "--roster", tmp_path / "roster.toml")["evidence"]
    assert (held["against"], held["what"], held["holds"]) == (f"p00{LIAR}", told["what"], True)
    assert held["motion"] == name.hex()
    assert run("evidence", tmp_path / "bent", "--roster", tmp_path / "roster.toml").returncode == 2


def test_two_successors_are_evidence_of_a_roster(tmp_path: Path) -> None:
    moot = Moot(np.zeros((4, 2), dtype=np.int8), 1)
    old, chronicle = moot.roster, Chronicle(moot.storages[0], moot.roster, 1.0)
    for gone in (0, 1):
        made = Succession.after(old, [each for each in old if each != old[gone]])
        assert chronicle.learn(Proposal(old, made, {LIAR: made.signed_by(moot.keys[LIAR], LIAR)}), 2.0)

    def look(paged: Paged) -> dict[str, Any]:
        (told,) = paged.get("/v1/evidence")["evidence"]
        (tmp_path / "proof").write_bytes(paged.send("GET", told["file"]).body)
        return dict(told)

    told = served(moot, 0, tmp_path, look)
    assert (told["what"], told["roster"], told["motion"]) == ("two successors", old.digest, "")
    (held,) = run_json("evidence", tmp_path / "proof", "--roster", tmp_path / "roster.toml")["evidence"]
    assert (held["against"], held["holds"]) == (f"p00{LIAR}", True)


def test_an_invitation_in_vain_is_listed_with_why(tmp_path: Path) -> None:
    """Nobody shows rows: nothing is put, the asker is told, and it can be read later."""
    moot = ReviewMoot(5, 10, asked=20, shown=0)
    refused = moot.put_review(0, rounds=8)
    moot.network.run(60.0)
    told = served(moot, 0, tmp_path, lambda paged: dict(paged.get("/v1/motions")))
    (found,) = told["invitations"]
    assert (told["motions"], found["inputs"], [found["why"]]) == ([], 20, refused)


def certificate_of(moot: Moot, folder: Path) -> Reply:
    """The certificate that a page gives of the one motion."""
    moot.network.run(60.0)
    found: list[Reply] = []

    def look(paged: Paged) -> dict[str, Any]:
        found.append(paged.send("GET", "/v1/motions/last/certificate"))
        return dict(paged.get("/v1/motions/last"))

    offered = served(moot, 0, folder, look)["certificate"]
    assert (offered is not None) == (found[0].status == 200)
    (folder / "certificate").write_bytes(found[0].body)
    return found[0]


def verified(folder: Path, *options: Any) -> Any:
    return run_json("verify", folder / "certificate", "--roster", folder / "roster.toml", *options)


def test_certificates_of_numbers_and_probabilities_are_verified(tmp_path: Path) -> None:
    assert certificate_of(numbers(None), tmp_path).status == 200
    held = verified(tmp_path)
    # By hand: participant p says input + p / 100, and the five are within the tolerance of one half.
    assert held["answers"] == "numbers"
    assert all(abs(claim - (i + 0.02)) <= 0.02 for i, claim in enumerate(held["claims"]))
    levels = np.tile(np.array([[200, 55], [20, 235]], dtype=np.uint8), (5, 1, 1))
    moot = NumberMoot(levels, 4)
    moot.put(0, tol=0.05)
    assert certificate_of(moot, tmp_path).status == 200
    held = verified(tmp_path)
    assert (held["answers"], held["decisions"]) == ("probabilities", ["a", "b"])


def test_by_peer_review_each_decides_for_itself_and_there_is_no_certificate(tmp_path: Path) -> None:
    moot = ReviewMoot(5, 10, asked=20)
    moot.put_review(0, rounds=8)
    refused = certificate_of(moot, tmp_path)
    assert (refused.status, "\n" in refused.json["detail"]) == (409, False)
