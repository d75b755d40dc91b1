"""Why an input got its answer: facts followed by hand, and how they are shown to people."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from folkmoot import Slush, Snowball, deliberate, explain
from folkmoot.adversaries import PerfectlyMalicious, Silent
from folkmoot.explanation.explanation import Explanation
from folkmoot.outcome import Outcome

NAMES = ["ann", "bob", "cid", "dora", "eve", "finn", "gus"]
LABELS = ["benign", "malignant"]
VOTES = np.array([[0], [0], [0], [0], [1], [1], [1]])


RULE = Slush(4, 3)


def talk(votes: Any = VOTES, protocol: Any = RULE, **options: Any) -> Outcome:
    named: dict[str, Any] = {"labels": LABELS, "names": NAMES[: len(votes)]}
    return replace(deliberate(votes, protocol, **({"record": True, "seed": 1} | options)), **named)


@pytest.mark.parametrize(
    ("votes", "close"),
    [
        ([0] * 3, False),  # unanimous: two would have to turn, and nobody was against it
        ([0] * 3 + [1], False),
        ([0] * 2 + [1], True),
        ([0] * 5 + [1] * 2, True),
        ([0] * 7, False),
    ],
)
def test_close_is_what_few_could_turn_and_as_many_were_against(votes: list[int], close: bool) -> None:
    why = explain(talk([[vote] for vote in votes], Slush(2, 2)), 0)
    assert why.closeness is not None
    assert why.closeness.votes is not None
    assert ("It was close" in str(why)) is ("It was close" in why.to_html()) is close
    assert f"ad {why.closeness.votes} of its votes gone to malignant" in " ".join(str(why).split())


def test_facts_follow_from_the_turns() -> None:
    outcome = talk()
    why = explain(outcome, 0)
    assert why.answer == LABELS[outcome.decision[0]] == "benign"
    assert why.runner_up == "malignant"
    assert [
        (participant.name, participant.voted, participant.counts, participant.part)
        for participant in why.participants
    ] == [(name, LABELS[vote], 1.0, "follows") for name, vote in zip(NAMES, VOTES[:, 0], strict=True)]
    assert [participant.holds for participant in why.participants] == [
        LABELS[c] for c in outcome.decisions[:, 0]
    ]
    assert why.counted_by == "equal"
    turns = [turn for turn in outcome.turns(0) if turn.before != turn.after]
    assert why.changes is not None
    assert len(why.changes) == len(turns) >= 3
    for change, turn in zip(why.changes, turns, strict=True):
        assert change.name == NAMES[turn.participant]
        assert (change.before, change.after) == (LABELS[turn.before], LABELS[turn.after])
        assert [answer.name for answer in change.answers] == [NAMES[peer] for peer in turn.asked]
        assert sum(answer.label == change.after for answer in change.answers) == change.tally >= change.alpha
    # The picture: one column for the first votes, then one a round, the last of which is the end.
    assert why.held is not None
    assert why.columns == ("first vote", *(str(number) for number in range(1, why.rounds + 1)))
    np.testing.assert_array_equal(why.held[:, 0], VOTES[:, 0])
    np.testing.assert_array_equal(why.held[:, -1], outcome.decisions[:, 0])
    for number in range(1, why.rounds + 1):
        moved = {turn.participant for turn in turns if turn.round == number}
        assert moved >= set(np.flatnonzero(why.held[:, number] != why.held[:, number - 1]))


def test_the_sentence_names_names_and_labels() -> None:
    why = explain(talk(), 0)
    assert why.sentence.startswith(
        "benign was the answer because 4 of 7 voted for it at first (3 for malignant), "
    )
    assert "changed their minds to it in" in why.sentence
    assert why.sentence.endswith("and in the end all 7 held it.")
    assert "input 0: benign" in str(why)
    assert "participant" not in str(why)
    for name in NAMES:
        assert name in str(why)
    assert not re.search(r"Change\(|Turn\(|participant=|before=", str(why) + why.to_html())


def test_nobody_changed_its_mind() -> None:
    why = explain(talk(np.zeros((5, 1), dtype=np.int64)), 0)
    assert why.changes == ()
    assert why.sentence == (
        "benign was the answer because all 5 who voted were for it at first, nobody changed its mind, and in "
        "the end all 5 held it."
    )
    assert why.plot().axes


def test_undecided_says_what_was_missing() -> None:
    why = explain(talk([[0], [0], [1], [1]], Slush(3, 3), rounds=6), 0)
    assert why.answer is None
    assert why.closeness is None
    assert why.sentence == (
        "There is no answer: at first 2 were for benign and 2 for malignant, after 6 rounds 2 are for benign "
        "and 2 for malignant, and more than half of the 4 must be for one label."
    )
    assert why.missing == (
        "What was missing: no label has the 3 equal first votes that win a query; a council counts "
        "all first votes.",
    )
    nobody = explain(talk([[-1], [-1], [-1]], Slush(2, 2), missing="absent"), 0)
    assert "nobody voted, nobody took part" in nobody.sentence
    assert "nobody that follows the protocol voted on it" in nobody.missing[0]
    assert "undecided" in str(nobody)
    assert nobody.to_html()
    assert nobody.plot().axes


def test_several_repetitions_are_the_first() -> None:
    votes = np.random.default_rng(0).integers(0, 2, (7, 12))
    outcome = talk(votes, repeats=3)
    for i in range(12):
        why = explain(outcome, i)
        first = int(outcome.decision[0, i])
        assert why.answer == (None if first < 0 else LABELS[first])
        assert [participant.holds for participant in why.participants] == [
            LABELS[c] for c in outcome.decisions[0, :, i]
        ]


def test_what_is_explained_is_what_was_answered() -> None:
    votes = np.random.default_rng(4).integers(0, 2, (8, 40))
    outcome = replace(deliberate(votes, Slush(4, 3), seed=9), labels=LABELS)
    same = 0
    for i in range(40):
        why = explain(outcome, i)
        colour = int(outcome.decision[i])
        assert why.answer == (None if colour < 0 else LABELS[colour])
        assert why.changes is not None
        held = dict(
            zip((participant.name for participant in why.participants), votes[:, i].tolist(), strict=True)
        )
        for change in why.changes:
            assert LABELS[held[change.name]] == change.before
            held[change.name] = LABELS.index(change.after)
        assert [LABELS[held[participant.name]] for participant in why.participants] == [
            participant.holds for participant in why.participants
        ]
        same += bool(why.changes)
    assert same > 10


def test_liars_and_silence() -> None:
    votes = np.array([[0]] * 5 + [[1]] * 4)
    outcome = deliberate(
        votes, Slush(6, 4), adversaries={7: PerfectlyMalicious(), 8: Silent()}, truth=[0], record=True
    )
    why = explain(outcome, 0)
    assert [participant.part for participant in why.participants] == ["follows"] * 7 + ["lies"] * 2
    assert why.participants[7].note == "does not follow the protocol: PerfectlyMalicious"
    assert why.participants[7].holds is None
    turns = outcome.turns(0)
    times = sum(8 in turn.asked for turn in turns)
    assert times > 0
    words = "1 answer" if times == 1 else f"{times} answers"
    assert [(each.name, each.why) for each in why.uncounted] == [
        ("participant 8", f"{words} that named no label")
    ]
    assert "that follow the protocol" in why.sentence


def test_absent_and_failed_do_not_count() -> None:
    votes = np.array([[0], [0], [1], [-1], [-1]])
    outcome = replace(talk(votes, missing="absent"), faults={4: "predict raised ValueError"})
    why = explain(outcome, 0)
    assert [participant.part for participant in why.participants] == ["follows"] * 3 + ["absent", "failed"]
    assert [(each.name, each.why) for each in why.uncounted] == [
        ("dora", "no vote on this input"), ("eve", "could not answer"),
    ]  # fmt: skip
    assert [participant.counts for participant in why.participants] == [1, 1, 1, 0, 0]
    assert "could not answer: predict raised ValueError" in str(why)


def test_weights_are_told() -> None:
    weights = [1.0, 0.5, 0.0, 0.5, 1.0, 0.5, 0.5]
    why = explain(talk(protocol=Snowball(4, 3, 2, weights=weights)), 0)
    assert why.counted_by == "weight"
    assert [participant.counts for participant in why.participants] == weights
    assert "ann 1, bob 0.5, cid 0, dora 0.5" in str(why)
    assert ("cid", "weight 0") in [(each.name, each.why) for each in why.uncounted]


HOSTILE = [
    '<img src=x onerror="alert(1)">',
    "</section><script>alert(2)</script>",
    "\u202eevil\u2066",
    "$\\frac$",
    "a\x1b[2Jb",
]


def hostile() -> Explanation:
    names = [*HOSTILE, "=cmd()", "{}%s"]
    return explain(replace(talk(), names=names, labels=['<b>"&', "x\x07$y$"]), 0)


ALLOWED = {"section", "h3", "h4", "p", "table", "caption", "thead", "tbody", "tr", "th", "td", "ul", "li"}


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.data = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)
        assert dict(attrs).keys() <= {"class", "scope"}

    def handle_data(self, data: str) -> None:
        self.data += data


def test_hostile_names_are_text() -> None:
    why = hostile()
    page = Tags()
    page.feed(why._repr_html_())
    assert page.seen <= ALLOWED
    assert HOSTILE[0] in page.data
    for text in (page.data, str(why)):
        assert all(character.isprintable() or character == "\n" for character in text)
        assert r"\u202eevil\u2066" in text
    figure = why.plot()
    figure.canvas.draw() if hasattr(figure.canvas, "draw") else figure.draw_without_rendering()
    shown = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert shown[3] == "$\\frac$"


def test_json_has_the_same_facts() -> None:
    why = hostile()
    facts = json.loads(json.dumps(why.to_dict()))
    assert facts["answer"] == why.answer
    assert [participant["name"] for participant in facts["voices"]] == [
        participant.name for participant in why.participants
    ]
    assert why.changes is not None
    assert len(facts["changes"]) == len(why.changes)
    assert facts["changes"][0]["answers"][0]["name"] == why.changes[0].answers[0].name
    assert facts["closeness"]["exact"] is True


def test_plot_takes_axes_and_is_coloured_by_label() -> None:
    why = explain(talk(), 0)
    assert why.held is not None
    axes = Figure().subplots()
    assert why.plot(ax=axes) is axes.figure
    mesh = axes.collections[0]
    colours = mesh.to_rgba(np.asarray(mesh.get_array()))
    rows = np.asarray(colours).reshape(*why.held.shape, 4)
    seen = {int(why.held[r, c]): to_hex(rows[r, c]) for r in range(7) for c in range(why.held.shape[1])}
    key = axes.get_legend()
    assert key is not None
    legend = {
        text.get_text(): to_hex(patch.get_facecolor())
        for text, patch in zip(key.get_texts(), key.get_patches(), strict=True)
    }
    assert {LABELS[colour]: shade for colour, shade in seen.items()} == legend
    assert len(set(legend.values())) == 2
    assert [text.get_text() for text in axes.get_yticklabels()] == NAMES


def test_odd_labels_are_told_apart_from_none() -> None:
    three = deliberate(VOTES, RULE, classes=3, record=True)
    odd = explain(replace(three, labels=[None, [3], np.int64(7)]), 0)
    assert odd.labels == ("None", "[3]", 7)
    assert odd.answer == "None"
    assert "None was the answer" in str(odd)
    assert type(odd.labels[2]) is int


def test_bad_input() -> None:
    outcome = talk()
    for i in (-1, 1):
        with pytest.raises(ValueError, match=f"0 <= i < 1, the number of inputs: got i={i}"):
            explain(outcome, i)
    with pytest.raises(TypeError, match="i must be an integer"):
        explain(outcome, "t17")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="explain needs first votes, which outcomes of Slush, Snowflake"):
        explain(replace(outcome, run=None), 0)


def test_a_single_vote_was_for_a_label() -> None:
    outcome = deliberate(np.array([[0], [1], [2]]), Slush(2, 2), rounds=2)
    assert str(explain(outcome, 0).sentence).startswith(
        "There is no answer: at first 1 was for class 0, 1 for class 1"
    )
    assert " rounds 1 is for class 0, 1 for class 1 and 1 for class 2, and" in explain(outcome, 0).sentence
