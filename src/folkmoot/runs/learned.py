"""A moot that learnt from a table, kept in a file, and what it answers to the rows of another.

The file is one of skops (``folkmoot.files.skops_files``), so that reading one runs no code of its maker.
Beside the types that any model may hold it has those of a moot, and it says which version made it.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from folkmoot import __version__
from folkmoot.arrays import Array, Bools, Floats
from folkmoot.datasets.layout import Layout
from folkmoot.files.skops_files import read_skops, told, write_skops
from folkmoot.learning.participants import Participant
from folkmoot.old import ConsensusClassifier, ConsensusRegressor
from folkmoot.protocols import PROTOCOLS
from folkmoot.votes import UNCOLOURED

_WHAT: Final = "a moot of folkmoot learn"

# What a moot holds besides its models; models of nodes may not.
_TYPES: Final = (
    "folkmoot.learning.check_rows.ShownRows",
    "folkmoot.old.checking.Checked",
    "folkmoot.old.classifier.ConsensusClassifier",
    "folkmoot.learning.improvement.Change",
    "folkmoot.learning.improvement.Improvement",
    "folkmoot.learning.improvement.NumberChange",
    "folkmoot.learning.improvement.NumberImprovement",
    "folkmoot.learning.participants.Participant",
    "folkmoot.old.regressor.ConsensusRegressor",
    *(f"{kind.__module__}.{kind.__qualname__}" for kind in PROTOCOLS.values()),
    "folkmoot.thresholds.StrongConfidence",
    "folkmoot.trust.checked.CheckedAnswers",
)


@dataclass(frozen=True, eq=False)
class Answers:
    """What a moot answers, a row each.

    Of classes: ``answer`` has the labels, ``firmness`` the share of participants that hold the most common
    label in the end, ``undecided`` where that is no majority, so that the answer is the likeliest class, and
    ``probabilities`` (row, class) how likely each class is. Of numbers: ``answer`` has them, ``firmness`` how
    far apart the participants were when they began to talk, and ``undecided`` where they did not come close
    enough.
    """

    answer: Array
    firmness: Floats
    undecided: Bools
    probabilities: Floats
    classes: tuple[str, ...]

    @property
    def header(self) -> list[str]:
        """The names of the columns of ``cells``."""
        firmness = "agreement" if self.classes else "spread"
        return ["answer", firmness, "undecided", *(f"p({label})" for label in self.classes)]

    def cells(self) -> list[list[str]]:
        """Each row as text, for a table."""
        shown = ".3f" if self.classes else ".3g"
        answers = self.answer.tolist() if self.classes else [f"{each:.6g}" for each in self.answer]
        return [
            [answer, format(firm, shown), str(bool(undecided)).lower(), *(f"{each:.4f}" for each in chances)]
            for answer, firm, undecided, chances in zip(
                answers, self.firmness, self.undecided, self.probabilities, strict=True
            )
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON."""
        found: dict[str, Any] = {"answers": self.answer.tolist(), "undecided": self.undecided.tolist()}
        if not self.classes:
            return found | {"spread": self.firmness.tolist()}
        chances = self.probabilities.tolist()
        return found | {
            "agreement": self.firmness.tolist(), "classes": list(self.classes), "probabilities": chances
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class LearnedMoot:
    """A fitted moot, the columns it learnt from, and what its classes are called; none for numbers."""

    moot: ConsensusClassifier | ConsensusRegressor
    layout: Layout
    classes: tuple[str, ...] = ()

    def answers(self, X: Array) -> Answers:
        """What ``predict`` of the estimator says of rows that ``layout`` has read, and how firmly."""
        if isinstance(self.moot, ConsensusRegressor):
            agreed = self.moot.deliberate(X, record=True)
            spread = agreed.spread if agreed.history is None else agreed.history[:, 0]
            return Answers(agreed.decision, spread, ~agreed.settled, np.empty((len(X), 0)), ())
        outcome = self.moot.deliberate(X)
        likely = self.moot.predict_proba(X)
        undecided = outcome.decision == UNCOLOURED
        colours = np.where(undecided, likely.argmax(axis=1), outcome.decision)
        return Answers(
            np.array(self.classes)[self.moot.classes_[colours]],
            outcome.agreement,
            np.asarray(undecided),
            likely,
            tuple(self.classes[label] for label in self.moot.classes_),
        )

    def save(self, path: Path) -> None:
        """Write it into a file that ``read_moot`` reads."""
        import sklearn

        write_skops(
            path,
            {
                "what": _WHAT,
                "folkmoot": __version__,
                "scikit-learn": sklearn.__version__,
                "layout": {name: _plain(value) for name, value in asdict(self.layout).items()},
                "classes": list(self.classes),
                "moot": self.moot,
            },
        )


def _plain(value: Any) -> Any:
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def read_moot(path: str | os.PathLike[str]) -> LearnedMoot:
    """The moot in a file of ``folkmoot learn``.

    Raises
    ------
    ValueError
        If the file is another, is damaged, holds types that a moot has not, or was made by another version.
    """
    file = Path(path)
    found = read_skops(
        str(file), _TYPES, what="moot", advice="folkmoot learn makes no such file: do not use it"
    )
    if not isinstance(found, dict) or found.get("what") != _WHAT:
        raise ValueError(
            f"moot {file} must be {_WHAT} (moot.skops): it holds a {type(found).__name__}; "
            "models of nodes are for folkmoot node run"
        )
    if found.get("folkmoot") != __version__:
        raise ValueError(
            f"moot {file} was made by folkmoot {found.get('folkmoot')}, and this is {__version__}: "
            "make it again with folkmoot learn"
        )
    try:
        return _checked(found)
    except Exception as error:  # a file may say anything
        raise ValueError(f"moot {file} is damaged: {told(error)}") from None


def _checked(found: dict[str, Any]) -> LearnedMoot:
    """The moot that was read, if its parts fit together; nothing of them has been checked before."""
    moot, classes = found["moot"], [str(each) for each in found["classes"]]
    told_of = {name: _frozen(value) for name, value in found["layout"].items()}
    layout = Layout(**told_of)
    features = len(layout.features)
    _must(len(layout.words) == features, "every column is numbers, words or texts")
    _must(all(0 <= each < features for each in layout.texts), "texts are columns")
    _must(isinstance(moot, ConsensusClassifier if classes else ConsensusRegressor), "it holds a moot")
    _must(moot.n_features_in_ == features, "the moot takes as many columns as there are")
    _must(
        len(moot.participants_) > 1 and all(isinstance(each, Participant) for each in moot.participants_),
        "it has participants",
    )
    _must(moot.adversaries is None, "nobody lies")
    if isinstance(moot, ConsensusClassifier):
        _must(all(0 <= int(each) < len(classes) for each in moot.classes_), "classes have names")
        if moot.protocol is not None:
            protocol: Any = moot.protocol
            moot.protocol = replace(protocol)  # which checks its numbers
        _ = moot.protocol_
    else:
        _ = moot._rule()
    return LearnedMoot(moot, layout, tuple(classes))


def _frozen(value: Any) -> Any:
    return tuple(_frozen(each) for each in value) if isinstance(value, list) else value


def _must(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"expected that {what}")
