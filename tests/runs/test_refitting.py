"""A model fitted again in a process of its own: the same as here, ended in time, every failure a line."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from scipy.stats import binom
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from folkmoot.network.service.improve.improving import Job
from folkmoot.network.service.improve.pools import Pool
from folkmoot.network.wire.batch import Batch
from folkmoot.network.wire.motion import Motion, motion_name
from folkmoot.network.wire.schema import Column
from folkmoot.runs.refitting import candidate_of, refit_apart
from folkmoot.skops_files import read_skops, write_skops
from support.network.improving_moot import ESTIMATOR, LABELS, digits

PRINTING = """
from sklearn.naive_bayes import GaussianNB


class Printing(GaussianNB):
    def fit(self, X, y):
        print("fitting", flush=True)
        raise ValueError("this estimator takes no digits")


printing = Printing
"""

OWN = """
from sklearn.naive_bayes import GaussianNB


class Mine(GaussianNB):
    pass


def new():
    return Mine(var_smoothing=0.05)
"""


def job_for(folder: Path, **changes: Any) -> Job:
    """The pool of digits, with its right labels decided, for the first member."""
    data = digits()
    X, y = data.rows[0]
    np.savez(folder / "own.npz", X=X, y=y)
    write_skops(folder / "unfitted.skops", ESTIMATOR)
    write_skops(folder / "model.skops", clone(ESTIMATOR).fit(X, y))
    batch = Batch(data.pool)
    motion = Motion(
        bytes(32), 0, bytes(16), 1e9, 30.0, "slush", 5, 3, 20, 15, 0.02, False, False,
        changes.pop("labels", LABELS), len(batch), batch.columns, batch.dtype, batch.chunk_rows,
        batch.digests(), improve=True, schema=changes.pop("of_inputs", ()),
    )  # fmt: skip
    pool = Pool(folder / "pool", motion)
    for index, chunk in enumerate(batch.chunks()):
        pool.keep(index, chunk)
    agreed = [LABELS.index(label) for label in data.truth]
    (folder / "out").mkdir()
    header = motion.encoded()
    job = Job(
        motion_name(header).hex(), header, "north", agreed, list(agreed), str(folder / "pool"),
        str(folder / "own.npz"), "label", str(folder / "unfitted.skops"), 60, str(folder / "out"), (), 64,
        str(folder / "model.skops"), (), False, "", "",
    )  # fmt: skip
    return msgspec.structs.replace(job, **changes)


def test_a_process_that_takes_too_long_or_dies_is_no_candidate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a process that ends well comes to is held to scikit-learn in test_improving_processes.py."""
    job = job_for(tmp_path, most_seconds=1)
    for script, why in [
        ("exec sleep 60", "the refit took longer than most_seconds, 1 s"),
        ("echo out of memory >&2; exit 9", "the process of the refit ended with exit code 9: out of memory"),
        ("kill -11 $$", "the process of the refit ended with exit code -11: nothing was said"),
    ]:
        program = tmp_path / "program"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o700)
        monkeypatch.setattr(sys, "executable", str(program))
        with pytest.raises(ValueError, match=f"^{why}$"):
            refit_apart(job)


def test_a_model_that_cannot_be_fitted_is_refused_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loud_estimators.py").write_text(PRINTING)
    monkeypatch.syspath_prepend(tmp_path)
    report = candidate_of(job_for(tmp_path, estimator="loud_estimators:printing"))
    assert report.why is not None
    assert "cannot be fitted" in report.why
    assert not report.digests


def test_types_that_are_not_allowed_are_refused_and_allowed_ones_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_estimators.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    report = candidate_of(job_for(tmp_path / "a", estimator="own_estimators:new"))
    assert report.why is not None
    assert "must hold allowed types only: it has own_estimators.Mine" in report.why
    allowed = job_for(tmp_path / "b", estimator="own_estimators:new", allow=["own_estimators.Mine"])
    assert candidate_of(allowed).why is None


def test_labels_that_the_motion_does_not_have_are_refused(tmp_path: Path) -> None:
    job = job_for(tmp_path, labels=(*LABELS[:9], "nine"))
    report = candidate_of(job)
    assert report.why == "its own rows have the label '9', which is not among those of the motion"
    assert list(Path(job.out).iterdir()) == []


