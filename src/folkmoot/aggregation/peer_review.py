"""Peer review: each participant learns from rows that all show whom to believe on what (docs/peer-review.md).

Everybody answers some labelled rows of everybody. ``panel`` has the rule for classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal

import numpy as np
from scipy.special import softmax
from threadpoolctl import threadpool_limits

from folkmoot import checks
from folkmoot.aggregation.gold import decide_by_gold
from folkmoot.aggregation.interface import FinalVotes, Kind, Known, OwnAggregation, Rows, smoothed
from folkmoot.aggregation.nearby import Nearby
from folkmoot.aggregation.numbers import NumberPanel, without_gaps
from folkmoot.aggregation.own import Codes, Finals, judges_of, kind_of, named
from folkmoot.aggregation.panel import PUBLIC, Panel, Review, Voter, centred
from folkmoot.aggregation.space import space_of
from folkmoot.aggregation.telling_apart import changed
from folkmoot.arrays import Array, Bools, Features, Floats, Ints
from folkmoot.votes import NO_VOTE

ALL: Final = "all"
FOREST: Final = "forest"
_NO_ROWS: Final = "no rows are shown"


@dataclass(frozen=True)
class PeerReview(OwnAggregation):
    """Each participant weighs everybody's votes by what they say of rows that all show each other.

    A judge may use all rows of ``Known.rows``: everybody's votes on them, and their labels as owners tell
    them. Rows of owner -1 are public, and all take their labels for right.

    Parameters
    ----------
    rows : int or "all", default 10
        How many rows an estimator lets each participant show: at most half of its rows, or all of them.
    label_epsilon : float, optional
        Owners tell labels by randomised response, with this epsilon of local differential privacy. Default:
        they tell labels as they are.
    expert : model, "forest" or None, default "forest"
        A scikit-learn classifier that each judge fits to the shown rows of owners whom it accepts. It is one
        more voter, heard if rows that it has not seen bear it out. "forest" is a random forest where at least
        20 rows are shown with their inputs. None hears none.
    local : bool, default True
        Whether weights may depend on the input, by the shown rows that are near. They do if rows left out
        bear that out. Needs the inputs of rows and table.

    Examples
    --------
    Three of seven participants always lie. Ten rows of each tell.

    >>> import numpy as np
    >>> from folkmoot.aggregation import Known, PeerReview, Rows
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 270)
    >>> votes = np.where(rng.random((7, 270)) < 0.8, truth, 1 - truth)
    >>> votes[:3] = 1 - truth
    >>> rows = Rows(votes[:, :70], truth[:70], np.arange(70) % 7)
    >>> final = PeerReview().final_votes(votes[:, 70:], Known(rows=rows, judges=np.arange(3, 7)))
    >>> bool((final.votes[3:] == truth[70:]).mean() > 0.95)
    True
    """

    rows: int | Literal["all"] = 10
    label_epsilon: float | None = None
    expert: Any = FOREST
    local: bool = True

    takes: ClassVar[tuple[Kind, ...]] = ("labels", "probabilities", "numbers")

    def __post_init__(self) -> None:
        if isinstance(self.rows, str):
            if self.rows != ALL:
                raise ValueError(f"rows must be a number of rows or {ALL!r}: got {self.rows!r}")
        else:
            checks.integer("rows", self.rows, least=0)
        if self.label_epsilon is not None and checks.finite("label_epsilon", self.label_epsilon) <= 0:
            raise ValueError(
                f"label_epsilon must be positive, or None for labels as they are: got {self.label_epsilon}"
            )
        if not isinstance(self.local, bool):
            raise TypeError(f"local must be True or False: got {self.local!r}")
        if self._own_expert is not None and (
            isinstance(self.expert, type)
            or not (hasattr(self.expert, "fit") and hasattr(self.expert, "predict"))
        ):
            raise TypeError(
                "expert must be a model to fit to the rows that are shown, such as RandomForestClassifier(), "
                f"{FOREST!r} or None: got {self.expert!r}"
            )

    @property
    def _own_expert(self) -> Any:
        """The model that was given; None for the default."""
        return None if isinstance(self.expert, str) and self.expert == FOREST else self.expert

    def final_votes(self, table: Array, known: Known) -> FinalVotes:
        """Let each judge learn from the rows, and decide."""
        rows = known.rows
        kind = kind_of(table, rows)
        finals = Finals(table, kind, known)
        if rows is None or not len(rows.owner):
            for judge in judges_of(table, known).tolist():
                finals.fall_back(judge, _NO_ROWS)
        elif kind == "numbers":
            self._numbers(table, known, rows, finals)
        elif self._own_expert is None and kind == "labels" and (rows.owner == PUBLIC).all():
            decide_by_gold(table, known, rows, finals)
        else:
            with threadpool_limits(1):  # the matrices are small: threads would only wait for each other
                self._classes(table, kind, known, rows, finals)
        return finals.done()

    def likely_of_own(self, table: Array, known: Known, judge: int) -> Floats:
        """(input, class): how likely each class is for inputs of one judge's own kind, such as its patients.

        Its own vote and its own rows count for more there, as far as its rows bear it out.
        """
        rows = known.rows
        kind = kind_of(table, rows)
        finals = Finals(table, kind, known)
        if rows is None or not len(rows.owner):
            return finals.plain.probabilities(finals.classes)
        asked = self.asked(table, kind, known, rows, finals.classes)
        heard = asked.panel_of(judge)
        likely = heard.likely_of_own(heard.review(judge), judge, asked.inputs)
        return asked.codes.spread(likely, finals.classes)

    def _classes(self, table: Array, kind: Kind, known: Known, rows: Rows, finals: Finals) -> None:
        self.decide(self.asked(table, kind, known, rows, finals.classes), judges_of(table, known), finals)

    def decide(self, asked: Asked, judges: Ints, finals: Finals) -> None:
        """Let judges learn and hold final votes."""
        codes = asked.codes
        held: dict[tuple[bool, bytes], tuple[Ints, Floats, Floats]] = {}  # alike for all who accept the same
        for judge in judges.tolist():
            heard = asked.panel_of(judge)
            review = heard.review(judge)
            if review.why is not None:
                finals.fall_back(judge, review.why)
                continue
            key = heard is asked.panel, review.accepted.tobytes()
            if key not in held:
                scores = heard.scores(review, asked.inputs)
                votes = np.where(scores.any(axis=1), scores.argmax(axis=1), NO_VOTE)
                likely = codes.spread(softmax(heard.sharpness(review) * scores, axis=1), finals.classes)
                likely = smoothed(likely, np.full(len(likely), len(review.rows)))  # rows rule nothing out
                held[key] = codes.back(votes), heard.weight(review), likely
            finals.hold(judge, *held[key])

    def asked(self, table: Array, kind: Kind, known: Known, rows: Rows, classes: int) -> Asked:
        """A table of classes as judges meet it, before any has learnt."""
        whole = classes if kind == "probabilities" or rows.kept < 1 else None
        said, shown = named(table, kind), named(rows.votes, kind)
        codes = Codes(said, shown, rows.truth, all_of=whole)
        truth = codes.of(rows.truth)
        on_rows, on_inputs = (
            centred(each if kind == "probabilities" else codes.of(each), codes.count)
            for each in (rows.votes, table)
        )
        panel = Panel(on_rows, truth, rows.owner, rows.kept)
        panel = replace(panel, voters=self._voters(panel, on_inputs, known, rows))
        odd = changed(codes.of(shown), codes.of(said))
        return Asked(panel, codes, on_inputs, odd, None if odd is None else panel.deaf_to(odd))

    def _voters(self, panel: Panel, on_inputs: Features, known: Known, rows: Rows) -> dict[str, Voter]:
        """Who is heard beside the participants, if unseen rows bear it out."""
        found: dict[str, Voter] = {}
        there = rows.inputs is not None and known.inputs is not None
        space = space_of(rows.inputs) if there and self.local else None
        if space is not None:
            found["nearby"] = Nearby(
                panel.votes, panel.truth, panel.owner, rows.kept, panel.voice, space, known.inputs, on_inputs
            )
        if self._own_expert is not None or (self.expert is not None and there):
            from folkmoot.aggregation.expert import fitted_expert  # it needs scikit-learn

            expert = fitted_expert(self._own_expert, rows, panel.truth, panel.classes, known)
            if expert is not None:
                found["expert"] = expert
        return found

    def _numbers(self, table: Array, known: Known, rows: Rows, finals: Finals) -> None:
        if self._own_expert is not None:
            raise ValueError("expert is for classes: leave it out for numbers")
        values = without_gaps(table)
        there = self.local and known.inputs is not None and rows.inputs is not None
        space = space_of(rows.inputs) if there else None
        panel = NumberPanel.of(rows, space, known.inputs)
        for judge in judges_of(table, known).tolist():
            review = panel.review(judge)
            if review.why is not None:
                finals.fall_back(judge, review.why)
                continue
            number = panel.estimate(review, values).reshape(table.shape[1:])
            finals.hold(judge, number, panel.weight(review))


@dataclass(frozen=True, eq=False)
class Asked:
    """A table of classes as judges meet it."""

    panel: Panel
    codes: Codes
    inputs: Features
    odd: Bools | None  # who answers inputs otherwise than rows
    without: Panel | None  # for the others, who do not hear these

    def panel_of(self, judge: int) -> Panel:
        """The votes that a judge uses."""
        if self.odd is None or self.without is None or self.odd[judge]:
            return self.panel
        return self.without

    def unseen(self, judge: int) -> tuple[Review, Ints]:
        """The review of a judge, and the classes that rules say of its rows without having seen them."""
        heard = self.panel_of(judge)
        review = heard.review(judge)
        if not len(review.rows):
            return review, review.rows
        return review, self.codes.back(heard.unseen(review).argmax(axis=1))
