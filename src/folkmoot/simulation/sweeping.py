"""``sweep``: two-class Slush played very often and counted; a GPU counts the same as the processor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Array, Classes, Floats, Ints, Progress
from folkmoot.protocols.sampling import Everyone, Others, Sampling, check_sampling
from folkmoot.protocols.slush import Slush
from folkmoot.protocols.thresholds import StrongConfidence, strong_thresholds
from folkmoot.simulation.setting import Device, chance_rows, check_device, check_threads, in_units
from folkmoot.simulation.sharing import Piece, share

if TYPE_CHECKING:
    from folkmoot.simulation.kernels.sweeps import SweptRule

__all__ = ["Keep", "Sweep", "sweep"]

Keep: TypeAlias = Literal["counts", "decisions"]


@dataclass(frozen=True, eq=False)
class Sweep:
    """Counts of how many runs of each setting ended how.

    Parameters
    ----------
    repeats : int
        How often each setting was played.
    right, wrong, tied : ndarray of int, shape (setting,)
        Runs after which most honest participants hold the right class, the wrong one, or as many each.
    converged : ndarray of int, shape (setting,)
        Runs in which all agreed for good; the others were open when the rounds were over.
    rounds, queries : ndarray of int, shape (setting,)
        Rounds, and requests to single peers, of all runs together.
    voted_right, voted_tied : ndarray of int, shape (setting,)
        Runs whose first votes, with those of malicious participants, were right by majority, or tied.
    votes, decisions : ndarray of int, shape (setting, participant, run), optional
        With ``keep="decisions"``: first votes and final classes of honest participants; 1 is right.

    Examples
    --------
    >>> from folkmoot import Slush, sweep
    >>> found = sweep(0.6, Slush(5, 3), n=15, repeats=1000)
    >>> found.accuracy.shape, bool(0.7 < found.accuracy[0] < 0.8), found.open
    ((1,), True, array([0]))
    """

    repeats: int
    right: Ints
    wrong: Ints
    tied: Ints
    converged: Ints
    rounds: Ints
    queries: Ints
    voted_right: Ints
    voted_tied: Ints
    votes: Classes | None = None
    decisions: Classes | None = None

    @cached_property
    def accuracy(self) -> Floats:
        """(setting,): the share of runs that end right; a tied one is half right."""
        return (self.right + self.tied / 2) / self.repeats

    @cached_property
    def majority(self) -> Floats:
        """(setting,): the accuracy of the majority of the first votes."""
        return (self.voted_right + self.voted_tied / 2) / self.repeats

    @cached_property
    def standard_error(self) -> Floats:
        """(setting,): of the accuracy."""
        return np.asarray(np.sqrt(self.accuracy * (1 - self.accuracy) / self.repeats))

    @property
    def open(self) -> Ints:
        """(setting,): runs that had not converged."""
        return self.repeats - self.converged


def sweep(
    p: npt.ArrayLike,
    protocol: Slush | Sequence[Slush],
    *,
    n: int | None = None,
    byzantine: int = 0,
    repeats: int = 10_000,
    rounds: int = 50,
    sampling: Sampling | None = None,
    seed: int = 0,
    keep: Keep = "counts",
    device: Device = "cpu",
    threads: int | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Play two-class Slush many times from votes that are right by chance, and count what comes of it.

    Every run has new votes: participant i is right with probability ``p[i]``. Byzantine participants
    always answer wrong. A GPU gives the same counts as the processor.

    Parameters
    ----------
    p : float or array-like of float
        The accuracy of honest participants: one for all, or (participant,), or (setting, participant).
    protocol : Slush, or a sequence of Slush
        The rule, or one for each setting, all with the same k; without weights. Thresholds by participant
        are those of the honest participants.
    n : int, optional
        Participants in all, where ``p`` is one number.
    byzantine : int, default 0
        How many more always answer wrong, with one number for ``p`` how many of the n.
    repeats : int, default 10000
        How often each setting is played.
    rounds : int, default 50
        Rounds per participant at the most.
    sampling : Others or Everyone, optional
        The sampling law. Default: ``Others()``.
    seed : int, default 0
        The same seed gives the same bits, on every processor and GPU.
    keep : {"counts", "decisions"}, default "counts"
        Whether votes and decisions are kept, too; each takes 101 MB for a million runs of 101 participants.
    device : {"cpu", "cuda", "auto"}, default "cpu"
        The device.
    threads : int, optional
        Threads of the processor. Default: one per core.
    progress : callable, optional
        Called with (done, all) as the work goes on.

    Returns
    -------
    Sweep
        The counts of each setting.

    Raises
    ------
    ValueError
        If an argument is out of range, or a GPU should keep decisions.

    Examples
    --------
    Each vote is a coin. ``deliberate`` with the seed of the sweep would play the same runs:

    >>> from folkmoot import Slush, sweep
    >>> found = sweep([0.6] * 9, Slush(5, 3), repeats=200, keep="decisions")
    >>> found.votes.shape, int(found.right[0] + found.wrong[0] + found.tied[0])
    ((1, 9, 200), 200)
    """
    if keep not in get_args(Keep):
        raise ValueError(f"keep must be 'counts' or 'decisions': got {keep!r}")
    number, times = checks.seed(seed), checks.integer("repeats", repeats, least=1)
    where, many = check_device(device), check_threads(threads)
    accuracies, rules, malicious = _settings(p, protocol, n, byzantine)
    rule = _rule(accuracies, rules, malicious, check_sampling(sampling), checks.rounds(rounds), number)
    found = np.zeros((len(rules), 8), dtype=np.int64)
    kept = None
    if _takes_gpu(where, keep, len(rules) * times, rule):
        from folkmoot.simulation.kernels.gpu import cuda
        from folkmoot.simulation.kernels.gpu import sweeps as on_gpu

        def everything(halt: Array) -> None:
            found[:] = on_gpu.counted(cuda.cuda(), rule, times, halt)

        pieces = [Piece(len(rules) * times, everything)]
    else:
        from folkmoot.simulation.kernels import sweeps as on_cpu

        if keep == "decisions":
            room = (len(rules), accuracies.shape[1], times)
            kept = on_cpu.Kept(np.empty(room, dtype=np.int8), np.empty(room, dtype=np.int8))
        pieces = on_cpu.pieces(rule, times, found, kept)
    share(pieces, many, progress)
    found[:, 5] *= rules[0].k
    votes, decisions = (None, None) if kept is None else kept
    right, wrong, tied, converged, played, queries, voted_right, voted_tied = found.T
    return Sweep(
        times, right, wrong, tied, converged, played, queries, voted_right, voted_tied, votes, decisions
    )