def test_labels_that_nobody_has_do_not_make_chance_look_worse(tmp_path: Path) -> None:
    """Four right answers of 40 are chance among ten labels, and would not be among a hundred."""
    job = job_for(tmp_path, labels=(*LABELS, *(f"never {number}" for number in range(90))))
    agreed = [colour if colour == 4 else (colour + 1) % 10 for colour in job.agreed]
    report = candidate_of(msgspec.structs.replace(job, agreed=agreed))
    assert report.after == 4
    assert binom.sf(3, 40, 1 / 100) < 0.001
    assert report.why == "the new model is right on 4 of its 40 rows, no more than by chance"


def test_undecided_unanswered_and_damaged_inputs_are_left_out(tmp_path: Path) -> None:
    job = job_for(tmp_path)
    agreed, first = list(job.agreed), list(job.first)
    agreed[:10], first[5:20], first[30] = [-1] * 10, [-1] * 15, (first[30] + 1) % 10
    report = candidate_of(msgspec.structs.replace(job, agreed=agreed, first=first))
    assert (report.decided, report.used, report.otherwise) == (190, 180, 1)
    X, y = digits().rows[0]
    alone = clone(ESTIMATOR).fit(digits().pool[20:], digits().truth[20:])
    assert report.after == (alone.predict(X) == y).sum()
    with Path(job.pool).open("r+b") as file:  # one chunk holds all of it
        file.seek(100)
        file.write(b"damage")
    report = candidate_of(job)
    assert (report.used, report.why) == (0, "no input of the pool was decided and answered by its own model")


def test_columns_of_the_pool_are_put_where_the_model_has_them_and_keep_their_names(tmp_path: Path) -> None:
    names = [f"x{i}" for i in range(64)]
    schema = tuple(Column(name, low=0.0, high=16.0) for name in names)
    turned = tuple(Column(name) for name in reversed(names))
    data = digits()
    job = job_for_in(tmp_path / "turned", schema=schema, of_inputs=turned, pool=data.pool[:, ::-1])
    report = candidate_of(job)
    both = clone(ESTIMATOR).fit(
        np.vstack([data.rows[0][0], data.pool]), np.concatenate([data.rows[0][1], data.truth])
    )
    made = read_skops(f"{job.out}/model.skops")
    assert report.why is None
    assert (made.predict(data.test[0]) == both.predict(data.test[0])).all()
    assert (
        (Path(job.out) / "model.schema.toml")
        .read_text()
        .startswith('[[column]]\nname = "x0"\nlow = 0.0\nhigh = 16.0\n')
    )


def job_for_in(folder: Path, pool: Any = None, **changes: Any) -> Job:
    """The same in a new folder, with other inputs in the pool if there are any."""
    folder.mkdir()
    if pool is None:
        return job_for(folder, **changes)
    data = digits()
    other = type(data)(data.rows, np.ascontiguousarray(pool), data.truth, data.test)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "digits", lambda: other)
        return job_for(folder, **changes)


def test_before_is_what_the_model_that_votes_says_if_it_is_not_this_estimator(tmp_path: Path) -> None:
    """Clones of a weaker estimator would make the new model look better than it is beside the old one."""
    X, y = digits().rows[0]
    job = job_for(tmp_path)
    wrong = [5 if colour == 3 else 4 if colour == 9 else colour for colour in job.agreed]
    job = msgspec.structs.replace(job, agreed=wrong)
    assert candidate_of(job).why is None  # beside clones on 40 rows it is the better one
    strong = LogisticRegression(max_iter=500).fit(*digits().test)
    write_skops(Path(job.model), strong)
    report = candidate_of(job)
    assert report.before == (strong.predict(X) == y).sum()
    assert "which may have seen these rows" in report.compared_with
    assert report.why is not None
    assert "the new model loses" in report.why


def test_the_holdout_is_answered_by_the_model_that_has_seen_the_pool_alone(tmp_path: Path) -> None:
    X, y = digits().rows[1]
    np.savez(tmp_path / "holdout.npz", X=X, y=y)
    report = candidate_of(job_for(tmp_path, holdout=str(tmp_path / "holdout.npz")))
    said = clone(ESTIMATOR).fit(digits().pool, digits().truth).predict(X)
    told = {(true, answer): times for true, answer, times in report.anchor}
    assert told == Counter(zip(y.tolist(), said.tolist(), strict=True))
