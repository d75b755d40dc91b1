"""The header of a motion: what is asked of whom, on which terms. Its hash is the motion's name."""

from __future__ import annotations

import hashlib
import math
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from folkmoot import checks
from folkmoot.node.session.statement import Digest, Place

Answers: TypeAlias = Literal["labels", "probabilities", "numbers"]

RULES: Final[dict[str, tuple[str, ...]]] = {
    "labels": ("plurality", "weighted", "dawid-skene"),
    "probabilities": ("mean", "log"),
    "numbers": ("trimmed-mean", "median"),
}
MOST_LABELS: Final = 5000
MOST_INPUTS: Final = 100_000
MOST_CELLS: Final = 1_000_000  # inputs times labels, of probabilities and of Dawid-Skene
MOST_NUMBERS: Final = 90_000  # inputs of a motion about numbers: eight bytes each in a frame
MOST_WEIGHT: Final = 1_000_000
LONGEST_LABEL: Final = 200
WINDOW: Final = 0.25  # of the seconds of a motion, for the votes of slow models

Label: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_LABEL)]
Nonce: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=16, max_length=16)]


class Terms(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """On which terms members vote: the same struct from the prompt, Python, HTTP and the header.

    ``least`` is how many first votes a label needs; 0 is f + 1. With ``coin`` a tie is settled by the hash of
    the agreed commitments. With ``believe="own"`` each member casts a final vote after it has seen all first
    votes, and final votes are counted.
    """

    answers: Answers = "labels"
    labels: tuple[Label, ...] = ()
    rule: str = "plurality"
    weights: tuple[int, ...] = ()  # one per member, for the rule "weighted"
    least: int = 0
    coin: bool = False
    believe: Literal["all", "own"] = "all"
    seconds: float = 60.0  # after which the asker does not wait any more

    @property
    def polls(self) -> int:
        """First votes; and final votes, where each member believes whom it chooses."""
        return 2 if self.believe == "own" else 1

    @property
    def window(self) -> float:
        """Seconds that slow models have in each poll."""
        return WINDOW * self.seconds / self.polls

    def check(self, n: int) -> None:
        """ArgumentError, with what is wrong, unless n members can vote on these terms."""
        if self.rule not in RULES[self.answers]:
            raise checks.ArgumentError(
                "{rule} must be one of {known!s} for {answers!s}: got {rule!r}",
                known=", ".join(RULES[self.answers]), answers=self.answers, rule=self.rule,
            )  # fmt: skip
        if self.answers == "numbers":
            if self.labels:
                raise checks.ArgumentError(
                    "{labels} must not be given in a motion about numbers: got {many!s}",
                    many=len(self.labels),
                )
        elif not 2 <= len(self.labels) <= MOST_LABELS or len(set(self.labels)) < len(self.labels):
            raise checks.ArgumentError(
                "{labels} must be 2 to {most!s}, all different: got {many!s}, {different!s} different",
                most=MOST_LABELS, many=len(self.labels), different=len(set(self.labels)),
            )  # fmt: skip
        if (self.rule == "weighted") != bool(self.weights):
            raise checks.ArgumentError(
                "{weights} must be given with the rule 'weighted', and only with it: got {rule=}",
                rule=self.rule,
            )
        if self.weights and (
            len(self.weights) != n
            or not all(0 <= each <= MOST_WEIGHT for each in self.weights)
            or not any(self.weights)
        ):
            raise checks.ArgumentError(
                "{weights} must be {n!s} whole numbers within 0..{most!s}, not all 0: got {many!s}",
                n=n, most=MOST_WEIGHT, many=len(self.weights),
            )  # fmt: skip
        if not 0 <= self.least <= n:
            raise checks.ArgumentError("{least} must be within 0..{n!s}: got {least=}", n=n, least=self.least)
        if self.coin and self.answers == "numbers":
            raise checks.ArgumentError(
                "{coin} must not be given in a motion about numbers, which has no ties"
            )
        if not (math.isfinite(self.seconds) and 1.0 <= self.seconds <= 86_400.0):
            raise checks.ArgumentError(
                "{seconds} must be within 1..86400: got {seconds=}", seconds=self.seconds
            )


class Header(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A motion as its asker puts it. ``chunks`` are the hashes of the inputs."""

    moot: Digest  # of the roster
    asker: Place
    nonce: Nonce  # so that the same can be asked again
    created: float  # by the asker's clock; for people, not for deadlines
    terms: Terms
    inputs: int
    columns: int = 1
    dtype: str = "<f8"
    chunk_rows: int = 1
    chunks: tuple[Digest, ...] = ()

    def check(self, n: int) -> None:
        """ValueError, with what is wrong, unless n members can vote on it."""
        self.terms.check(n)
        most = MOST_INPUTS
        if self.terms.answers == "numbers":
            most = MOST_NUMBERS
        elif self.terms.answers == "probabilities" or self.terms.rule == "dawid-skene":
            most = min(MOST_INPUTS, 3 * MOST_CELLS // 4 // len(self.terms.labels))
        if not 1 <= self.inputs <= most:
            raise ValueError(
                f"a motion on these terms must have 1 to {most:,} inputs: got {self.inputs:,}; "
                "put them in several motions"
            )
        if self.asker >= n or not math.isfinite(self.created):
            raise ValueError(f"the asker must be one of {n} members, and the time a number")
        if self.columns < 1 or self.chunk_rows < 1:
            raise ValueError("inputs must have columns, and chunks rows")
        if self.chunks and len(self.chunks) != -(-self.inputs // self.chunk_rows):
            raise ValueError(f"{self.inputs} inputs must come in whole chunks: got {len(self.chunks)}")

    def encoded(self) -> bytes:
        """The bytes whose hash is the motion's name."""
        return _ENCODER.encode(self)


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Header)


def read_header(data: bytes, n: int) -> Header:
    """The header in these bytes, checked; ValueError if it is none."""
    header = _DECODER.decode(data)
    header.check(n)
    if header.encoded() != data:
        raise ValueError("a header must be encoded in the one right way")
    return header


def motion_of(header: bytes) -> bytes:
    """The 32 bytes that a motion is known by."""
    return hashlib.sha256(b"folkmoot/3 motion\n" + header).digest()
