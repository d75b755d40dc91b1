"""``plan``: which protocol, k, alpha and rounds to take, what that gives and costs, and where it breaks."""

from __future__ import annotations

from typing import Final

import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Progress
from folkmoot.planning.costs import Sizes
from folkmoot.planning.crowd import Crowd, Observed, Skilled
from folkmoot.planning.evaluation import PlannedMoot
from folkmoot.planning.limits import Malicious, Target, breaks_at, needed
from folkmoot.planning.plan_table import Broadcast, Plan
from folkmoot.planning.search import tried
from folkmoot.planning.setting import best_first
from folkmoot.protocols.naming import PROTOCOLS, protocol_called
from folkmoot.simulation.setting import Device, check_device

_MOST: Final = 5000  # participants that are planned for
_DEFAULT: Final = 25  # participants, where no number reaches the target and none was given


def plan(
    n: int | None = None,
    p: npt.ArrayLike | None = None,
    *,
    byzantine: int | float = 0,
    votes: npt.ArrayLike | None = None,
    truth: npt.ArrayLike | None = None,
    labels: int | None = None,
    inputs: int = 100,
    rounds: int = 50,
    protocol: str | None = None,
    target: float | None = None,
    seed: int = 0,
    device: Device = "cpu",
    progress: Progress | None = None,
) -> Plan:
    """Find protocol, k, alpha and rounds for a moot: what they give, what they cost, and where they break.

    Two-label Slush is exact, for any number of malicious participants and rounds. Everything else (Snowflake,
    Snowball, more labels) is simulated and has a standard error, as has what is resampled from votes that
    were cast.

    Parameters
    ----------
    n : int, optional
        Participants in all. Default: as many as ``p`` or ``votes`` name, or as ``target`` needs;
        25 if no number reaches it.
    p : float or array-like of float, optional
        The accuracy of every participant, or one value for each of the n, of whom ``byzantine`` drawn at
        random turn malicious. Or one for each of the n - byzantine honest ones. They err independently.
    byzantine : int or float, default 0
        How many always answer wrong: a count, or below 1 a share of the participants, rounded up. For
        ``target`` a count stays what it is, and a share grows with the participants.
    votes : array-like of int, shape (participant, input), optional
        Instead of ``p``: votes that were cast, classes or -1 for none. Their inputs are resampled, so that
        participants that err together keep doing so.
    truth : array-like of int, shape (input,), optional
        The right class of each input, -1 where it is not known: those are left out. Default: each class is
        as likely as its share of the votes, with one vote more that is spread over all.
    labels : int, optional
        The number of labels. Default: 2, or as many as ``votes`` have.
    inputs : int, default 100
        The inputs of a batch, which one query carries.
    rounds : int, default 50
        Rounds at the most; in one each honest participant asks once, on average.
    protocol : str, optional
        "slush", "snowflake" or "snowball". Default: all of them.
    target : float, optional
        An accuracy; ``Plan.target`` then says how many participants it takes.
    seed : int, default 0
        Of what is simulated. The same seed gives the same plan on processors of one kind, with the same
        versions.
    device : {"cpu", "cuda", "auto"}, default "cpu"
        The device for simulations, as in ``deliberate``: a GPU gives the same plan.
    progress : callable, optional
        Called with (done, all) as the work goes on.

    Returns
    -------
    Plan
        The settings, best first.

    Raises
    ------
    ValueError
        If no votes are given, or an argument is out of range.

    Examples
    --------
    Forty participants, five of whom always lie. Asking everybody in every round is hardly better than asking
    nine:

    >>> from folkmoot import plan
    >>> found = plan(n=40, p=0.8, byzantine=5, protocol="slush")
    >>> first = found.settings[0]
    >>> first.rule, first.rounds
    (Slush(k=9, alpha=7, weights=None), 7)
    >>> round(first.accuracy, 4), round(found.majority, 4), found.breaks_at.byzantine
    (0.9956, 0.9989, 10)
    """
    if (p is None) == (votes is None):
        raise ValueError("say whose votes to plan for, by one of p=0.8 (or one value each) and votes=")
    crowd: Crowd
    if votes is None:
        if truth is not None:
            raise ValueError("truth goes with votes that were cast: give votes=, too")
        crowd = Skilled.checked(0.0 if p is None else p, 2 if labels is None else labels)
    else:
        crowd = Observed.checked(votes, truth, labels)
    malicious = Malicious.checked(byzantine)
    batch = checks.integer("inputs", inputs, least=1)
    longest = checks.integer("rounds", rounds, least=1)
    if longest > 1000:
        raise checks.ArgumentError("{rounds} must satisfy rounds <= 1000: got {rounds=}", rounds=longest)
    checks.integer("seed", seed, least=0)
    protocols = list(PROTOCOLS)
    if protocol is not None:
        protocol_called(protocol)
        protocols = [protocol]
    wanted = None if target is None else checks.probability("target", target)
    blank = PlannedMoot(crowd, 2, 0, batch, seed, check_device(device))
    found = None if wanted is None else needed(blank, malicious, wanted, protocols, longest, progress)
    moot = _moot(blank, n, malicious, found)
    settings = best_first(tried(moot, protocols, longest, progress), crowd.mean)
    messages, size = Sizes.of(moot.n, batch, crowd.classes, longest).broadcast(moot.n)
    majority, _, error = moot.majority()
    return Plan(
        n=moot.n,
        byzantine=moot.byzantine,
        labels=crowd.classes,
        inputs=batch,
        settings=tuple(settings),
        mean_participant=crowd.mean,
        majority=majority,
        majority_error=error,
        broadcast=Broadcast(messages, size, messages < settings[0].messages),
        breaks_at=breaks_at(moot, settings[0]),
        target=found,
        remarks=_about_votes(crowd, moot, truth is not None),
    )


