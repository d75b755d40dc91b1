"""``folkmoot theory quorum-sets``: real lists, exit codes, pictures, proposals, and bad input in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib.image
import pytest

from experiments.outlook.proposing import propose
from folkmoot.outlook import QuorumSet
from folkmoot.outlook.analysis import analyse
from folkmoot.outlook.node_list import NodeList, read_nodes
from folkmoot.outlook.system import QuorumSystem
from outlook.systems import organisations
from support.command import assert_refused, run
from support.shared_data import NODE_LISTS, needs


def entry(key: str, threshold: int, members: list[str], **more: object) -> dict[str, object]:
    return {"publicKey": key, "quorumSet": {"threshold": threshold, "validators": members}, **more}


def written(folder: Path, entries: object) -> Path:
    path = folder / "nodes.json"
    path.write_text(json.dumps(entries))
    return path


def checked(path: Path, *options: str) -> tuple[int, Any]:
    result = run("theory", "quorum-sets", path, "--json", *options)
    return result.returncode, json.loads(result.stdout)


THREE = [entry(key, 2, ["a", "b", "c"]) for key in "abc"]
TWO_PAIRS = [entry(key, 2, [*pair]) for pair in ("ab", "cd") for key in pair]


@needs(NODE_LISTS)
@pytest.mark.parametrize(
    ("name", "code", "quorums", "blocking", "splitting"),
    [
        ("correct", 0, [2, 2, 2], [2, 2, 2], [1, 1, 1]),
        ("correct_trivial", 0, [2, 2, 2], [2, 2, 2], [1, 1, 1]),
        ("broken", 1, [2, 2, 2, 2], None, [0]),
        ("broken_trivial", 1, None, None, [0]),
    ],
)
def test_real_lists(
    name: str, code: int, quorums: list[int] | None, blocking: list[int] | None, splitting: list[int]
) -> None:
    """Sizes as another program found them (fbas_analyzer, whose test data the lists are)."""
    found_code, found = checked(NODE_LISTS / f"{name}.json")
    assert found_code == code
    assert found["quorum_intersection"] is (code == 0)
    for key, sizes in (
        ("minimal_quorums", quorums),
        ("blocking_sets", blocking),
        ("splitting_sets", splitting),
    ):
        if sizes is not None:
            assert [len(each) for each in found[key]] == sizes
    if code:
        one, two = found["disjoint_quorums"]
        assert not set(one) & set(two)
        if name == "broken":
            assert (len(one), len(two)) == (2, 2)


@needs(NODE_LISTS)
def test_a_liar_outside_the_top_tier_is_found() -> None:
    """Eno follows; but if it misstates its set, SDF validator 1 has a quorum with it, the others theirs."""
    listed = read_nodes(NODE_LISTS / "correct.json")
    found = analyse(listed.system())
    assert found.misstating_sets is not None
    assert [[listed.title(key) for key in each] for each in found.misstating_sets] == [["Eno"]]
    (liar,) = found.misstating_sets
    assert not liar <= found.top_tier  # type: ignore[operator]
    for each in listed.system().minimal_splitting_sets():
        assert listed.system().splits_by_lying(each)


def test_exit_codes_and_json(tmp_path: Path) -> None:
    code, found = checked(written(tmp_path, THREE))
    assert (code, found["quorum_intersection"], found["finished"]) == (0, True, True)
    code, found = checked(written(tmp_path, TWO_PAIRS))
    assert (code, found["quorum_intersection"]) == (1, False)
    assert sorted(found["disjoint_quorums"]) == [["a", "b"], ["c", "d"]]
    nodes = [
        {"publicKey": key, "quorumSet": each.to_dict()}
        for key, each in organisations(9, 3, 5, 6).items()
        if each is not None
    ]
    code, found = checked(written(tmp_path, nodes), "--deadline", "50ms")
    assert (code, found["finished"], found["splitting_sets"]) == (3, False, None)


def test_notes_count_what_real_lists_have(tmp_path: Path) -> None:
    nodes = [
        *THREE,
        {"publicKey": "none", "name": "no set"},
        {"publicKey": "null", "quorumSet": None},
        entry("never", 9007199254740991, ["a"]),
        entry("follows", 2, ["a", "b", "gone", "lost"], active=False),
    ]
    _, found = checked(written(tmp_path, nodes))
    assert found["notes"] == {
        "inactive": 1,
        "without_quorum_set": 2,
        "never_satisfied": 1,
        "validators_without_entry": 2,
        "not_in_own_set": 2,
    }
    assert (found["nodes"], found["in_quorums"], found["searched"]) == (7, 4, 3)
    _, found = checked(written(tmp_path, nodes), "--active-only")
    assert (found["nodes"], found["in_quorums"]) == (6, 3)


def test_an_inactive_member_never_answers_and_the_threshold_stays(tmp_path: Path) -> None:
    nodes = [entry("a", 2, ["a", "b"]), entry("b", 2, ["a", "b"], active=False), entry("c", 1, ["c"])]
    assert checked(written(tmp_path, nodes))[0] == 1
    code, found = checked(written(tmp_path, nodes), "--active-only")
    assert code == 0
    assert found["minimal_quorums"] == [["c"]]


def test_what_people_read(tmp_path: Path) -> None:
    nodes = [{**each, "name": name} for each, name in zip(TWO_PAIRS, ("Ada", "Bo", "Cy", "Di"), strict=True)]
    result = run("theory", "quorum-sets", written(tmp_path, nodes), "--plot", tmp_path / "who.png")
    assert result.returncode == 1
    for words in ("4 nodes; 4 of them in quorums", "NO", "Ada, Bo", "Cy, Di", "split already"):
        assert words in result.stdout
    assert "any 3 of the 4, all quorums would intersect; 2 of them would have to lie" in result.stdout
    assert matplotlib.image.imread(tmp_path / "who.png").std() > 0.01


def test_advice_holds_when_it_is_taken() -> None:
    sets = {key: QuorumSet(2, [*pair]) for pair in ("ab", "cd") for key in pair}
    assert "any 3 of the 4" in analyse(QuorumSystem(sets)).advice[-1]
    taken = analyse(QuorumSystem(dict.fromkeys("abcd", QuorumSet(3, [*"abcd"]))))
    assert taken.quorum_intersection
    assert taken.advice == []
    assert [len(found[0]) for found in (taken.blocking_sets, taken.splitting_sets) if found] == [2, 2]


def test_names_of_others_cannot_speak_to_the_terminal(tmp_path: Path) -> None:
    nodes = [{**each, "name": f"\x1b[31m{number}"} for number, each in enumerate(THREE)]
    result = run("theory", "quorum-sets", written(tmp_path, nodes))
    assert "\x1b" not in result.stdout


def test_proposals_take_those_trusted_most() -> None:
    sets = propose([0.9, 0.8, 0.7, 0.6, 0.5], list("abcde"), most=4)
    assert sets["e"] == QuorumSet(3, ["e", "a", "b", "c"])
    assert sets["a"] == QuorumSet(3, ["a", "b", "c", "d"])
    pairs = [[0, 1, -1, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    assert not analyse(QuorumSystem(propose(pairs, list("abcd"), most=3))).quorum_intersection


def test_proposals_of_two_thirds_intersect_when_all_go_by_one_record() -> None:
    for n in range(1, 12):
        sets = propose([1 - i / 20 for i in range(n)], most=n)
        system = QuorumSystem(sets)
        assert system.disjoint_quorums() is None
        assert {each.threshold for each in sets.values()} == {-(-2 * n // 3)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ('{"a": 1}', "expected a list of nodes"),
        ("[]", "there is no quorum at all"),
        ("[3]", "node 1: expected an object with publicKey and quorumSet: got 3"),
        ('[{"publicKey": ""}]', "node 1: publicKey must be a text"),
        ('[{"publicKey": "a", "publicKey": "b"}]', "has 'publicKey' twice"),
        (json.dumps([THREE[0], THREE[0]]), "node 2: key 'a' is there twice"),
        (json.dumps([entry("a", 0, ["a"])]), "node 1 (a): threshold must satisfy threshold >= 1"),
        (json.dumps([entry("a", -2, ["a"])]), "node 1 (a): threshold must satisfy threshold >= 1"),
        (json.dumps([entry("a", 1, ["a", "a"])]), "node 1 (a): a quorum set names nobody twice"),
        (json.dumps([entry("a", 5, ["a"])]), "there is no quorum at all"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_bad_lists_are_one_line(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "nodes.json"
    path.write_text(content)
    assert_refused(message, "theory", "quorum-sets", path)


def test_other_bad_input_is_one_line(tmp_path: Path) -> None:
    path = written(tmp_path, THREE)
    assert_refused("No such file", "theory", "quorum-sets", tmp_path / "none.json")
    assert_refused("--deadline must be above 0", "theory", "quorum-sets", path, "--deadline", 0)
    assert_refused("must name a file ending in", "theory", "quorum-sets", path, "--plot", "x.txt")


def test_a_node_list_in_python_says_the_same() -> None:
    listed = NodeList.from_list(TWO_PAIRS)
    assert not analyse(listed.system()).quorum_intersection
