"""A chain in this process: py-evm by eth-tester (extra ``local``). Each transaction makes a block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from folkmoot_chain.rpc import NOBODY, Block, BlockTag, Log, Message, Receipt, RevertedError, reason_of
from folkmoot_chain.wallets import checksummed, recursion_limit_kept, to_install

ROOM = 30_000_000  # gas of a block


class InProcess:
    """An empty chain with some rich accounts, as an ``Rpc`` whose clock can be moved.

    Parameters
    ----------
    accounts : int
        How many of them.
    balance : int
        The balance of each of them, in wei.

    Examples
    --------
    >>> from folkmoot_chain import InProcess
    >>> rpc = InProcess(accounts=2)
    >>> len(rpc.rich()), rpc.block("latest").number
    (2, 0)
    """

    def __init__(self, accounts: int = 10, balance: int = 10**24) -> None:
        package = _eth_tester()
        make = package.PyEVMBackend
        state = make.generate_genesis_state(num_accounts=accounts, overrides={"balance": balance})
        self._tester = package.EthereumTester(backend=make(genesis_state=state))
        self._backend = self._tester.backend

    @property
    def tester(self) -> Any:
        """The eth-tester beneath, for snapshots."""
        return self._tester

    def rich(self) -> Sequence[bytes]:
        """Private keys of accounts that have coins."""
        return [bytes.fromhex(key.to_hex()[2:]) for key in self._backend.account_keys]

    def travel(self, timestamp: int) -> None:
        """Make the next block at this time, or later if it has passed."""
        if timestamp > self.pending_timestamp():
            self._tester.time_travel(timestamp)

    def pending_timestamp(self) -> int:
        """When the next block would be made."""
        return int(self._backend.chain.get_block().header.timestamp)

    def chain_id(self) -> int:
        """The number of the chain."""
        return int(self._backend.chain.chain_id)

    def block(self, tag: BlockTag) -> Block:
        """A block; LookupError where there is none."""
        from eth_tester.exceptions import BlockNotFound

        try:
            found = self._backend.get_block_by_number(tag, False)
        except BlockNotFound:
            raise LookupError(f"no block {tag}") from None
        return Block(found["number"], found["timestamp"], found["base_fee_per_gas"], found["gas_limit"])

    def balance(self, address: str) -> int:
        """Coins of an address, in wei."""
        return int(self._tester.get_balance(checksummed(address)))

    def code(self, address: str) -> bytes:
        """The code at an address."""
        return bytes.fromhex(self._tester.get_code(checksummed(address))[2:])

    def nonce(self, address: str, *, mined: bool = False) -> int:  # noqa: ARG002 (none waits here)
        """Transactions that an address has sent."""
        return int(self._tester.get_nonce(checksummed(address)))

    def call(self, message: Message, tag: BlockTag = "latest") -> bytes:
        """The result of a call."""
        return bytes.fromhex(self._asked(self._tester.call, message, tag)[2:])

    def estimate(self, message: Message) -> int:
        """Gas that a transaction would need now."""
        # Played once with all the gas there is, instead of py-evm's search by halves: what it took, refunds
        # not counted, since they come last, and a 63rd more, since a call inside is given 63 parts of 64.
        backend = self._backend

        def played(asked: dict[str, Any], tag: BlockTag) -> int:
            from eth.vm.spoof import SpoofTransaction
            from eth_tester.exceptions import TransactionFailed

            normal = self._tester.normalizer.normalize_inbound_transaction(asked)
            unsigned = backend._get_normalized_and_unsigned_evm_transaction(normal, tag)
            state = backend.chain.get_vm().state
            before = state.snapshot()
            done = state.apply_transaction(SpoofTransaction(unsigned, from_=normal["from"]))
            state.revert(before)
            if done.is_error:
                raise TransactionFailed(reason_of(bytes(done.output)))
            tokens = sum(4 if byte else 1 for byte in message.data)  # of EIP-7623
            took = unsigned.intrinsic_gas + done.get_gas_used() * 64 // 63
            return max(21_000 + 10 * tokens, int(took))

        return int(self._asked(played, message, "latest"))

    def tip(self) -> int:
        """The offer to a block's maker."""
        return 10**9

    def send(self, signed: bytes) -> str:
        """Hand a signed transaction in; it is in a block at once."""
        from eth_tester.exceptions import ValidationError as TesterError
        from eth_utils.exceptions import ValidationError

        try:
            return str(self._tester.send_raw_transaction("0x" + signed.hex()))
        except (ValidationError, TesterError) as error:
            raise ValueError(f"the chain refused the transaction: {error}") from None

    def receipt(self, transaction: str) -> Receipt | None:
        """The result of a transaction."""
        from eth_tester.exceptions import TransactionNotFound

        try:
            found = self._tester.get_transaction_receipt(transaction)
        except TransactionNotFound:
            return None
        return Receipt(
            transaction=transaction,
            block=found["block_number"],
            gas_used=found["gas_used"],
            gas_price=found["effective_gas_price"],
            succeeded=bool(found["status"]),
            contract=found["contract_address"],
            logs=tuple(_log(each) for each in found["logs"]),
        )

    def logs(self, address: str, topics: Sequence[bytes | None], first: int, last: int) -> list[Log]:
        """Events of a contract in blocks first to last."""
        wanted = [None if each is None else "0x" + each.hex() for each in topics]
        found = self._tester.get_logs(
            from_block=first, to_block=last, address=checksummed(address), topics=wanted
        )
        return [_log(each) for each in found]

    def _asked(self, ask: Any, message: Message, tag: BlockTag) -> Any:
        from eth_tester.exceptions import TransactionFailed

        nobody = message.sender == NOBODY  # py-evm has whoever asks pay for the gas
        asked: dict[str, Any] = {
            "from": self._tester.get_accounts()[0] if nobody else checksummed(message.sender),
            "data": "0x" + message.data.hex(),
            "value": message.value,
            "gas": message.gas or ROOM,
            "gas_price": self.block("latest").base_fee + self.tip(),
        }
        if message.to is not None:
            asked["to"] = checksummed(message.to)
        try:
            return ask(asked, tag)
        except TransactionFailed as error:
            raise RevertedError(str(error.args[0]) if error.args else "refused") from None


def _eth_tester() -> Any:
    """The package; ModuleNotFoundError with the line to type if it is missing."""
    try:
        with recursion_limit_kept():
            import eth  # noqa: F401 (py-evm, without which eth-tester has no chain)
            import eth_tester
    except ModuleNotFoundError as error:
        raise to_install(error) from None
    return eth_tester


def _log(found: Any) -> Log:
    return Log(
        address=checksummed(found["address"]),
        topics=tuple(bytes.fromhex(topic[2:]) for topic in found["topics"]),
        data=bytes.fromhex(found["data"][2:]),
        block=found["block_number"],
        index=found["log_index"],
    )
