"""Certificates: what they show is what the votes say, and no bit of one can be changed."""

from __future__ import annotations

import base64
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import msgspec
import pytest

from folkmoot.node.ballots import NOTHING
from folkmoot.node.certificate import Certificate, certificate_of, encoded, read_certificate, verify
from folkmoot.node.membership.roster import Roster
from folkmoot.node.review import ballots_of
from folkmoot.node.session.header import read_header
from folkmoot.node.session.sets import Revealed, read_commitments, read_revealed
from folkmoot.node.session.sets import encoded as encoded_set
from folkmoot.node.session.statement import Kind, asked, words
from folkmoot.node.session.terms import Terms
from support.node.signed import SignedWorld, Twice, certificate, decided, keys_and_roster, play

LABELS = ("a", "b", "c")
VOTES: list[list[Any]] = [[0, 1, 2, 0], [0, 1, 1, None], [0, 2, 1, 1], [1, 1, 0, 1]]


@cache
def played(case: str) -> SignedWorld:
    terms = Terms(labels=LABELS, seconds=4.0)
    if case == "one poll":
        return play(terms, VOTES)
    if case == "two polls":
        return play(msgspec.structs.replace(terms, believe="own"), VOTES)
    if case == "struck":
        return play(terms, [*VOTES, [2, 2, 2, 2]], kinds={4: Twice}, seed=2)  # another one proposes
    if case == "absent":
        return play(terms, [*VOTES, [2, 2, 2, 2]], late=[4])
    if case == "coin":
        return play(msgspec.structs.replace(terms, coin=True), VOTES)
    if case == "least":
        return play(msgspec.structs.replace(terms, least=3), VOTES)
    if case == "weighted":
        return play(msgspec.structs.replace(terms, rule="weighted", weights=(1, 1, 1, 9)), VOTES)
    if case == "dawid-skene":
        return play(msgspec.structs.replace(terms, rule="dawid-skene"), VOTES)
    if case == "numbers":
        return play(Terms("numbers", rule="median", seconds=4.0), [[5, 7], [6, None], [900, 8], [7, 9]])
    assert case == "probabilities"
    levels: list[Any] = [[[255, 0, 0], [55, 100, 100]], [[200, 55, 0], None], [[0, 255, 0], [5, 50, 200]]]
    return play(Terms("probabilities", LABELS, rule="mean", seconds=4.0), [*levels, levels[0]])


CASES = (
    "one poll", "two polls", "struck", "absent", "coin", "least", "weighted", "dawid-skene", "numbers",
    "probabilities",
)  # fmt: skip


def answer_by_hand(votes: Sequence[Sequence[Any]], least: int) -> list[int]:
    """The label that most voted for, if as many as ``least`` did and nobody else has as many."""
    found = []
    for column in zip(*votes, strict=True):
        ranked = Counter(label for label in column if label is not None).most_common()
        (label, most), *others = ranked
        tied = bool(others) and others[0][1] == most
        found.append(-1 if tied or most < least else label)
    return found


def shown(world: SignedWorld, data: bytes) -> list[int]:
    outcome = verify(data, world.roster)
    form = ballots_of(outcome.header, 1)
    answer: list[int] = form.unpack(outcome.answer).tolist()
    return answer


@pytest.mark.parametrize("case", CASES)
def test_what_it_shows_is_what_the_moot_decided(case: str) -> None:
    world = played(case)
    answers = set()
    for place, node in enumerate(world.nodes):
        if node.motion is not None and node.motion.answer is not None:
            outcome = verify(certificate(world, place), world.roster)
            assert outcome.motion == world.motion
            assert outcome.header == world.header
            answers.add(outcome.answer)
    assert answers == world.nodes[0].answers
    assert [poll.votes for poll in outcome.polls] == decided(world).tables


def test_what_it_shows_is_what_the_votes_say() -> None:
    assert shown(played("one poll"), certificate(played("one poll"))) == answer_by_hand(VOTES, 2)
    assert shown(played("two polls"), certificate(played("two polls"))) == answer_by_hand(VOTES, 2)
    for case in ("struck", "absent"):
        world = played(case)
        assert shown(world, certificate(world)) == answer_by_hand(VOTES, 2), "the fifth does not count"
    struck, absent = (verify(certificate(played(case)), played(case).roster) for case in ("struck", "absent"))
    assert (struck.polls[0].agreed.struck, struck.polls[0].agreed.absent) == ([4], [])
    assert (absent.polls[0].agreed.struck, absent.polls[0].agreed.absent) == ([], [4])
    assert shown(played("least"), certificate(played("least"))) == answer_by_hand(VOTES, 3)
    coin = shown(played("coin"), certificate(played("coin")))
    assert [label for label in coin if label != -1] == coin
    assert coin[:3] == answer_by_hand(VOTES, 2)[:3]
    assert coin[3] in (0, 1)
    assert shown(played("numbers"), certificate(played("numbers"))) == [7, 8]
    assert NOTHING not in shown(played("numbers"), certificate(played("numbers")))


