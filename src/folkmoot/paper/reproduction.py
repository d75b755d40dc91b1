"""Experiments run into a folder: finished cells, numbers, pictures, and the page that shows them all."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from folkmoot import __version__
from folkmoot.arrays import PartProgress
from folkmoot.paper.catalogue import MODULES
from folkmoot.paper.experiment import Experiment
from folkmoot.paper.findings_page import Done, page
from folkmoot.paper.runner import is_finished, run, settings
from folkmoot.paper.store import Store, stamp
from folkmoot.simulation.play_options import Device

_ENDINGS: Final = (".json", ".png", ".svg")


@dataclass(frozen=True)
class Reproduction:
    """A folder of results, the data they are of (None: downloaded) and their settings."""

    folder: Path
    data: Path | None
    quick: bool
    seed: int
    device: Device = "cpu"

    @property
    def about(self) -> dict[str, object]:
        """The settings of a run, for readers of its results."""
        return {
            "folkmoot": __version__,
            "settings": "quick" if self.quick else "full",
            "seed": self.seed,
            "FEMNIST": "downloaded" if self.data is None else self.data.name,
            **({} if self.device == "cpu" else {"device": self.device}),
        }

    def run(
        self, experiment: Experiment[Any], *, jobs: int | None = None, progress: PartProgress | None = None
    ) -> Done:
        """One experiment, numbers and pictures written. What it lacks (data, an extra) is its ``failure``."""
        store = self._store(experiment)
        started = time.perf_counter()
        try:
            result = run(experiment, self._config(experiment), self.seed, store, jobs=jobs, progress=progress)
            seconds = time.perf_counter() - started
            whole = {"experiment": experiment.name, **self.about, **msgspec.to_builtins(result)}
            numbers = self.folder / f"{experiment.name}.json"
            numbers.write_bytes(msgspec.json.format(msgspec.json.encode(whole), indent=1))
            written = [numbers]
            figures = experiment.figures(result)
            for name, figure in figures.items():
                stem = experiment.name if name == experiment.name else f"{experiment.name}-{name}"
                picture, drawing = self.folder / f"{stem}.png", self.folder / f"{stem}.svg"
                figure.savefig(picture, dpi=150)
                figure.savefig(drawing, metadata={"Date": None})
                written += [picture, drawing]
        except (OSError, ValueError, ModuleNotFoundError) as error:
            self._remove_files_of(experiment.name)
            failure = " ".join(str(error).split())
            seconds = time.perf_counter() - started
            return Done(experiment, seconds=seconds, failure=failure, complaints=store.complaints)
        self._remove_files_of(experiment.name, but=written)
        return Done(experiment, result, figures, seconds, complaints=store.complaints)

    def is_finished(self, experiment: Experiment[Any]) -> tuple[bool, list[str]]:
        """Whether all cells of an experiment are stored, and complaints about those that are not whole."""
        store = self._store(experiment)
        return is_finished(experiment, self._config(experiment), self.seed, store), store.complaints

    def write_page(self, done: Sequence[Done]) -> Path:
        """One page for these experiments."""
        path = self.folder / "report.html"
        path.write_text(page(done, self.about), encoding="utf-8")
        return path

    def _config(self, experiment: Experiment[Any]) -> Any:
        data = None if self.data is None else str(self.data.resolve())
        return settings(experiment, quick=self.quick, data=data, device=self.device)

    def _store(self, experiment: Experiment[Any]) -> Store:
        """Where cells are kept; those of other data, or of data that changed, elsewhere."""
        cells = self.folder / "cells"
        if self.data is None or not experiment.needs_data:
            return Store(cells)
        return Store(cells / stamp(self.data))

    def _remove_files_of(self, name: str, but: Iterable[Path] = ()) -> None:
        """Numbers and pictures of an earlier run would not be of this one."""
        kept = set(but)
        for file in self.folder.iterdir():
            further = file.stem.startswith(f"{name}-") and file.stem not in MODULES
            mine = file.stem == name or further
            if mine and file.suffix in _ENDINGS and file.is_file() and file not in kept:
                file.unlink()
