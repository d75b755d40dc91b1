"""Liars that try to split a motion: two-faced, each half of the honest with a voice of each of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from folkmoot.node.review import ballots_of
from folkmoot.node.session.book import Book, Evidence
from folkmoot.node.session.statement import Members
from folkmoot.node.session.terms import Terms
from support.node.liars import Plan, TwoFaced
from support.node.world import Node, Weather, World, verify

LABELS = ("a", "b")


class Lowered(Members):
    """A quorum that is one less than it must be."""

    @property
    def quorum(self) -> int:
        """One member too few."""
        return super().quorum - 1


def two_faced(seed: int, n: int, liars: int, *, quorum_one_less: bool = False) -> World:
    """A motion whose last members each have two faces, and the honest are cut into two halves."""
    terms = Terms(labels=LABELS, seconds=4.0)
    world = World(seed, n, terms, weather=Weather(delay=0.02, most=0.09), inputs=2)
    if quorum_one_less:
        world.members = Lowered(n, world.members.faults, verify)
    bad = list(range(n - liars, n))
    plan = Plan(world, bad)
    form = ballots_of(world.header, 0)
    faces = [[form.pack(np.array([face, face]))] for face in (0, 1)]
    for i in range(n):
        if i in bad:
            world.nodes.append(TwoFaced(world, i, faces, plan))
        else:
            world.nodes.append(Node(world, i, [form.pack(np.array([0, 1]))]))
    # Honest commitments reach all; after that nothing that an honest member says reaches the other half.
    world.partitions.append((0.001, 1e9, plan.half))
    world.crossing = plan.liars
    return world


def is_split(world: World) -> bool:
    """Whether honest members decided two sets in one stage."""
    for stage in (0, 1):
        agreed = set()
        for node in world.honest:
            assert node.motion is not None
            agreed |= {each.decided for each in node.motion.polls[0].agreements[stage : stage + 1]}
        if len(agreed - {None}) > 1:
            return True
    return False


def found_together(world: World) -> dict[int, Evidence]:
    """The evidence in all that honest members hold, put together."""
    motions = [node.motion for node in world.honest if node.motion is not None]
    book = Book(motions[0].name, replace(motions[0].members, verify=verify), world.terms.polls)
    for motion in motions:
        for said in motion.book.everything():
            book.add(said)
    return book.evidence