@pytest.mark.parametrize("case", ["two polls", "struck"])
def test_no_bit_can_be_changed(case: str) -> None:
    """Bits of places that are spread over the whole; and nothing can be cut off or put in."""
    world = played(case)
    data = certificate(world)
    verify(data, world.roster)
    rng = random.Random(case)
    for place in rng.sample(range(len(data)), 250):
        changed = bytearray(data)
        changed[place] ^= 1 << rng.randrange(8)
        with pytest.raises(ValueError, match=r"\w"):
            verify(bytes(changed), world.roster)
        with pytest.raises(ValueError, match="not a certificate"):
            verify(data[:place], world.roster)
    for other in (data + b"\n", b" " + data, data.replace(b'"polls"', b' "polls"')):
        with pytest.raises(ValueError, match=r"to the byte|not a certificate"):
            verify(other, world.roster)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_no_bit_of_all_can_be_changed(case: str) -> None:
    world = played(case)
    data = certificate(world)
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 1 << (place % 8)
        with pytest.raises(ValueError, match=r"\w"):
            verify(bytes(changed), world.roster)


def _poll(found: Certificate, number: int, **changes: Any) -> Certificate:
    polls = list(found.polls)
    polls[number] = msgspec.structs.replace(polls[number], **changes)
    return msgspec.structs.replace(found, polls=tuple(polls))


def another_header(found: Certificate) -> Certificate:
    header = msgspec.structs.replace(read_header(found.header, 5), inputs=5)
    return msgspec.structs.replace(found, header=header.encoded())


def another_motion(found: Certificate) -> Certificate:
    """With its own name, but without the asker."""
    header = msgspec.structs.replace(read_header(found.header, 5), created=2e9).encoded()
    from folkmoot.node.session.header import motion_of

    return msgspec.structs.replace(found, header=header, motion=motion_of(header).hex())


def another_asker(found: Certificate) -> Certificate:
    return msgspec.structs.replace(found, signature=KEYS[1].sign(asked(bytes.fromhex(found.motion))))


def another_moot(found: Certificate) -> Certificate:
    from folkmoot.node.session.header import motion_of

    header = msgspec.structs.replace(read_header(found.header, 5), moot=bytes(32)).encoded()
    signature = KEYS[0].sign(asked(motion_of(header)))
    return msgspec.structs.replace(found, header=header, motion=motion_of(header).hex(), signature=signature)


def no_second_poll(found: Certificate) -> Certificate:
    return msgspec.structs.replace(found, polls=found.polls[:1])


def the_same_poll_twice(found: Certificate) -> Certificate:
    return msgspec.structs.replace(found, polls=(found.polls[0], found.polls[0]))


def one_precommit_less(found: Certificate) -> Certificate:
    agreed = found.polls[0].commitments
    return _poll(found, 0, commitments=msgspec.structs.replace(agreed, precommits=agreed.precommits[1:]))


def one_precommit_twice(found: Certificate) -> Certificate:
    agreed = found.polls[0].reveals
    twice = (agreed.precommits[0], *agreed.precommits[:-1])
    return _poll(found, 0, reveals=msgspec.structs.replace(agreed, precommits=twice))


def precommits_in_another_order(found: Certificate) -> Certificate:
    agreed = found.polls[1].reveals
    return _poll(found, 1, reveals=msgspec.structs.replace(agreed, precommits=agreed.precommits[::-1]))


def another_round(found: Certificate) -> Certificate:
    agreed = found.polls[0].commitments
    return _poll(found, 0, commitments=msgspec.structs.replace(agreed, round=agreed.round + 1))


def stages_exchanged(found: Certificate) -> Certificate:
    poll = found.polls[0]
    return _poll(found, 0, commitments=poll.reveals, reveals=poll.commitments)


def a_member_left_out(found: Certificate) -> Certificate:
    """Of the reveals, with its votes."""
    poll = found.polls[0]
    there = read_revealed(poll.reveals.set)
    less = encoded_set(Revealed.of(there.commitments, there.members[1:], 5))
    return _poll(found, 0, reveals=msgspec.structs.replace(poll.reveals, set=less), opened=poll.opened[1:])


def other_votes(found: Certificate) -> Certificate:
    poll = found.polls[0]
    one = msgspec.structs.replace(poll.opened[0], votes=poll.opened[1].votes)
    return _poll(found, 0, opened=(one, *poll.opened[1:]))


def votes_exchanged(found: Certificate) -> Certificate:
    poll = found.polls[1]
    return _poll(found, 1, opened=(poll.opened[1], poll.opened[0], *poll.opened[2:]))


def votes_missing(found: Certificate) -> Certificate:
    return _poll(found, 1, opened=found.polls[1].opened[1:])


