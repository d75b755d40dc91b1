"""A moot of real processes that can do all: check rows, pools, quorum sets, probabilities; one has a page.

Four members with small models of digits. The first has the page and improves by pools of its own; the last
shows no check rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.base import clone

from folkmoot.federated.quorum_set import QuorumSet
from folkmoot.network.service.policy import Policy
from folkmoot.runs.processes import Nodes, name_of, prepare
from folkmoot.runs.refitting import candidate_of
from folkmoot.skops_files import write_skops
from support.network.improving_moot import ESTIMATOR, digits, improving_settings
from support.network.ports import held_port
from support.network.real_moot import started

N = 4


@contextmanager
def all_kinds(folder: Path) -> Iterator[Nodes]:
    """The nodes, all of them started; none is left at the end."""
    data = digits()
    models = [folder / f"model{place}.skops" for place in range(N)]
    for place, path in enumerate(models):
        write_skops(path, clone(ESTIMATOR).fit(*data.rows[place]))
    nodes = prepare(folder, [str(path) for path in models], {})
    test, truth = data.test
    for place in range(N):
        held = slice(600 + 40 * place, 640 + 40 * place)
        path = folder / f"holdout{place}.npz"
        np.savez(path, X=test[held], y=truth[held])
        nodes.settings[place] = replace(
            nodes.settings[place], holdout=path, policy=Policy(check_rows=20 if place < N - 1 else 0),
            quorum_set=QuorumSet(3, [name_of(each) for each in range(N)]),
        )  # fmt: skip
    improve = improving_settings(nodes.settings[0].folder, *data.rows[0], []).improve
    if improve is not None:
        improve = replace(improve, adopt_by_page=True)
    nodes.settings[0] = replace(nodes.settings[0], improve=improve, refit=candidate_of)
    with (nodes.settings[0].folder / "node.toml").open("a") as file:  # for folkmoot node adopt
        file.write(f'roster = "../roster.toml"\nmodel = "../{models[0].name}"\n')
    with held_port() as port:
        nodes.pages[0] = f"127.0.0.1:{port}"
        with started(nodes):
            yield nodes


def table_of(start: int, stop: int) -> str:
    """Some rows as a table, whose columns have no names."""
    return "\n".join(",".join(f"{x:g}" for x in row) for row in digits().test[0][start:stop]) + "\n"
