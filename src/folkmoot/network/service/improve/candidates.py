"""Candidates: models that were made of a pool and wait to be adopted, a folder each of ``improve/``.

Such a folder holds ``report.json``, and, if the candidate was not refused, ``model.skops`` (fitted to the
node's own rows and the pool), ``unseen.skops`` (fitted to the pool alone: it tells how good that is on the
node's own rows) and, where columns have names, ``model.schema.toml``. It gets its name, that of the motion,
once it is whole.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import Final

import msgspec

from folkmoot.durable import replace_file, sync_folder

FOLDER: Final = "improve"
MODEL: Final = "model.skops"
UNSEEN: Final = "unseen.skops"
SCHEMA: Final = "model.schema.toml"
REPORT: Final = "report.json"
KEPT: Final = 8  # candidates that are neither adopted nor below an adopted one


class LabelChange(msgspec.Struct, frozen=True):
    """Own rows that were answered ``before``, and are answered ``after`` now."""

    before: str
    after: str
    rows: int
    right_before: int
    right_after: int


class Report(msgspec.Struct, frozen=True):
    """What came of a pool at one node: how answers to its own rows change, or why there is no candidate.

    Parameters
    ----------
    motion : str
        The motion that was the pool, in hexadecimal.
    asker : str
        Who put it, and chose its inputs.
    made : float
        When the report was made, in seconds since 1970.
    inputs : int
        How many inputs the pool has.
    decided : int
        On how many of them the moot decided, as this node sees it.
    used : int
        How many were fitted to: decided, and such as the node's own model could answer.
    otherwise : int
        On how many of these the node's own model had answered something else.
    labels : dict
        How many of these have each label.
    rows : int
        The node's own labelled rows.
    before : int or None
        How many of them are answered right before, by models that have not seen them.
    after : int or None
        The same after: by the estimator fitted to the pool alone.
    compared_with : str
        What "before" is the answers of.
    changes : list of LabelChange
        Which answers to own rows change to which, the most frequent first.
    knows : list of str
        The labels that the new model knows.
    probabilities : bool
        Whether it gives probabilities, too.
    lost : list of str
        Labels that the model which votes now knows, and the new one does not.
    gain : float or None
        How much more of these inputs the agreed labels are expected to get right than the node's own model,
        as a share; None where it was not asked.
    shared : float or None
        The share of the agreed labels that those that count for the node held at the end of the talk.
    why : str or None
        Why it was refused; None if it can be adopted.
    seconds : float
        How long the refit took.
    digests : dict
        The SHA-256 of each file of the candidate.
    anchor : list of (str, str, int)
        How often the estimator fitted to the pool alone answered what to which truth of the node's holdout;
        empty if that holds no rows.

    Examples
    --------
    >>> from folkmoot.network.service.improve.candidates import Report
    >>> Report("5f", "north", 0.0, 100, 90, 88, why="its rows are of one class only").adoptable
    False
    """

    motion: str
    asker: str
    made: float
    inputs: int
    decided: int = 0
    used: int = 0
    otherwise: int = 0
    labels: dict[str, int] = {}
    rows: int = 0
    before: int | None = None
    after: int | None = None
    compared_with: str = ""
    changes: list[LabelChange] = []
    knows: list[str] = []
    probabilities: bool = False
    lost: list[str] = []
    gain: float | None = None
    shared: float | None = None
    why: str | None = None
    seconds: float = 0.0
    digests: dict[str, str] = {}
    anchor: list[tuple[str, str, int]] = []

    @property
    def adoptable(self) -> bool:
        """Whether there is a model to adopt."""
        return self.why is None


class Candidates:
    """The candidates in the folder of a node."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / FOLDER

    def place(self, motion: str) -> Path:
        """Where the candidate of a motion is."""
        return self.folder / motion

    def making(self, motion: str) -> Path:
        """Where it is made."""
        return self.folder / f".making-{motion}"

    def has(self, motion: str) -> bool:
        """Whether there is a candidate of a motion, or a report why there is none."""
        return (self.place(motion) / REPORT).is_file()

    def report(self, motion: str) -> Report:
        """The report of a candidate; ValueError if it is gone or damaged."""
        path = self.place(motion) / REPORT
        try:
            return msgspec.json.decode(path.read_bytes(), type=Report)
        except FileNotFoundError:
            raise ValueError(f"there is no candidate in {self.place(motion)}") from None
        except (msgspec.DecodeError, OSError) as error:
            raise ValueError(f"{path} is damaged: {error}") from None

    def reports(self) -> list[Report]:
        """All reports that can be read, the oldest first."""
        found = []
        for place in self.folder.glob("[0-9a-f]*"):
            try:
                found.append(self.report(place.name))
            except ValueError:
                continue
        return sorted(found, key=lambda report: (report.made, report.motion))

    def find(self, prefix: str) -> Report:
        """The report of the candidate whose motion begins so; ValueError unless there is one such."""
        reports = self.reports()
        if not reports:
            raise ValueError(
                f"there is no candidate in {self.folder.parent}: one is made when a motion that was put with "
                "--improve is over, if [improve] in node.toml lists its asker"
            )
        if prefix == "last":
            return reports[-1]
        plain = 4 <= len(prefix) <= 64 and not prefix.lower().strip("0123456789abcdef")
        found = [each for each in reports if plain and each.motion.startswith(prefix.lower())]
        if len(found) == 1:
            return found[0]
        known = ", ".join(each.motion[:12] for each in reports[-5:])
        if found:
            raise ValueError(f"{prefix!r} must begin the name of one motion: {len(found)} candidates do")
        raise ValueError(
            f"there is no candidate of motion {prefix!r}: type 4 or more digits of one of {known}, or 'last'"
        )

    def check(self, report: Report) -> None:
        """ValueError unless the files of a candidate are those that the report is about."""
        place = self.place(report.motion)
        for name, digest in report.digests.items():
            path = place / name
            if not path.is_file():
                raise ValueError(f"{path} is gone: put the folder back from a back-up, or undo the adoption")
            if digest_of(path) != digest:
                raise ValueError(f"{path} is not the file that was made: it is damaged, or was replaced")

    def install(self, report: Report) -> None:
        """Give what was made its name, for good: in one step, with its report."""
        made, place = self.making(report.motion), self.place(report.motion)
        made.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not report.adoptable:
            for path in made.iterdir():
                path.unlink()
        replace_file(
            made / REPORT, msgspec.json.format(msgspec.json.encode(report), indent=1), new_mode=0o600
        )
        made.rename(place)
        sync_folder(self.folder)

    def clear(self, motion: str) -> None:
        """Remove what is left of making a candidate."""
        shutil.rmtree(self.making(motion), ignore_errors=True)

    def prune(self, adopted: set[str], most: int = KEPT) -> None:
        """Remove the oldest candidates, but none that was adopted."""
        others = [each.motion for each in self.reports() if each.motion not in adopted]
        for motion in others[: max(0, len(others) - most)]:
            shutil.rmtree(self.place(motion), ignore_errors=True)


def digest_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digests_in(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file of a candidate; they are on the disk afterwards."""
    found = {}
    for path in sorted(folder.iterdir()):
        with path.open("rb") as file:
            os.fsync(file.fileno())
        found[path.name] = digest_of(path)
    return found
