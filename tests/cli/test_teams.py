"""``--teams`` of ``folkmoot deliberate`` and ``folkmoot learn``, and the file that it reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from folkmoot import Hierarchy, Slush, compare, deliberate
from folkmoot.learning import ConsensusClassifier
from folkmoot.team_files import read_teams
from support.command import assert_refused, run, run_json

TEAMS = {"north": ["w0", "w3", "w6"], "south": ["w1", "w4", "w7"], "west": ["w2", "w5", "w8"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("teams")
    generator = np.random.default_rng(3)
    rows = [f"t{i},w{j},{'ab'[int(generator.random() < 0.75)]}" for i in range(30) for j in range(9)]
    (path / "votes.csv").write_text("\n".join(["task,worker,label", *rows]))
    written(path / "teams.csv", [(who, team) for team, members in TEAMS.items() for who in members])
    return path


def written(path: Path, rows: list[tuple[str, str]], header: str = "participant,team") -> Path:
    path.write_text("\n".join([header, *(",".join(row) for row in rows)]))
    return path


def test_votes_of_a_file(folder: Path) -> None:
    arguments = ["deliberate", folder / "votes.csv", "--teams", folder / "teams.csv", "--repeats", "3"]
    result = run_json(*arguments, "--json")
    assert result["teams"] == 3
    assert result["agreement"] > 0.99
    # The same as by hand: members by name, k and alpha of the prompt at both levels.
    assert "slush in 3 teams, 3 times" in run(*arguments).stdout
    assert run_json("deliberate", folder / "votes.csv", "--repeats", "1", "--json")["teams"] is None


def test_a_file_of_teams(folder: Path) -> None:
    assert read_teams(folder / "teams.csv") == TEAMS


@pytest.mark.parametrize(
    ("rows", "header", "message"),
    [
        ([("w0", "a"), ("w0", "b")], "participant,team", "line 3: w0 is there twice"),
        ([("w0", "a")], "who,team", "must have the columns participant,team: it has who, team"),
        ([("w0", "a")], "participant,team", "everybody must be in one team: 'w1' is in none"),
        ([("zz", "a")], "participant,team", "team 'a' names 'zz', who is no participant: w0, w1, w2"),
        ([("w0", "")], "participant,team", "line 2: expected a participant and its team"),
        ([], "participant,team", "teams.csv"),
    ],
)  # fmt: skip
def test_refused_files(
    folder: Path, tmp_path: Path, rows: list[tuple[str, str]], header: str, message: str
) -> None:
    teams = written(tmp_path / "teams.csv", rows, header)
    assert_refused(message, "deliberate", folder / "votes.csv", "--teams", teams)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--play", "x.html"], "--play is about one talk, and --teams makes several: leave one out"),
        (
            ["--protocol", "hierarch"],
            "--protocol must be one of slush, snowflake, snowball, leaders, federated, hierarchy: got",
        ),
        (["--delay", "3"], "--delay is for --protocol federated: got --protocol slush"),
        (
            ["--attack", "misstating"],
            "misstating lies about ballots: it is for --protocol federated",
        ),
    ],
)
def test_options_that_do_not_go_together(folder: Path, options: list[str], message: str) -> None:
    assert_refused(message, "deliberate", folder / "votes.csv", "--teams", folder / "teams.csv", *options)


def test_hierarchy_is_a_word_for_slush_in_teams(folder: Path) -> None:
    typed = ["deliberate", folder / "votes.csv", "--repeats", "2"]
    named = run_json(*typed, "--teams", folder / "teams.csv", "--protocol", "hierarchy")
    plain = run_json(*typed, "--teams", folder / "teams.csv")
    assert named["protocol"] == "hierarchy"
    assert named["hierarchy"] == named["consensus"]
    same = ("agreement", "rounds", "queries", "undecided", "teams")
    assert [named[key] for key in same] == [plain[key] for key in same]
    assert_refused("--protocol hierarchy needs --teams TEAMS.csv", *typed, "--protocol", "hierarchy")


def test_compare_goes_by_names() -> None:
    generator = np.random.default_rng(4)
    votes = (generator.random((9, 40)) < 0.7).astype(int)
    rule = Hierarchy(TEAMS, Slush(2, 2), Slush(2, 2))
    report = compare(votes, rule, names=[f"w{i}" for i in range(9)], repeats=2, seed=1)
    assert report.protocol.startswith("Hierarchy of 3 teams (inside Slush k=2, alpha=2; outside Slush")
    numbers = Hierarchy([[0, 3, 6], [1, 4, 7], [2, 5, 8]], Slush(2, 2), Slush(2, 2))
    by_hand = deliberate(votes, numbers, repeats=2, seed=1, missing="absent")
    assert (report.outcome.decisions == by_hand.decisions).all()


class TestEstimator:
    def fitted(self, **settings: Any) -> tuple[ConsensusClassifier, Any, Any]:
        generator = np.random.default_rng(5)
        y = generator.integers(2, size=300)
        X = y[:, None] + generator.normal(0, 1.0, (300, 2))
        names = [f"w{i % 9}" for i in range(300)]
        moot = ConsensusClassifier([GaussianNB()], random_state=0, **settings).fit(X, y, groups=names)
        return moot, X, y

    def test_teams_by_names(self) -> None:
        rule = Hierarchy(TEAMS, Slush(10, 6), Slush(10, 6))
        moot, X, y = self.fitted(protocol=rule)
        assert moot.protocol_.members == ((0, 3, 6), (1, 4, 7), (2, 5, 8))
        assert moot.score(X, y) > 0.75
        few, all_ = moot.deliberate(X[:7]), moot.deliberate(X)
        assert (few.decision == all_.decision[:7]).all()
        assert (moot.report(X, y, stacking=False).accuracy("consensus") or 0.0) > 0.75

    def test_one_that_cannot_answer_is_left_out_of_its_team(self) -> None:
        rule = Hierarchy(TEAMS, Slush(10, 6), Slush(10, 6))
        moot, X, _ = self.fitted(protocol=rule)
        del moot.participants_[4].model.theta_  # without which it cannot predict
        with pytest.warns(UserWarning, match="predict failed"):
            outcome = moot.deliberate(X[:20])
        assert not outcome.honest[4]
        assert (outcome.decisions[4] == -1).all()
        assert outcome.agreement.min() == 1.0
        assert outcome.played is not None
        assert outcome.query(0)[0].tolist() == [2, 1, 2, 2, 0, 2, 2, 1, 2]

    @pytest.mark.parametrize("trust", ["self-anchored", "peer-review"])
    def test_by_trust_and_peer_review(self, trust: Any) -> None:
        moot, X, y = self.fitted(protocol=Hierarchy(TEAMS, Slush(10, 6), Slush(10, 6)), trust=trust)
        outcome = moot.deliberate(X, y)
        assert outcome.opened is not None
        assert outcome.accuracy(y) > 0.75

    def test_refused(self) -> None:
        rule = Hierarchy({**TEAMS, "west": ["w2", "w5"]}, Slush(2, 2), Slush(2, 2))
        with pytest.raises(ValueError, match="everybody must be in one team: 'w8' is in none"):
            self.fitted(protocol=rule)
        moot, X, _ = self.fitted(protocol=Hierarchy(TEAMS, Slush(2, 2), Slush(2, 2)))
        recorded = moot.deliberate(X[:5], record=True)
        with pytest.raises(ValueError, match="Hierarchy has no turns; history and plot"):
            recorded.turns(0)


def test_learn_and_predict_by_teams(tmp_path: Path) -> None:
    generator = np.random.default_rng(6)
    right = generator.integers(2, size=120)
    rows = [
        f"{x:.3f},s{i % 6},{'ny'[y]}"
        for i, (x, y) in enumerate(zip(right + generator.normal(0, 0.4, 120), right, strict=True))
    ]
    table = tmp_path / "table.csv"
    table.write_text("\n".join(["x,site,label", *rows]))
    teams = written(tmp_path / "teams.csv", [(f"s{i}", f"t{i % 2}") for i in range(6)])
    typed = ["learn", table, "--target", "label", "--group", "site", "--model", "bayes", "--teams", teams]
    typed += ["--test-rows", "0.3", "--repeats", "2", "--byzantine", "0", "--out", tmp_path / "out"]
    assert_refused("--alpha local is about one talk, and --teams makes several", *typed, "--alpha", "local")
    learnt = run(*typed, "--protocol", "leaders")
    assert "Hierarchy of 2 teams (inside Leaders" in learnt.stdout
    answers = run("predict", tmp_path / "out" / "moot.skops", table)
    assert answers.returncode == 0
