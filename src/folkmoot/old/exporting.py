"""A fitted moot as folders, one a participant: what its node needs to take its place in a real moot."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final

import numpy as np
from sklearn.dummy import DummyClassifier

from folkmoot.arrays import Array
from folkmoot.files.durable import replace_file
from folkmoot.files.skops_files import told, write_skops
from folkmoot.learning.participants import Participant, Task, squares, unseen_answers

MODEL: Final = "model.skops"
SCHEMA: Final = "model.schema.toml"
HOLDOUT: Final = "holdout.npz"
EXPORTED: Final = "exported.toml"  # lines that ``folkmoot node init`` takes over into node.toml
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]")


class Exporting(ABC):
    """Adds ``export`` to an estimator with ``participants_``."""

    participants_: list[Participant]

    def export(self, folder: str | PathLike[str]) -> list[Path]:
        """Write what each participant's node needs, in a folder of its own directly below ``folder``.

        Each holds ``model.skops``; ``model.schema.toml`` with the names of its columns, if they have names;
        ``holdout.npz`` with what its model said to rows that it had not seen, if it kept any; and
        ``exported.toml`` with the names of these files and its labels, if it has labels.
        ``folkmoot node init FOLDER/NAME --name NAME`` makes a node of it, which finds all of that. Liars,
        weights and privacy are of the estimator, and are not exported; nor is the rule by which numbers are
        agreed on: over the network it is the trimmed mean.

        Parameters
        ----------
        folder : str or path
            Where the folders are made; it may be new, but its parent must exist.

        Returns
        -------
        list of Path
            The folder of each participant, in their order.

        Raises
        ------
        ValueError
            If a folder is there already, a participant sees only some columns and these have no names, a
            model cannot be written, or models give several numbers for an input.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from folkmoot import ConsensusClassifier, Slush
        >>> X, y = [[i] for i in range(60)], [0] * 30 + [1] * 30
        >>> moot = ConsensusClassifier([GaussianNB()] * 3, protocol=Slush(2, 2), random_state=0).fit(X, y)
        >>> with TemporaryDirectory() as folder:
        ...     made = moot.export(folder)
        ...     print([each.name for each in made], sorted(each.name for each in made[0].iterdir()))
        ['gaussiannb-1', 'gaussiannb-2', 'gaussiannb-3'] ['exported.toml', 'holdout.npz', 'model.skops']
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "participants_")
        self._check_exportable()
        above = Path(folder)
        if not above.parent.is_dir():
            raise ValueError(f"folder must be in a folder that exists: there is no {above.parent}")
        names = [str(each) for each in getattr(self, "feature_names_in_", ())]
        places = [above / name for name in folder_names([each.name for each in self.participants_])]
        taken = next((place for place in places if place.exists()), None)
        if taken is not None:
            raise ValueError(f"{taken} is there already: export into another folder, or take it away")
        for participant in self.participants_:
            if participant.columns is not None and not names:
                raise ValueError(
                    f"participant {participant.name!r} sees only some columns, and they have no names by "
                    "which its node could find them: fit on a data frame"
                )
        above.mkdir(exist_ok=True)
        for number, place in enumerate(places):
            self._write(number, place, names)
        return places

    def _check_exportable(self) -> None:  # noqa: B027 (labels can always be)
        """ValueError if no node could answer as its participant does."""

    def _model(self, participant: Participant) -> Any:
        """The model of a participant, as its node is to have it."""
        return participant.model

    @abstractmethod
    def _unseen(self, number: int) -> tuple[Array, Array] | None:
        """Truths of rows that a participant kept back, and what a model said that had not seen them."""

    @abstractmethod
    def _about(self, model: Any) -> tuple[str, list[str]]:
        """A comment on the answers of a model, and lines of ``node.toml`` about them."""

    def _write(self, number: int, place: Path, names: Sequence[str]) -> None:
        participant = self.participants_[number]
        place.mkdir(mode=0o700)
        model = self._model(participant)
        try:
            write_skops(place / MODEL, model)
        except Exception as error:  # any model may be here
            raise ValueError(f"the model of {participant.name!r} cannot be written: {told(error)}") from error
        columns = [str(each) for each in participant.columns] if participant.columns is not None else names
        comment, more = self._about(model)
        lines = [
            "# Of an estimator's participant; folkmoot node init takes these lines over into node.toml.",
            f"# {comment}",
            f'model = "{MODEL}"',
        ]
        if columns:
            text = "".join(f"[[column]]\nname = {_quoted(name)}\n\n" for name in columns)
            replace_file(place / SCHEMA, text.rstrip("\n").encode() + b"\n")
            lines.append(f'schema = "{SCHEMA}"')
        unseen = self._unseen(number)
        if unseen is not None:
            np.savez(place / HOLDOUT, y=unseen[0], answers=unseen[1])
            lines.append(f'holdout = "{HOLDOUT}"')
        replace_file(place / EXPORTED, "\n".join([*lines, *more, ""]).encode())


