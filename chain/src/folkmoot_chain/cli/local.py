"""``folkmoot-chain local``: a whole motion on a chain of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from folkmoot_chain.cli.amounts import parse_coins, shown_coins
from folkmoot_chain.cli.options import INT, Json, Seed
from folkmoot_chain.cli.output import print_json, print_table, progress_bars

if TYPE_CHECKING:
    from folkmoot_chain.local_motion import LocalMotionResult


def local(
    participants: Annotated[
        int, typer.Option("--participants", help="Each with a model on digits of its own.", **INT)
    ] = 25,
    silent: Annotated[int, typer.Option("--silent", help="So many commit and never reveal.", **INT)] = 5,
    cheats: Annotated[
        int, typer.Option("--cheats", help="So many try to reveal other votes than they sealed.", **INT)
    ] = 3,
    inputs: Annotated[int, typer.Option("--inputs", help="Digits put to the moot.", **INT)] = 256,
    stake: Annotated[str, typer.Option("--stake", help="Price of a seat: 0.01, 5gwei, 100wei.")] = "0.01",
    deposit: Annotated[str, typer.Option("--deposit", help="Amount that the supplier gives.")] = "1",
    node: Annotated[
        str, typer.Option("--node", help="The chain: auto (anvil if installed), anvil, in-process.")
    ] = "auto",
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Play one motion through all its phases on a chain of this machine: who earned what, and the gas."""
    from folkmoot_chain.local_motion import LocalMotion, play

    config = LocalMotion(
        participants,
        silent,
        cheats,
        inputs,
        parse_coins(stake, "--stake"),
        parse_coins(deposit, "--deposit"),
        cast(Literal["auto", "anvil", "in-process"], node),
    )
    config.check()
    with progress_bars() as progress:
        result = play(config, seed, progress)
    if json:
        print_json(_as_dict(result))
    else:
        _print(result)


def _as_dict(result: LocalMotionResult) -> dict[str, Any]:
    return {
        "node": result.node,
        "inputs": result.config.inputs,
        "stake": str(result.config.stake),
        "deposit": str(result.config.deposit),
        "accuracy": {"answer": result.answer, "majority": result.majority, "best": result.best},
        "participants": [
            {
                "name": line.name,
                "address": line.address,
                "conduct": line.conduct,
                "accuracy": line.accuracy,
                "points": line.points,
                "earned": str(line.earned),  # wei: more than JSON's numbers hold
            }
            for line in result.participants
        ],
        "records": {line.address: {"right": line.right, "asked": line.asked} for line in result.participants},
        "gas": result.gas_table(),
        "gas_of_the_motion": sum(sum(used) for name, used in result.gas.items() if name != "deploy"),
        "refused": result.refused,
        "left": str(result.left),
        "seconds": round(result.seconds, 3),
    }


def _print(result: LocalMotionResult) -> None:
    config = result.config
    where = "anvil" if result.node == "anvil" else "an EVM in this process"
    rows = [
        [
            line.name,
            line.conduct,
            f"{line.accuracy:.3f}",
            str(line.points),
            shown_coins(line.earned),
            f"{line.right} of {line.asked}",
        ]
        for line in result.participants
    ]
    print_table(
        f"{config.inputs} digits put to {config.participants} participants on {where}",
        ["", "conduct", "accuracy", "points", "earned", "record"],
        rows,
        [
            f"deposit {shown_coins(config.deposit)}, stake {shown_coins(config.stake)}; whoever did not "
            "reveal what it sealed lost its stake to the others",
            *(f"the contract refused: {reason}" for reason in sorted(set(result.refused))),
            f"coins of nobody left in the contract: {result.left} wei",
        ],
        left=["conduct"],
    )
    print_table(
        "Accuracy on the inputs",
        ["", "accuracy"],
        [
            ["the chain's answer (plurality of what was revealed)", f"{result.answer:.3f}"],
            ["plurality of all models", f"{result.majority:.3f}"],
            ["best participant", f"{result.best:.3f}"],
        ],
    )
    print_table(
        "Gas",
        ["call", "count", "median", "sum"],
        [
            [name, str(of["count"]), f"{of['median']:,}", f"{of['sum']:,}"]
            for name, of in result.gas_table().items()
        ],
        [f"everything took {result.seconds:.1f} s; the README says what a chain proves and what it does not"],
    )
