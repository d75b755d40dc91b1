"""``sweep``: two-class Slush played very often and counted; a GPU counts the same as the processor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Array, Colours, Floats, Ints, Progress
from folkmoot.protocols import Slush
from folkmoot.protocols.sampling import Everyone, Others, Sampling, check_sampling
from folkmoot.protocols.thresholds import StrongConfidence, strong_thresholds
from folkmoot.simulation.setting import Device, chance_rows, check_device, check_threads, in_units
from folkmoot.simulation.sharing import Piece, share

if TYPE_CHECKING:
    from folkmoot.simulation.kernels.sweeps import SweptRule

__all__ = ["Keep", "Sweep", "sweep"]

Keep: TypeAlias = Literal["counts", "decisions"]


@dataclass(frozen=True, eq=False)
class Sweep:
    """The results of many talks, by setting.

    Parameters
    ----------
    talks : int
        How many talks there were of each setting.
    right, wrong, level : ndarray of int, shape (setting,)
        Talks after which most honest participants hold the right class, the wrong one, or as many each.
    converged : ndarray of int, shape (setting,)
        Talks in which all agreed for good; the others were open when the rounds were over.
    rounds, queries : ndarray of int, shape (setting,)
        Rounds, and requests to single peers, of all talks together.
    voted_right, voted_level : ndarray of int, shape (setting,)
        Talks whose first votes, with those of the liars, were right by majority, or level.
    votes, decisions : ndarray of int, shape (setting, participant, talk), optional
        With ``keep="decisions"``: what honest participants said at first and held at the end; 1 is right.

    Examples
    --------
    >>> from folkmoot import Slush, sweep
    >>> found = sweep(0.6, Slush(5, 3), n=15, talks=1000)
    >>> found.accuracy.shape, bool(0.7 < found.accuracy[0] < 0.8), found.open
    ((1,), True, array([0]))
    """

    talks: int
    right: Ints
    wrong: Ints
    level: Ints
    converged: Ints
    rounds: Ints
    queries: Ints
    voted_right: Ints
    voted_level: Ints
    votes: Colours | None = None
    decisions: Colours | None = None

    @cached_property
    def accuracy(self) -> Floats:
        """(setting,): the share of talks that end right; a level one is half right."""
        return (self.right + self.level / 2) / self.talks

    @cached_property
    def majority(self) -> Floats:
        """(setting,): the accuracy of the majority of the first votes, which a centre would count."""
        return (self.voted_right + self.voted_level / 2) / self.talks

    @cached_property
    def standard_error(self) -> Floats:
        """(setting,): of the accuracy."""
        return np.asarray(np.sqrt(self.accuracy * (1 - self.accuracy) / self.talks))

    @property
    def open(self) -> Ints:
        """(setting,): talks that were not converged."""
        return self.talks - self.converged


def sweep(
    p: npt.ArrayLike,
    protocol: Slush | Sequence[Slush],
    *,
    n: int | None = None,
    byzantine: int = 0,
    talks: int = 10_000,
    rounds: int = 50,
    sampling: Sampling | None = None,
    seed: int = 0,
    keep: Keep = "counts",
    device: Device = "cpu",
    threads: int | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Play two-class Slush many times from votes that are right by chance, and count what comes of it.

    Every talk has votes of its own: participant i is right with the chance ``p[i]``. The Byzantine ones
    always answer wrong. A GPU gives the same counts as the processor.

    Parameters
    ----------
    p : float or array-like of float
        The chance that an honest participant is right: of all, or (participant,), or (setting, participant).
    protocol : Slush, or a sequence of Slush
        The rule, or one for each setting, all with the same k; without weights. Thresholds of their own are
        those of the honest participants.
    n : int, optional
        Participants in all, where ``p`` is one number.
    byzantine : int, default 0
        How many more always answer wrong, with one number for ``p`` how many of the n.
    talks : int, default 10000
        How many talks there are of each setting.
    rounds : int, default 50
        Rounds per participant at the most.
    sampling : Others or Everyone, optional
        The peers of a participant; ``Others()`` is the default.
    seed : int, default 0
        The same seed gives the same bits, on every processor and GPU.
    keep : {"counts", "decisions"}, default "counts"
        Whether votes and decisions are kept, too; a million talks of 101 are 101 MB each.
    device : {"cpu", "cuda", "auto"}, default "cpu"
        The device.
    threads : int, optional
        How many threads of the processor play. Default: as many as there are cores.
    progress : callable, optional
        Called with (done, all) as the work goes on.

    Returns
    -------
    Sweep
        The counts of each setting.

    Raises
    ------
    ValueError
        If a chance, a number or a protocol is not what it can be, or a GPU is told to keep decisions.

    Examples
    --------
    Each vote is a coin, and every talk the talk that ``deliberate`` would have with the sweep's seed:

    >>> from folkmoot import Slush, sweep
    >>> found = sweep([0.6] * 9, Slush(5, 3), talks=200, keep="decisions")
    >>> found.votes.shape, int(found.right[0] + found.wrong[0] + found.level[0])
    ((1, 9, 200), 200)
    """
    if keep not in get_args(Keep):
        raise ValueError(f"keep must be 'counts' or 'decisions': got {keep!r}")
    number, talks = checks.seed(seed), checks.integer("talks", talks, least=1)
    where, many = check_device(device), check_threads(threads)
    accuracies, rules, liars = _settings(p, protocol, n, byzantine)
    rule = _rule(accuracies, rules, liars, check_sampling(sampling), checks.rounds(rounds), number)
    found = np.zeros((len(rules), 8), dtype=np.int64)
    kept = None
    if _takes_gpu(where, keep, len(rules) * talks, rule):
        from folkmoot.simulation.kernels.gpu import cuda
        from folkmoot.simulation.kernels.gpu import sweeps as on_gpu

        def everything(halt: Array) -> None:
            found[:] = on_gpu.counted(cuda.cuda(), rule, talks, halt)

        pieces = [Piece(len(rules) * talks, everything)]
    else:
        from folkmoot.simulation.kernels import sweeps as on_cpu

        if keep == "decisions":
            room = (len(rules), accuracies.shape[1], talks)
            kept = on_cpu.Kept(np.empty(room, dtype=np.int8), np.empty(room, dtype=np.int8))
        pieces = on_cpu.pieces(rule, talks, found, kept)
    share(pieces, many, progress)
    found[:, 5] *= rules[0].k
    votes, decisions = (None, None) if kept is None else kept
    right, wrong, level, converged, played, queries, voted, tied = found.T
    return Sweep(talks, right, wrong, level, converged, played, queries, voted, tied, votes, decisions)


