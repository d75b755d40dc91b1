"""Final votes of a motion about texts: which proposal a member chooses, and which ones mean the same to it.

``folkmoot.aggregation.texts`` has the rule. Here are its bytes, and what follows from the tables of a motion.
Candidates are numbered by the hash of the agreed commitments, so nobody could choose its number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, TypeAlias

import msgspec
import numpy as np

from folkmoot.aggregation.texts import Candidate, Choice, Verdict, candidates, is_same, verdict
from folkmoot.arrays import Ints
from folkmoot.node.ballots import Ballots
from folkmoot.node.rules.votes import draw
from folkmoot.node.session.header import Header
from folkmoot.node.session.terms import MOST_TEXT_MEMBERS

_Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=MOST_TEXT_MEMBERS)]
_Same: TypeAlias = Annotated[tuple[_Number, ...], msgspec.Meta(max_length=MOST_TEXT_MEMBERS)]
_DECODER: Final = msgspec.msgpack.Decoder(tuple[tuple[_Number | None, _Same] | None, ...])
_ENCODER: Final = msgspec.msgpack.Encoder()


def pack_choices(choices: Sequence[Choice | None]) -> bytes:
    """Choices on all inputs as bytes; None is no vote."""
    return _ENCODER.encode([None if each is None else (each.best, each.same) for each in choices])


def unpack_choices(data: bytes, inputs: int) -> list[Choice | None]:
    """The choices in these bytes; ValueError if they are not what ``pack_choices`` makes of so many."""
    if not data:
        return [None] * inputs
    found = _DECODER.decode(data)  # a DecodeError is a ValueError
    if len(found) != inputs or _ENCODER.encode(found) != data:
        raise ValueError(f"choices must be as many as inputs, {inputs}, encoded in the one right way")
    if not all(each is None or is_same(each[1], len(each[1])) for each in found):
        raise ValueError("a choice must name for each candidate the first one that means the same")
    return [None if each is None else Choice(*each) for each in found]


def proposals(header: Header, table: Mapping[int, bytes], coin: bytes) -> list[tuple[Candidate, ...]]:
    """The candidates of each input; ``coin`` is the value of the first poll's commitments."""
    form = Ballots("text", header.inputs)
    said = {member: form.unpack(data).tolist() for member, data in sorted(table.items())}
    return [
        candidates(
            {member: texts[k] for member, texts in said.items() if texts[k] is not None}, _salt(coin, k)
        )
        for k in range(header.inputs)
    ]


def _salt(coin: bytes, k: int) -> bytes:
    return coin + k.to_bytes(4, "big")


def verdicts(
    header: Header, tables: Sequence[Mapping[int, bytes]], coin: bytes, faults: int
) -> list[Verdict]:
    """Count the final votes on each input; a tie is not settled yet."""
    found = proposals(header, tables[0], coin)
    cast = {member: unpack_choices(data, header.inputs) for member, data in tables[1].items()}
    return [
        verdict(
            found[k], {member: choice for member, each in cast.items() if (choice := each[k]) is not None},
            faults=faults, least=header.terms.least,
        )
        for k in range(header.inputs)
    ]  # fmt: skip


def decided_classes(header: Header, found: Sequence[Verdict], coin: bytes) -> list[int | None]:
    """The class that is decided for each input; ties by the coin, if the terms say so."""
    return [
        each.tied[draw(coin, k, len(each.tied))] if header.terms.coin and each.tied else each.decided
        for k, each in enumerate(found)
    ]


def texts_of(header: Header, tables: Sequence[Mapping[int, bytes]], coin: bytes, faults: int) -> Ints:
    """The decided text of each input, None where there is none."""
    found = verdicts(header, tables, coin, faults)
    answer = np.full(header.inputs, None, dtype=object)
    for k, (each, first) in enumerate(zip(found, decided_classes(header, found, coin), strict=True)):
        answer[k] = None if first is None else each.text(first)
    return answer
