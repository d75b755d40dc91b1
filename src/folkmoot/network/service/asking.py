"""Put a batch of inputs to a moot, from Python: by which terms, through which node, and the account of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

import numpy.typing as npt

from folkmoot import checks
from folkmoot.network.service.control import MotionProgress, Put, look, put
from folkmoot.network.service.door import door_of
from folkmoot.network.service.status import Status
from folkmoot.network.storage.account import Account
from folkmoot.network.wire.forms import Answers
from folkmoot.network.wire.motion import LOCAL, TRIMMED_MEAN, check_protocol_name, check_tol
from folkmoot.node.membership.identity import SETTINGS
from folkmoot.node.wire.batch import Batch as Batch

Weights: TypeAlias = Literal["equal", "record", "learnt"]
Voting: TypeAlias = Literal["labels", "probabilities"]
TOL: Final = 0.01  # of probabilities, unless it is given: between two and three of their 256 levels


@dataclass(frozen=True)
class Terms:
    """How a motion is to be played. The node through which it is put checks them against its moot.

    Parameters
    ----------
    protocol : str
        The rule of the talk, a key of ``folkmoot.protocols.PROTOCOLS``.
    k : int or None
        How many peers are asked in a round; None is 10, or all others.
    alpha : int, "local" or None
        How many equal answers win a round; None is the least majority of k, "local" lets each participant
        take its own, by its track record.
    beta : int
        Rounds in a row that decide, for protocols that decide.
    rounds : int
        How often each participant asks at the most.
    seconds : float
        The deadline, from now.
    pace : float
        Mean seconds between two rounds of a participant.
    weights : {"equal", "record", "learnt"}
        Whether answers weigh by the track record that each node keeps; "learnt": each node learns from the
        truths that it was told of former motions whom to believe on what, by the rule of peer review. First
        votes are revealed before the talk then.
    trust : bool
        Whether first votes are revealed before the talk, so that each node learns whom to ask.
    labels : sequence of str or None
        The possible answers; None are those of the asking node's own model.
    least_voters : int or None
        How many participants must have voted for a label at first, if it is to be decided. None is one more
        than may lie, which is also the least.
    voting : {"labels", "probabilities"}
        What a participant hands in on an input: a label, or how likely it finds each. Probabilities and
        numbers are agreed on by the trimmed mean, and all others are asked unless ``k`` is given.
    regression : bool
        Whether the answers are real numbers.
    tol : float or None
        A number is claimed if a quorum has signed numbers that are at most so far apart, in the unit of the
        answers; two claims differ by at most this. It must be given with ``regression``; with probabilities
        None is 0.01.
    peer_review : bool
        Whether the participants are invited to send check rows, labelled rows of their own that are mixed
        into the batch. Once all votes are fixed their labels are opened, and each node learns from them whom
        to believe on what. Probabilities that are handed in are weighed, and the talk is about labels then;
        with ``regression`` a node opens the talk with what it makes of all numbers.

    Examples
    --------
    >>> from folkmoot.network import Terms
    >>> Terms(rounds=20, seconds=10.0, labels=["no", "yes"]).labels
    ('no', 'yes')
    >>> Terms(weights="mine")
    Traceback (most recent call last):
        ...
    folkmoot.checks.ArgumentError: weights must be 'equal', 'record' or 'learnt': got 'mine'
    >>> Terms(regression=True)
    Traceback (most recent call last):
        ...
    folkmoot.checks.ArgumentError: regression needs tol, how far apart numbers may be, such as tol=0.5
    """

    protocol: str = "slush"
    k: int | None = None
    alpha: int | Literal["local"] | None = None
    beta: int = 20
    rounds: int = 50
    seconds: float = 30.0
    pace: float = 0.02
    weights: Weights = "equal"
    trust: bool = False
    labels: Sequence[str] | None = None
    least_voters: int | None = None
    voting: Voting = "labels"
    regression: bool = False
    tol: float | None = None
    peer_review: bool = False

    def __post_init__(self) -> None:
        check_protocol_name(self.protocol)
        if self.weights not in get_args(Weights):
            raise checks.ArgumentError(
                "{weights} must be 'equal', 'record' or 'learnt': got {weights!r}",
                weights=self.weights,
            )
        if isinstance(self.alpha, str) and self.alpha != "local":
            raise checks.ArgumentError(
                "{alpha} must be a whole number or 'local': got {alpha!r}",
                alpha=self.alpha,
            )
        if isinstance(self.labels, str):
            raise checks.ArgumentError(
                "{labels} must be several, such as ['no', 'yes']: got {labels!r}",
                labels=self.labels,
            )
        if self.labels is not None:
            object.__setattr__(self, "labels", tuple(self.labels))
        if self.voting not in get_args(Voting):
            raise checks.ArgumentError(
                "{voting} must be 'labels' or 'probabilities': got {voting!r}",
                voting=self.voting,
            )
        self._check_review()
        self._check_numbers()

    @property
    def answers(self) -> Answers:
        """What is asked for."""
        return "numbers" if self.regression else self.voting

    def _check_review(self) -> None:
        """Who learns whom to believe needs nothing else that says so."""
        if not self.peer_review and self.weights != "learnt":
            return
        what = "peer review" if self.peer_review else "{weights=}"
        if self.trust or self.weights == "record":
            other = "trust" if self.trust else "{weights=}"
            raise checks.ArgumentError(
                f"give {what} or {other}, not both: each says whom a node believes",
                weights=repr(self.weights),
            )
        if self.least_voters is not None and self.talk == "labels":
            raise checks.ArgumentError(
                f"{{least_voters}} must not be given with {what}: each node decides for itself",
                weights=repr(self.weights),
            )
        if self.answers != "labels" and self.weights == "learnt":
            raise checks.ArgumentError(
                f"{{weights=}} is for labels, and not for {self.answers}", weights=repr(self.weights)
            )

    @property
    def talk(self) -> Answers:
        """What is talked about: by peer review each makes labels of the probabilities that are handed in."""
        return "labels" if self.answers == "probabilities" and self.peer_review else self.answers

    def _check_numbers(self) -> None:
        if self.regression and self.voting != "labels":
            raise checks.ArgumentError("give {regression} or {voting=}, not both", voting=repr(self.voting))
        if self.talk == "labels":
            if self.tol is not None:
                why = ": by peer review the talk is about labels" if self.answers != "labels" else ""
                raise checks.ArgumentError(
                    f"{{tol}} must be given with {{regression}} or {{voting=}} only{why}",
                    voting="'probabilities'",
                )
            return
        if self.regression and self.tol is None:
            raise checks.ArgumentError(
                "{regression} needs {tol}, how far apart numbers may be, such as {tol=}",
                tol=0.5,
            )
        if self.tol is not None:
            check_tol(self.tol, self.answers)
        plain = Terms()
        for name in ("protocol", "alpha", "beta", "weights", "trust"):
            if getattr(self, name) != getattr(plain, name):
                raise checks.ArgumentError(
                    f"{{{name}}} must not be given for {self.answers}: they are agreed on by the trimmed mean"
                )
        if self.regression and self.labels is not None:
            raise checks.ArgumentError("{labels} must not be given with {regression}: numbers have none")


class Asker:
    """Whoever puts motions through a node of its own.

    Parameters
    ----------
    via : str or Path
        The node: its folder, or HOST:PORT of a node that was started with ``--control``.
    token : Path or None
        With HOST:PORT, a copy of the file ``token`` in the node's folder.

    Examples
    --------
    >>> from folkmoot.network import Asker
    >>> Asker("nowhere")
    Traceback (most recent call last):
        ...
    ValueError: --via must be a node's folder or HOST:PORT: got 'nowhere'
    """

    def __init__(self, via: str | Path, token: Path | None = None) -> None:
        if Path(via).is_dir() and not (Path(via) / SETTINGS).is_file():
            raise ValueError(f"--via must be a node's folder or HOST:PORT: there is no node in {via}")
        self._door = door_of(str(via), token)

    def status(self) -> Status:
        """How the node is at this moment: peers, motions under way, budgets.

        Returns
        -------
        Status
            What ``folkmoot node status`` shows.
        """
        return look(self._door)

    def ask(
        self,
        X: npt.ArrayLike | Batch,
        terms: Terms | None = None,
        progress: Callable[[MotionProgress], None] | None = None,
    ) -> Account:
        """Put a motion and wait until it is over; ValueError if the node refuses it.

        Parameters
        ----------
        X : array-like or Batch
            The inputs, shape (input, column). The names of a data frame's columns are sent along.
        terms : Terms or None
            How it is to be played; None are the defaults.
        progress : callable or None
            Called now and then with how far it is: ``motion``, ``phase``, ``rounds``, ``closes``.

        Returns
        -------
        Account
            What was decided, and who took part.
        """
        batch = X if isinstance(X, Batch) else Batch(X)
        return put(self._door, put_of(batch, terms or Terms()), batch.chunks(), progress)


def ask(X: npt.ArrayLike | Batch, *, via: str | Path = ".", terms: Terms | None = None) -> Account:
    """Put a batch of inputs to the moot: all models vote, the participants talk, and sign what they agree on.

    Parameters
    ----------
    X : array-like or Batch
        The inputs, shape (input, column).
    via : str or Path
        The asking node, which must be running: its folder, or HOST:PORT of its control door.
    terms : Terms or None
        How it is to be played; None are the defaults.

    Returns
    -------
    Account
        What was decided, and who took part.

    Examples
    --------
    >>> from folkmoot.network import Terms, ask
    >>> account = ask(X, via="north", terms=Terms(seconds=10.0))  # doctest: +SKIP
    >>> account.decisions  # doctest: +SKIP
    ['yes', 'no', 'yes']

    A node that does not run is named:

    >>> ask([[1.0, 2.0]], via="nowhere")
    Traceback (most recent call last):
        ...
    ValueError: --via must be a node's folder or HOST:PORT: got 'nowhere'
    """
    return Asker(via).ask(X, terms)


def put_of(batch: Batch, terms: Terms) -> Put:
    """What a node is told: the inputs and the terms; their chunks follow."""
    labels = terms.talk == "labels"
    return Put(
        seconds=terms.seconds,
        protocol=terms.protocol if labels else TRIMMED_MEAN,
        k=terms.k,
        alpha=LOCAL if terms.alpha == "local" else terms.alpha,
        beta=terms.beta if labels else 1,
        rounds=terms.rounds,
        pace=terms.pace,
        weighted=terms.weights == "record",
        trust=terms.trust,
        peer_review=terms.peer_review,
        learnt=terms.weights == "learnt",
        labels=None if terms.labels is None else tuple(terms.labels),
        inputs=len(batch),
        columns=batch.columns,
        dtype=batch.dtype,
        chunk_rows=batch.chunk_rows,
        chunks=batch.digests(),
        least_voters=terms.least_voters,
        schema=batch.schema,
        answers=terms.answers,
        tol=0.0 if labels else TOL if terms.tol is None else terms.tol,
    )
