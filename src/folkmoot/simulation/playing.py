"""A checked deliberation is played here, once; and one input of it again, with other first votes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from folkmoot.adversaries import handed_in
from folkmoot.arrays import Floats, Ints, Progress
from folkmoot.outcome import Outcome
from folkmoot.played import PlainSlush, Played
from folkmoot.protocols import Slush
from folkmoot.sampling import Trusting
from folkmoot.simulation.absent import play_voters, some_are_absent, voters_of
from folkmoot.simulation.play_options import Options
from folkmoot.simulation.results import no_results, outcome_of
from folkmoot.simulation.setting import Setting
from folkmoot.simulation.sharing import share
from folkmoot.votes import UNCOLOURED, Missing, Votes


def play(setting: Setting, options: Options, missing: Missing, progress: Progress | None = None) -> Outcome:
    """What the deliberation comes to, with how it was played."""
    outcome = _outcome(setting, options, missing, progress)
    fresh = replace(setting)  # without the tables that kernels made of it
    return replace(
        outcome,
        played=Played(
            protocol=setting.protocol,
            schedule="lockstep" if setting.lockstep else "one",
            seed=options.seed,
            adversaries=setting.adversaries,
            first=partial(_first, fresh, missing),
            query=partial(_query, fresh, missing),
            again=partial(_again, fresh, options, missing),
            recorded=partial(_recorded, fresh, options, missing),
            plain=partial(_plain, fresh, missing),
            weights=_weights(setting),
        ),
    )


def _outcome(setting: Setting, options: Options, missing: Missing, progress: Progress | None) -> Outcome:
    if some_are_absent(missing, setting, options):
        return play_voters(setting, options, progress)
    from folkmoot.simulation.kernels.choice import kernel_for  # with numba, which takes its time to import

    results = no_results(setting, options)
    kernel = kernel_for(setting, options)
    share(kernel.pieces(setting, options, results), options.threads, progress)
    return outcome_of(setting, options, results)


def _first(setting: Setting, missing: Missing) -> Votes:
    return handed_in(setting.votes, setting.adversaries, setting.truth, setting.classes, missing=missing)


def _weights(setting: Setting) -> Floats | None:
    """(participant,): what an answer weighs to the median asker."""
    if setting.protocol.weights is not None:
        return np.array(setting.protocol.weights)
    if isinstance(setting.sampling, Trusting) and setting.sampling.weighted:
        return np.asarray(np.median(setting.sampling.weights[setting.honest], axis=0))
    return None


def _query(setting: Setting, missing: Missing, i: int) -> tuple[Ints, Ints]:
    """k and alpha of each participant on input i."""
    size, alpha = np.zeros((2, len(setting.votes)), dtype=np.int64)
    own, seats = voters_of(setting, i) if missing == "absent" else (setting, np.arange(len(setting.votes)))
    if own is not None:
        asking = seats[own.order[: int(own.honest.sum())]]
        size[asking], alpha[asking] = own.urns.size, own.urns.alpha
        alpha[size == 0] = 0
    return size, alpha


def _again(
    setting: Setting, options: Options, missing: Missing, i: int, votes: Votes, times: int, seed: int
) -> Ints:
    """(variant, time): what is decided on input i if these (participant, variant) are the first votes."""
    variants = votes.shape[1]
    votes = np.where(setting.honest[:, None], votes, setting.votes[:, [i]])
    own = replace(options, seed=seed, repeats=times, record=False, device="cpu")
    if setting.guarded:  # answers are compared over the whole batch, so the whole batch is played
        found = []
        for column in votes.T:
            cast = setting.votes.copy()
            cast[:, i] = column
            found.append(np.atleast_2d(play(replace(setting, votes=cast), own, missing).decision)[:, i])
        return np.stack(found)
    alone = _alone(setting, i, votes)
    own = replace(own, keys=np.arange(variants), shared=False)
    return np.asarray(np.atleast_2d(_outcome(alone, own, missing, None).decision).T)


def _recorded(
    setting: Setting, options: Options, missing: Missing, i: int, times: int
) -> tuple[Outcome, int]:
    """Input i with its record, played so many times, and its place in that outcome.

    The record is of the kernel that keeps one, which draws every peer; its law is that of all of them.
    """
    own = replace(options, record=True, repeats=times, device="cpu")
    if setting.guarded:
        return play(setting, own, missing), i
    own = replace(own, keys=options.keys[i : i + 1])
    return play(_alone(setting, i, setting.votes[:, [i]]), own, missing), 0


def _alone(setting: Setting, i: int, votes: Votes) -> Setting:
    """Input i by itself, with these first votes (participant, variant)."""
    variants, said = votes.shape[1], setting.liars
    return replace(
        setting,
        votes=votes,
        truth=None if setting.truth is None else np.repeat(setting.truth[i], variants),
        # What liars say may depend on which input it is, so it is not tabulated anew.
        told=said._replace(answers=np.ascontiguousarray(np.repeat(said.answers[:, i : i + 1], variants, 1))),
    )


def _plain(setting: Setting, missing: Missing, i: int) -> PlainSlush | None:
    """The closed form of the law of input i, if it has one."""
    own, i = (voters_of(setting, i)[0], 0) if missing == "absent" else (setting, i)
    if own is None or type(own.protocol) is not Slush or own.classes != 2 or own.lockstep or own.guarded:
        return None
    named = own.fixed_counts[i] if own.exchangeable else None
    alphas = np.unique(own.honest_alpha)
    if named is None or alphas.size > 1 or (own.honest_votes[i] == UNCOLOURED).any():
        return None
    liars = len(own.adversaries)
    if named.max(initial=0) < liars:  # some are silent, or they do not all say the same
        return None
    return PlainSlush(
        n=len(own.votes),
        k=own.protocol.k,
        alpha=int(alphas[0]),
        liars=liars,
        named=int(named.argmax()),
        sampling=own.sampling,
        rounds=own.rounds,
    )
