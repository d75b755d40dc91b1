"""The Slush chain: exact absorption, time to absorption and finite-horizon law (appendix A of the paper).

The state is b, the number of honest participants that are blue (right). One honest participant at a
time asks; f Byzantine participants always answer red and never change. With c = n - f honest ones,

    birth  lambda_b = (c - b) H(n, b, k, alpha)        death  mu_b = b H(n, n - b, k, alpha)

and the absorption probabilities are ratios of sums of the weights (theorem "exact xi", corollary
"exact zeta", restricted to where no factor vanishes)

    w_l = prod_{i < l} mu_i  prod_{j >= l} lambda_j,    B_b = sum_{l <= b} w_l / sum_l w_l,
                                                        R_b = sum_{l > b}  w_l / sum_l w_l.

Everything is kept as logarithms. Each sum is taken over its own positive terms, so B_b and R_b
keep their relative accuracy far below the smallest double.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Floats
from folkmoot.checks import ByzantineThresholdWarning
from folkmoot.protocols.sampling import Everyone, Others
from folkmoot.protocols.slush import Slush
from folkmoot.theory.logsum import logsum, running_logsum, running_sum
from folkmoot.theory.tabulate import log_turn, tabulated, turning_tallies
from folkmoot.theory.votes_law import Accuracies, log_votes_law
from folkmoot.votes import BLUE, RED

_DENSE: Final = 300  # honest participants up to which a round as a matrix is quicker than its steps


def warn_if_not_absorbing(byzantine: int, alpha: int, stacklevel: int = 3) -> None:
    """All-blue is left again when the Byzantine participants alone reach the threshold."""
    if byzantine >= alpha:
        warnings.warn(
            f"{byzantine} Byzantine participants reach alpha = {alpha}: all-blue is not absorbing; "
            "absorption follows the paper and sets its death rate to zero (steps give the real process)",
            ByzantineThresholdWarning,
            stacklevel=stacklevel,
        )


class SlushChain:
    """Slush among n participants as a birth-death chain over b = 0..n-byzantine blue honest ones.

    All arrays run over b = 0..n-byzantine and are read-only. States with n - alpha < b < alpha are
    frozen. Neither colour reaches the threshold, so ``blue`` and ``red`` are both 0 there (the
    paper's R_b + B_b = 1 needs alpha <= ceil(n/2)). A step is one honest participant, drawn uniformly,
    asking once.

    Parameters
    ----------
    n : int
        Participants in all.
    k : int
        Participants asked per query.
    alpha : int
        Equal answers that make a colour win, k/2 < alpha <= k.
    byzantine : int, default 0
        Participants that always answer red (perfectly malicious).
    sampling : Everyone or Others, default Everyone()
        ``Everyone()`` is the paper's law: the asker may draw itself. ``Others()`` is the law of a real
        network and the default of ``deliberate``: k of the others.

    Warns
    -----
    ByzantineThresholdWarning
        If ``byzantine`` >= ``alpha``.

    Examples
    --------
    Two or three of five are right at the start:

    >>> from folkmoot.theory import SlushChain
    >>> SlushChain(5, k=3, alpha=2).blue
    array([0. , 0. , 0.28125, 0.71875, 1. , 1. ])

    With three of three needed, two against one is frozen: nobody can change any more.

    >>> chain = SlushChain(3, k=3, alpha=3)
    >>> print(chain.blue, chain.red)
    [0. 0. 0. 1.] [1. 0. 0. 0.]
    """

    def __init__(
        self,
        n: int,
        k: int,
        alpha: int,
        *,
        byzantine: int = 0,
        sampling: Everyone | Others = Everyone(),
    ) -> None:
        self.n, self.byzantine = checks.population(n, byzantine)
        self.sampling = tabulated(sampling)
        self.sampling.peer_count(self.n, k)  # k against n before alpha against k: the plainer mistake first
        self.k, self.alpha = checks.query(k, alpha)
        self.rule = Slush(self.k, self.alpha)
        warn_if_not_absorbing(self.byzantine, self.alpha)

    @property
    def honest(self) -> int:
        """c = n - byzantine, the participants that ask and change."""
        return self.n - self.byzantine

    def __repr__(self) -> str:
        options = f", byzantine={self.byzantine}" if self.byzantine else ""
        options += "" if self.sampling == Everyone() else f", sampling={self.sampling}"
        return f"SlushChain(n={self.n}, k={self.k}, alpha={self.alpha}{options})"

    # ---- rates -------------------------------------------------------------------------------

    @cached_property
    def _log_rates(self) -> tuple[Floats, Floats]:
        """log lambda_b and log mu_b of the real process, all-blue included."""
        b = np.arange(self.honest + 1)
        turn_red = log_turn(self.rule, self.sampling, self.n, RED)
        alike = np.array_equal(turning_tallies(self.rule, RED), turning_tallies(self.rule, BLUE))
        turn_blue = turn_red if alike else log_turn(self.rule, self.sampling, self.n, BLUE)
        with np.errstate(divide="ignore"):
            return np.log(self.honest - b) + turn_red[b], np.log(b) + turn_blue[self.n - b]

    @cached_property
    def birth(self) -> Floats:
        """lambda_b: rate at which a red honest participant turns blue (definition "Transition rates")."""
        return _frozen(np.exp(self._log_rates[0]))

    @cached_property
    def death(self) -> Floats:
        """mu_b: rate at which a blue one turns red; 0 at all-blue, the paper's convention for f >= alpha."""
        rates = np.exp(self._log_rates[1])
        rates[-1] = 0.0
        return _frozen(rates)

    # ---- absorption --------------------------------------------------------------------------

    @cached_property
    def _mixed(self) -> tuple[int, int]:
        """First and last b with both rates positive: alpha..min(n-alpha, c-1); empty if first > last."""
        return self.alpha, min(self.n - self.alpha, self.honest - 1)

    @cached_property
    def _log_weights(self) -> Floats:
        """log w_l for l = first..last+1 of the mixed states, up to a common constant."""
        first, last = self._mixed
        log_birth, log_death = self._log_rates
        ratios = log_death[first : last + 1] - log_birth[first : last + 1]
        weights = np.concatenate(([0.0], running_sum(ratios)))
        # Without Byzantine participants lambda_b = mu_{n-b}, so w is a palindrome; make it one to the
        # last bit, so that R_b = B_{n-b} and the gap at p = 1/2 hold exactly and not to rounding.
        return (weights + weights[::-1]) / 2 if self.byzantine == 0 else weights

    @cached_property
    def _log_odds(self) -> Floats:
        """log(B_b / R_b) where both are positive, i.e. over the mixed states."""
        below = running_logsum(self._log_weights)
        above = running_logsum(self._log_weights[::-1])[::-1]
        return below[:-1] - above[1:]

    def _absorption(self, colour: int) -> Floats:
        first, last = self._mixed
        result = np.full(self.honest + 1, -np.inf)
        b = np.arange(self.honest + 1)
        if colour == BLUE:  # only births are possible: sure to end all-blue
            result[(b >= self.alpha) & (b > self.n - self.alpha)] = 0.0
            result[self.honest] = 0.0
            result[0] = -np.inf
        else:
            result[(b < self.alpha) & (b <= self.n - self.alpha)] = 0.0
            result[0] = 0.0
            result[self.honest] = -np.inf
        if first <= last:
            odds = self._log_odds if colour == BLUE else -self._log_odds
            # B = S / (S + S') = 1 / (1 + S'/S): accurate for B near 0 and for B near 1.
            result[first : last + 1] = -np.logaddexp(0.0, -odds)
        return _frozen(result)

    @cached_property
    def log_blue(self) -> Floats:
        """log B_b, the chance that all honest participants end blue (corollary "exact zeta")."""
        return self._absorption(BLUE)

    @cached_property
    def log_red(self) -> Floats:
        """log R_b, the chance that all honest participants end red (theorem "exact xi")."""
        return self._absorption(RED)

    @cached_property
    def blue(self) -> Floats:
        """B_b."""
        return _frozen(np.exp(self.log_blue))

    @cached_property
    def red(self) -> Floats:
        """R_b."""
        return _frozen(np.exp(self.log_red))

    @cached_property
    def log_not_blue(self) -> Floats:
        """log(1 - B_b): R_b, or 1 in a frozen state, which ends in neither colour."""
        frozen = np.isneginf(self.log_blue) & np.isneginf(self.log_red)
        return _frozen(np.where(frozen, 0.0, self.log_red))

    def accuracy(self, p: Accuracies, *, steps: int | None = None) -> float:
        """P_S, the chance that the network ends right (equation "Slush prob homogeneous").

        Parameters
        ----------
        p : float or array-like of float, shape (honest,)
            The accuracy of every honest participant, or one value for each.
        steps : int, optional
            Stop after so many steps (the paper's "50 rounds per node" are ``50 * chain.honest``).
            Default: go on until nothing changes any more.

        Returns
        -------
        float
            The chance that all honest participants end blue; with ``steps``, that more than half of them
            are blue then, and half the chance that exactly half are.
        """
        start = log_votes_law(p, self.honest)
        if steps is None:
            return math.exp(min(logsum(start + self.log_blue), 0.0))
        law = self.distribution(np.exp(start), steps)
        right = law[self.honest // 2 + 1 :].tolist()
        tied = checks.tied_votes(self.honest)
        return min(math.fsum(right if tied is None else [*right, law[tied] / 2]), 1.0)

    # ---- time --------------------------------------------------------------------------------

    def expected_steps(self) -> Floats:
        """Expected steps until all honest participants agree, from each b.

        In the mixed states the sum over the visits to each y is taken from positive terms only. Starting
        in b, the chain spends c B_min(b,y) R_max(b,y) / (lambda_y (B_{y+1} - B_y)) steps in y.

        Returns
        -------
        ndarray of float, shape (honest + 1,)
            The expectation; inf in a frozen state, and where it exceeds the largest double.
        """
        c = self.honest
        first, last = self._mixed
        log_birth, log_death = self._log_rates
        logs = np.full(c + 1, np.inf)
        logs[[0, c]] = -np.inf
        # Only deaths below the mixed states, only births above: the times from one b to the next add up.
        low = min(first - 1, self.n - self.alpha, c - 1)
        logs[1 : low + 1] = running_logsum(-log_death[1 : low + 1])
        high = max(last + 1, self.alpha, 1)
        logs[high:c] = running_logsum(-log_birth[high:c][::-1])[::-1]
        if first <= last:
            mixed = slice(first, last + 1)
            blue, red = self.log_blue[mixed], self.log_red[mixed]
            stay = -log_birth[mixed] - (self._log_weights[1:] - logsum(self._log_weights))
            below = red + running_logsum(blue + stay)
            above = np.full(blue.size, -np.inf)
            above[:-1] = blue[:-1] + running_logsum((red + stay)[::-1])[::-1][1:]
            ends = np.logaddexp(red + logs[first - 1], blue + logs[last + 1])
            logs[mixed] = np.logaddexp(np.logaddexp(below, above), ends)
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(logs + math.log(c)), dtype=np.float64)

    def distribution(self, start: int | npt.ArrayLike, steps: int) -> Floats:
        """The exact law of b after ``steps`` steps, from b = ``start`` or from a law over b.

        This is the real process: with f >= alpha the all-blue state is left again.

        Parameters
        ----------
        start : int or array-like of float, shape (honest + 1,)
            Blue participants at the start, or the probability of each number.
        steps : int
            The number of steps.

        Returns
        -------
        ndarray of float, shape (honest + 1,)
            The chance of each b then.
        """
        return self._evolve(self._start(start), steps, backward=False)

    def by_round(self, start: int | npt.ArrayLike) -> Iterator[Floats]:
        """The exact law of b after 0, 1, 2, ... rounds of ``honest`` steps, as long as the caller goes on.

        The result of ``distribution`` for each number of rounds, with the work of one round done once.

        Parameters
        ----------
        start : int or array-like of float, shape (honest + 1,) or (law, honest + 1)
            Blue participants at the start, the probability of each number, or several such laws.

        Yields
        ------
        ndarray of float, shape (honest + 1,) or (law, honest + 1)
            The chance of each b; the first is the start.
        """
        several = np.ndim(start) == 2
        law = np.stack([self._start(row) for row in np.asarray(start)]) if several else self._start(start)
        yield law
        if self.honest <= _DENSE:
            matrix = stochastic_power(self._matrix(), self.honest)
            while True:
                law = law @ matrix
                yield law
        from folkmoot.theory.chain_kernels import stepped  # with numba, which takes its time to import

        while True:
            law = stepped(np.atleast_2d(law), *self._chances, self.honest).reshape(law.shape)
            yield law

    def blue_after(self, steps: int) -> Floats:
        """From each b, the chance that all honest participants are blue after ``steps`` steps.

        Parameters
        ----------
        steps : int
            The number of steps.

        Returns
        -------
        ndarray of float, shape (honest + 1,)
            The chance for each b at the start.
        """
        return self._evolve(self._start(self.honest), steps, backward=True)

    def red_after(self, steps: int) -> Floats:
        """From each b, the chance that all honest participants are red after ``steps`` steps.

        Parameters
        ----------
        steps : int
            The number of steps.

        Returns
        -------
        ndarray of float, shape (honest + 1,)
            The chance for each b at the start.
        """
        return self._evolve(self._start(0), steps, backward=True)

    def open_after(self, steps: int) -> Floats:
        """From each b, the chance that the honest participants do not all agree after ``steps`` steps.

        From its own terms: right also where it is far below the rounding error of 1 - blue - red.

        Parameters
        ----------
        steps : int
            The number of steps.

        Returns
        -------
        ndarray of float, shape (honest + 1,)
            The chance for each b at the start.
        """
        undecided = np.ones(self.honest + 1)
        undecided[[0, -1]] = 0.0
        return self._evolve(undecided, steps, backward=True)

    def ahead_after(self, steps: int, colour: int = BLUE) -> Floats:
        """From each b, the chance that more than half of the honest hold one colour after ``steps`` steps.

        Parameters
        ----------
        steps, colour : int
            The number of steps; BLUE (1) or RED (0).

        Returns
        -------
        ndarray of float, shape (honest + 1,)
            The chance for each b at the start; a tie is none.
        """
        lead = 2 * np.arange(self.honest + 1) - self.honest
        ahead = (lead > 0 if colour == BLUE else lead < 0).astype(np.float64)
        return np.minimum(self._evolve(ahead, steps, backward=True), 1.0)

    def _evolve(self, vector: Floats, steps: int, *, backward: bool) -> Floats:
        """``vector`` times a power of the transition matrix, from the left or (backward) from the right."""
        count = checks.integer("steps", steps, least=0)
        down, stay, up = self._chances
        size = self.honest + 1
        # Repeated squaring costs size^3 log(steps), stepping size * steps.
        if size <= 1024 and size**2 * count.bit_length() < 100 * count:
            power = stochastic_power(self._matrix(), count)
            return np.asarray(power @ vector if backward else vector @ power, dtype=np.float64)
        # Row b of the matrix holds down[b], stay[b], up[b]; a column holds up[b-1], stay[b], down[b+1].
        low, high = (down[1:], up[:-1]) if backward else (up[:-1], down[1:])
        for _ in range(count):
            after = vector * stay
            after[..., 1:] += low * vector[..., :-1]
            after[..., :-1] += high * vector[..., 1:]
            vector = after
        return vector

    @cached_property
    def _chances(self) -> tuple[Floats, Floats, Floats]:
        """From each b, the chances that one step leads to b - 1, to b and to b + 1."""
        up, down = (np.exp(rates) / self.honest for rates in self._log_rates)
        return down, np.maximum(1.0 - up - down, 0.0), up

    def _matrix(self) -> Floats:
        """One step as a matrix: from row b to column b."""
        down, stay, up = self._chances
        return np.asarray(np.diag(stay) + np.diag(up[:-1], 1) + np.diag(down[1:], -1))

    def _start(self, start: int | npt.ArrayLike) -> Floats:
        if np.ndim(start) == 0:
            b = checks.integer("start", start)
            if not 0 <= b <= self.honest:
                raise ValueError(
                    f"start must satisfy 0 <= start <= n - byzantine: got start={b}, "
                    f"n - byzantine = {self.honest}"
                )
            law = np.zeros(self.honest + 1)
            law[b] = 1.0
            return law
        law = np.array(start, dtype=np.float64)
        if law.shape != (self.honest + 1,):
            raise ValueError(
                f"start must be a number or a law over b = 0..{self.honest} "
                f"({self.honest + 1} values): got shape {law.shape}"
            )
        if not (np.all(law >= 0) and abs(law.sum() - 1.0) <= 1e-9):
            raise ValueError(f"start must be a law (values >= 0 with sum 1): got sum {law.sum()}")
        return law


def _frozen(array: Floats) -> Floats:
    array.setflags(write=False)
    return array


def stochastic_power(matrix: Floats, exponent: int) -> Floats:
    """matrix ** exponent by squaring, rows brought back to sum 1 each time.

    Otherwise a rounding error in the row of a state that is almost never left would be raised to
    the exponent too. After 1e15 steps nothing would be left of the law.
    """
    result = np.eye(len(matrix))
    while exponent:
        if exponent & 1:
            result = result @ matrix
            result /= result.sum(axis=1, keepdims=True)
        matrix = matrix @ matrix
        matrix /= matrix.sum(axis=1, keepdims=True)
        exponent >>= 1
    return result
