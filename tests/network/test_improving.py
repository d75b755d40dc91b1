"""A node that improves by pools, in a whole moot on the memory transport; models and digits are real."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.base import clone

from folkmoot.learning.participants import stratified_shards
from folkmoot.network.service.improve import adopting
from folkmoot.network.storage.account import account
from folkmoot.skops_files import read_skops
from support.network.improving_moot import ESTIMATOR, LABELS, POOL, ImprovingMoot, digits


def test_a_pool_becomes_a_candidate_by_the_rule_of_improve_and_nothing_is_adopted(tmp_path: Path) -> None:
    moot, data = ImprovingMoot(tmp_path, (1, 2)), digits()
    name = moot.ask(data.pool, improve=True)
    moot.network.run(until=60.0)
    for place in (1, 2):
        (report,) = moot.members[place].reports
        X, y = data.rows[place]
        told = account(moot.storages[place], moot.storages[place].motion(name))
        decided = np.array([label is not None for label in told.decisions])
        assert report.why is None, report
        assert (report.motion, report.asker, report.inputs) == (name.hex(), "p000", POOL)
        assert report.decided == report.used == decided.sum() > POOL // 2
        # Once more, by scikit-learn alone.
        labels = np.array([label for label in told.decisions if label is not None])
        alone = clone(ESTIMATOR).fit(data.pool[decided], labels)
        both = clone(ESTIMATOR).fit(np.vstack([X, data.pool[decided]]), np.concatenate([y, labels]))
        folds = stratified_shards(y, 5, np.random.default_rng(int(name.hex()[:8], 16)))
        before = np.empty_like(y)
        for fold in folds:
            rest = np.setdiff1d(np.arange(len(y)), fold)
            before[fold] = clone(ESTIMATOR).fit(X[rest], y[rest]).predict(X[fold])
        after = alone.predict(X)
        assert (report.before, report.after) == ((before == y).sum(), (after == y).sum())
        assert sum(each.rows for each in report.changes) == (before != after).sum()
        for each in report.changes:
            those = (before == each.before) & (after == each.after)
            assert each.rows == those.sum()
            assert each.right_before == (those & (before == y)).sum()
            assert each.right_after == (those & (after == y)).sum()
        own = np.array(moot.first_votes(place, name))[decided]
        assert report.otherwise == (own != labels).sum()
        assert report.labels == {label: (labels == label).sum() for label in set(labels)}
        folder = moot.members[place].settings.folder / "improve"
        new = read_skops(str(folder / name.hex() / "model.skops"))
        assert (new.predict(data.test[0]) == both.predict(data.test[0])).all()
        assert sorted(path.name for path in folder.iterdir()) == [name.hex()]  # no pool is left
        models = moot.members[place].models
        assert models is not None
        assert models.choice.current() == ""
    assert not (tmp_path / "p003" / "improve").exists()  # others have just voted
    second = moot.ask(data.test[0][:50], at=61.0)
    moot.network.run(until=120.0)
    model = clone(ESTIMATOR).fit(*data.rows[1])
    assert moot.first_votes(1, second) == model.predict(data.test[0][:50]).tolist()


def test_an_adopted_model_votes_from_the_next_motion_on_and_undo_goes_back(tmp_path: Path) -> None:
    moot, data = ImprovingMoot(tmp_path), digits()
    moot.ask(data.pool, improve=True)
    moot.network.run(until=60.0)
    member, storage = moot.members[1], moot.storages[1]
    report = adopting.candidate_in(member.settings, storage, None)
    assert adopting.adopt(member.settings, storage, report).former == ""
    X = data.test[0][:60]
    new = read_skops(str(member.settings.folder / "improve" / report.motion / "model.skops"))
    old = clone(ESTIMATOR).fit(*data.rows[1])
    assert (new.predict(X) != old.predict(X)).any()
    second = moot.ask(X, at=61.0)
    moot.network.run(until=120.0)
    assert moot.first_votes(1, second) == new.predict(X).tolist()
    step = adopting.undo(member.settings, storage)
    assert (step.former, step.votes) == (report.motion, "")
    third = moot.ask(X, at=121.0, rounds=16)
    moot.network.run(until=180.0)
    assert moot.first_votes(1, third) == old.predict(X).tolist()
    assert LABELS[0] in report.knows
