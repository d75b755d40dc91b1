"""The next step for one's own ballots, and doing it: reveal, score, claim; by files and the chain alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from folkmoot_chain.contract import Contract, Terms
from folkmoot_chain.history import History
from folkmoot_chain.rpc import Receipt
from folkmoot_chain.state import SavedBallot, State

Deed = Literal["reveal", "score", "claim"]


class OpenSeatsError(ValueError):
    """A motion without a roster, to which nobody agreed."""


def check_open(terms: Terms, agreed: bool) -> None:
    """OpenSeatsError for a motion with open seats, unless that was agreed to."""
    if terms.open and not agreed:
        raise OpenSeatsError(
            f"motion {terms.motion} has open seats: puppets of its supplier know the truth and can take the "
            "deposit back; give --open if you want to take part all the same"
        )


@dataclass(frozen=True)
class Step:
    """The state of a ballot: what is due now, or when something will be."""

    ballot: SavedBallot
    due: Deed | None
    next_at: int | None  # None: nothing will be due any more
    why: str


def step_of(contract: Contract, ballot: SavedBallot, now: int) -> Step:
    """The step due for a ballot at this time."""
    terms = contract.motions(ballot.motion)
    _, reveal_end, _, score_end = terms.deadlines
    seat = contract.seats(ballot.motion, ballot.who)
    if seat.state == 0:
        return Step(ballot, None, None, "not committed" if now < score_end else "done")
    if seat.state == 1:
        if now >= reveal_end:
            return Step(ballot, None, None, "not revealed in time: the stake is lost")
        if now >= terms.deadlines[0]:
            return Step(ballot, "reveal", None, "the reveal window is open")
        return Step(ballot, None, terms.deadlines[0], "commitments are open")
    if now >= score_end:
        return Step(ballot, "claim", None, "the motion is over")
    if seat.state == 2 and terms.told:
        return Step(ballot, "score", None, "the truth is told")
    return Step(ballot, None, score_end, "scored" if seat.state == 3 else "revealed")


def act(contract: Contract, step: Step) -> list[Receipt]:
    """Do what is due."""
    ballot = step.ballot
    if step.due == "reveal":
        return [contract.reveal(ballot.motion, ballot.votes, ballot.salt, ballot.who)]
    if step.due == "score":
        return History(contract, ballot.motion).score([ballot.who])
    if step.due == "claim":
        return [contract.claim(ballot.motion, [ballot.who])]
    return []


def round_of(
    contract: Contract, state: State, *, allow_open: bool = False
) -> tuple[list[tuple[Step, list[Receipt]]], int | None]:
    """Do all that is due now; what was done, and when to look again (None: never)."""
    now = contract.rpc.block("latest").timestamp
    done: list[tuple[Step, list[Receipt]]] = []
    times: list[int] = []
    for ballot in state.ballots():
        check_open(contract.motions(ballot.motion), allow_open or ballot.open)
        step = step_of(contract, ballot, now)
        done.append((step, act(contract, step)))
        if step.due in ("reveal", "score"):
            step = step_of(contract, ballot, now)
        if step.next_at is not None:
            times.append(step.next_at)
    return done, min(times, default=None)
