"""A moot on digits whose members have small models of their own, some of which improve by pools."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

from folkmoot.arrays import Array
from folkmoot.network.service.holdout import Holdout
from folkmoot.network.service.improve.candidates import Report
from folkmoot.network.service.improve.improving import Improving, Job, World
from folkmoot.network.service.improve.settings import Improve
from folkmoot.network.service.improve.setup import NodeModels
from folkmoot.network.service.models import Model, load_model
from folkmoot.network.service.operation import Settings
from folkmoot.network.service.voter import Voter
from folkmoot.network.transports import memory
from folkmoot.network.transports.memory import Weather
from folkmoot.network.wire.batch import Batch
from folkmoot.network.wire.motion import motion_name
from folkmoot.runs.refitting import candidate_of
from folkmoot.skops_files import write_skops
from support.network.moot_in_memory import Moot

LABELS = tuple("0123456789")
ESTIMATOR = GaussianNB(var_smoothing=0.05)
N, ROWS, POOL = 7, 40, 200


@dataclass(frozen=True, eq=False)
class Digits:
    """Rows of every member, a pool, and others to test on; labels are text, as in a moot."""

    rows: list[tuple[Array, Array]]
    pool: Array
    truth: Array  # of the pool
    test: tuple[Array, Array]


@lru_cache
def digits(n: int = N) -> Digits:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order].astype(str)
    rows = [(X[i * ROWS : (i + 1) * ROWS], y[i * ROWS : (i + 1) * ROWS]) for i in range(n)]
    start = n * ROWS
    pool = slice(start, start + POOL)
    return Digits(rows, X[pool], y[pool], (X[pool.stop :], y[pool.stop :]))


def lying_model(place: int) -> GaussianNB:
    """A model that was fitted to wrong labels: each digit is called the next one."""
    X, y = digits().rows[place]
    return clone(ESTIMATOR).fit(X, ((y.astype(int) + 1) % 10).astype(str))


@dataclass
class Improved:
    """A member with ``[improve]``, and what the test may look at."""

    settings: Settings
    models: NodeModels | None = None
    improving: Improving | None = None
    log: list[dict[str, Any]] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)

    def __call__(self, moot: Moot, place: int, world: memory.World[int]) -> tuple[Any, Any]:
        storage, settings = moot.storages[place], self.settings
        base = load_model(settings.model)
        self.models = models = NodeModels.of(settings, base, Holdout(), storage)

        def log(level: str, event: str, **told: Any) -> None:
            self.log.append({"level": level, "event": event, **told})

        self.improving = models.improving(
            settings,
            storage,
            World(
                f"p{place:03d}",
                world.clock,
                lambda seconds, call: world.later(world.now() + seconds, call),
                world.work,
                log,
                lambda: models.now(settings),
            ),
        )
        if self.improving is not None:
            world.later(world.now(), self.improving.resume)
        return models.choice, self.improving

    @property
    def reports(self) -> list[Report]:
        assert self.models is not None
        return self.models.candidates.reports()


class ImprovingMoot(Moot):
    """Seven members on digits; ``improvers`` have [improve], for pools of ``askers``."""

    def __init__(
        self,
        folder: Path,
        improvers: Collection[int] = (1,),
        *,
        askers: Sequence[str] = ("p000",),
        liars: Collection[int] = (),
        weather: Weather | None = None,
        refit: Callable[[Job], Report] = candidate_of,
        terms: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        data = digits()
        self.members: dict[int, Improved] = {}
        voters = {}
        for place, (X, y) in enumerate(data.rows):
            model = lying_model(place) if place in liars else clone(ESTIMATOR).fit(X, y)
            home = folder / f"p{place:03d}"
            home.mkdir()
            write_skops(home / "model.skops", model)
            voters[place] = Voter(Model("model", model.predict, labels=model.classes_, columns=64))
            if place in improvers:
                self.members[place] = Improved(improving_settings(home, X, y, askers, refit, terms or {}))
        votes = np.zeros((N, POOL), dtype=np.int8)
        super().__init__(votes, 1, voters=voters, weather=weather, improving=self.members, **more)

    def ask(self, X: Array, *, asker: int = 0, at: float = 0.0, **changes: Any) -> bytes:
        """Put a motion about digits; its name."""
        terms = {"labels": LABELS, "k": 5, "alpha": 3, "rounds": 6, "batch": Batch(X), **changes}
        motion, _ = self.motion(asker, **terms)
        self.put(asker, at=at, **terms)
        return motion_name(motion.encoded())

    def first_votes(self, place: int, motion: bytes) -> list[str | None]:
        """What a member committed to."""
        stored, voted = self.storages[place].motion(motion), self.storages[place].held(motion).voted
        assert voted is not None
        colours = stored.motion.form.unpack_first(voted.first).tolist()
        return [None if colour < 0 else LABELS[colour] for colour in colours]


def improving_settings(
    home: Path,
    X: Array,
    y: Array,
    askers: Sequence[str],
    refit: Callable[[Job], Report] | None = candidate_of,
    terms: Mapping[str, Any] | None = None,
) -> Settings:
    """The settings of a node with [improve]; its rows and estimator are written into its folder."""
    np.savez(home / "own.npz", X=X, y=y)
    write_skops(home / "unfitted.skops", ESTIMATOR)
    improve = Improve(home / "own.npz", str(home / "unfitted.skops"), askers=tuple(askers))
    return Settings(
        home, home / "roster.toml", str(home / "model.skops"), improve=replace(improve, **dict(terms or {})),
        refit=refit,
    )  # fmt: skip