class ExportingClassifier(Exporting):
    """Labels: a participant that knows one class has a model that says so of any row."""

    classes_: Array

    def _model(self, participant: Participant) -> Any:
        width = getattr(self, "n_features_in_", None)
        if not participant.constant or width is None:
            return participant.model
        # It was made for any number of columns, without saying so.
        seen = width if participant.columns is None else len(participant.columns)
        only = participant.model.classes_[:1]
        return DummyClassifier(strategy="most_frequent").fit(np.zeros((1, seen)), only)

    def _unseen(self, number: int) -> tuple[Array, Array] | None:
        confusion = self.participants_[number].confusion
        if not confusion:
            return None
        true, said, times = zip(*confusion, strict=True)
        return np.repeat(true, times), np.repeat(said, times)

    def _about(self, model: Any) -> tuple[str, list[str]]:
        every = ",".join(map(str, self.classes_.tolist()))
        known = getattr(model, "classes_", self.classes_)
        labels = [f"labels = [{', '.join(map(_value, known))}]"] if len(known) > 1 else []
        return f"The labels of the whole moot, for folkmoot ask --labels: {every}", labels


class ExportingRegressor(Exporting):
    """Numbers, one an input; rows kept back are answered once more, as ``fit`` does not keep the answers."""

    n_outputs_: int
    _own_rows: list[Task] | None

    def _check_exportable(self) -> None:
        if self.n_outputs_ > 1:
            raise ValueError(
                f"nodes agree on one number an input: these models give {self.n_outputs_}; "
                "fit a moot for each"
            )

    def _unseen(self, number: int) -> tuple[Array, Array] | None:
        tasks, participant = getattr(self, "_own_rows", None), self.participants_[number]
        if tasks is None or not participant.held_out:
            return None
        found = unseen_answers(tasks[number], participant)
        # A model that was improved since was measured otherwise: its old answers would say nothing of it.
        if isinstance(found, str) or float(squares(*found).mean()) != participant.squared_error:
            return None
        return found

    def _about(self, model: Any) -> tuple[str, list[str]]:
        del model
        return "It gives numbers: ask with folkmoot ask --regression --tol WIDTH.", []


def folder_names(names: Sequence[str]) -> list[str]:
    """Names of nodes, made of those of participants: of allowed characters only, and different."""
    found: list[str] = []
    for name in names:
        plain = _UNSAFE.sub("-", name).strip(".")[:56] or "participant"
        candidate, number = plain, 2
        while candidate in found:
            candidate, number = f"{plain}-{number}", number + 1
        found.append(candidate)
    return found


def _value(label: Any) -> str:
    """A label as TOML has it; the node makes texts of labels by its own rule."""
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, int | float) else _quoted(str(value))


def _quoted(text: str) -> str:
    """A text of TOML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'