KEYS, _ = keys_and_roster(4)
CHANGES = [
    another_header, another_motion, another_asker, another_moot, no_second_poll, the_same_poll_twice,
    one_precommit_less, one_precommit_twice, precommits_in_another_order, another_round, stages_exchanged,
    a_member_left_out, other_votes, votes_exchanged, votes_missing,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_no_part_can_be_changed_or_left_out(change: Callable[[Certificate], Certificate]) -> None:
    world = played("two polls")
    changed = encoded(change(read_certificate(certificate(world))))
    with pytest.raises(ValueError, match=r"\w"):
        verify(changed, world.roster)


def _signed_by_quorum(world: SignedWorld, found: Certificate, stage: int, body: bytes) -> Certificate:
    """As if a quorum had precommitted this set: more than f lie."""
    from folkmoot.node.session.sets import value_of

    value = value_of(world.motion, 0, stage, body)
    slot = Kind.PRECOMMIT, 0, stage, 0
    signed = tuple(
        (i, world.keys[i].sign(words(world.motion, i, slot, -1, value))) for i in range(world.members.quorum)
    )
    name = ("commitments", "reveals")[stage]
    agreed = msgspec.structs.replace(getattr(found.polls[0], name), set=body, round=0, precommits=signed)
    return _poll(found, 0, **{name: agreed})


def test_sets_that_a_quorum_must_not_agree_on_are_refused_although_it_did() -> None:
    """Too few commitments, one that was not signed, a struck member that is none, too few reveals."""
    world = played("struck")
    found = read_certificate(certificate(world))
    agreed = read_commitments(found.polls[0].commitments.set)
    there = read_revealed(found.polls[0].reveals.set)
    entries = list(agreed.entries)
    few = [*entries[:3], (), entries[4]]
    forged = [(entries[1][0],), *entries[1:]]
    same = [*entries[:4], (entries[4][0], entries[4][0])]
    for changed, why in (
        (few, "at least 4 commitments: got 3"),
        (forged, "member 0 must be signed by it"),
        (same, "two different commitments"),
        (entries[:4], "an entry for each of 5 members"),
    ):
        body = encoded_set(msgspec.structs.replace(agreed, entries=tuple(changed)))
        with pytest.raises(ValueError, match=why):
            verify(encoded(_signed_by_quorum(world, found, 0, body)), world.roster)
    for members, why in (([0, 1], "at least 3 must have revealed"), ([0, 1, 2, 4], "only members")):
        body = encoded_set(Revealed.of(there.commitments, members, 5))
        with pytest.raises(ValueError, match=why):
            verify(encoded(_signed_by_quorum(world, found, 1, body)), world.roster)
    body = encoded_set(Revealed.of(bytes(32), there.members, 5))
    with pytest.raises(ValueError, match="about the commitments that were agreed"):
        verify(encoded(_signed_by_quorum(world, found, 1, body)), world.roster)


def test_base64_with_bits_to_spare_is_refused() -> None:
    world = played("one poll")
    found = json.loads(certificate(world))
    text = found["header"]
    if not text.endswith("="):
        pytest.skip("the header has whole groups")
    last = text.rstrip("=")[-1]
    other = next(
        text.rstrip("=")[:-1] + each + "=" * text.count("=")
        for each in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        if each != last
        and base64.b64decode(text.rstrip("=")[:-1] + each + "=" * text.count("=")) == base64.b64decode(text)
    )
    changed = json.dumps(found | {"header": other}, sort_keys=True, separators=(",", ":")) + "\n"
    with pytest.raises(ValueError, match="to the byte"):
        verify(changed.encode(), world.roster)


def test_another_roster_is_named() -> None:
    """Whether it has more members, fewer, or as many."""
    world = played("one poll")
    n = len(world.roster)
    for roster in (*(keys_and_roster(n + more)[1] for more in (1, -1)), Roster(world.roster, tolerated=0)):
        both = (
            f"has the digest {world.roster.digest[:16]}, and this roster has {roster.digest[:16]}: give the"
        )
        with pytest.raises(ValueError, match=both):
            verify(certificate(world), roster)


def test_an_undecided_motion_has_none() -> None:
    motion = played("one poll").nodes[0].motion
    assert motion is not None
    answer, motion.answer = motion.answer, None
    try:
        with pytest.raises(ValueError, match="once it is decided"):
            certificate_of(motion, bytes(64))
    finally:
        motion.answer = answer


def test_a_roster_may_tolerate_fewer() -> None:
    _, roster = keys_and_roster(5)
    strict = Roster(roster, tolerated=0)
    assert (roster.faults, strict.faults) == (1, 0)
    assert strict.digest not in (roster.digest, Roster(roster, tolerated=1).digest)
    with pytest.raises(ValueError, match="faults must be a whole number from 0 to 1 with 5 participants"):
        Roster(roster, tolerated=2)
