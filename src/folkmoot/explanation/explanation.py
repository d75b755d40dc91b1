"""``Explanation``: the facts about one answer, by names and labels; as text, HTML, a picture and JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from folkmoot.arrays import Ints
from folkmoot.explanation.closeness import Closeness

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CountedBy: TypeAlias = Literal["equal", "weight", "accuracy", "own"]
Part: TypeAlias = Literal["follows", "lies", "absent", "failed"]


@dataclass(frozen=True)
class Participation:
    """One participant's part in an answer.

    Parameters
    ----------
    name : str
        The participant.
    voted : label or None
        Its first vote as it was handed in; None for none.
    counts : float
        The weight of its vote: 1 if all are equal. With an own aggregation it is the weight that the median
        participant gives it.
    holds : label or None
        Its final label; None for nothing, and for a malicious participant.
    part : {"follows", "lies", "absent", "failed"}
        Whether it follows the protocol; else what it does instead.
    note : str
        A remark, or nothing.

    Examples
    --------
    >>> from folkmoot import Slush, deliberate, explain
    >>> explain(deliberate([[0], [0], [0], [1]], Slush(k=2, alpha=2)), 0).participants[3].voted
    'class 1'
    """

    name: str
    voted: Any
    counts: float
    holds: Any
    part: Part
    note: str = ""


class Reply(NamedTuple):
    """One reply of a peer to its asker.

    Parameters
    ----------
    name : str
        The peer that was asked.
    label : label or None
        Its answer; None for silence.

    Examples
    --------
    >>> from folkmoot import Slush, deliberate, explain
    >>> outcome = deliberate([[0], [0], [0], [1]], Slush(k=2, alpha=2))
    >>> explain(outcome, 0).changes[0].answers[0]
    Reply(name='participant 0', label='class 0')
    """

    name: str
    label: Any


@dataclass(frozen=True)
class ChangeOfMind:
    """A participant that changed its mind.

    Parameters
    ----------
    round : int
        The round in which it did; 0 if that is not known.
    name : str
        The participant.
    before : label or None
        The label before.
    after : label or None
        The label after.
    answers : tuple of Reply
        The answers of the peers that it had asked.
    tally : float
        How many of the answers named the new label, or their weight, rescaled to the number asked.
    alpha : int
        The number needed.

    Examples
    --------
    >>> from folkmoot import Slush, deliberate, explain
    >>> outcome = deliberate([[0], [0], [0], [1]], Slush(k=2, alpha=2))
    >>> change = explain(outcome, 0).changes[0]
    >>> change.name, change.before, change.after, change.tally, change.alpha
    ('participant 3', 'class 1', 'class 0', 2.0, 2)
    """

    round: int
    name: str
    before: Any
    after: Any
    answers: tuple[Reply, ...] = ()
    tally: float = 0.0
    alpha: int = 0


class Uncounted(NamedTuple):
    """A participant whose answers did not count.

    Parameters
    ----------
    name : str
        The participant.
    why : str
        Why they did not.

    Examples
    --------
    >>> from folkmoot import Slush, deliberate, explain
    >>> explain(deliberate([[0], [0], [-1]], Slush(k=2, alpha=2), missing="absent"), 0).uncounted
    (Uncounted(name='participant 2', why='no vote on this input'),)
    """

    name: str
    why: str


@dataclass(frozen=True)
class Explanation:
    """Why an input got its answer, by names and labels; ``print`` it, or show it in a notebook.

    Parameters
    ----------
    called : str
        The name of the input.
    answer : label or None
        The decision; None if undecided.
    runner_up : label or None
        The other label with the most first votes.
    labels : tuple
        All labels.
    participants : tuple of Participation
        Every participant's first vote, what it counted for, and what it holds in the end.
    counted_by : {"equal", "weight", "accuracy", "own"}
        The kind of weights.
    changes : tuple of ChangeOfMind or None
        Changes of mind, with the answers before them; None where nobody asks anybody.
    uncounted : tuple of Uncounted
        Participants whose answers did not count, and why.
    closeness : Closeness or None
        How close the decision was; None if there is none, or it cannot be known.
    rounds : int
        The rounds that were played.
    sentence : str
        The explanation in one sentence.
    missing : tuple of str
        Why an undecided input is open, and what is unknown.
    columns : tuple of str
        The columns of the picture: first votes, rounds, the end.
    held : ndarray of int, shape (participant, column), optional
        Each participant's vote there, as places in ``labels``; -1 for none.
    rule : str, default ""
        Of a council: the aggregation that made the answer.
    shares : tuple of (label, float), default ()
        Of a council: the share of the vote that each label has by that rule, the largest first.

    Examples
    --------
    >>> from folkmoot import Slush, deliberate, explain
    >>> from dataclasses import replace
    >>> outcome = deliberate([[0], [0], [0], [1]], Slush(k=2, alpha=2))
    >>> named = replace(outcome, labels=["benign", "malignant"], names=["ann", "bob", "cid", "dora"])
    >>> print(explain(named, 0))
    input 0: benign
    benign was the answer because 3 of 4 voted for it at first (1 for malignant), dora changed its mind
    to it in 1 round of asking others, and in the end all 4 held it.
    Had 2 of its votes gone to malignant, its probability would have been 0 instead of 1 (exact).
    <BLANKLINE>
    first votes, which all count the same:
      benign (3): ann, bob, cid
      malignant (1): dora
    changes of mind:
      round 1: dora, malignant -> benign, after ann and bob said benign (2 of 2, 2 needed)
    """

    called: str
    answer: Any
    runner_up: Any
    labels: tuple[Any, ...]
    participants: tuple[Participation, ...]
    counted_by: CountedBy
    changes: tuple[ChangeOfMind, ...] | None
    uncounted: tuple[Uncounted, ...]
    closeness: Closeness | None
    rounds: int
    sentence: str
    missing: tuple[str, ...] = ()
    columns: tuple[str, ...] = ("first vote", "end")
    held: Ints | None = field(default=None, repr=False, compare=False)
    rule: str = ""
    shares: tuple[tuple[Any, float], ...] = ()

    def __str__(self) -> str:
        from folkmoot.explanation.words import as_text

        return as_text(self)

    def to_html(self) -> str:
        """Write it as HTML; every name and label is escaped.

        Returns
        -------
        str
            A section that can stand in any page.
        """
        from folkmoot.explanation.html import as_html

        return as_html(self)

    def _repr_html_(self) -> str:
        return self.to_html()

    def plot(self, ax: Any = None) -> Figure:
        """Draw the label held by each participant (row) in each round (column), in colour.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw in. Default: a new figure.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        from folkmoot.explanation.picture import draw

        return draw(self, ax)

    def to_dict(self) -> dict[str, Any]:
        """Give the facts for machines: plain types, ready for JSON.

        Returns
        -------
        dict
            The fields by name, without ``held``; ``participants`` are "voices", ``uncounted`` "unheard".
        """
        elsewhere = ("held", "participants", "uncounted")
        facts = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in elsewhere}
        return {
            **facts,
            "labels": list(self.labels),
            "voices": [asdict(each) for each in self.participants],
            "changes": None
            if self.changes is None
            else [
                asdict(change) | {"answers": [answer._asdict() for answer in change.answers]}
                for change in self.changes
            ],
            "unheard": [each._asdict() for each in self.uncounted],
            "closeness": None if self.closeness is None else asdict(self.closeness),
            "missing": list(self.missing),
            "columns": list(self.columns),
            "shares": [list(each) for each in self.shares],
        }

    @property
    def first_votes(self) -> dict[Any, int]:
        """How many voted for each label at first, the most common one first."""
        counts = Counter(
            participant.voted for participant in self.participants if participant.voted is not None
        )
        return dict(sorted(counts.items(), key=lambda item: -item[1]))
