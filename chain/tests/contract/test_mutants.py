"""The contract with one mistake in it, compiled anew: the test that is named must fail on it."""

from __future__ import annotations

import runpy
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from chain_support.world import World
from contract import test_attacks as attacks
from contract import test_attacks_on_money as money
from contract import test_lifecycle as lifecycle
from folkmoot_chain import interface
from folkmoot_chain.rpc import RevertedError

TOOL = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "compile_contract.py"))


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    changes: tuple[tuple[str, str], ...]
    killer: Callable[[World], None]


WITHDRAW = """    book.credit[msg.sender] = 0
    log layout.Withdrawn(who=msg.sender, amount=amount)
    raw_call(to, b"", value=amount)
"""
LATE_DEBIT = """    log layout.Withdrawn(who=msg.sender, amount=amount)
    raw_call(to, b"", value=amount)
    book.credit[msg.sender] = 0
"""
MUTANTS = [
    Mutant(
        "a commitment in the first second that is too late",
        "Moot.vy",
        (("block.timestamp < bits.deadline(shape, 0), ", "block.timestamp <= bits.deadline(shape, 0), "),),
        attacks.test_each_window_ends_at_the_exact_second,
    ),
    Mutant(
        "a reveal before commitments have ended",
        "Moot.vy",
        (("block.timestamp >= bits.deadline(shape, 0) and ", ""),),
        attacks.test_nothing_happens_before_its_window,
    ),
    Mutant(
        "one seat too many",
        "Moot.vy",
        (
            (
                "bits.count(shape, layout.COMMITTED_AT) < bits.count(shape, layout.SEATS_AT)",
                "bits.count(shape, layout.COMMITTED_AT) <= bits.count(shape, layout.SEATS_AT)",
            ),
        ),
        attacks.test_sybils_that_fill_the_seats_and_never_reveal_pay_those_who_do,
    ),
    Mutant(
        "any value from the stake on",
        "Moot.vy",
        (("assert msg.value == money & (2**88 - 1)", "assert msg.value >= money & (2**88 - 1)"),),
        attacks.test_a_seat_is_taken_once_and_costs_the_stake_exactly,
    ),
    Mutant(
        "a roster that is not looked at",
        "Moot.vy",
        (("assert node == book.motion[motion].roster", "assert node != empty(bytes32)"),),
        attacks.test_only_the_roster_may_commit_and_no_inner_node_passes_for_a_member,
    ),
    Mutant(
        "a truth about no input at all",
        "scoring.vy",
        (("assert some != 0", "assert some >= 0"),),
        attacks.test_a_truth_about_nothing_is_refused,
    ),
    Mutant(
        "a seal of truth that does not bind its supplier",
        "scoring.vy",
        (('assert seal == book.motion[motion].truth, "not', 'assert seal != empty(bytes32), "not'),),
        attacks.test_a_sealed_truth_copied_by_another_supplier_cannot_be_told,
    ),
    Mutant(
        "a ballot that is scored again",
        "scoring.vy",
        (("if seat & 255 == layout.REVEALED:", "if seat & 255 >= layout.REVEALED:"),),
        attacks.test_scoring_twice_counts_once,
    ),
    Mutant(
        "a seat that stays after its claim",
        "Moot.vy",
        (("            book.seat_of[motion][who] = 0\n", ""), ("points -= mine", "points -= 0")),
        attacks.test_claiming_twice_pays_once,
    ),
    Mutant(
        "money that leaves before it is debited, without a lock",
        "Moot.vy",
        ((WITHDRAW, LATE_DEBIT), ("@nonreentrant\n", "")),
        attacks.test_a_contract_that_calls_withdraw_again_while_it_is_paid_gets_its_credit_once,
    ),
    Mutant(
        "a recount of the ballots that the disputer likes",
        "answering.vy",
        (
            (
                "assert len(whos) == bits.count(shape, layout.REVEALED_AT)",
                "assert len(whos) <= bits.count(shape, layout.REVEALED_AT)",
            ),
        ),
        money.test_a_right_answer_keeps_its_bond_whatever_is_shown,
    ),
    Mutant(
        "a recount of one ballot many times",
        "answering.vy",
        (("assert convert(who, uint256) > last", "assert convert(who, uint256) >= last"),),
        money.test_a_right_answer_keeps_its_bond_whatever_is_shown,
    ),
    Mutant(
        "a dispute that pays the whole bond",
        "answering.vy",
        (("+= bond // 2", "+= bond"), ("((bond - bond // 2) << layout.POOL_AT)", "0")),
        money.test_disputing_oneself_costs_half_of_the_bond,
    ),
    Mutant(
        "a bond of one wei that vanishes",
        "answering.vy",
        (("((bond - bond // 2) << layout.POOL_AT)", "((bond // 2) << layout.POOL_AT)"),),
        money.test_a_dust_stake_is_paid_back_and_a_lost_dust_bond_costs_all_of_it,
    ),
    Mutant(
        "a deposit that returns where the truth is withheld",
        "Moot.vy",
        (("    if revealed == 0:\n", "    if money & layout.TOLD == 0:\n"),),
        money.test_withholding_the_truth_pays_the_supplier_nothing,
    ),
    Mutant(
        "one register for all suppliers",
        "Moot.vy",
        (("uint256 = book.register_of[origin]\n", "uint256 = min(book.register_count, 1)\n"),),
        lifecycle.test_records_are_kept_by_supplier_and_subject_and_go_on,
    ),
    Mutant(
        "points for guessing",
        "scoring.vy",
        (("unsafe_sub(earned, asked) if earned > asked else 0", "right"),),
        money.test_with_open_seats_puppets_of_the_supplier_take_the_deposit_back,
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "_"))
def test_a_mutant_is_killed_by_its_test(
    mutant: Mutant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "source"
    shutil.copytree(TOOL["SOURCE"], folder)
    path = folder / mutant.file
    text = path.read_text()
    for old, new in mutant.changes:
        assert old in text, f"{mutant.file} no longer has {old!r}"
        text = text.replace(old, new)
    path.write_text(text)
    made = TOOL["compiled"](folder)
    assert made["bytecode"] != interface.artifact()["bytecode"]
    monkeypatch.setattr(interface, "artifact", lambda: made)
    world = World.made(accounts=12)
    with pytest.raises((AssertionError, RevertedError, pytest.fail.Exception)):
        mutant.killer(world)


@pytest.mark.slow
def test_their_tests_pass_on_the_contract_itself() -> None:
    for killer in dict.fromkeys(mutant.killer for mutant in MUTANTS):
        killer(World.made(accounts=12))
