"""The models of a local moot: with trust, the rows held out are given back and their answers kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import skops.io

from folkmoot.datasets import load_digits_moot
from folkmoot.learning.base_learners import MODELS
from folkmoot.runs.local_moot import LocalMoot, _fit


def test_nodes_have_models_of_all_rows_and_answers_of_models_that_had_not_seen_them(tmp_path: Path) -> None:
    data = load_digits_moot(6, 10.0, 0)
    assert data.X_test is not None
    assert data.y_test is not None
    inputs, truth = data.X_test[:20], data.y_test[:20]
    files, holdouts, measured = _fit(data, tmp_path, {5}, inputs, truth, LocalMoot(trust=True), None)
    assert sorted(holdouts) == [0, 1, 2, 3, 4]
    for place, path in holdouts.items():
        rows, labels = data.X[data.groups == place], data.y[data.groups == place]
        held = np.arange(len(labels)) % 3 == 2
        types = skops.io.get_untrusted_types(file=files[place])
        model = skops.io.load(files[place], trusted=types)
        assert np.array_equal(model.predict(inputs), MODELS["logistic"]().fit(rows, labels).predict(inputs))
        before = MODELS["logistic"]().fit(rows[~held], labels[~held]).predict(rows[held])
        with np.load(path) as file:
            told = sorted(zip(file["y"].tolist(), file["answers"].tolist(), strict=True))
        assert told == sorted(zip(labels[held].tolist(), before.tolist(), strict=True))
        assert measured[:, place].tolist() == [(before == labels[held]).sum(), held.sum()]
    without, none, _ = _fit(data, tmp_path, {5}, inputs, truth, LocalMoot(), None)
    assert (len(without), none) == (6, {})


def test_with_peer_review_all_hold_rows_out_that_no_model_has_seen(tmp_path: Path) -> None:
    data = load_digits_moot(6, 10.0, 0)
    assert data.X_test is not None
    assert data.y_test is not None
    inputs, truth = data.X_test[:20], data.y_test[:20]
    files, holdouts, _ = _fit(data, tmp_path, {5}, inputs, truth, LocalMoot(check_rows=10), None)
    assert sorted(holdouts) == [0, 1, 2, 3, 4, 5], "those who lie have rows to lie about"
    for place, path in holdouts.items():
        rows, labels = data.X[data.groups == place], data.y[data.groups == place]
        held = np.arange(len(labels)) % 3 == 2
        with np.load(path) as file:
            assert np.array_equal(file["X"], rows[held])
            assert np.array_equal(file["y"], labels[held])
        if place != 5:
            model = skops.io.load(files[place], trusted=skops.io.get_untrusted_types(file=files[place]))
            unseen = MODELS["logistic"]().fit(rows[~held], labels[~held])
            assert np.array_equal(model.predict(inputs), unseen.predict(inputs))
