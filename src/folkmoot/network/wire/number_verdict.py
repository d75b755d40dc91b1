"""What a motion about numbers or probabilities came to: a pure function of the signed closes.

A number is **claimed** if a quorum of the roster has signed numbers within a window of width ``tol``, lowest
to highest. The claim is the middle of the narrowest such window. Probabilities are claimed class by
class, and an input has a claim if each of its classes has. With f the largest number below n/5:

- *Agreement*: two claims of honest nodes differ by at most ``tol``. Each is the middle of a window that holds
  the numbers of a quorum. Two quorums share more than f participants, so an honest one while at most f lie,
  and an honest one signs once: its number v lies in both windows. A middle is at most half a width, so tol/2,
  away from v; the two together are at most tol apart.
- *Validity*: a claim lies within tol/2 of the range of the honest first numbers. An honest node combines
  numbers only if it holds more than 3f, so that at least f are trimmed at either end: the result lies in the
  range of the honest ones among them (``TrimmedMean``). So by induction whatever honest nodes hold and sign
  does. A quorum has an honest member, whose number is in the window.
- *Labels*: two honest nodes never claim different labels from probabilities, as the likeliest class must lead
  every other by more than tol. Let one node claim a, with p_a - p_b > tol, and the other's claims be q. By
  agreement q_a >= p_a - tol and q_b <= p_b + tol. So q_b - q_a <= p_b - p_a + 2 tol < tol, and b is not
  claimed.

- *Check rows* change none of this. With them a node opens the talk not with its own number but with what it
  makes of all first numbers (``session/reviewing_numbers.py``). Agreement speaks of closes alone. For
  validity let a node hold first numbers of m > 3f participants on an input. It moves each to the nearest that
  is not among the t lowest or highest, t = (m - 1) // 3 >= f, and keeps its estimate between the lowest and
  the highest of these, the (t + 1)th numbers from either end. At most f of the m are liars', so the t + 1
  numbers from the lowest up to that one hold an honest one, and so do those above the other: what it opens
  with lies in the range of honest first numbers. With fewer numbers, or none that can be computed with, it
  opens with its own. So labels of check rows, false, withheld or told to some only, move honest nodes within
  that range, each otherwise, and cost rounds at the most. (They cost no more than first numbers would: these
  span the same range.) A claim counts first numbers of the asker's rows, so a node that was not told the map
  claims nothing.

Numbers are float64: these bounds hold up to one rounding of a difference and one of a sum.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from folkmoot.arrays import Array, Colours, Floats, Ints
from folkmoot.network.wire.messages import Close
from folkmoot.network.wire.motion import Motion
from folkmoot.network.wire.review import OwnerMap, first_of_asker
from folkmoot.network.wire.verdict import Verdict, least_voters
from folkmoot.node.membership.roster import quorum
from folkmoot.votes import UNCOLOURED


@dataclass(frozen=True, eq=False)
class NumberVerdict(Verdict):
    """Claims with how many stand behind them; ``decisions`` are labels, of probabilities only."""

    claims: Floats  # (input, output): the middle of the window, NaN if there is none
    widths: Floats  # (input, output): how wide it is
    tol: float

    @property
    def claimed(self) -> Array:
        """(input,): whether there is a claim."""
        return np.asarray(~np.isnan(self.claims).any(axis=1))

    @property
    def undecided(self) -> int:
        """Inputs without a claim; of probabilities, without a label."""
        return sum(why is not None for why in self.why_undecided())

    def why_undecided(self) -> list[str | None]:
        """Why an input has no claim, or no label, for each; None if it has one."""
        few = f"fewer than {self.quorum} signed numbers within {self.tol:g} of each other"
        close = f"the likeliest labels are within {self.tol:g} of each other"
        labelled = self.claims.shape[1] > 1
        rows = zip(
            self.claimed.tolist(), self.decisions.tolist(), self.signed.tolist(), self.voters.tolist(),
            strict=True,
        )  # fmt: skip
        return [
            few if signed < self.quorum else self._few_voters(voters) if not claimed
            else close if labelled and colour == UNCOLOURED else None
            for claimed, colour, signed, voters in rows
        ]  # fmt: skip

    def _few_voters(self, voters: int) -> str:
        only = "only " if voters else ""
        return f"{only}{voters} of {self.participants} had an answer at first, and {self.least_voters} must"


def number_verdict(
    motion: Motion,
    n: int,
    closes: Mapping[int, Close],
    cheats: Collection[int] = (),
    owners: OwnerMap | None = None,
) -> NumberVerdict:
    """What the closes of a motion about numbers or probabilities say, those of proven cheats left out.

    ``owners`` is the map of a motion with check rows, if it was opened: without it first numbers say nothing
    of the inputs, and there are no claims.
    """
    counted = [place for place in sorted(closes) if place not in cheats]
    form, needed, least = motion.form, quorum(n), least_voters(motion, n)
    shape = form.opening(form.nothing(motion.asked)).shape
    held = np.array([form.unpack(closes[place].decisions) for place in counted]).reshape(-1, *shape)
    voters = np.zeros(motion.asked, dtype=np.int64)
    for place in counted:
        voters += ~np.isnan(_first(motion, closes[place], owners)).any(axis=1)
    middles, widths = narrowest(held, needed)
    claimed = (widths <= motion.tol).all(axis=1) & (voters >= least)
    claims = np.where(claimed[:, None], middles, np.nan)
    signed = most_within(held, motion.tol)
    return NumberVerdict(
        decisions=_labels(claims, motion.tol),
        agreement=signed / max(1, len(counted)),
        signed=signed,
        voters=voters,
        participants=n,
        quorum=needed,
        least_voters=least,
        closed=counted,
        silent=[place for place in range(n) if place not in closes],
        abstained={place: closes[place].reason for place in counted if closes[place].reason},
        claims=claims,
        widths=widths,
        tol=motion.tol,
    )


def narrowest(held: Floats, size: int) -> tuple[Floats, Floats]:
    """(input, output) each: the middle and the width of the narrowest window over ``size`` of the numbers.

    ``held`` has the shape (participant, input, output), NaN for none. Among equals it is the lowest window.
    The width is infinite where there are too few numbers.
    """
    if len(held) < size:
        nothing = np.full(held.shape[1:], np.inf)
        return nothing, nothing
    ranked = np.sort(np.where(np.isnan(held), np.inf, held), axis=0)  # those without a number are last
    low, high = ranked[: len(held) - size + 1], ranked[size - 1 :]
    there = np.isfinite(high)
    widths = np.where(there, high - np.where(there, low, 0.0), np.inf)
    best = widths.argmin(axis=0)[None]
    width = np.take_along_axis(widths, best, axis=0)[0]
    start = np.take_along_axis(low, best, axis=0)[0]
    return start + np.where(np.isfinite(width), width, 0.0) / 2, width


def most_within(held: Floats, tol: float) -> Ints:
    """(input,): how many of the numbers lie within a window of width ``tol``, in the worst output."""
    fewest, most = np.zeros(held.shape[1:], dtype=np.int64), np.full(held.shape[1:], len(held))
    while (fewest < most).any():  # more numbers never fit a narrower window, so it is searched by halves
        tried = (fewest + most + 1) // 2
        for size in np.unique(tried[fewest < most]).tolist():
            fits = narrowest(held, size)[1] <= tol
            asked = (tried == size) & (fewest < most)
            fewest[asked & fits] = size
            most[asked & ~fits] = size - 1
    return np.asarray(fewest.min(axis=1))


def _labels(claims: Floats, tol: float) -> Colours:
    """The class that leads every other by more than ``tol``, or -1; there is none of a single number."""
    found = np.full(len(claims), UNCOLOURED, dtype=np.int8)
    if claims.shape[1] > 1:
        ranked = np.sort(claims, axis=1)
        leads = ranked[:, -1] - ranked[:, -2] > tol  # NaN does not
        found[leads] = claims[leads].argmax(axis=1)
    return found


def _first(motion: Motion, close: Close, owners: OwnerMap | None) -> Floats:
    """(input, output): the first numbers in a close, on the asker's rows; NaN for none."""
    first = motion.form.unpack_first(close.first)
    if motion.review is not None:
        return first_of_asker(first, owners, motion.review)
    return motion.form.opening(first)


def first_numbers(
    motion: Motion, closes: Mapping[int, Close], counted: Collection[int], owners: OwnerMap | None = None
) -> list[list[float]]:
    """Of each input the lowest, median and highest first number; nothing unless numbers are asked for."""
    if motion.answers != "numbers":
        return []
    held = np.array([_first(motion, closes[place], owners) for place in sorted(counted)])
    if not len(held):
        return [[] for _ in range(motion.asked)]
    found: list[list[float]] = []
    for column in held[:, :, 0].T:
        there = np.sort(column[~np.isnan(column)])
        found.append([float(there[0]), float(np.median(there)), float(there[-1])] if there.size else [])
    return found