def _settings(
    p: npt.ArrayLike, protocol: Slush | Sequence[Slush], n: int | None, byzantine: int
) -> tuple[Floats, list[Slush], int]:
    """Accuracies (setting, honest), a rule for each setting, and the number of liars."""
    given = np.asarray(p, dtype=np.float64)
    liars = checks.integer("byzantine", byzantine, least=0)
    if given.ndim == 0:
        if n is None:
            raise ValueError("n is missing: give n= with one accuracy for all, or one accuracy each")
        everybody, liars = checks.population(n, byzantine)
        given = np.full(everybody - liars, given)
    elif n is not None:
        raise ValueError(f"give n= or one accuracy each, not both: got n={n}, p of shape {given.shape}")
    if given.ndim > 2 or not given.size:
        raise ValueError(f"p must be a number, (participant,) or (setting, participant): got {given.shape}")
    outside = ~((given >= 0) & (given <= 1))  # also where it is not a number
    if outside.any():
        raise ValueError(f"p must satisfy 0 <= p <= 1: got p={given[outside][0]}")
    given = np.atleast_2d(given)
    rules = list(protocol) if isinstance(protocol, Sequence) else [protocol] * len(given)
    if len(given) == 1:
        given = np.repeat(given, len(rules), axis=0)
    if len(rules) != len(given):
        raise ValueError(f"protocol must be one, or one per setting ({len(given)}): got {len(rules)}")
    for rule in rules:
        if type(rule) is not Slush or rule.weights is not None:
            raise ValueError(f"a sweep plays Slush without weights: got {rule!r}")
        if rule.k != rules[0].k:
            raise ValueError(f"all settings of a sweep must have one k: got k={rules[0].k}, k={rule.k}")
    return given, rules, liars


def _rule(p: Floats, rules: list[Slush], liars: int, law: Sampling, rounds: int, seed: int) -> SweptRule:
    """All that is played by, as tables."""
    from folkmoot.simulation.kernels.sweeps import SweptRule
    from folkmoot.simulation.kernels.tossing import seeds_of

    if not isinstance(law, (Others, Everyone)):
        raise ValueError(f"a sweep asks Others() or Everyone(): got {type(law).__name__}")
    settings, honest = p.shape
    n, k = honest + liars, rules[0].k
    urn = law.urn(n, k)
    alphas = _alphas(rules, honest)
    levels = np.flatnonzero(np.bincount(alphas.ravel()))
    which = np.searchsorted(levels, alphas)
    # All right is for good where the liars cannot reach a threshold; all wrong is in any case.
    for_good = np.stack([np.ones(settings, dtype=np.bool_), liars < alphas.min(axis=1)], axis=1)
    return SweptRule(
        chance=chance_rows(law, n, k, levels).ravel(),
        row=urn + 2,
        offset=(which * (urn + 2)).astype(np.uint64),
        thresholds=in_units(p),
        seeds=seeds_of(seed, settings),
        fixed=np.array([liars, 0]),
        closed=for_good,
        rounds=rounds,
    )


def _alphas(rules: list[Slush], honest: int) -> Ints:
    """(setting, honest): thresholds; at once where all are from accuracies, as there may be thousands."""
    told = [rule.alpha.p if isinstance(rule.alpha, StrongConfidence) else None for rule in rules]
    if all(each is not None and len(each) == honest for each in told):
        return strong_thresholds(np.array(told, dtype=np.float64), rules[0].k)
    return np.stack([rule.thresholds(honest) for rule in rules])


def _takes_gpu(device: Device, keep: Keep, jobs: int, rule: SweptRule) -> bool:
    """Whether a GPU plays it: ``device="cuda"`` is an order, and refused with the reason."""
    if device == "cpu":
        return False
    from folkmoot.simulation.kernels.gpu import cuda
    from folkmoot.simulation.kernels.gpu.kernel import worth_it
    from folkmoot.simulation.kernels.gpu.layout import MOST_TURNS

    honest = rule.offset.shape[1]
    long = rule.rounds * honest >= MOST_TURNS
    if device == "auto":
        return keep == "counts" and not long and worth_it(jobs, honest)
    if keep == "decisions":
        raise ValueError(
            "a GPU keeps the counts of a sweep: give keep='counts', or device='cpu' for the decisions"
        )
    if long:
        raise ValueError(
            f"on a GPU rounds must satisfy rounds * participants < 2^31: got rounds={rule.rounds}"
        )
    cuda.cuda()
    return True
