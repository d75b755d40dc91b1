"""A moot of real processes that can do all: check rows, probabilities; one has a page.

Four members with small models of digits. The first has the page; the last shows no check rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

from folkmoot.arrays import Array
from folkmoot.files.skops_files import write_skops
from folkmoot.network.service.policy import Policy
from folkmoot.runs.processes import Nodes, prepare
from support.ports import held_port
from support.network.real_moot import started

N = 4
TEST = 480  # the first row that no model was fitted to, and some more
ROWS = 40  # of each to fit its model to
ESTIMATOR = GaussianNB(var_smoothing=0.05)


def _digits() -> tuple[Array, Array]:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], y[order].astype(str)


@contextmanager
def all_kinds(folder: Path) -> Iterator[Nodes]:
    """The nodes, all of them started; none is left at the end."""
    X, y = _digits()
    models = [folder / f"model{place}.skops" for place in range(N)]
    for place, path in enumerate(models):
        write_skops(path, clone(ESTIMATOR).fit(X[place * ROWS :][:ROWS], y[place * ROWS :][:ROWS]))
    nodes = prepare(folder, [str(path) for path in models], {})
    for place in range(N):
        start = TEST + 600 + ROWS * place
        path = folder / f"holdout{place}.npz"
        np.savez(path, X=X[start:][:ROWS], y=y[start:][:ROWS])
        nodes.settings[place] = replace(
            nodes.settings[place], holdout=path, policy=Policy(check_rows=20 if place < N - 1 else 0),
        )  # fmt: skip
    with held_port() as port:
        nodes.pages[0] = f"127.0.0.1:{port}"
        with started(nodes):
            yield nodes


def table_of(start: int, stop: int) -> str:
    """Some rows as a table, whose columns have no names."""
    return "\n".join(",".join(f"{x:g}" for x in row) for row in _digits()[0][TEST:][start:stop]) + "\n"
