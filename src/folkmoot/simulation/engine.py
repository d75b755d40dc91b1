"""``deliberate``: checks votes, protocol and options, and runs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from folkmoot.adversaries.interface import Adversary, NumberAdversary
from folkmoot.aggregation import Known
from folkmoot.aggregation.gold import gold_known
from folkmoot.aggregation.interface import Aggregation
from folkmoot.arrays import Progress
from folkmoot.files.vote_files import VoteTable, named_votes
from folkmoot.outcome import Batch, Outcome, RunsItself, Schedule
from folkmoot.protocols.sampling import Sampling
from folkmoot.protocols.snow import SnowProtocol
from folkmoot.simulation.council import Council
from folkmoot.simulation.run import play
from folkmoot.simulation.setting import Device, Options, Setting
from folkmoot.votes import Missing


def deliberate(
    votes: npt.ArrayLike | VoteTable,
    protocol: SnowProtocol[Any] | RunsItself | None = None,
    *,
    aggregation: Aggregation | str | None = None,
    known: Known | None = None,
    adversaries: Mapping[int, Adversary | NumberAdversary] | None = None,
    truth: npt.ArrayLike | None = None,
    rounds: int = 50,
    sampling: Sampling | None = None,
    schedule: Schedule = "one",
    batch: Batch = "independent",
    repeats: int = 1,
    seed: int = 0,
    threads: int | None = None,
    record: bool = False,
    classes: int | None = None,
    permute: bool = True,
    keys: npt.ArrayLike | None = None,
    missing: Missing = "absent",
    device: Device = "cpu",
    progress: Progress | None = None,
) -> Outcome:
    """Let the participants agree on an answer to every input.

    In a council, the default, all know one table of first votes and aggregate it. By Slush, Snowflake and
    Snowball each repeatedly asks some others, until they agree or for ``rounds`` rounds each.

    Parameters
    ----------
    votes : array-like of int, shape (participant, input), VoteTable or data frame
        Everybody's first votes: classes 0..C-1, -1 for none. A council takes probabilities and numbers, too.
        Of a ``VoteTable`` or a data frame (long or wide, as ``read_votes`` takes them) the outcome knows
        names and labels, and gold tasks are known to the aggregation.
    protocol : SnowProtocol, or any that runs itself, optional
        ``Slush``, ``Snowflake`` or ``Snowball``; ``Council()``; or a protocol of ``folkmoot.outlook``. The
        last two have ``run(votes, ...) -> Outcome`` and are handed all options but ``threads``, ``permute``,
        and ``device``. Default: ``Council()``.
    aggregation : Aggregation or str, optional
        How a ``Council`` makes an answer of the table of votes, such as ``DawidSkene()``. The other protocols
        are for plain votes, with the weights and thresholds of the paper, and take none.
    known : Known, optional
        Knowledge besides the votes, for the aggregation of a ``Council``.
    adversaries : mapping of int to Adversary, optional
        The Byzantine participants by number, such as ``{3: PerfectlyMalicious()}``.
    truth : array-like of int, shape (input,), optional
        The right classes, for adversaries that must know them.
    rounds : int, default 50
        Rounds per participant at the most; in a round each honest one asks once, on average.
    sampling : Others, Everyone or Neighbours, optional
        The sampling law: ``Others()``, the default, ``Everyone()`` (the paper's law),
        or ``Neighbours(graph)``.
    schedule : {"one", "lockstep"}, default "one"
        One participant at a time, drawn uniformly, or all at once.
    batch : {"independent", "shared"}, default "independent"
        A schedule for each input, or one query that carries all inputs.
    repeats : int, default 1
        Play everything so many times, each with its own randomness.
    seed : int, default 0
        The same seed gives the same bits, on one thread or many, on every processor. (By protocols of
        ``folkmoot.outlook`` with weights: on processors of one kind; docs/same-bits.md.)
    threads : int, optional
        Threads. Default: one per core.
    record : bool, default False
        Keep ``Outcome.history``, how many held each class after each round. The outcome is the same, but it
        takes longer: every peer is drawn. ``Outcome.turns`` and ``explain`` need no record.
    classes : int, optional
        The number of classes C. Default: one more than the largest class in votes and truth, and at least 2.
    permute : bool, default True
        In the bit-sliced kernel, seat honest participants anew for each input if all ask alike. The other
        kernels do not, and Byzantine ones keep their seats (docs/simulation.md on the variance).
    keys : array-like of int, shape (input,), optional
        A number >= 0 for each input that seeds its randomness, instead of its position. With
        ``votes.vote_keys(votes)`` an input keeps its outcome in whatever batch it comes.
    missing : {"absent", "present"}, default "absent"
        The behaviour of a participant on an input on which it has no vote (-1). "absent": it neither asks nor
        is asked there and does not count in the decision. The voters use ``protocol.scaled(voters)``, a
        single voter decides alone, and an input without votes is undecided. An adversary without a vote on an
        input is absent there too. One that has a vote counts among the voters, even if it is silent.
        "present", as in the paper: it asks, is asked, and takes the first class that wins one of its
        queries.
    device : {"cpu", "cuda", "auto"}, default "cpu"
        "cuda" requires a GPU and CuPy (the extra ``gpu``). "auto" uses a GPU if one is found,
        supports the run and the run is large. A GPU gives the same bits as the processor (docs/gpu.md).
    progress : callable, optional
        Called with (done, all) as the work goes on.

    Returns
    -------
    Outcome
        The classes held at the end, which inputs are converged, and what it cost.

    Raises
    ------
    ValueError
        If a vote is no class, fewer than k peers can be asked, everybody is Byzantine, or an adversary must
        know the truth and is not given it; or if somebody is absent and ``batch="shared"``, ``Neighbours`` or
        weights are given; or if ``device="cuda"`` does not play this.
    ModuleNotFoundError, RuntimeError
        If ``device="cuda"`` and there is no CuPy, or no driver, GPU or compiler for it.

    Examples
    --------
    Nine of eleven are right about five inputs. Two wrong answers turn nobody, as three are needed; if four of
    the nine lie, the wrong class wins.

    >>> import numpy as np
    >>> from folkmoot import Slush, deliberate
    >>> from folkmoot.adversaries import PerfectlyMalicious
    >>> votes = np.array([[1] * 5] * 9 + [[0] * 5] * 2)
    >>> deliberate(votes, Slush(k=5, alpha=3)).decision
    array([1, 1, 1, 1, 1])
    >>> malicious = {i: PerfectlyMalicious() for i in range(4)}
    >>> deliberate(votes, Slush(k=5, alpha=3), adversaries=malicious, truth=[1] * 5).decision
    array([0, 0, 0, 0, 0])

    Three of five voted and deliberate among themselves. If the other two took part, nobody would get three
    equal answers:

    >>> sparse = [[1], [1], [0], [-1], [-1]]
    >>> outcome = deliberate(sparse, Slush(k=4, alpha=3))
    >>> outcome.decision, outcome.agreement
    (array([1]), array([1.]))
    >>> deliberate(sparse, Slush(k=4, alpha=3), missing="present").decision
    array([-1])

    Without a protocol it is a council, and of a data frame the answers are labels:

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"ann": ["cat", "dog"], "bob": ["cat", "cat"], "cem": ["dog", "dog"]})
    >>> deliberate(frame).answers
    array(['cat', 'dog'], dtype=object)
    """
    protocol = Council() if protocol is None else protocol
    named = None if isinstance(votes, np.ndarray) else named_votes(votes)
    array = cast("npt.ArrayLike", votes)
    if named is not None:
        array, truth = named.votes, named.truth if truth is None else truth
        classes = classes if named.labels is None else len(named.labels)
        if named.gold is not None and known is None and isinstance(protocol, Council):
            known = gold_known(named.votes, named.gold)
    of_table: dict[str, Any] = {"aggregation": aggregation, "known": known}
    if not getattr(protocol, "takes_aggregation", False):
        option = next((name for name, value in of_table.items() if value is not None), None)
        if option is not None:
            raise ValueError(
                f"{type(protocol).__name__} takes no {option}, as it is for plain votes: give it with "
                "Council(), or leave it out"
            )
        of_table = {}
    of_kind: Any = adversaries  # checked there
    if isinstance(protocol, RunsItself):
        if device == "cuda":
            raise ValueError(
                f"{type(protocol).__name__} takes no device: it is for Slush, Snowflake and Snowball"
            )
        outcome = protocol.run(
            array, **of_table, adversaries=of_kind, truth=truth, rounds=rounds, sampling=sampling,
            schedule=schedule, batch=batch, repeats=repeats, seed=seed, record=record, classes=classes,
            keys=keys, missing=missing, progress=progress,
        )  # fmt: skip
    else:
        setting = Setting.checked(array, protocol, of_kind, truth, sampling, schedule, rounds, classes)
        options = Options.checked(
            setting.votes.shape[1], seed=seed, keys=keys, repeats=repeats, batch=batch, record=record,
            permute=permute, threads=threads, device=device,
        )  # fmt: skip
        outcome = play(setting, options, missing, progress)
    return outcome if named is None else replace(outcome, names=named.names, labels=named.labels)
