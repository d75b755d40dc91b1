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
from folkmoot.aggregation.interface import Aggregation
from folkmoot.aggregation.naming import AGGREGATIONS
from folkmoot.arrays import Array, Bools, Floats
from folkmoot.datasets.layout import Layout, read_rows
from folkmoot.files.skops_files import error_text, read_skops, write_skops
from folkmoot.learning.classifier import ConsensusClassifier
from folkmoot.learning.participants import Participant
from folkmoot.learning.regressor import ConsensusRegressor
from folkmoot.protocols.naming import PROTOCOLS
from folkmoot.protocols.snow import SnowProtocol
from folkmoot.votes import NO_VOTE

_WHAT: Final = "a moot of folkmoot learn"

# Types of a moot beside its models; models of nodes may not hold them.
_TYPES: Final = (
    "folkmoot.aggregation.interface.Rows",
    "folkmoot.simulation.council.Council",
    "folkmoot.learning.classifier.ConsensusClassifier",
    "folkmoot.learning.improvement.ModelChange",
    "folkmoot.learning.improvement.Improvement",
    "folkmoot.learning.participants.Participant",
    "folkmoot.learning.regressor.ConsensusRegressor",
    *(f"{kind.__module__}.{kind.__qualname__}" for kind in (*PROTOCOLS.values(), *AGGREGATIONS.values())),
    "folkmoot.protocols.thresholds.StrongConfidence",
)


@dataclass(frozen=True, eq=False)
class TableAnswers:
    """The answers of a moot, a row each.

    Of classes: ``answer`` has the labels, ``firmness`` the share of the vote for it, ``undecided`` where
    several labels are tied or nobody answers, so that the answer is the first of these, and ``probabilities``
    (row, class) how likely each class is. Of numbers: ``answer`` has them, ``firmness`` how far apart the
    participants are, and ``undecided`` where nobody gave one.
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
    """A fitted moot and the columns that it learnt from.

    Parameters
    ----------
    moot : ConsensusClassifier or ConsensusRegressor
        The fitted estimator. It takes rows as ``layout`` reads them.
    layout : Layout
        Which columns of a table are its features.
    """

    moot: ConsensusClassifier | ConsensusRegressor
    layout: Layout

    def predict(self, table: Any) -> Array:
        """Answer the rows of a table.

        Parameters
        ----------
        table : str, path-like or data frame
            A file or a frame with the columns that the moot learnt from, in any order.

        Returns
        -------
        ndarray, shape (row,)
            A label or a number for each row.

        Warns
        -----
        UserWarning
            About columns that are not used, and words that the moot has not seen.
        """
        return self.moot.predict(read_rows(table, self.layout).X)

    def answers(self, X: Array) -> TableAnswers:
        """``predict`` and probabilities for rows that ``layout`` has read."""
        if isinstance(self.moot, ConsensusRegressor):
            numbers = self.moot.predict(X)
            said = self.moot.votes(X)
            spread = np.nanmax(said, axis=0) - np.nanmin(said, axis=0)
            return TableAnswers(numbers, spread, np.isnan(numbers), np.empty((len(X), 0)), ())
        outcome = self.moot.deliberate(X, record=False)
        return TableAnswers(
            self.moot.predict(X),
            np.asarray(outcome.agreement),
            np.asarray(outcome.decision == NO_VOTE),
            self.moot.predict_proba(X),
            tuple(str(label) for label in self.moot.classes_),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it into a file that ``read_moot`` reads.

        Parameters
        ----------
        path : str or path-like
            The file, such as ``moot.skops``.
        """
        import sklearn

        write_skops(
            Path(path),
            {
                "what": _WHAT,
                "folkmoot": __version__,
                "scikit-learn": sklearn.__version__,
                "layout": {name: _plain(value) for name, value in asdict(self.layout).items()},
                "moot": self.moot,
            },
        )


def _plain(value: Any) -> Any:
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def read_moot(path: str | os.PathLike[str]) -> LearnedMoot:
    """Read the moot that ``folkmoot learn`` has written.

    Parameters
    ----------
    path : str or path-like
        The file ``moot.skops``, or the folder that holds it.

    Returns
    -------
    LearnedMoot
        ``predict("new.csv")`` answers the rows of a table; ``moot`` is the estimator.

    Raises
    ------
    ValueError
        If the file is another, is damaged, holds types that a moot has not, or was made by another version.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from folkmoot import ConsensusClassifier, read_moot
    >>> from folkmoot.datasets import read_table
    >>> from folkmoot.runs.learned import LearnedMoot
    >>> from sklearn.naive_bayes import GaussianNB
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "patients.csv")
    ...     rows = [f"{40 + i % 5},{i % 3},{('no', 'yes')[i % 5 > 2]}" for i in range(60)]
    ...     _ = path.write_text("\\n".join(["age,clinic,ill", *rows]))
    ...     data = read_table(path, "ill", "clinic", test_rows=0.25)
    ...     moot = ConsensusClassifier([GaussianNB()], random_state=0)
    ...     moot = moot.fit(data.X, data.classes[data.y], data.groups)
    ...     LearnedMoot(moot, data.layout).save(Path(folder, "moot.skops"))
    ...     read_moot(folder).predict(path)[:4]
    array(['no', 'no', 'no', 'yes'], dtype='<U3')
    """
    file = Path(path)
    file = file / "moot.skops" if file.is_dir() else file
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
        raise ValueError(f"moot {file} is damaged: {error_text(error)}") from None


def _checked(found: dict[str, Any]) -> LearnedMoot:
    """The moot that was read, if its parts fit together; nothing of them has been checked before."""
    moot = found["moot"]
    layout = Layout(**{name: _frozen(value) for name, value in found["layout"].items()})
    features = len(layout.features)
    _must(len(layout.words) == features, "every column is numbers, words or texts")
    _must(all(0 <= each < features for each in layout.texts), "texts are columns")
    _must(isinstance(moot, (ConsensusClassifier, ConsensusRegressor)), "it holds a moot")
    _must(moot.n_features_in_ == features, "the moot takes as many columns as there are")
    _must(
        len(moot.participants_) > 1 and all(isinstance(each, Participant) for each in moot.participants_),
        "it has participants",
    )
    for rule in ("protocol", "aggregation"):  # replace checks their numbers
        if isinstance(getattr(moot, rule, None), (SnowProtocol, Aggregation)):
            setattr(moot, rule, replace(getattr(moot, rule)))
    moot._check_parameters()
    if isinstance(moot, ConsensusClassifier):
        _must(len(moot.classes_) > 1 and moot.classes_.ndim == 1, "classes have names")
        moot._rounds()
    return LearnedMoot(moot, layout)


def _frozen(value: Any) -> Any:
    return tuple(_frozen(each) for each in value) if isinstance(value, list) else value


def _must(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"expected that {what}")
