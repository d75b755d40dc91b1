"""Past performance for nodes of a moot and for programs: records as weights, in a file of JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from folkmoot_chain.contract import Contract
from folkmoot_chain.durable import replace_file
from folkmoot_chain.ties import Tie, address_of
from folkmoot_chain.wallets import checksummed


def write_weights(
    path: Path,
    contract: Contract,
    supplier: str,
    subject: str,
    labels: int,
    participants: Sequence[str | Tie],
) -> dict[str, int]:
    """Write what votes weigh by the records of one supplier; returns it.

    A participant is named by the fingerprint in its tie, or by its address where the roster has no tie of it.
    """
    weights = {
        who if isinstance(who, str) else who.fingerprint: contract.weight(
            supplier, subject, address_of(who), labels
        )
        for who in participants
    }
    told = {
        "chain": contract.rpc.chain_id(),
        "contract": contract.address,
        "supplier": checksummed(supplier),
        "subject": subject,
        "labels": labels,
        "weights": weights,
    }
    replace_file(path, (json.dumps(told, indent=1) + "\n").encode())
    return weights
