"""Storms in which the roster changes in the middle of motions of every kind, from a seed.

    PYTHONPATH=tests python -m support.network.mixed_storms SEED [KIND]

plays one again. Motions about numbers and motions with check rows are under way while
members join, leave and change keys, nodes crash and the network is cut; one member of seven is hostile, of a
kind of the storms of rosters or with one fault of one message of any of these motions.

What is promised is that of the storms of rosters for all of them; certificates besides: each that an honest
node can write holds for whoever has the roster of the motion, and no two of them contradict each other.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from folkmoot.arrays import Array
from folkmoot.network.service.check_rows import LabelledRows
from folkmoot.network.service.interfaces import Inputs
from folkmoot.network.service.parts import Parts
from folkmoot.network.service.policy import Policy
from folkmoot.network.service.voter import ChunkVotes as Voted
from folkmoot.network.storage.account import outcome_in
from folkmoot.network.storage.certificate import read_certificate, write_certificate
from folkmoot.network.wire.motion import Motion
from folkmoot.network.wire.number_verdict import NumberVerdict
from support.network import epoch_storms
from support.network.epoch_storms import CALM, END, LATER, NAMES, ROUNDS, make_trouble, meddling, weather
from support.network.message_faults import of_family
from support.network.moot_of_epochs import MootOfEpochs, address
from support.network.signatures import checked_once
from support.network.storms import again, assert_agree

Asked: TypeAlias = Literal["labels", "numbers", "check rows"]
ASKED: Final[tuple[Asked, ...]] = ("labels", "numbers", "check rows")
KINDS: Final = epoch_storms.KINDS | {
    name: meddling(*each) for family in (*ASKED[1:], "rosters") for name, each in of_family(family).items()
}
QUICK: Final = (
    "two successors", "two-faced: Labels", "oversized: Answer", "withheld: Owners",
    "forged: Successor",
)  # fmt: skip
INPUTS, SHOWN, OWN = 6, 6, 12  # that are asked about; check rows of each in a motion, and in all
EVERYBODY: Final = (*NAMES, "hugo", "iris")
TERMS: Final[dict[Asked, dict[str, Any]]] = {
    "labels": {"rounds": ROUNDS},
    "numbers": {
        "answers": "numbers", "tol": 0.5, "labels": (), "protocol": "trimmed-mean", "alpha": 0, "beta": 1,
        "rounds": 3,
    },
    "check rows": {"trust": True, "rounds": ROUNDS},
}  # fmt: skip


class EitherVotes:
    """A model that knows labels and numbers of its rows: row i holds i."""

    def __init__(self, labels: Array, numbers: Array) -> None:
        self._labels, self._numbers = labels, numbers

    def check(self, *_: object) -> None:
        """It takes whatever it is asked."""

    def vote(self, inputs: Any, *_: object) -> Voted:
        """Labels."""
        return Voted(self._labels[inputs[:, 0].astype(int)])

    def numbers(self, inputs: Any, *_: object) -> Voted:
        """Numbers."""
        return Voted(self._numbers[inputs[:, 0].astype(int)].reshape(len(inputs), 1))


class MixedMoot(MootOfEpochs):
    """Members that answer every kind of motion, each with check rows."""

    policy = Policy(least_alpha=1, least_k=1, check_rows=SHOWN)

    def __init__(self, seed: int, **options: Any) -> None:
        rng = np.random.default_rng(seed)
        whole = INPUTS + OWN * len(EVERYBODY)
        self.truth = rng.integers(0, 2, whole)
        self.levels = rng.normal(0.0, 10.0, whole)
        right = rng.random((len(EVERYBODY), whole)) < 0.85
        votes = np.where(right, self.truth, 1 - self.truth).astype(np.int8)
        numbers = self.levels + rng.normal(0.0, 0.05, votes.shape)
        self.numbers = dict(zip(EVERYBODY, numbers, strict=True))
        self.refused: list[str] = []
        super().__init__(NAMES, LATER, dict(zip(EVERYBODY, votes, strict=True)), seed, **options)
        self.inputs = INPUTS

    def furnished(self, parts: Parts, name: str) -> Parts:
        """With a model for both, and rows to show."""
        held = INPUTS + OWN * EVERYBODY.index(name) + np.arange(OWN)
        rows = LabelledRows(held[:, None].astype(float), ["ab"[self.truth[i]] for i in held])
        votes = EitherVotes(self.votes[name], self.numbers[name])
        return replace(parts, votes=votes, rows=rows)

    def ask(self, people: Sequence[str], what: Asked, at: float) -> None:
        """Let the first of these who can put such a motion; one with check rows gathers these first."""

        def put() -> None:
            who = next((each for each in people if each in self.nodes and self.nodes[each].present), None)
            if who is None:
                return
            node = self.nodes[who]
            terms = TERMS[what]
            if what == "numbers":
                terms = terms | {"k": node.seat.n - 1}
            motion, inputs = self.motion(node, **terms)
            if what == "check rows":
                node.node.reviews.invite(motion, inputs, lambda made, mixed: self._gathered(who, made, mixed))
            else:
                node.propose(motion, inputs, self._over)

        self.network.at(at, put)

    def _gathered(self, who: str, motion: Motion | str, inputs: Inputs) -> None:
        """Check rows are there: the motion is put to whatever roster is in force now, as the door does."""
        node = self.nodes.get(who)
        if isinstance(motion, str):
            self.refused.append(motion)
        elif node is not None:
            try:
                node.propose(motion, inputs, self._over)
            except ValueError as error:
                self.refused.append(str(error))


@checked_once()
def play(seed: int, kind: str | None = None) -> Counter[str]:
    """One storm, and its promises; returns what came of it."""
    try:
        moot = stormy(seed, kind)
        moot.network.run(END)
        return assert_promises_hold(moot)
    except Exception as error:
        error.add_note(again("mixed_storms", seed, *([kind] if kind else [])))
        raise


def stormy(seed: int, kind: str | None = None) -> MixedMoot:
    """Motions of every kind in the middle of changes, and one of each when all is calm again."""
    rng = random.Random(f"mixed {seed}")
    drawn = rng.choice([*KINDS]) if kind is None else kind
    hostile = {rng.choice(NAMES[2:]): KINDS[drawn]} if seed % 3 or kind is not None else {}
    moot = MixedMoot(seed, weather=weather(rng), hostile=hostile)
    honest = make_trouble(moot, rng)
    for what in ASKED[1:]:
        moot.ask([rng.choice([*honest, *hostile])], what, rng.uniform(0, 14))
    for number, what in enumerate(ASKED):
        moot.ask(honest, what, CALM + 9.0 * number)
    return moot


def assert_promises_hold(moot: MixedMoot) -> Counter[str]:
    """What is promised with one hostile member of seven, whatever is asked; returns what was decided."""
    epoch_storms.assert_promises_hold(moot)
    honest = [who for who in moot.everybody if who not in moot.hostile]
    chains = [node.chronicle.rosters for node in moot.nodes.values()]
    rosters = {bytes.fromhex(each.digest): each for chain in chains for each in chain}
    found: Counter[str] = Counter(epochs=max(len(chain) for chain in chains) - 1)
    shown: dict[bytes, list[Any]] = {}
    for who in honest:
        storage = moot.storages[who]
        for stored in storage.motions():
            motion, held = stored.motion, storage.held(stored.name)
            roster = rosters[motion.moot]
            fair = {place for place, each in enumerate(roster) if each.fingerprint in fingerprints(honest)}
            if not motion.trust:
                read = read_certificate(write_certificate(stored, held), roster)
                shown.setdefault(stored.name, []).append(outcome_in(*read))
            assert {accused for accused, _ in held.evidence}.isdisjoint(fair)
            if motion.created < 1e9 + CALM or who not in moot.nodes:
                found[f"{_asked(motion)}, in the storm"] += 1
                continue
            what = _asked(motion)
            found[f"{what}, calm"] += INPUTS
            outcome = outcome_in(stored, held)
            claimed = outcome.claimed if isinstance(outcome, NumberVerdict) else outcome.decisions >= 0
            found[f"{what}, decided"] += int(claimed.sum())
            found["learnt from"] += bool(stored.summary.get("anchored"))
            assert stored.closed is not None, "a motion after the storm has not ended"
    for verdicts in shown.values():
        for one in verdicts:
            assert_agree(verdicts[0], one)
            for other in verdicts:
                assert_agree(one, other)
    found["refused"] += len(moot.refused)
    return found


def _asked(motion: Motion) -> Asked:
    return "check rows" if motion.trust else "labels" if motion.is_labels else "numbers"


def fingerprints(people: list[str]) -> set[str]:
    """Of these members."""
    return {address(who).hex() for who in people}


if __name__ == "__main__":
    print(dict(play(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)), "and all promises hold")
