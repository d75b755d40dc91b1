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
from support.network.real_moot import until

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


EATING = """
import subprocess
import sys
from pathlib import Path

import numpy as np
from sklearn.naive_bayes import GaussianNB


class Eating(GaussianNB):
    def fit(self, X, y):
        Path(__file__).with_name("eaten").touch()
        rows = [np.zeros(1 << 28, np.uint8) for _ in range(40)]  # 10 GB of addresses; no page is written to
        return super().fit(X, y)


class Leaving(GaussianNB):
    def fit(self, X, y):
        nap = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
        Path(__file__).with_name("left").write_text(str(nap.pid))
        return super().fit(X, y)


eating = Eating
leaving = Leaving
"""


def job_for(folder: Path, **changes: Any) -> Job:
    """The pool of digits for the first of seven members: all hold the right labels in the end.

    At first each is wrong on a third of the inputs, another third for everybody.
    """
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
    agreed = np.array([LABELS.index(label) for label in data.truth], dtype=np.int8)
    last = np.tile(agreed, (7, 1))
    wrong = (np.arange(len(agreed))[None, :] // 3 + 2 * np.arange(7)[:, None]) % 7 < 2
    first = np.where(wrong, (last + 1) % 10, last).astype(np.int8)
    (folder / "out").mkdir()
    header = motion.encoded()
    job = Job(
        motion_name(header).hex(), header, "north", agreed.tolist(), 0, first.tobytes(), last.tobytes(),
        str(folder / "pool"), str(folder / "own.npz"), "label", str(folder / "unfitted.skops"), 60, 1024,
        str(folder / "out"), (), 64, str(folder / "model.skops"), (), False, "", "",
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


def said(job: Job, when: str = "first") -> Any:
    """(participant, input): what everybody said, to be changed."""
    return np.frombuffer(getattr(job, when), dtype=np.int8).reshape(7, -1).copy()


def called(job: Job, names: list[int]) -> Job:
    """The same if everybody called the digits otherwise, from the beginning to the end."""
    calls = np.array(names, dtype=np.int8)
    first, last = (calls[each].tobytes() for each in (said(job), said(job, "last")))
    return msgspec.structs.replace(job, agreed=calls[job.agreed].tolist(), first=first, last=last)


def test_an_estimator_that_eats_memory_ends_its_own_process_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "eating_estimators.py").write_text(EATING)
    monkeypatch.syspath_prepend(tmp_path)
    job = job_for(tmp_path, estimator="eating_estimators:eating")
    with pytest.raises(ValueError, match=r"^the refit needs more memory than most_megabytes, 1,024 MB$"):
        refit_apart(job)
    assert (tmp_path / "eaten").exists(), "it was the estimator that took it"
    assert list(Path(job.out).iterdir()) == []


def test_processes_that_an_estimator_has_left_behind_are_ended_and_nobody_waits_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "leaving_estimators.py").write_text(EATING)
    monkeypatch.syspath_prepend(tmp_path)
    report = refit_apart(job_for(tmp_path, estimator="leaving_estimators:leaving"))
    assert report.after is not None
    left = Path(f"/proc/{(tmp_path / 'left').read_text()}/stat")
    # Whoever adopts orphans here may not have buried it yet.
    until(lambda: not left.exists() or left.read_text().split()[2] == "Z", "it is gone", 30.0)


def test_labels_that_promise_little_are_refused_whatever_own_rows_say(tmp_path: Path) -> None:
    """Own rows speak for the new model: it is right on more of them. But its old answers were the labels."""
    job = job_for(tmp_path)
    first = said(job)
    first[:] = job.agreed
    report = candidate_of(msgspec.structs.replace(job, first=first.tobytes()))
    assert report.after is not None
    assert report.before is not None
    assert report.after > report.before
    assert (report.otherwise, report.gain, report.shared) == (0, 0.0, 1.0)
    assert (
        report.why == "the labels promise a gain of 0.0% of the pool over its old model, too little to trust"
    )


def test_labels_that_trusted_peers_dispute_must_promise_more_than_is_disputed(tmp_path: Path) -> None:
    """Five of its six peers, whom its own rows speak for, hold something else on 40% in the end."""
    job = job_for(tmp_path)
    last = said(job, "last")
    last[1:6, :80] = (last[1:6, :80] + 1) % 10
    assert candidate_of(job).why is None
    report = candidate_of(msgspec.structs.replace(job, last=last.tobytes()))
    assert report.why is not None
    assert report.shared is not None
    assert 0.6 < report.shared < 0.7
    assert report.why.startswith("those that count for it announce other labels for 3")
    # One of six that lies about everything counts for less than a sixth, by what its first votes are worth.
    first, last = said(job), said(job, "last")
    first[6] = last[6] = (last[6] + 4) % 10
    report = candidate_of(msgspec.structs.replace(job, first=first.tobytes(), last=last.tobytes()))
    assert report.why is None
    assert report.shared is not None
    assert report.shared > 1 - 1 / 12


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
    report = candidate_of(called(job, [1, 2, 3, 4, 4, 6, 7, 8, 9, 0]))
    assert report.after == 4
    assert binom.sf(3, 40, 1 / 100) < 0.001
    assert report.why == "the new model is right on 4 of its 40 rows, no more than by chance"


def test_undecided_unanswered_and_damaged_inputs_are_left_out(tmp_path: Path) -> None:
    job = job_for(tmp_path)
    agreed, first = list(job.agreed), said(job)
    first[0] = agreed
    agreed[:10], first[0, 5:20], first[0, 30] = [-1] * 10, -1, (first[0, 30] + 1) % 10
    report = candidate_of(msgspec.structs.replace(job, agreed=agreed, first=first.tobytes()))
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
    job = called(job, [0, 1, 2, 5, 4, 5, 6, 7, 8, 4])  # 3 is called 5, and 9 is called 4
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
