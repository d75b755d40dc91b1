"""Writers with a few labelled characters each, a pool that nobody has labelled, and inputs to test on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from experiments.femnist.writer_votes import CASE, COLOURS, drawn_test, rows_of_task
from experiments.femnist.writers import LETTERS, Choice, choose
from folkmoot.arrays import Floats, Ints, Singles
from folkmoot.datasets.femnist import femnist_counts
from folkmoot.learning.first_votes import chances_of
from folkmoot.learning.known_rows import own_answers
from folkmoot.learning.participants import Participant, Task, learnt_on
from folkmoot.votes import in_levels

LOGISTIC, FOREST = "logistic regression", "random forest"
_FEWEST: Final = 10  # rows of a writer


@dataclass(frozen=True)
class Setting:
    """Which writers, how many rows each has, which model, how large the pool and the test set are."""

    data: str | None
    task: str
    model: str
    writers: int
    test_writers: int = 100
    fewest: int = _FEWEST
    most: int = 48
    inputs: int = 1000
    tested: int = 2000
    trees: int = 50


@dataclass(frozen=True, eq=False)
class Writers:
    """Rows by writer, the pool and the test set; ``owner`` is the place of a row's writer."""

    setting: Setting
    seed: int
    X: Singles
    y: Ints
    owner: Ints
    pool: Singles
    pool_truth: Ints
    tested: Singles
    truth: Ints

    @property
    def classes(self) -> int:
        """The number of classes."""
        return COLOURS[self.setting.task]

    @property
    def rows_of(self) -> list[Ints]:
        """The rows of each writer."""
        return [np.flatnonzero(self.owner == i) for i in range(int(self.owner.max()) + 1)]

    def task_of(self, i: int) -> Task:
        """What a writer fits on."""
        rows = np.flatnonzero(self.owner == i)
        model = model_of(self.setting)
        return Task(str(i), model, None, self.X[rows], self.y[rows], None, rows[:0], self.seed * 1000 + i)


@dataclass(frozen=True, eq=False)
class Voted:
    """Fitted models, and what they say of rows and then inputs: (writer, row or input, class)."""

    votes: Floats
    models: list[Participant]
    before: Floats  # (writer,): accuracy on the test set
    unseen: list[Floats]  # (row, class) of each: its own rows, by models that have not seen them


def draw(setting: Setting, seed: int) -> Writers:
    """The writers and rows of a seed; each writer keeps 10 to 48 rows, as many as are drawn for it."""
    choice = who_takes_part(setting, seed)
    rows = rows_of_task(setting.data, setting.task, choice)
    X_test, truth, _ = drawn_test(rows, choice.test, seed, setting.inputs + setting.tested)
    rng = np.random.default_rng([seed, 12])
    mine = []
    for name in choice.train:
        places = rng.permutation(np.flatnonzero(rows.groups == name))
        mine.append(places[: int(rng.integers(setting.fewest, setting.most + 1))])
    order = rng.permutation(len(truth))
    pool, tested = order[: setting.inputs], order[setting.inputs :]
    chosen = np.concatenate(mine)
    return Writers(
        setting,
        seed,
        rows.X[chosen],
        rows.y[chosen].astype(np.int64),
        np.repeat(np.arange(len(mine)), [len(each) for each in mine]),
        X_test[pool],
        truth[pool],
        X_test[tested],
        truth[tested],
    )


def who_takes_part(setting: Setting, seed: int) -> Choice:
    """The first writers, in the order drawn, that have enough rows of the task: some wrote no digit."""
    names, counts = femnist_counts(setting.data)
    of_task = counts[:, LETTERS if setting.task == CASE else slice(0, LETTERS.start)].sum(axis=1)
    able = set(names[of_task >= setting.fewest].tolist())
    asked, wanted = setting.writers, setting.writers
    while True:
        choice = choose(setting.data, seed, asked, setting.test_writers)
        train = tuple(name for name in choice.train if name in able)
        if len(train) >= wanted or len(choice.train) < asked:  # enough, or the data have no more
            return Choice(train[:wanted], choice.test)
        asked += wanted - len(train)


def model_of(setting: Setting) -> Any:
    """An unfitted model, as scikit-learn has it but for the number of trees."""
    if setting.model == FOREST:
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(setting.trees, n_jobs=1)
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


def vote(drawn: Writers) -> Voted:
    """Fit every writer's model, and ask all about all rows and the pool."""
    classes = np.arange(drawn.classes)
    asked = np.concatenate([drawn.X, drawn.pool])
    votes, models, before, unseen = [], [], [], []
    for i, rows in enumerate(drawn.rows_of):
        task = drawn.task_of(i)
        person = learnt_on(task, np.arange(len(rows)))
        said = np.asarray(chances_of(person, asked, classes))
        own = own_answers(task, person, np.arange(len(rows)), classes, soft=True)
        if own is None:
            raise RuntimeError(f"the model of writer {i} cannot be fitted on four fifths of its rows")
        said[rows] = own
        votes.append(in_levels(said))
        models.append(person)
        unseen.append(np.asarray(own, dtype=np.float64))
        before.append(accuracy(person, drawn))
    return Voted(np.stack(votes), models, np.array(before), unseen)


def accuracy(person: Participant, drawn: Writers) -> float:
    """How often a model is right on the test set."""
    return float((np.asarray(person.predict(drawn.tested)) == drawn.truth).mean())
