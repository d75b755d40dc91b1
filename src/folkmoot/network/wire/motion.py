"""A motion: a batch of inputs put to the moot, with its protocol and its deadline.

Its header names every chunk of the inputs by its SHA-256, and the motion is named by the SHA-256 of
the header: who holds a motion's name can check all of it, whoever sent it.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any, Final

import msgspec
import numpy as np

from folkmoot import checks
from folkmoot.aggregation import RULES, Rule
from folkmoot.arrays import Array
from folkmoot.network.wire.forms import Answers, Form, form_of
from folkmoot.network.wire.review import CheckedForm, Review
from folkmoot.node.session.header import DTYPES as DTYPES
from folkmoot.node.wire.batch import CHUNK_BYTES as CHUNK_BYTES
from folkmoot.node.wire.schema import Column as Column
from folkmoot.node.wire.schema import Schema, check_schema
from folkmoot.protocols import PROTOCOLS, SnowProtocol, named_protocol, protocol_called

LOCAL: Final = 0  # alpha: each participant its own, by its track record (strong confidence)
MOST_LABELS: Final = 127
MOST_ROUNDS: Final = 10_000
MOST_ASKED: Final = 1000  # in a round
MOST_STEPS: Final = 400_000  # of the table of a protocol that decides: labels^3 beta
MOST_VOTERS: Final = 4096  # places in a roster
# A node works on all inputs of a motion at a time and does nothing else meanwhile: with these a step takes a
# tenth of a second at the most.
MOST_INPUTS: Final = 100_000
MOST_CELLS: Final = 1_000_000  # inputs times labels
MOST_NUMBERS: Final = 30_000  # inputs times numbers each: a close with all of them is half of a frame
TRIMMED_MEAN: Final = "trimmed-mean"  # the one rule for numbers that keeps to the honest range and draws near
MOST_SECONDS: Final = 86_400.0
OLD: Final = 2 * 3600.0  # seconds beyond its time after which a motion is not played any more


class Motion(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The header of a motion, as it is signed by its asker and sent."""

    moot: bytes  # the digest of the roster
    asker: int  # its place in the roster
    nonce: bytes  # the same question can be asked again
    created: float  # by the asker's clock; for people, not for deadlines
    seconds: float  # from the announcement to the end
    protocol: str
    k: int
    alpha: int  # or LOCAL
    beta: int
    rounds: int  # each participant asks so often at the most
    pace: float  # mean seconds between two rounds of a participant: exponential
    weighted: bool  # are answers weighted by the track record that the asking node keeps?
    trust: bool  # do participants reveal their first votes before the talk, and ask whom they trust?
    labels: tuple[str, ...]
    inputs: int
    columns: int
    dtype: str
    chunk_rows: int
    chunks: tuple[bytes, ...]
    least_voters: int = 0  # first votes that a decision needs; 0: one more than may lie, which is the least
    schema: Schema = ()  # what the columns are; empty: they have no names
    answers: Answers = "labels"
    tol: float = 0.0  # of probabilities and numbers: how far apart the closes of a quorum may be
    review: Review | None = None  # of rows whose truth becomes known, if there are any

    def encoded(self) -> bytes:
        """The bytes that are signed and sent; the last fields are left out where nothing is asked of them."""
        values = list(msgspec.structs.astuple(self))
        for default in reversed(self.__struct_defaults__):
            if values[-1] != default:
                break
            values.pop()
        return _ENCODER.encode(values)

    @property
    def classes(self) -> int:
        """How many colours there are."""
        return len(self.labels)

    @property
    def is_labels(self) -> bool:
        """Whether the talk is about labels, and not about probabilities or numbers.

        By peer review each makes labels of the probabilities that all hand in.
        """
        return self.answers == "labels" or (self.answers == "probabilities" and self.review is not None)

    @property
    def reveals(self) -> bool:
        """Whether first votes are shown before the talk."""
        return self.trust or self.review is not None

    @property
    def by_quorum(self) -> bool:
        """Whether a quorum of closes decides, and not each node for itself."""
        return not self.trust

    @property
    def form(self) -> Form:
        """What answers are, as arrays and as bytes."""
        if self.review is not None and self.review.asked:
            return CheckedForm(self.answers, self.review.asked, self.inputs, self.classes)
        return form_of(self.answers, self.inputs, self.classes)

    @property
    def asked(self) -> int:
        """How many inputs are the asker's, and talked about: all but check rows."""
        return self.review.asked or self.inputs if self.review is not None else self.inputs

    @property
    def until(self) -> float:
        """When it can be forgotten: who is told of it after this does not play it."""
        return self.created + self.seconds + OLD

    def rule(self, alpha: int) -> SnowProtocol[Any]:
        """The protocol, for a participant with this threshold."""
        return named_protocol(self.protocol, self.k, alpha, beta=self.beta)

    def aggregation(self) -> Rule:
        """The rule by which numbers are agreed on: the one of ``agree``."""
        return RULES[self.protocol]()

    def check(self) -> None:
        """ValueError, with what is wrong, unless every field holds what it may."""
        if self.is_labels:
            check_protocol_name(self.protocol)
        checks.query(self.k, checks.least_alpha(self.k) if self.alpha == LOCAL else self.alpha)
        checks.integer("beta", self.beta, least=1)
        if not 1 <= self.beta <= 1000:
            raise checks.ArgumentError("{beta} must satisfy 1 <= beta <= 1000: got {beta=}", beta=self.beta)
        if not 1 <= self.k <= MOST_ASKED:
            raise checks.ArgumentError(f"{{k}} must satisfy 1 <= k <= {MOST_ASKED}: got {{k=}}", k=self.k)
        if not 1 <= self.rounds <= MOST_ROUNDS:
            raise checks.ArgumentError(
                f"{{rounds}} must satisfy 1 <= rounds <= {MOST_ROUNDS:,}: got {{rounds=}}",
                rounds=self.rounds,
            )
        if not 1.0 <= self.seconds <= MOST_SECONDS:  # NaN is refused too
            raise ValueError(f"the deadline must be 1 s to 24 h away: got {self.seconds} s")
        if not 0.0 <= self.pace <= 60.0:
            raise checks.ArgumentError(f"{{pace}} must be 0 s to 60 s: got {self.pace} s")
        if not math.isfinite(self.created):
            raise ValueError("the time of a motion must be a number")
        if not 0 <= self.least_voters <= MOST_VOTERS:
            raise checks.ArgumentError(
                f"{{least_voters}} must be 0 to {MOST_VOTERS:,}: got {self.least_voters}"
            )
        if self.trust and self.least_voters:
            raise checks.ArgumentError(
                "{least_voters} must not be given with trust: then each node decides for itself"
            )
        self._check_answers()
        self._check_inputs()
        self._check_decisions()
        self._check_review()
        if len(self.moot) != 32 or len(self.nonce) != 16:
            raise ValueError("a motion must name its moot in 32 bytes and hold a nonce of 16")

    def _check_review(self) -> None:
        """Who learns whom to believe decides for itself; with numbers, all still agree by a quorum."""
        if self.review is None:
            return
        if self.is_labels and (self.weighted or not self.trust):
            raise ValueError("a motion with a review, about labels, must be with trust and equal weights")
        if self.answers != "labels" and (self.review.learnt or not self.review.asked):
            raise ValueError(
                f"a motion with a review about {self.answers} must have check rows, and learn from them alone"
            )
        self.review.check(self.inputs)

    def _check_answers(self) -> None:
        """Numbers are agreed on by another rule, within a tolerance, and have no labels."""
        if self.answers != "numbers":
            check_labels(self.labels)
        elif self.labels:
            raise ValueError(f"a motion about numbers must name no labels: got {len(self.labels)}")
        if self.is_labels:
            if self.tol != 0.0:
                raise checks.ArgumentError(
                    "{tol} must be 0 in a motion about labels: got {tol=}",
                    tol=f"{self.tol:g}",
                )
            return
        check_tol(self.tol, self.answers)
        if self.protocol != TRIMMED_MEAN:
            raise ValueError(f"{self.answers} must be agreed on by {TRIMMED_MEAN}: got {self.protocol!r:.60}")
        if self.weighted or self.trust or self.alpha != LOCAL or self.beta != 1:
            raise ValueError(
                f"a motion about {self.answers} must have alpha 0 and beta 1, neither weights nor trust"
            )

    def _check_decisions(self) -> None:
        """Protocols that decide have tables, which a node must be able to hold."""
        if not self.is_labels or not protocol_called(self.protocol).decides:
            return
        if self.classes**3 * self.beta > MOST_STEPS:
            raise checks.ArgumentError(
                f"{self.protocol} must have labels^3 beta <= {MOST_STEPS:,}: got {self.classes} labels and "
                f"{{beta=}}; take a smaller beta, or slush",
                beta=self.beta,
            )

    def _check_inputs(self) -> None:
        if self.inputs < 1 or self.columns < 1:
            raise ValueError(f"a motion must hold inputs: got {self.inputs} rows of {self.columns} columns")
        if self.dtype not in DTYPES:
            raise checks.ArgumentError(
                f"{{inputs}} must be numbers ({', '.join(DTYPES)}): got {{dtype!r}}",
                dtype=self.dtype,
            )
        labels = self.answers == "labels"
        most = min(MOST_INPUTS, (MOST_CELLS if labels else MOST_NUMBERS) // max(1, self.classes))
        if self.inputs > most:
            of = f"with {self.classes} labels" if labels else f"about {self.answers}"
            raise ValueError(
                f"a motion {of} must hold at most {most:,} inputs: "
                f"got {self.inputs:,}; put them in several motions"
            )
        row = self.columns * np.dtype(self.dtype).itemsize
        if not 1 <= self.chunk_rows <= max(1, CHUNK_BYTES // row):
            raise ValueError(
                f"a chunk must hold at most {CHUNK_BYTES:,} bytes: got {self.chunk_rows * row:,}"
            )
        if row > 2 * CHUNK_BYTES:
            raise ValueError(f"an input must be smaller than {2 * CHUNK_BYTES:,} bytes: got {row:,}")
        if len(self.chunks) != -(-self.inputs // self.chunk_rows):
            raise ValueError(f"{self.inputs} inputs must come in whole chunks: got {len(self.chunks)} chunks")
        if any(len(digest) != 32 for digest in self.chunks):
            raise ValueError("chunks must be named by 32 bytes")
        check_schema(self.schema, self.columns, "a motion")

    def rows(self, index: int) -> int:
        """How many inputs chunk ``index`` holds."""
        return min(self.chunk_rows, self.inputs - index * self.chunk_rows)

    def read_chunk(self, index: int, data: bytes) -> Array:
        """The inputs in a chunk; ValueError if it is not the one that the header names."""
        if hashlib.sha256(data).digest() != self.chunks[index]:
            raise ValueError(f"chunk {index} is not the one that the motion names")
        shape = (self.rows(index), self.columns)
        if len(data) != shape[0] * shape[1] * np.dtype(self.dtype).itemsize:
            raise ValueError(f"chunk {index} must hold {shape[0]} rows of {shape[1]} columns")
        return np.frombuffer(data, dtype=self.dtype).reshape(shape)


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Motion)


def read_header(header: bytes) -> Motion:
    """The motion in a header, checked; ValueError if it is none."""
    motion = _DECODER.decode(header)
    motion.check()
    if motion.encoded() != header:
        raise ValueError("a header must be encoded in the one right way")
    return motion


def motion_name(header: bytes) -> bytes:
    """The 32 bytes by which a motion is known."""
    return hashlib.sha256(header).digest()


def check_protocol_name(name: str) -> None:
    """ValueError unless a motion about labels may be played by the protocol of this name."""
    if name not in PROTOCOLS:
        raise checks.ArgumentError(
            "{protocol} must be one of {known!s}: got {name!r}", known=", ".join(PROTOCOLS), name=name
        )


def check_tol(tol: float, answers: Answers) -> None:
    """ValueError unless signed numbers may be so far apart."""
    if not (math.isfinite(tol) and tol > 0.0):
        raise checks.ArgumentError(f"{{tol}} must be a number above 0: got {tol!r}")
    if answers == "probabilities" and not tol < 1.0:
        raise checks.ArgumentError(f"{{tol}} must be below 1 for probabilities: got {tol:g}")


def check_labels(labels: tuple[str, ...]) -> None:
    """ValueError unless these can be the labels of a motion."""
    if not 2 <= len(labels) <= MOST_LABELS:
        raise ValueError(f"a motion must name 2 to {MOST_LABELS} labels: got {len(labels)}")
    if len(set(labels)) != len(labels):
        raise ValueError("the labels of a motion must differ from each other")
    if any(not 1 <= len(label) <= 200 for label in labels):
        raise ValueError("a label must have 1 to 200 characters")
