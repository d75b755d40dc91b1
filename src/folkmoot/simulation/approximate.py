"""``agree``: numbers and a rule in, an ``Agreement`` out. Slush's counterpart for regression.

Approximate agreement in rounds: Dolev, Lynch, Pinter, Stark and Weihl, "Reaching approximate agreement in the
presence of faults" (1986). In each round every honest node asks, then all replace their numbers at once, as
it is defined there; ``deliberate`` lets one node update at a time unless told otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.adversaries import NumberAdversary, Observation
from folkmoot.adversaries.interface import check_adversaries
from folkmoot.aggregation import LARGEST, Rule
from folkmoot.arrays import Floats, Ints, Progress
from folkmoot.sampling import Others
from folkmoot.simulation.agreement import Agreement

# Numbers held at once by the nodes of a piece of the batch (16 MiB).
_PIECE = 1 << 21
_MOST_ROUNDS = 10**6
_RELATIVE = 1e-3


def agree(
    values: npt.ArrayLike,
    rule: Rule,
    *,
    adversaries: Mapping[int, NumberAdversary] | None = None,
    k: int | None = None,
    rounds: int = 50,
    tolerance: float | None = None,
    relative: float | None = None,
    seed: int = 0,
    record: bool = False,
    progress: Progress | None = None,
) -> Agreement:
    """Let the participants draw nearer on every input until they are close, or for ``rounds`` rounds.

    An input's outcome depends on its own values, the seed and the settings, never on the rest of the batch.
    When an input is close enough is seen by an observer: no node sees the honest spread. A network plays a
    fixed number of rounds instead (``TrimmedMean.contraction`` says how many are enough).

    Parameters
    ----------
    values : array-like of float, shape (participant, input) or (participant, input, output)
        Everybody's first numbers.
    rule : Rule
        What a node makes of its own number and the answers, such as ``TrimmedMean()``.
    adversaries : mapping of int to NumberAdversary, optional
        The Byzantine participants by number, such as ``{3: FarAway()}``.
    k : int, optional
        How many peers a node asks a round, drawn uniformly among the others. Default: all others, which is
        what the guarantees of the rules are for.
    rounds : int, default 50
        How many rounds are played at the most.
    tolerance : float, optional
        An input is settled when the honest spread (highest less lowest number, in the worst output) is at
        most this, in the unit of the values.
    relative : float, optional
        The same as a share of the input's first honest spread, instead of ``tolerance``. Default: 1e-3 if
        neither is given. Spreads that are rounding errors of the first numbers count as settled.
    seed : int, default 0
        The same seed gives the same bits on every processor. (With ``GeometricMedian`` of several outputs: on
        processors of one kind, with the same versions; docs/same-bits.md.)
    record : bool, default False
        Keep the history of the spread, for ``Agreement.plot``.
    progress : callable, optional
        Called with (done, all) inputs as the work goes on.

    Returns
    -------
    Agreement
        The numbers held at the end, how far apart they are, and what it cost.

    Raises
    ------
    ValueError
        If a first number is not finite, everybody is Byzantine, or the rule cannot combine so few numbers.

    Examples
    --------
    The fifth participant lies. It moves the mean, and not the mean without the extremes:

    >>> from folkmoot import agree
    >>> from folkmoot.adversaries import FarAway
    >>> from folkmoot.aggregation import Mean, TrimmedMean
    >>> values = [[1.0], [2.0], [3.0], [2.5], [2.0]]
    >>> agree(values, Mean(), adversaries={4: FarAway()}).decision
    array([200002.3])
    >>> agree(values, TrimmedMean(), adversaries={4: FarAway()}).decision
    array([2.5])
    """
    first = _numbers(values)
    talk = _Talk(first, rule, check_adversaries(adversaries, len(first), NumberAdversary), k, seed)
    limit = checks.integer("rounds", rounds, least=0)
    if limit > _MOST_ROUNDS:
        raise ValueError(f"rounds must satisfy rounds <= {_MOST_ROUNDS:,}: got rounds={limit}")
    inputs, outputs = first.shape[1:]
    numbers = np.full(first.shape, np.nan)
    spread, settled = np.empty(inputs), np.empty(inputs, dtype=np.bool_)
    played = np.zeros(inputs, dtype=np.int64)
    history = np.empty((inputs, limit + 1)) if record else None
    size = max(1, _PIECE // (len(talk.askers) * talk.m * outputs))
    for start in range(0, inputs, size):
        piece = slice(start, min(start + size, inputs))
        board = np.ascontiguousarray(first[:, piece].transpose(1, 0, 2))
        target = _target(board[:, talk.askers], tolerance, relative)
        now = _spread(board[:, talk.askers])
        for turn in range(limit):
            if history is not None:
                history[piece, turn] = now
            going = np.flatnonzero(now > target)
            if not going.size:
                break
            fresh = talk.play(board[going], turn)
            board[going[:, None], talk.askers] = fresh
            now[going] = _spread(fresh)
            played[piece][going] = turn + 1
        if history is not None:
            history[piece, int(played[piece].max()) :] = now[:, None]
        numbers[talk.askers, piece] = board[:, talk.askers].transpose(1, 0, 2)
        spread[piece], settled[piece] = now, now <= target
        if progress:
            progress(piece.stop, inputs)
    return Agreement(
        numbers=numbers if np.ndim(values) == 3 else numbers[:, :, 0],
        honest=talk.honest,
        spread=spread,
        settled=settled,
        rounds=played,
        # One query carries every input, so the batch asks until its longest talk is over.
        queries=int(played.max()) * len(talk.askers) * (talk.m - 1),
        history=history,
    )


class _Talk:
    """Who takes part and how; plays one round for a piece of the batch."""

    def __init__(
        self, first: Floats, rule: Rule, adversaries: dict[int, NumberAdversary], k: int | None, seed: int
    ) -> None:
        if not isinstance(rule, Rule):
            raise TypeError(f"rule must be a Rule such as TrimmedMean(): got {rule!r}")
        self.n, _, self.outputs = first.shape
        self.m = self.n
        if k is not None:
            Others().urn(self.n, k)
            self.m = 1 + int(k)
        rule.check(self.m)
        self.seed = checks.integer("seed", seed, least=0)
        if self.seed >= 2**63:
            raise ValueError(f"seed must satisfy seed < 2^63: got seed={self.seed}")
        self.rule, self.adversaries = rule, adversaries
        self.honest = np.ones(self.n, dtype=np.bool_)
        self.honest[list(adversaries)] = False
        self.askers = np.flatnonzero(self.honest)

    def play(self, board: Floats, turn: int) -> Floats:
        """One round: ``board`` holds (input, participant, output); the new honest numbers."""
        held = board[:, self.askers]
        low, high = held.min(axis=1, keepdims=True), held.max(axis=1, keepdims=True)
        fresh = np.empty_like(held)
        size = max(1, _PIECE // (len(board) * self.m * self.outputs))
        for start in range(0, len(self.askers), size):
            askers = self.askers[start : start + size]
            who = self._asked(askers, turn)
            values = np.take(board, who, axis=1)  # (input, asker, m, output), its own number first
            for liar, adversary in self.adversaries.items():
                rows, places = np.nonzero(who == liar)
                if rows.size:
                    own = values[:, rows, 0]
                    dice = self._dice(askers[rows], liar, turn)
                    seen = Observation(low, high, asker=own, own=board[:, liar, None], die=dice[None])
                    values[:, rows, places] = _heard(adversary.answer_number(seen), own)
            fresh[:, start : start + size] = self.rule.combine(values)
        return fresh

    def _asked(self, askers: Ints, turn: int) -> Ints:
        """(asker, m): the asker and those it asks."""
        if self.m == self.n:
            others = np.arange(self.n - 1)[None] + (np.arange(self.n - 1)[None] >= askers[:, None])
            return np.concatenate((askers[:, None], others), axis=1)
        from folkmoot.simulation.approximate_draws import draw_peers

        return np.asarray(draw_peers(self.seed, turn, self.n, askers, self.m - 1))

    def _dice(self, askers: Ints, liar: int, turn: int) -> Floats:
        from folkmoot.simulation.approximate_draws import throw_dice

        return np.asarray(throw_dice(self.seed, turn, askers, liar, self.outputs))


def _heard(said: npt.ArrayLike, own: Floats) -> Floats:
    """A liar's answers as the askers count them: their own number where it is silent or says what is none."""
    answers = np.broadcast_to(np.asarray(said, dtype=np.float64), own.shape)
    usable = (np.abs(answers) <= LARGEST).all(axis=2, keepdims=True)
    return np.where(usable, answers, own)


