"""Slush with local thresholds, exactly: each participant has an alpha of its own (section 5).

Participants with the same threshold are alike, so the state is the number of blue ones in each group
of equal alpha. From x, group g gains a blue member at rate (n_g - x_g) H(n, B, k, alpha_g) and loses
one at rate x_g H(n, n - B, k, alpha_g), where B = sum x. The chance of ending all-blue solves

    h(x) = sum_y P(x, y) h(y),    h(all red) = 0,    h(all blue) = 1

over prod (n_g + 1) states, by sweeps that never build a matrix.
"""

from __future__ import annotations

import math
import warnings
from functools import cached_property, reduce

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Floats, Ints
from folkmoot.protocols.sampling import Everyone, Others
from folkmoot.protocols.slush import Slush
from folkmoot.protocols.thresholds import StrongConfidence
from folkmoot.theory import fixed_point, wavefront
from folkmoot.theory.chain import SlushChain, warn_if_not_absorbing
from folkmoot.theory.tabulate import log_turn, tabulated
from folkmoot.theory.votes_law import Accuracies, log_votes_law
from folkmoot.votes import BLUE, RED


class LocalSlushChain:
    """Slush in which honest participant i turns on ``alphas[i]`` equal answers out of k.

    With thresholds that differ, the network can also end in neither colour: for small n, some
    participants may then never hear enough of either. ``blue`` and ``red`` need not add up to 1.

    Participants with the same threshold form a group. Groups are in order of their threshold:
    ``thresholds`` has it for each group, ``sizes`` how many participants are in it.

    Parameters
    ----------
    alphas : array-like of int, shape (honest,), or StrongConfidence
        One threshold for each honest participant, k/2 < alpha <= k; or ``StrongConfidence(p)``, with the
        accuracy of each.
    k : int
        Participants asked per query.
    byzantine : int, default 0
        How many further participants there are, which always answer red.
    sampling : Everyone or Others, default Everyone()
        The sampling law: k of all, the paper's law, or k of the others.
    tolerance : float, default 1e-11
        The largest change of a probability in the last sweep of the solution.
    max_states : int, default 20,000,000
        Refuse to build a larger chain; a state takes about 80 bytes while solving.

    Raises
    ------
    ValueError
        If the chain would have more than ``max_states`` states: fewer distinct thresholds make it smaller.

    Warns
    -----
    ByzantineThresholdWarning
        If ``byzantine`` is at least the lowest threshold.

    Examples
    --------
    Three experts among eleven participants turn only if all five they ask say so:

    >>> from folkmoot import StrongConfidence
    >>> from folkmoot.theory import LocalSlushChain, SlushChain
    >>> p = [0.6] * 8 + [0.95] * 3
    >>> chain = LocalSlushChain(StrongConfidence(p), k=5)
    >>> chain
    LocalSlushChain(n=11, k=5, 8 with alpha=3, 3 with alpha=5, byzantine=0)
    >>> print(f"{chain.accuracy(p):.3f} {SlushChain(11, k=5, alpha=3).accuracy(p):.3f}")
    0.954 0.870
    """

    def __init__(
        self,
        alphas: npt.ArrayLike | StrongConfidence,
        k: int,
        *,
        byzantine: int = 0,
        sampling: Everyone | Others = Everyone(),
        tolerance: float = 1e-11,
        max_states: int = 20_000_000,
    ) -> None:
        self.alphas = _thresholds(alphas, k)
        self.k = checks.integer("k", k, least=1)
        byzantine = checks.integer("byzantine", byzantine, least=0)
        self.n, self.byzantine = checks.population(self.alphas.size + byzantine, byzantine)
        self.sampling = tabulated(sampling)
        self.sampling.peer_count(self.n, self.k)
        if not 0 < tolerance < 1:
            raise ValueError(f"tolerance must satisfy 0 < tolerance < 1: got {tolerance}")
        self.tolerance = tolerance
        self.thresholds, self.sizes = np.unique(self.alphas, return_counts=True)
        self.shape = tuple(int(size) + 1 for size in self.sizes)
        self.states = math.prod(self.shape)
        if self.states > max_states:
            raise ValueError(
                f"the chain would have {self.states:,} states ({self.sizes.size} groups of equal "
                f"alpha), more than max_states={max_states:,}: use fewer distinct thresholds, "
                "or simulate"
            )
        self._residuals: list[float] = []
        warn_if_not_absorbing(self.byzantine, int(self.thresholds[0]))

    @property
    def honest(self) -> int:
        """c = n - byzantine."""
        return self.n - self.byzantine

    def __repr__(self) -> str:
        groups = ", ".join(
            f"{size} with alpha={alpha}" for alpha, size in zip(self.thresholds, self.sizes, strict=True)
        )
        law = "" if self.sampling == Everyone() else f", sampling={self.sampling}"
        return f"LocalSlushChain(n={self.n}, k={self.k}, {groups}, byzantine={self.byzantine}{law})"

    @cached_property
    def blue_probabilities(self) -> Floats:
        """The chance of ending all-blue, for all blue counts: an array with one axis per group."""
        return self._solve(BLUE)

    @cached_property
    def red_probabilities(self) -> Floats:
        """The chance of ending all-red, solved for on its own."""
        return self._solve(RED)

    @property
    def residual(self) -> float:
        """``max |h - P h|`` over what has been solved; the error is at most this times the expected changes.

        With k = 10 those are some hundreds; near the voter model (k = 1) about n^2.
        """
        _ = self.blue_probabilities
        return max(self._residuals)

    def blue(self, counts: npt.ArrayLike) -> float:
        """The chance that all honest participants end blue, from counts[g] blue ones in group g.

        Parameters
        ----------
        counts : array-like of int, shape (group,)
            Blue participants by group, in the order of ``thresholds``.

        Returns
        -------
        float
            The chance of ending all-blue.
        """
        return float(self.blue_probabilities[self._state(counts)])

    def red(self, counts: npt.ArrayLike) -> float:
        """The chance that all honest participants end red, from counts[g] blue ones in group g.

        Parameters
        ----------
        counts : array-like of int, shape (group,)
            Blue participants by group, in the order of ``thresholds``.

        Returns
        -------
        float
            The chance of ending all-red.
        """
        return float(self.red_probabilities[self._state(counts)])

    def accuracy(self, p: Accuracies) -> float:
        """P_S, the chance that the network ends right, for participants of these accuracies.

        Parameters
        ----------
        p : float or array-like of float, shape (honest,)
            The accuracy of every honest participant, or one value for each in the order of ``alphas``.

        Returns
        -------
        float
            The chance that all honest participants end blue.
        """
        values = None if np.ndim(p) == 0 else checks.accuracies(p, self.honest)
        laws = [
            np.exp(log_votes_law(p if values is None else values[self.alphas == alpha], size))
            for alpha, size in zip(self.thresholds, self.sizes.tolist(), strict=True)
        ]
        # Sum out one group after the other, the last axis first.
        total = reduce(lambda table, law: table @ law, reversed(laws), self.blue_probabilities)
        return min(float(total), 1.0)

    @cached_property
    def _tables(self) -> tuple[Ints, Ints, Floats]:
        """Group sizes, strides of the states, and the rates of turning a member (see kernels).

        Only ratios of rates within a state matter, so each row is scaled by its largest one: chances
        below the smallest double would otherwise vanish and freeze what can move.
        """
        strides = [math.prod(self.shape[g + 1 :]) for g in range(len(self.shape))]
        blue = np.arange(self.n + 1)
        logs = np.empty((self.n + 1, 2 * self.sizes.size))
        for g, alpha in enumerate(self.thresholds.tolist()):
            rule = Slush(self.k, alpha)
            logs[:, 2 * g] = log_turn(rule, self.sampling, self.n, RED)
            logs[:, 2 * g + 1] = log_turn(rule, self.sampling, self.n, BLUE)[self.n - blue]
        largest = np.max(logs, axis=1, keepdims=True)
        scaled = np.exp(logs - np.where(np.isfinite(largest), largest, 0.0))
        rates = np.where(np.isfinite(logs), np.maximum(scaled, 1e-290), 0.0)
        return self.sizes.astype(np.int64), np.array(strides, dtype=np.int64), np.ascontiguousarray(rates.T)

    def _solve(self, colour: int) -> Floats:
        """Sweeps, or for one group the closed form, which is exact also where sweeps are slow."""
        h = self._one_group(colour) if self.sizes.size == 1 else self._sweep(colour)
        with wavefront.passes(*self._tables) as play:
            self._residuals.append(play(h, forward=True, update=False))
        h = h.reshape(self.shape)
        h.setflags(write=False)
        return h

    def _one_group(self, colour: int) -> Floats:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", checks.ByzantineThresholdWarning)  # said once already
            chain = SlushChain(
                self.n,
                self.k,
                int(self.thresholds[0]),
                byzantine=self.byzantine,
                sampling=self.sampling,
            )
        return (chain.blue if colour == BLUE else chain.red).copy()

    def _sweep(self, colour: int) -> Floats:
        from folkmoot.theory import local_kernels

        target = -1 if colour == BLUE else 0
        reached = np.zeros(self.states, dtype=np.bool_)
        reached[target] = True
        news = True
        while news:
            news = False
            for forward in (True, False):
                news |= local_kernels.spread(reached, *self._tables, forward)
        # Start from the share of that colour, the exact answer for k = alpha = 1; and from 0 where
        # the target is out of reach, which keeps it 0 and makes the solution unique elsewhere.
        share = reduce(np.add.outer, [np.arange(width, dtype=np.float64) for width in self.shape])
        h = np.asarray(share, dtype=np.float64).reshape(-1)
        h /= self.honest
        if colour == RED:
            h = h[::-1].copy()
        h[~reached] = 0.0
        del share, reached

        with wavefront.passes(*self._tables) as play:

            def both_ways(values: Floats) -> float:
                changes = [play(values, forward=way, update=True) for way in (True, False)]
                return float(np.max(changes))  # nan if either is, unlike max()

            fixed_point.solve(both_ways, h, tolerance=self.tolerance)
        return np.clip(h, 0.0, 1.0, out=h)

    def _state(self, counts: npt.ArrayLike) -> tuple[int, ...]:
        values = np.atleast_1d(np.asarray(counts))
        if values.shape != self.sizes.shape:
            raise ValueError(
                f"counts must hold one blue count per group ({self.sizes.size} groups, "
                f"alpha = {self.thresholds.tolist()}): got shape {values.shape}"
            )
        state = tuple(checks.integer(f"counts[{g}]", value) for g, value in enumerate(values))
        for g, (count, size) in enumerate(zip(state, self.sizes.tolist(), strict=True)):
            if not 0 <= count <= size:
                raise ValueError(
                    f"counts[{g}] must satisfy 0 <= counts[{g}] <= {size}, the size of its group: got {count}"
                )
        return state


def _thresholds(alphas: npt.ArrayLike | StrongConfidence, k: int) -> Ints:
    if isinstance(alphas, StrongConfidence):
        return alphas.thresholds(k)
    values = np.asarray(alphas)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"alphas must hold one threshold per honest participant: got shape {values.shape}")
    for alpha in dict.fromkeys(values.tolist()):
        checks.query(k, alpha)
    return values.astype(np.int64)
