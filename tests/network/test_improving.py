"""A node that improves by pools, in a whole moot on the memory transport; models and digits are real."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from folkmoot.learning.participants import stratified_shards
from folkmoot.network.service.holdout import Holdout
from folkmoot.network.service.improve import adopting
from folkmoot.network.service.improve.candidates import Candidates, Report
from folkmoot.network.service.improve.improving import Improving, Job
from folkmoot.network.storage.account import account
from folkmoot.network.storage.adoptions import Adoptions
from folkmoot.network.transports.memory import Weather
from folkmoot.network.wire import messages as m
from folkmoot.runs.refitting import candidate_of
from folkmoot.skops_files import read_skops, write_skops
from support.network.federated_moot import any_of
from support.network.improving_moot import ESTIMATOR, LABELS, POOL, Improved, ImprovingMoot, digits


class Gone(BaseException):
    """The process ends here."""


def made_model(folder: Path, report: Report) -> Any:
    """The model of a candidate."""
    return read_skops(str(folder / "improve" / report.motion / "model.skops"))


@contextmanager
def patch_log(member: Improved, *, gone: bool) -> Iterator[None]:
    """The process ends when the candidate is there and nothing was written about it yet."""
    improving = member.improving
    assert isinstance(improving, Improving)

    def end(*_: object) -> None:
        raise Gone

    if gone:
        setattr(improving, "_taken_in", end)  # noqa: B010 (a method is replaced)
    yield


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
        models, improving = moot.members[place].models, moot.members[place].improving
        assert models is not None
        assert improving is not None
        assert (improving.counts["candidates"], improving.counts["candidates_refused"]) == (1, 0)
        assert models.choice.current() == ""
    assert not (tmp_path / "p003" / "improve").exists()  # others have just voted
    second = moot.ask(data.test[0][:50], at=61.0)
    moot.network.run(until=120.0)
    model = clone(ESTIMATOR).fit(*data.rows[1])
    assert moot.first_votes(1, second) == model.predict(data.test[0][:50]).tolist()


def test_a_motion_under_way_keeps_its_model_through_adoption_crash_and_restart(tmp_path: Path) -> None:
    """Chunks travel for seconds: the model is adopted after the motion was opened and before it votes."""
    moot, data = ImprovingMoot(tmp_path, weather=Weather(delay=0.3)), digits()
    moot.ask(data.pool, improve=True)
    moot.network.run(until=60.0)
    member, storage = moot.members[1], moot.storages[1]
    (report,) = member.reports
    X = data.test[0][:60]
    old, new = clone(ESTIMATOR).fit(*data.rows[1]), made_model(member.settings.folder, report)
    before = moot.ask(X, at=61.0, chunk_rows=60)
    while not storage.knows(before):
        moot.network.run(until=moot.network.time + 0.05)
    assert storage.held(before).voted is None
    adopting.adopt(member.settings, storage, report)
    moot.crash(1)
    moot.start(1)
    after = moot.ask(X, at=moot.network.time, rounds=7)
    moot.network.run(until=130.0)
    assert moot.first_votes(1, before) == old.predict(X).tolist()
    assert moot.first_votes(1, after) == new.predict(X).tolist()
    # The other way round: undone while a motion that the adopted model votes in is under way.
    during = moot.ask(X, at=131.0, rounds=8)
    while not storage.knows(during):
        moot.network.run(until=moot.network.time + 0.05)
    adopting.undo(member.settings, storage)
    moot.crash(1)
    moot.start(1)
    moot.network.run(until=200.0)
    assert moot.first_votes(1, during) == new.predict(X).tolist()
    assert (old.predict(X) != new.predict(X)).any()


@pytest.mark.parametrize("when", ["while it talks", "before the refit", "while it refits", "before the log"])
def test_a_crash_on_the_way_loses_no_candidate_and_makes_no_second(when: str, tmp_path: Path) -> None:
    jobs: list[str] = []

    def refit(job: Job) -> Report:
        jobs.append(job.motion)
        if when == "while it refits" and len(jobs) == 1:
            raise Gone
        return candidate_of(job)

    moot, data = ImprovingMoot(tmp_path, refit=refit), digits()
    name = moot.ask(data.pool, improve=True)
    storage, member = moot.storages[1], moot.members[1]

    def past() -> bool:
        closed = storage.knows(name) and storage.motion(name).closed is not None
        if when == "while it talks":
            return storage.held(name).voted is not None
        return closed if when == "before the refit" else bool(jobs)

    with patch_log(member, gone=when == "before the log"), suppress(Gone):
        while not past():
            moot.network.run(until=moot.network.time + 0.01)
    moot.crash(1)
    moot.start(1)
    moot.network.run(until=moot.network.time + 90.0)
    (report,) = member.reports
    assert (report.motion, report.why) == (name.hex(), None)
    assert jobs == [name.hex()] * (2 if when == "while it refits" else 1)
    entries = [entry.details for entry in storage.check_audit() if entry.details.get("event") == "candidate"]
    assert [(each["pool"], each["model"]) for each in entries] == [
        (name.hex(), report.digests["model.skops"])
    ]
    assert sorted(path.name for path in (member.settings.folder / "improve").iterdir()) == [name.hex()]
    for _ in range(2):  # nor do further starts, or the announcement of an old motion
        moot.crash(1)
        moot.start(1)
        stored, node = storage.motion(name), moot.nodes[1]
        assert node is not None
        node.received(0, m.encode(m.Announce(stored.header, stored.signature, 10.0)))
        moot.network.run(until=moot.network.time + 60.0)
    assert len(jobs) == (2 if when == "while it refits" else 1)


def test_a_pool_that_ends_the_node_each_time_is_given_up(tmp_path: Path) -> None:
    def refit(job: Job) -> Report:
        raise Gone(job.motion)

    moot, data = ImprovingMoot(tmp_path, refit=refit), digits()
    moot.ask(data.pool, improve=True)
    for _ in range(5):
        with suppress(Gone):
            moot.network.run(until=moot.network.time + 40.0)
        moot.crash(1)
        moot.start(1)
    (report,) = moot.members[1].reports
    assert report.why == "the node was stopped in 3 refits of this pool"


def test_six_liars_of_seven_mislabel_a_pool_and_own_rows_speak_against_it(tmp_path: Path) -> None:
    """The liars call each digit the next one, and win the talk."""
    moot, data = ImprovingMoot(tmp_path, (0, 1), liars=range(1, 7)), digits()
    name = moot.ask(data.pool, improve=True)
    moot.network.run(until=60.0)
    told = account(moot.storages[0], moot.storages[0].motion(name))
    right = sum(said == true for said, true in zip(told.decisions, data.truth, strict=True))
    assert right < POOL / 10
    (report,) = moot.members[0].reports
    assert report.why is not None
    assert "the labels promise a gain of -" in report.why
    assert report.gain is not None
    assert report.gain < -0.5
    assert report.after is not None
    assert report.after < report.rows / 10
    assert sorted(p.name for p in (tmp_path / "p000" / "improve" / name.hex()).iterdir()) == ["report.json"]
    settings, storage = moot.members[0].settings, moot.storages[0]
    with pytest.raises(ValueError, match="was refused: the labels promise"):
        adopting.adopt(settings, storage, adopting.candidate_in(settings, storage, None))
    assert Adoptions(storage).pile() == []


@pytest.mark.parametrize(
    ("changes", "terms", "why"),
    [
        ({"asker": 2}, {}, None),  # not listed: it just votes
        ({}, {"most_rows": POOL - 1}, "a pool may hold 199 inputs at the most: got 200"),
        ({}, {"pools_a_day": 1}, "1 pools were taken in the last 24 hours"),
        ({"improve": False}, {}, None),
    ],
)
def test_whose_pools_are_kept_and_how_much(
    changes: dict[str, Any], terms: dict[str, int], why: str | None, tmp_path: Path
) -> None:
    moot, data = ImprovingMoot(tmp_path, terms=terms), digits()
    if "pools_a_day" in terms:
        moot.ask(data.pool, improve=True)
        moot.network.run(until=60.0)
    there = len(moot.members[1].reports)
    name = moot.ask(data.pool, at=moot.network.time, **{"improve": True, "rounds": 7, **changes})
    moot.network.run(until=moot.network.time + 60.0)
    assert None not in moot.first_votes(1, name), "it votes all the same"
    assert len(moot.members[1].reports) == there
    said = [each["why"] for each in moot.members[1].log if each["event"] == "pool not kept"]
    assert said == ([] if why is None else [why])
    assert not list((tmp_path / "p001").glob("improve/*.pool"))


def test_a_node_takes_its_own_pools(tmp_path: Path) -> None:
    moot, data = ImprovingMoot(tmp_path, (3,), askers=()), digits()
    moot.ask(data.pool, asker=3, improve=True)
    moot.network.run(until=60.0)
    (report,) = moot.members[3].reports
    assert (report.asker, report.why) == ("p003", None)


def test_a_federated_pool_is_labelled_by_what_the_nodes_own_quorum_set_decides(tmp_path: Path) -> None:
    """p001 goes by the honest, p002 by the two that call each digit the next one."""
    honest, liars = any_of(4, 0, 1, 2, 3, 4), any_of(2, 5, 6)
    sets = dict.fromkeys(range(7), honest) | {2: any_of(3, 2, 5, 6), 5: liars, 6: liars}
    moot, data = ImprovingMoot(tmp_path, (1, 2), liars=(5, 6), quorum_sets=sets), digits()
    terms: dict[str, Any] = {"protocol": "federated", "k": 1, "alpha": 0, "beta": 1, "rounds": 16}
    name = moot.ask(data.pool[:60], improve=True, **terms)
    moot.network.run(until=60.0)
    for place in (1, 2):
        (report,) = moot.members[place].reports
        told = account(moot.storages[place], moot.storages[place].motion(name))
        assert report.decided == 60 - told.undecided
        decided = [label for label in told.decisions if label is not None]
        assert report.labels == dict(Counter(decided)), "as this node sees it"
    assert moot.members[1].reports[0].used > 30


def test_a_second_pool_is_measured_beside_the_adopted_model_and_undo_goes_back_step_by_step(
    tmp_path: Path,
) -> None:
    """The first pool is small, so that the second has something to add to what came of it."""
    moot, data = ImprovingMoot(tmp_path), digits()
    member, storage = moot.members[1], moot.storages[1]
    moot.ask(data.pool[:25], improve=True)
    moot.network.run(until=60.0)
    (first,) = member.reports
    adopting.adopt(member.settings, storage, first)
    moot.ask(data.pool[25:], at=61.0, improve=True)
    moot.network.run(until=120.0)
    second = member.reports[-1]
    X, y = data.rows[1]
    assert second.before == first.after, "the twin of the adopted model has not seen own rows either"
    assert "adopted model" in second.compared_with
    twin = read_skops(str(member.settings.folder / "improve" / first.motion / "unseen.skops"))
    assert second.before == (twin.predict(X) == y).sum()
    assert second.why is None
    assert adopting.adopt(member.settings, storage, second).former == first.motion
    assert adopting.undo(member.settings, storage).votes == first.motion
    assert adopting.undo(member.settings, storage).votes == ""
    with pytest.raises(ValueError, match="nothing was adopted"):
        adopting.undo(member.settings, storage)


def test_another_model_in_node_toml_votes_instead_of_an_adopted_one(tmp_path: Path) -> None:
    moot, data = ImprovingMoot(tmp_path), digits()
    member, storage = moot.members[1], moot.storages[1]
    moot.ask(data.pool, improve=True)
    moot.network.run(until=60.0)
    adopting.adopt(member.settings, storage, member.reports[0])
    newer = clone(ESTIMATOR).fit(*data.rows[5])
    write_skops(Path(member.settings.model), newer)  # by its operator
    moot.crash(1)
    moot.start(1)
    X = data.test[0][:60]
    name = moot.ask(X, at=61.0)
    moot.network.run(until=120.0)
    assert moot.first_votes(1, name) == newer.predict(X).tolist()


def test_a_candidate_that_was_replaced_or_is_gone_neither_votes_nor_stops_the_votes_of_others(
    tmp_path: Path,
) -> None:
    moot, data = ImprovingMoot(tmp_path), digits()
    member, storage = moot.members[1], moot.storages[1]
    moot.ask(data.pool, improve=True)
    moot.network.run(until=60.0)
    (report,) = member.reports
    path = member.settings.folder / "improve" / report.motion / "model.skops"
    whole = path.read_bytes()
    write_skops(path, clone(ESTIMATOR).fit(*data.rows[5]))
    with pytest.raises(ValueError, match="is not the file that was made"):
        adopting.adopt(member.settings, storage, report)
    path.write_bytes(whole)
    adopting.adopt(member.settings, storage, report)
    path.unlink()
    name = moot.ask(data.test[0][:20], at=61.0)
    moot.network.run(until=120.0)
    assert moot.first_votes(1, name) == [None] * 20
    told = account(moot.storages[0], moot.storages[0].motion(name))
    assert (told.undecided < 20, told.abstained["p001"]) == (True, "its model failed")
    moot.crash(1)
    with pytest.raises(ValueError, match=r"cannot be used: .*is gone.*--undo"):
        moot.start(1)
    adopting.undo(member.settings, storage)
    moot.start(1)


def test_trust_in_an_adopted_model_rests_on_its_twin_that_has_not_seen_own_rows(tmp_path: Path) -> None:
    """The holdout may be the very rows that the new model was fitted to: it answers all of them right."""
    moot, data = ImprovingMoot(tmp_path), digits()
    member, storage = moot.members[1], moot.storages[1]
    member.settings = replace(member.settings, holdout=member.settings.folder / "own.npz")
    moot.crash(1)
    moot.start(1)
    moot.ask(data.pool, improve=True)
    moot.network.run(until=60.0)
    (report,) = member.reports
    adopting.adopt(member.settings, storage, report)
    name = moot.ask(data.test[0][:20], at=61.0)
    moot.network.run(until=120.0)
    assert member.models is not None
    _, holdout = member.models.choice.of(name)
    X, y = data.rows[1]
    twin = read_skops(str(member.settings.folder / "improve" / report.motion / "unseen.skops"))
    expected = Holdout(zip(y.tolist(), twin.predict(X).tolist(), strict=True)).anchor(LABELS)
    found = holdout.anchor(LABELS)
    assert found is not None
    assert expected is not None
    assert (found.right, found.held_out) == (expected.right, expected.held_out) == (report.after, len(y))


def test_the_latest_candidates_stay_and_all_that_were_adopted(tmp_path: Path) -> None:
    candidates = Candidates(tmp_path)
    names = [f"{number:064x}" for number in range(12)]
    for number, name in enumerate(names):
        candidates.install(Report(name, "north", float(number), 10))
    candidates.prune({names[0], names[2]}, 8)
    assert [each.motion for each in candidates.reports()] == [names[0], names[2], *names[4:]]
    with pytest.raises(ValueError, match="must begin the name of one motion: 10 candidates do"):
        candidates.find("0000")
    (tmp_path / "improve" / names[5] / "report.json").write_text("{")
    assert len(candidates.reports()) == 9
    with pytest.raises(ValueError, match="is damaged"):
        candidates.report(names[5])


def test_pools_are_not_kept_when_improve_is_taken_out(tmp_path: Path) -> None:
    def refit(job: Job) -> Report:
        raise Gone(job.motion)

    moot = ImprovingMoot(tmp_path, refit=refit)
    moot.ask(digits().pool, improve=True)
    with suppress(Gone):
        moot.network.run(until=60.0)
    assert list(tmp_path.glob("p001/improve/*.pool"))
    (tmp_path / "p001" / "improve" / "notes.pool").write_text("of the operator")
    moot.crash(1)
    moot.members[1].settings = replace(moot.members[1].settings, improve=None)
    moot.start(1)
    assert [path.name for path in tmp_path.glob("p001/improve/*.pool")] == ["notes.pool"]