def _settings(
    p: npt.ArrayLike, protocol: Slush | Sequence[Slush], n: int | None, byzantine: int
) -> tuple[Floats, list[Slush], int]:
    """Accuracies (setting, honest), a rule for each setting, and the number of malicious participants."""
    given = np.asarray(p, dtype=np.float64)
    malicious = checks.integer("byzantine", byzantine, least=0)
    if given.ndim == 0:
        if n is None:
            raise ValueError("n is missing: give n= with one accuracy for all, or one accuracy each")
        everybody, malicious = checks.population(n, byzantine)
        given = np.full(everybody - malicious, given)
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
    return given, rules, malicious


def _rule(p: Floats, rules: list[Slush], malicious: int, law: Sampling, rounds: int, seed: int) -> SweptRule:
    """The sweep as tables."""
    from folkmoot.simulation.kernels.sweeps import SweptRule
    from folkmoot.simulation.kernels.tossing import seeds_of

    if not isinstance(law, (Others, Everyone)):
        raise ValueError(f"a sweep asks Others() or Everyone(): got {type(law).__name__}")
    settings, honest = p.shape
    n, k = honest + malicious, rules[0].k
    peers = law.peer_count(n, k)
    alphas = _alphas(rules, honest)
    thresholds = np.flatnonzero(np.bincount(alphas.ravel()))
    which = np.searchsorted(thresholds, alphas)
    # All right is final if the malicious cannot reach a threshold; all wrong is always final.
    final = np.stack([np.ones(settings, dtype=np.bool_), malicious < alphas.min(axis=1)], axis=1)
    return SweptRule(
        chance=chance_rows(law, n, k, thresholds).ravel(),
        row=peers + 2,
        offset=(which * (peers + 2)).astype(np.uint64),
        thresholds=in_units(p),
        seeds=seeds_of(seed, settings),
        fixed=np.array([malicious, 0]),
        closed=final,
        rounds=rounds,
    )


def _alphas(rules: list[Slush], honest: int) -> Ints:
    """(setting, honest): thresholds, in one computation if all follow from accuracies."""
    accuracies = [rule.alpha.p if isinstance(rule.alpha, StrongConfidence) else None for rule in rules]
    if all(each is not None and len(each) == honest for each in accuracies):
        return strong_thresholds(np.array(accuracies, dtype=np.float64), rules[0].k)
    return np.stack([rule.thresholds(honest) for rule in rules])


def _takes_gpu(device: Device, keep: Keep, jobs: int, rule: SweptRule) -> bool:
    """Whether a GPU plays it; ``device="cuda"`` raises the reason if it cannot."""
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
