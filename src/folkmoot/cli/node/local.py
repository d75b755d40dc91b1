"""``folkmoot local``: a whole moot on this machine, each member a process, some malicious if wanted."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from folkmoot.cli.node.account_output import title_of
from folkmoot.cli.node.ask import Believe, Protocol, believing
from folkmoot.cli.node.options import option
from folkmoot.cli.options import (
    COUNCIL,
    EXPERIMENT_PANEL,
    INT,
    Deadline,
    Inputs,
    Json,
    Malicious,
    Seed,
    attack_option,
    attack_typed,
)
from folkmoot.cli.output import print_json, print_table, progress_bars
from folkmoot.node.durations import seconds_of

if TYPE_CHECKING:
    from folkmoot.local.moot import LocalResult

_ATTACK: Final = "wrong-votes"


def local(
    nodes: Annotated[int, option("--nodes", "Members, each a process.", **INT)] = 7,
    malicious: Malicious = 0,
    attack: Annotated[str | None, attack_option("{attacks on nodes}", _ATTACK)] = None,
    kill: Annotated[
        int,
        option("--kill", "How many members are killed while they vote.", panel=EXPERIMENT_PANEL, **INT),
    ] = 0,
    inputs: Inputs = 100,
    believe: Believe = "plurality",
    protocol: Protocol = COUNCIL,
    deadline: Deadline = "60s",
    seed: Seed = 0,
    out: Annotated[
        Path | None,
        option("--out", "Keep keys, models, logs and databases.", "FOLDER"),
    ] = None,
    json: Json = False,
) -> None:
    """Start a moot of real processes on this machine.

    Members are given digits to vote on. All malicious members vote wrong and do what --attack says. The
    seed covers models, malicious members and votes; it does not cover the order in which real processes
    meet.
    """
    from folkmoot.local.moot import ATTACKS, LocalMoot, play

    attack = attack_typed(attack, malicious, _ATTACK, ATTACKS)
    terms = believing("labels", believe, protocol, None) | {"seconds": seconds_of(deadline, "--deadline")}
    moot = LocalMoot(nodes, malicious, attack, kill, inputs, terms, seed)
    moot.check()
    with _folder_for(out) as folder, progress_bars() as progress:
        result = play(moot, folder, progress)
    if json:
        print_json(_as_dict(result))
    else:
        _print(result, kept=out)


@contextmanager
def _folder_for(out: Path | None) -> Iterator[Path]:
    """Where keys, models and logs are: the folder given, which must be empty, or one that goes afterwards."""
    if out is not None and out.exists() and any(out.iterdir()):
        raise ValueError(f"--out must be a new or empty folder: there is something in {out}")
    folder = Path(tempfile.mkdtemp(prefix="folkmoot-")) if out is None else out
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield folder.resolve()
    finally:
        if out is None:
            shutil.rmtree(folder, ignore_errors=True)


def _as_dict(result: LocalResult) -> dict[str, Any]:
    account, moot = result.account, result.moot
    return {
        "nodes": moot.nodes,
        "attack": moot.attack,
        "malicious": result.malicious,
        "killed": result.killed,
        "motion": account["motion"],
        "rule": account["rule"],
        "decided": result.decided,
        "best_participant": result.best,
        "mean_participant": result.mean,
        "majority": result.majority,
        "undecided": account["undecided"],
        "contradictions": result.contradictions,
        "decisions": account["decisions"],
        "took_part": account["took_part"],
        "evidence": account["evidence"],
        "motion_seconds": account["seconds"],
        "seconds": result.seconds,
    }


def _print(result: LocalResult, kept: Path | None) -> None:
    account, moot = result.account, result.moot
    rows = [
        ["the moot", f"{result.decided:.3f}", str(account["undecided"])],
        ["majority of all votes", f"{result.majority:.3f}", ""],
        ["best honest member", f"{result.best:.3f}", ""],
        ["mean honest member", f"{result.mean:.3f}", ""],
    ]
    notes = [title_of(account)]
    if result.malicious:
        notes.append(f"malicious ({moot.attack}): {', '.join(result.malicious)}; {account['faults']} may be")
    if result.killed:
        notes.append(f"killed while they voted: {', '.join(result.killed)}")
    notes.append(
        f"took part: {len(account['took_part'])} of {account['participants']}; inputs on which two honest "
        f"nodes differ: {result.contradictions}"
    )
    notes += [f"EVIDENCE against {name}: {what}" for name, what in account["evidence"].items()]
    notes.append(f"the motion took {account['seconds']:.2f} s, everything {result.seconds:.1f} s")
    if kept is not None:
        notes.append(f"all is in {kept}: try folkmoot motions show last --node {kept}/node000")
    title = f"{moot.nodes} processes, {account['inputs']} digits"
    print_table(title, ["", "accuracy", "undecided"], rows, notes)