def _spread(held: Floats) -> Floats:
    """(input,): highest less lowest of (input, participant, output), in the worst output."""
    return np.asarray((held.max(axis=1) - held.min(axis=1)).max(axis=1))


def _target(held: Floats, tolerance: float | None, relative: float | None) -> Floats:
    """(input,): the spread at which an input is settled, from its first honest numbers."""
    if tolerance is not None:
        if relative is not None:
            raise ValueError(f"give tolerance or relative, not both: got {tolerance=}, {relative=}")
        return np.full(len(held), _at_least_zero("tolerance", tolerance))
    share = _at_least_zero("relative", _RELATIVE if relative is None else relative)
    rounding = 8 * np.finfo(np.float64).eps * np.abs(held).max(axis=(1, 2))
    return np.asarray(np.maximum(share * _spread(held), rounding))


def _at_least_zero(name: str, value: float) -> float:
    number = checks.finite(name, value)
    if number < 0:
        raise ValueError(f"{name} must satisfy {name} >= 0: got {name}={number}")
    return number


def _numbers(values: npt.ArrayLike) -> Floats:
    """``values`` as (participant, input, output); the first that is no number is named."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(
            "values must hold one row of equal length per participant: got unequal rows"
        ) from None
    if array.ndim not in (2, 3):
        raise ValueError(f"values must have the shape (participant, input[, output]): got {array.shape}")
    if array.size == 0:
        raise ValueError(f"values must hold at least one number: got the shape {array.shape}")
    if array.dtype.kind not in "iuf":
        raise TypeError(f"values must be real numbers: got an array of {array.dtype}")
    numbers = array.astype(np.float64).reshape(*array.shape[:2], -1)
    bad = ~(np.abs(numbers) <= LARGEST)
    if bad.any():
        participant, place, output = (int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"values must be finite, within -{LARGEST:g}..{LARGEST:g}: participant {participant} has "
            f"{numbers[participant, place, output]} on input {place}"
        )
    return numbers
