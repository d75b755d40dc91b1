"""Systems of quorum sets to test with: drawn at random, and some that can be worked out by hand."""

from __future__ import annotations

from hypothesis import strategies as st

from folkmoot.outlook import QuorumSet

Sets = dict[str, QuorumSet | None]


def names(n: int) -> list[str]:
    return [chr(ord("a") + place) for place in range(n)]


@st.composite
def quorum_sets(draw: st.DrawFn, among: list[str], depth: int = 2) -> QuorumSet:
    """A set over some of these names, perhaps with inner sets; no name twice."""
    known = draw(st.lists(st.sampled_from(among), min_size=1, max_size=len(among), unique=True))
    inner: list[QuorumSet] = []
    while depth > 1 and len(known) > 1 and len(inner) < 2 and draw(st.booleans()):
        part = [known.pop() for _ in range(draw(st.integers(1, len(known) - 1)))]
        inner.append(draw(quorum_sets(part, depth - 1)))
    return QuorumSet(draw(st.integers(1, len(known) + len(inner))), known, inner)


@st.composite
def systems(draw: st.DrawFn, most: int = 6) -> Sets:
    """Up to ``most`` nodes: each with a set of its own, one that others have as well, or none."""
    nodes = names(draw(st.integers(1, most)))
    outsiders = ["x"] if draw(st.booleans()) else []
    common = draw(quorum_sets(nodes))
    made: Sets = {}
    for name in nodes:
        kind = draw(st.sampled_from(["common", "common", "own", "own", "threshold", "none"]))
        if kind == "common":
            made[name] = common
        elif kind == "own":
            made[name] = draw(quorum_sets(nodes + outsiders))
        elif kind == "threshold":
            made[name] = QuorumSet(draw(st.integers(1, len(nodes))), nodes)
        else:
            made[name] = None
    return made


def organisations(many: int, inside: int, of: int, outside: int, followers: int = 0) -> Sets:
    """``many`` offices of ``of`` nodes: any ``outside`` of them, each by any ``inside`` of its nodes."""
    offices = [[f"{chr(65 + office)}{node}" for node in range(of)] for office in range(many)]
    common = QuorumSet(outside, [], [QuorumSet(inside, office) for office in offices])
    everyone = [node for office in offices for node in office] + [f"follower-{i}" for i in range(followers)]
    return dict.fromkeys(everyone, common)
