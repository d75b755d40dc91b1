"""What must not be lost or told: keys, salts, ballots, and transactions on their way."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from chain_support.world import Account, World
from folkmoot_chain.keys import address_of, derived_salt, new_keystore, read_keystore
from folkmoot_chain.rpc import Receipt
from folkmoot_chain.sending import NotSureError, Sender
from folkmoot_chain.state import SavedBallot, SavedTruth, State
from folkmoot_chain.wallets import checksummed

CONTRACT = "0x" + "ab" * 20


def test_a_keystore_opens_with_its_passphrase_alone(tmp_path: Path) -> None:
    path = tmp_path / "me.json"
    address = new_keystore(path, "correct horse", kdf="pbkdf2")
    assert path.stat().st_mode & 0o777 == 0o600
    assert address_of(read_keystore(path, "correct horse")) == address
    stored = json.loads(path.read_text())
    assert stored["version"] == 3
    assert stored["address"].lower().removeprefix("0x") == address.lower()[2:]
    with pytest.raises(ValueError, match="the passphrase does not open"):
        read_keystore(path, "wrong horse")
    with pytest.raises(ValueError, match="is there already"):
        new_keystore(path, "correct horse")
    with pytest.raises(ValueError, match="at least 8 characters"):
        new_keystore(tmp_path / "other.json", "short")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": 1}', '{"version": 3}', '{"version": 3, "crypto": 5}']
)
def test_another_file_is_no_keystore(tmp_path: Path, text: str) -> None:
    path = tmp_path / "me.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="must be a V3 keystore file"):
        read_keystore(path, "correct horse")


def test_a_derived_salt_is_of_one_key_chain_contract_and_motion() -> None:
    base = (b"\1" * 32, 5, CONTRACT, 7)
    others = [
        (b"\2" * 32, 5, CONTRACT, 7),
        (b"\1" * 32, 6, CONTRACT, 7),
        (b"\1" * 32, 5, "0x" + "ac" * 20, 7),
    ]
    salts = {derived_salt(*each) for each in [base, *others, (b"\1" * 32, 5, CONTRACT, 8)]}
    assert len(salts) == 5
    assert derived_salt(*base) == derived_salt(*base)
    assert all(len(salt) == 32 for salt in salts)


def test_ballots_and_truths_are_kept_by_chain_and_contract(tmp_path: Path) -> None:
    state = State(tmp_path, 5, CONTRACT)
    who = address_of(b"\1" * 32)
    ballot = SavedBallot(11, who, b"s" * 32, np.array([0, 1, -1]), True)
    path = state.save_ballot(ballot)
    assert path.stat().st_mode & 0o777 == 0o600
    state.save_ballot(SavedBallot(2, who, b"t" * 32, np.array([1]), False))
    state.save_ballot(ballot)  # the same again, after a crash
    assert [each.motion for each in state.ballots()] == [2, 11]
    (_, found) = state.ballots()
    assert (found.who, found.salt, found.votes.tolist(), found.open) == (who, b"s" * 32, [0, 1, -1], True)
    with pytest.raises(ValueError, match="holds another ballot for motion 11"):
        state.save_ballot(SavedBallot(11, who, b"s" * 32, np.array([0, 1, 1]), True))
    assert list(State(tmp_path, 6, CONTRACT).ballots()) == []
    truth = SavedTruth(b"u" * 32, np.array([2, 0]), np.array([True, False]))
    state.save_truth(b"\7" * 32, truth)
    told = state.truth(b"\7" * 32)
    assert (told.salt, told.truth.tolist(), told.known.tolist()) == (b"u" * 32, [2, 0], [True, False])
    with pytest.raises(ValueError, match="there is no such file"):
        state.truth(b"\10" * 32)


def test_a_crash_after_handing_in_pays_once(world: World, tmp_path: Path) -> None:
    """The process ends before it sees the receipt; the next one waits for it instead of sending again."""
    outbox, target = tmp_path / "outbox.json", "0x" + "cc" * 20

    class Dies(Sender):
        def _received(self, _name: str, _message: object) -> Receipt:
            raise KeyboardInterrupt

    key = world.people[0].key
    with pytest.raises(KeyboardInterrupt):
        Dies(world.rpc, key, outbox).send(target, b"", 7)
    assert outbox.exists()
    assert outbox.stat().st_mode & 0o777 == 0o600
    nonce = world.rpc.nonce(world.people[0].address)
    again = Sender(world.rpc, key, outbox).finish()
    assert again is not None
    assert again.succeeded
    assert world.rpc.balance(target) == 7
    assert world.rpc.nonce(world.people[0].address) == nonce
    assert not outbox.exists()
    assert Sender(world.rpc, key, outbox).finish() is None


def test_a_crash_before_handing_in_sends_it_then(world: World, tmp_path: Path) -> None:
    outbox, target = tmp_path / "outbox.json", "0x" + "cd" * 20
    key = world.people[0].key

    class Unplugged:
        def __getattr__(self, name: str) -> object:
            return getattr(world.rpc, name)

        def send(self, _signed: bytes) -> str:
            raise OSError("the line is dead")

    with pytest.raises(OSError, match="dead"):
        Sender(Unplugged(), key, outbox).send(target, b"", 9)  # type: ignore[arg-type]
    assert world.rpc.balance(target) == 0
    Sender(world.rpc, key, outbox).send("0x" + "ce" * 20, b"", 1)  # finishes the first one first
    assert (world.rpc.balance(target), world.rpc.balance("0x" + "ce" * 20)) == (9, 1)
    # A transaction whose nonce another one took can never count: it is let go.
    signed = Account.from_key(key).sign_transaction(
        {
            "type": 2,
            "chainId": world.rpc.chain_id(),
            "nonce": 0,
            "to": checksummed(target),
            "value": 5,
            "gas": 21_000,
            "maxFeePerGas": 10**10,
            "maxPriorityFeePerGas": 1,
        }
    )
    raw = "0x" + bytes(signed.raw_transaction).hex()
    note = {"chain": world.rpc.chain_id(), "nonce": 0, "hash": "0x" + "00" * 32, "raw": raw}
    outbox.write_text(json.dumps(note))
    assert Sender(world.rpc, key, outbox).finish() is None
    assert world.rpc.balance(target) == 9
    outbox.write_text(json.dumps({**note, "chain": 1}))
    with pytest.raises(ValueError, match="on chain 1, and this node is on chain"):
        Sender(world.rpc, key, outbox).finish()


def test_a_transaction_that_no_block_has_is_not_given_up(world: World, tmp_path: Path) -> None:
    outbox = tmp_path / "outbox.json"

    class Slow:
        def __getattr__(self, name: str) -> object:
            return getattr(world.rpc, name)

        def receipt(self, _transaction: str) -> None:
            return None

    with pytest.raises(NotSureError, match="type the command again to wait on"):
        Sender(Slow(), world.people[0].key, outbox, patience=0.01).send("0x" + "cf" * 20, b"", 3)  # type: ignore[arg-type]
    assert outbox.exists()
    receipt = Sender(world.rpc, world.people[0].key, outbox).finish()
    assert receipt is not None
    assert world.rpc.balance("0x" + "cf" * 20) == 3
