"""Calibration of the answers, and accuracy against coverage if unsure ones are withheld."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from folkmoot import checks
from folkmoot.arrays import Array, Bools, Floats, Ints
from folkmoot.pictures.canvas import canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class CoverageCurve(NamedTuple):
    """Coverage and accuracy if answers below a probability are withheld.

    Parameters
    ----------
    threshold : ndarray of float, shape (step,)
        The probabilities, falling: the highest that an answer has comes first, the lowest last.
    coverage : ndarray of float, shape (step,)
        The share of the inputs whose answer has at least this probability.
    accuracy : ndarray of float, shape (step,)
        The share of right answers among these.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.comparing.certainty import Certainty
    >>> likely = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.9, 0.1]])
    >>> Certainty(np.array([0, 0, 1, 0]), likely.argmax(axis=1), likely).curve()
    CoverageCurve(threshold=array([0.9, 0.8, 0.6]), coverage=array([0.5 , 0.75, 1.  ]), \
accuracy=array([1.  , 1.  , 0.75]))
    """

    threshold: Floats
    coverage: Floats
    accuracy: Floats


@dataclass(frozen=True, eq=False)
class Certainty:
    """The answers to inputs whose truth is known, and how likely each class was found."""

    truth: Ints  # (input,): the right classes
    answers: Ints  # (input,): the classes answered
    likely: Floats  # (input, class): class probabilities
    labels: Sequence[Any] | Array | None = None  # names of the classes. Default: their numbers
    abstain_below: float | None = None  # answers of a lower probability are withheld. Default: none are
    reject_label: Any = None  # the answer given instead

    @property
    def sure(self) -> Floats:
        """(input,): the probability of the answer given."""
        return np.asarray(np.take_along_axis(self.likely, self.answers[:, None], axis=1)[:, 0])

    @property
    def answered(self) -> Bools:
        """(input,): whether its answer is given."""
        return answered(self.sure, self.abstain_below)

    @property
    def coverage(self) -> float:
        """The share of the inputs whose answer is given."""
        return float(self.answered.mean())

    @property
    def accuracy_answered(self) -> float | None:
        """The share of right answers among those given; None if none is."""
        given = self.answered
        return float((self.answers == self.truth)[given].mean()) if given.any() else None

    def curve(self) -> CoverageCurve:
        """Find coverage and accuracy for every probability below which answers could be withheld."""
        order = np.argsort(-self.sure, kind="stable")
        sure, right = self.sure[order], (self.answers == self.truth)[order]
        last = np.append(np.flatnonzero(np.diff(sure)), len(sure) - 1)  # of each probability
        count = last + 1
        return CoverageCurve(sure[last], count / len(sure), np.cumsum(right)[last] / count)

    @property
    def called(self) -> list[Any]:
        """Names of the classes."""
        names = range(self.likely.shape[1]) if self.labels is None else self.labels
        return np.asarray(names).tolist() if not isinstance(names, list) else names

    def draw_confusion(
        self, ax: Any = None, *, normalize: Literal["true", "pred", "all"] | None = None
    ) -> Figure:
        """Draw the confusion matrix with scikit-learn's display; withheld answers have their own column."""
        from sklearn.metrics import ConfusionMatrixDisplay, confusion_matrix

        names, given = self.called, self.answered
        classes = list(range(len(names)))
        said = np.where(given, self.answers, len(names))
        wide = min(12.0, max(4.6, 2.6 + 0.5 * len(names)))
        figure, axes = canvas(ax, (wide, wide * 0.85))
        extra = [] if given.all() else [len(names)]
        table = confusion_matrix(self.truth, said, labels=[*classes, *extra], normalize=normalize)
        shown = [*names, "withheld" if self.reject_label is None else self.reject_label][: len(table)]
        display = ConfusionMatrixDisplay(table, display_labels=[str(name) for name in shown])
        display.plot(
            ax=axes,
            cmap="Blues",
            include_values=len(shown) <= 15,
            xticks_rotation="vertical" if sum(len(str(name)) for name in shown) > 40 else "horizontal",
            values_format=None if normalize is None else ".2f",
        )
        if extra:  # no truth is "withheld", so that row is not shown
            axes.set_ylim(len(names) - 0.5, -0.5)
            for cell in () if display.text_ is None else display.text_[-1]:
                cell.set_visible(False)
        axes.set_xlabel("answer")
        axes.set_ylabel("truth")
        return figure

    def draw_reliability(self, ax: Any = None, *, n_bins: int = 10) -> Figure:
        """Draw how often answers of a probability are right, with scikit-learn's display."""
        from sklearn.calibration import CalibrationDisplay

        bins = checks.integer("n_bins", n_bins, least=1)
        figure, axes = canvas(ax, (5.2, 4.6))
        two = self.likely.shape[1] == 2
        hits, chances = (
            (self.truth == 1, self.likely[:, 1]) if two else (self.answers == self.truth, self.sure)
        )
        CalibrationDisplay.from_predictions(
            hits.astype(int),
            np.clip(chances, 0, 1),
            n_bins=bins,
            ax=axes,
            name="moot",
            color="#1f5fa8",
            pos_label=1,
        )
        what = f"of {self.called[1]!r}" if two else "of the answer"
        axes.set_xlabel(f"probability {what}, mean of each bin")
        axes.set_ylabel(f"share that is {self.called[1]!r}" if two else "share of right answers")
        axes.legend(frameon=False, loc="best")
        axes.spines[["top", "right"]].set_visible(False)
        return figure

    def draw_coverage(self, ax: Any = None) -> Figure:
        """Draw the accuracy of the answers given against the share of inputs that is answered."""
        figure, axes = canvas(ax, (5.6, 4.0))
        curve = self.curve()
        axes.step(curve.coverage, curve.accuracy, where="post", color="#1f5fa8", lw=1.8)
        axes.plot(
            curve.coverage, curve.accuracy, ".", color="#1f5fa8", ms=4 if len(curve.coverage) < 60 else 0
        )
        if self.abstain_below is not None and self.accuracy_answered is not None:
            axes.plot([self.coverage], [self.accuracy_answered], "o", color="#c0392b", zorder=4)
            axes.annotate(
                f"from {self.abstain_below:g} on", (self.coverage, self.accuracy_answered), (6, 6),
                textcoords="offset points", color="#c0392b", fontsize=9,
            )  # fmt: skip
        low = float(curve.accuracy.min())
        axes.set_xlim(0, 1.02)
        axes.set_ylim(max(0.0, low - 0.25 * (1 - low) - 0.01), 1.01)
        axes.set_xlabel("share of the inputs that is answered, the surest first")
        axes.set_ylabel("share of right answers among them")
        axes.spines[["top", "right"]].set_visible(False)
        return figure


def answered(sure: Floats, abstain_below: float | None) -> Bools:
    """(input,): whether an answer of this probability is given."""
    if abstain_below is None:
        return np.ones(len(sure), dtype=np.bool_)
    return np.asarray(sure >= abstain_below)
