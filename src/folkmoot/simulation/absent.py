"""Deliberation without those who did not vote on an input: ``deliberate(..., missing="absent")``.

On every input its voters deliberate as a separate moot, by ``protocol.scaled(voters)``. A kernel plays a moot
of one size, so inputs are grouped: the voters of an input take seats, honest ones first. Inputs whose seats
are alike are played together: as many honest, with the same thresholds, weights and observations of the
malicious. The seats and the stream of an input depend on that input alone, so its outcome does not depend on
the group.

A Byzantine participant is absent where the votes have -1 for it: it cannot lie about a task that it was not
given. With a vote it is one of the voters, even if it then stays silent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from folkmoot.adversaries import Silent
from folkmoot.adversaries.interface import MaliciousAnswers, Sees
from folkmoot.arrays import Bools, Floats, Ints, Progress
from folkmoot.outcome import Outcome
from folkmoot.protocols.sampling import Neighbours
from folkmoot.protocols.snow import SnowProtocol
from folkmoot.simulation.setting import Options, Setting, no_results
from folkmoot.simulation.sharing import share
from folkmoot.votes import NO_VOTE, Missing, check_missing


def some_are_absent(missing: Missing, setting: Setting, options: Options) -> bool:
    """Whether somebody takes no part in some input. Raises ValueError if that cannot be played."""
    if check_missing(missing) == "present" or bool((setting.votes != NO_VOTE).all()):
        return False
    what = "batch='shared'" if options.shared else ""
    if isinstance(setting.sampling, Neighbours):
        what = type(setting.sampling).__name__
    if what:
        raise ValueError(
            f"{what} cannot be played where some did not vote on all inputs: give missing='present', "
            "which lets them ask and adopt a class"
        )
    return True


class _Group(NamedTuple):
    """Inputs whose seats are alike, as one deliberation."""

    setting: Setting
    inputs: Ints  # (input,): which of the whole batch they are
    seats: Ints  # (input, seat): which participant sits there, the honest ones first

    def options(self, options: Options, threads: int = 1) -> Options:
        """The same options, with the keys of these inputs, cut up for so many threads."""
        return replace(options, keys=options.keys[self.inputs], threads=threads)


def play_voters(setting: Setting, options: Options, progress: Progress | None) -> Outcome:
    """The outcome if the voters of each input deliberate among themselves."""
    from folkmoot.simulation.kernels.choice import kernel_for  # with numba, which takes its time to import

    inputs, repeats = setting.votes.shape[1], options.repeats
    groups = list(_groups(setting, np.arange(inputs)))
    played, pieces = [], []
    threads = options.threads if len(groups) < 8 * options.threads else 1  # many small groups are not cut up
    for group in groups:
        own = group.options(options, threads)
        played.append(no_results(group.setting, own))
        pieces += kernel_for(group.setting, own).pieces(group.setting, own, played[-1])
    share(pieces, options.threads, progress)

    # Inputs without a deliberation keep what is there: a single vote, or none.
    first = np.where(setting.honest[:, None], setting.votes, NO_VOTE).astype(np.int8)
    held = np.stack([(first == c).sum(axis=0) for c in range(setting.classes)], axis=-1)
    decisions = np.repeat(first[None], repeats, axis=0)
    alone = (held > 0).sum(axis=-1) == 1
    converged = np.repeat(alone[None], repeats, axis=0)
    rounds = np.zeros((repeats, inputs), dtype=np.int64)
    asked = np.zeros((repeats, inputs), dtype=np.int64)
    history = None
    if options.record:
        history = np.empty((repeats, inputs, setting.rounds + 1, setting.classes), dtype=np.int32)
        history[:] = held[:, None]
    for group, results in zip(groups, played, strict=True):
        shape = (repeats, len(group.inputs))
        honest = results.decisions.shape[1]
        ends = results.decisions.reshape(*shape, honest)
        decisions[:, group.seats[:, :honest], group.inputs[:, None]] = ends
        converged[:, group.inputs] = results.converged.reshape(shape)
        rounds[:, group.inputs] = results.played.reshape(shape)
        asked[:, group.inputs] = results.asked.reshape(shape)
        if history is not None:
            history[:, group.inputs] = results.history.reshape(*shape, *results.history.shape[1:])
    one = 0 if repeats == 1 else slice(None)
    return Outcome(
        decisions=decisions[one],
        honest=setting.honest,
        classes=setting.classes,
        converged=converged[one],
        rounds=rounds[one],
        queries=np.asarray(asked.sum(axis=1))[one],
        history=None if history is None else history[one],
        present=setting.votes != NO_VOTE,
    )


def voters_of(setting: Setting, i: int) -> tuple[Setting | None, Ints]:
    """The deliberation of the voters on input i and the participant on each seat; None if nobody can ask."""
    for group in _groups(setting, np.array([i])):
        return group.setting, group.seats[0]
    return None, np.empty(0, dtype=np.int64)


def _groups(setting: Setting, inputs: Ints) -> Iterator[_Group]:
    """The inputs on which somebody can ask somebody, by groups."""
    present = setting.votes[:, inputs] != NO_VOTE
    asking = present[setting.honest].any(axis=0) & (present.sum(axis=0) >= 2)
    weights = None if setting.protocol.weights is None else np.array(setting.protocol.weights)
    if weights is not None:  # where no answer weighs anything nobody is ever turned
        asking &= (present & (weights > 0)[:, None]).any(axis=0)
    sizes = np.stack([present[setting.honest].sum(axis=0), present.sum(axis=0)], axis=1)
    for honest, voters in np.unique(sizes[asking], axis=0).tolist():
        alike = np.flatnonzero(asking & (sizes == (honest, voters)).all(axis=1))
        yield from _of_one_size(setting, inputs[alike], present[:, alike], weights, honest, voters)


def _of_one_size(
    setting: Setting, inputs: Ints, present: Bools, weights: Floats | None, honest: int, voters: int
) -> Iterator[_Group]:
    """Inputs with so many voters, so many of them honest, by what sits on the seats."""
    everybody = len(setting.votes)
    rule = setting.protocol.scaled(voters)
    malicious, byzantine = setting.malicious, np.flatnonzero(~setting.honest)
    sees, follows = np.full(everybody, -1), np.full(everybody, -1)
    sees[byzantine] = malicious.sees
    follows[byzantine] = np.where(
        malicious.sees == Sees.TARGET.value, np.flatnonzero(setting.honest)[malicious.target], -1
    )
    # Traits of participants: observation if malicious, threshold, weight.
    traits = np.stack(
        [
            sees,
            np.where(setting.honest, rule.thresholds(everybody), 0),
            np.zeros(everybody) if weights is None else weights,
        ],
        axis=1,
    )
    kind = np.unique(traits, axis=0, return_inverse=True)[1].ravel()
    ranked = np.lexsort((np.arange(everybody), np.where(setting.honest, kind, everybody)))
    seats = ranked[np.nonzero(present[ranked].T)[1].reshape(-1, voters)]
    key = kind[seats]
    if (follows >= 0).any():
        place = np.full((len(inputs), everybody), -1)
        np.put_along_axis(place, seats, np.arange(voters)[None], axis=1)
        followed = np.take_along_axis(place, np.maximum(follows[seats], 0), axis=1)
        followed[follows[seats] < 0] = -2  # follows nobody; -1: somebody who is absent
        key = np.concatenate((key, followed), axis=1)
    which = np.unique(key, axis=0, return_inverse=True)[1].ravel()
    for group in range(int(which.max()) + 1):
        alike = np.flatnonzero(which == group)
        own = seats[alike]
        target = key[alike[0], voters + honest :] if key.shape[1] > voters else np.empty(0, dtype=np.int64)
        yield _Group(
            replace(
                setting,
                votes=np.ascontiguousarray(setting.votes[own, inputs[alike, None]].T),
                protocol=_seated(rule, own[0], everybody, weights),
                adversaries={seat: Silent() for seat in range(honest, voters)},
                truth=None,
                answers_given=_malicious_of(setting, inputs[alike], own, honest, target),
            ),
            inputs[alike],
            own,
        )


def _seated(
    rule: SnowProtocol[Any], seats: Ints, participants: int, weights: Floats | None
) -> SnowProtocol[Any]:
    alpha = rule.thresholds(participants)[seats].tolist()
    return replace(
        rule,
        alpha=alpha if len(set(alpha)) > 1 else alpha[0],
        weights=None if weights is None else weights[seats].tolist(),
    )


def _malicious_of(setting: Setting, inputs: Ints, seats: Ints, honest: int, target: Ints) -> MaliciousAnswers:
    """The answers of malicious participants by seats instead of participants."""
    whole = setting.malicious
    row = np.cumsum(~setting.honest) - 1  # the place of a Byzantine participant among them
    lying = row[seats[:, honest:]].T  # (byzantine, input)
    sees = whole.sees[lying[:, 0]].copy()
    answers = whole.answers[lying, inputs].copy()
    for seat in np.flatnonzero(sees == Sees.ASKER.value):
        answers[seat] = NO_VOTE
        by_seat = whole.answers[lying[seat][:, None], inputs[:, None], seats + 1]
        answers[seat, :, 1 : seats.shape[1] + 1] = by_seat
    for seat in np.flatnonzero(target == -1):  # the participant that it follows is absent
        sees[seat] = Sees.NOTHING.value
        answers[seat] = answers[seat, :, :1]
    return MaliciousAnswers(
        sees=sees,
        target=np.maximum(target, 0) if target.size else np.zeros(len(sees), dtype=np.int64),
        answers=answers,
        number=np.arange(honest),
    )
