"""Data not to be lost, on disk before anything is sent: ballots, truths, salts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from folkmoot_chain.ballots import Bools, Ints
from folkmoot_chain.durable import replace_file
from folkmoot_chain.wallets import checksummed


@dataclass(frozen=True)
class SavedBallot:
    """A ballot as it was sealed."""

    motion: int
    who: str
    salt: bytes
    votes: Ints
    open: bool  # its owner agreed to a motion with open seats


@dataclass(frozen=True)
class SavedTruth:
    """A truth as it was sealed."""

    salt: bytes
    truth: Ints
    known: Bools


class State:
    """A folder of one key for one contract on one chain.

    Parameters
    ----------
    folder : Path
        The folder; it is made when something is written.
    chain_id : int
        The chain's number.
    contract : str
        The contract's address.
    """

    def __init__(self, folder: Path, chain_id: int, contract: str) -> None:
        self.folder = folder
        self._place = folder / f"{chain_id}-{checksummed(contract)}"

    @property
    def outbox(self) -> Path:
        """The file of a transaction until its receipt is there."""
        return self.folder / "outbox.json"

    def save_ballot(self, ballot: SavedBallot) -> Path:
        """Write a ballot down; another ballot of the same participant in the same motion is refused."""
        path = self._place / f"ballot-{ballot.motion}-{checksummed(ballot.who)}.json"
        if path.exists() and read_ballot(path).votes.tolist() != ballot.votes.tolist():
            raise ValueError(
                f"{path} holds another ballot for motion {ballot.motion}: a participant commits once; "
                "remove the file only if that commitment was never sent"
            )
        note = {
            "motion": ballot.motion,
            "who": checksummed(ballot.who),
            "salt": "0x" + ballot.salt.hex(),
            "votes": ballot.votes.tolist(),
            "open": ballot.open,
        }
        self._write(path, note)
        return path

    def ballots(self) -> Iterator[SavedBallot]:
        """All ballots, by motion."""
        paths = sorted(self._place.glob("ballot-*.json"), key=lambda path: int(path.name.split("-")[1]))
        return (read_ballot(path) for path in paths)

    def save_truth(self, seal: bytes, truth: SavedTruth) -> Path:
        """Write a truth down under its seal."""
        note = {
            "salt": "0x" + truth.salt.hex(),
            "truth": truth.truth.tolist(),
            "known": truth.known.tolist(),
        }
        path = self._place / f"truth-{seal.hex()}.json"
        self._write(path, note)
        return path

    def truth(self, seal: bytes) -> SavedTruth:
        """The truth under a seal; ValueError if it is not here."""
        path = self._place / f"truth-{seal.hex()}.json"
        if not path.exists():
            raise ValueError(f"{path} must hold the truth that was sealed: there is no such file")
        note = json.loads(path.read_bytes())
        return SavedTruth(
            bytes.fromhex(note["salt"][2:]),
            np.array(note["truth"], dtype=np.int64),
            np.array(note["known"], dtype=bool),
        )

    def _write(self, path: Path, note: dict[str, object]) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, json.dumps(note).encode(), new_mode=0o600)


def read_ballot(path: Path) -> SavedBallot:
    """A ballot file, one's own or one that somebody gave."""
    try:
        note = json.loads(path.read_bytes())
        return SavedBallot(
            int(note["motion"]),
            checksummed(note["who"]),
            bytes.fromhex(note["salt"][2:]),
            np.array(note["votes"], dtype=np.int64),
            bool(note["open"]),
        )
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path} must be a ballot file that folkmoot-chain commit wrote") from None
