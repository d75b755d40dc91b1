"""Past performance for the rest of folkmoot: records as weights, in a file, in anybody's order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from folkmoot.chain.contract import Contract
from folkmoot.wallets import checksummed
from folkmoot.weight_files import read_weight_file, write_weight_file


def write_weights(
    path: Path, contract: Contract, supplier: str, subject: str, labels: int, addresses: Sequence[str]
) -> dict[str, int]:
    """Write what the votes of these addresses weigh by the records of one supplier; returns it."""
    weights = {checksummed(each): contract.weight(supplier, subject, each, labels) for each in addresses}
    write_weight_file(
        path,
        weights,
        chain=contract.rpc.chain_id(),
        contract=contract.address,
        supplier=checksummed(supplier),
        subject=subject,
        labels=labels,
    )
    return weights


def read_weights(path: Path, addresses: Sequence[str]) -> list[float]:
    """Weights in the order of these addresses, as ``Slush(weights=...)`` takes them.

    Parameters
    ----------
    path : Path
        A file that ``folkmoot chain record --weights`` wrote.
    addresses : sequence of str
        The participants' addresses, in their order; whoever has no weight in the file is refused.

    Returns
    -------
    list of float
        A weight for each address, 1 to 15.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from folkmoot.chain import read_weights
    >>> ann, bob = "0x" + "aa" * 20, "0x" + "bb" * 20
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "weights.json")
    ...     _ = path.write_text(f'{{"weights": {{"{ann}": 1, "{bob}": 7}}}}')
    ...     print(read_weights(path, [bob, ann]))
    [7.0, 1.0]
    """
    known = read_weight_file(path)
    missing = [each for each in addresses if checksummed(each) not in known]
    if missing:
        raise ValueError(f"{path} has no weight for {missing[0]}: write it again with that address")
    return [known[checksummed(each)] for each in addresses]
