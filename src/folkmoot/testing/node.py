"""``python -m folkmoot.testing.node FOLDER --attack NAME``: a node that lies, to test a moot with.

It is the node of ``folkmoot node run`` with another session and other check rows; what it runs with stands in
its ``node.toml``.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from folkmoot.adversaries import ATTACKS, NUMBER_ATTACKS, Adversary, FarAway, NumberAdversary
from folkmoot.adversaries.interface import wrong
from folkmoot.arrays import Array
from folkmoot.network.service.check_rows import Contributor
from folkmoot.network.service.node_file import read_node_file
from folkmoot.network.service.operation import Settings, run
from folkmoot.network.service.parts import Parts
from folkmoot.testing.liars import PLAYABLE, PLAYABLE_IN_NUMBERS, Liar, LyingSession


class LyingContributor(Contributor):
    """Shows check rows with wrong labels; with numbers mirrored at their mean."""

    def _claims(self, labels: Sequence[str], known: Sequence[str]) -> Array:
        claims = super()._claims(labels, known)
        if known:
            return np.array([wrong(int(colour), len(known)) for colour in claims], dtype=np.int8)
        return np.asarray(2 * claims.mean() - claims)


def lying(parts: Parts, adversary: Adversary, in_numbers: NumberAdversary | None = None) -> Parts:
    """The parts of a node that lies; ``in_numbers`` is how in motions about these."""
    liar = Liar(adversary, parts.rng, in_numbers)
    return replace(parts, session=partial(LyingSession, liar), contributor=LyingContributor)


def attack_called(name: str) -> Callable[[Parts], Parts]:
    """What makes a liar of a node's parts, by the name of an attack; ValueError if no node can play it."""
    labels = name
    if name in PLAYABLE_IN_NUMBERS and name not in PLAYABLE:  # in labels it lies as well as it can
        labels = "malicious"
    if labels not in PLAYABLE:
        raise ValueError(f"--attack must be one that a node can play, {', '.join(PLAYABLE)}: got {name!r}")
    adversary = ATTACKS[labels]()
    Liar(adversary, random.Random(0))  # noqa: S311 (it says whether a node can play it)
    return partial(lying, adversary=adversary, in_numbers=number_attack_called(name))


def number_attack_called(name: str) -> NumberAdversary:
    """How an attack lies about numbers; one that is for labels alone says absurd numbers."""
    return NUMBER_ATTACKS.get(name, FarAway)()


def main(typed: Sequence[str] | None = None) -> None:
    """Run a lying node until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m folkmoot.testing.node", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the node's folder")
    parser.add_argument("--attack", required=True, help=f"one of {', '.join(PLAYABLE)}")
    parser.add_argument("--roster", type=Path, help="as in node.toml, unless it is given")
    parser.add_argument("--model", help="as in node.toml, unless it is given")
    given = parser.parse_args(typed)
    try:
        told = read_node_file(given.folder)
        settings = Settings(
            given.folder,
            told.chosen_roster(given.roster),
            told.chosen_model(given.model),
            allow=told.allow,
            holdout=told.holdout,
            labels=told.labels,
            policy=told.policy,
            schema=told.schema,
            weights=told.weights,
        )
        run(settings, furnish=attack_called(given.attack))
    except (ValueError, OSError, RuntimeError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