def _moot(blank: PlannedMoot, n: int | None, malicious: Malicious, target: Target | None) -> PlannedMoot:
    """The participants: as many as given, or as the crowd has, or as the target needs."""
    crowd = blank.crowd
    many = n if n is not None else crowd.size
    if many is None and target is not None:
        many = _DEFAULT if target.n is None else max(2, target.n)
    if many is None:
        raise checks.ArgumentError("{n} is missing: give the number of participants, such as {n=}", n=40)
    everyone = checks.integer("n", many, least=2)
    if everyone > _MOST:
        raise checks.ArgumentError(f"{{n}} must satisfy n <= {_MOST:,}: got {{n=}}", n=everyone)
    if malicious.share and malicious.among(everyone) == everyone:
        raise checks.ArgumentError(
            f"{{byzantine}} must leave somebody honest: got {{byzantine=}} of {everyone} participants",
            byzantine=malicious.given,
        )
    _, byzantine = checks.population(everyone, malicious.among(everyone))
    if isinstance(crowd, Skilled) and crowd.size not in (None, everyone, everyone - byzantine):
        raise checks.ArgumentError(
            f"{{p}} must hold one accuracy for each of the {everyone} participants, or for each of the "
            f"{everyone - byzantine} honest ones: got {crowd.size} values"
        )
    return PlannedMoot(crowd, everyone, byzantine, blank.inputs, blank.seed, blank.device)


def _about_votes(crowd: Crowd, moot: PlannedMoot, truth_known: bool) -> tuple[str, ...]:
    if not isinstance(crowd, Observed):
        return ()
    without = "no right labels are given: each label counts as right with its share of the votes"
    tasks = crowd.votes.shape[1]
    few = int((crowd.votes >= 0).sum(axis=0).min())
    again = f", again and again where fewer than {moot.honest} voted" if few < moot.honest else ""
    drawn = f"resampled from {tasks:,} tasks, the participants from those who voted on each{again}"
    return (drawn,) if truth_known else (without, drawn)
