"""What ``folkmoot local`` shows: a local moot beside a centre and a simulation, for people and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from folkmoot.cli.output import json_key, print_table

if TYPE_CHECKING:
    from folkmoot.network.storage.account import Account
    from folkmoot.runs.local_moot import LocalResult
    from folkmoot.runs.local_numbers import LocalNumbersResult


def _setting(result: LocalResult | LocalNumbersResult) -> dict[str, Any]:
    """What was played, for --json."""
    return {
        "nodes": result.config.nodes,
        "byzantine": result.byzantine,
        "attack": result.config.attack if result.byzantine else None,
        "killed": result.killed,
        "paused": result.paused,
        "inputs": result.account.inputs,
    }


def _signers(account: Account) -> dict[str, Any]:
    """Who signed, for --json."""
    return {
        "quorum": account.quorum,
        "took_part": account.took_part,
        "silent": account.silent,
        "evidence": account.evidence,
    }


def _reviewed(account: Account) -> dict[str, Any]:
    """What was learnt from, for --json."""
    return {"check_rows": account.check_rows, "vanished": account.vanished, "anchored": account.anchored}


def _cost(result: LocalResult | LocalNumbersResult) -> dict[str, Any]:
    """What it took, for --json."""
    account = result.account
    return {
        "queries": account.queries,
        "bytes_sent": account.bytes_sent,
        "bytes_received": account.bytes_received,
        "motion_seconds": account.seconds,
        "seconds": round(result.seconds, 3),
    }


def numbers_as_dict(result: LocalNumbersResult) -> dict[str, Any]:
    account = result.account
    return {
        **_setting(result),
        "tol": account.tol,
        "error": result.error,
        "without_review": result.without_review,
        **{json_key(name): error for name, error in result.lines.items()},
        "undecided": account.undecided,
        "apart": result.apart,
        **_signers(account),
        **_reviewed(account),
        **_cost(result),
    }


def print_numbers(result: LocalNumbersResult, kept: Path | None) -> None:
    from folkmoot.runs.local_numbers import UNIT

    account, config = result.account, result.config
    rows = [["the moot", "" if result.error is None else f"{result.error:.2f}"]]
    if result.without_review is not None:
        rows[0][0] = "the moot, by peer review"
        rows.append(["the same nodes, without check rows", f"{result.without_review:.2f}"])
    rows += [[name, f"{error:.2f}"] for name, error in result.lines.items()]
    notes = [_faults(config.attack, result.byzantine, result.killed, result.paused)]
    notes += [
        f"error is the root mean square over the {account.inputs - account.undecided} of {account.inputs} "
        f"inputs that were claimed ({UNIT})",
        f"a quorum of {account.quorum} of {account.participants} signed numbers within {config.tol:g} of "
        f"each other; claims of two honest nodes differ by {result.apart:.3g} at most",
        f"took part {len(account.took_part)}, silent {len(account.silent)}; the asking node sent "
        f"{account.queries:,} queries and {account.bytes_sent:,} bytes; the motion took "
        f"{account.seconds:.1f} s, everything {result.seconds:.1f} s",
    ]
    notes += _learnt_from(account)
    notes += [f"EVIDENCE against {name}: {what}" for name, what in account.evidence.items()]
    notes.append(_where(kept))
    title = f"{config.nodes} processes, {account.inputs} patients"
    print_table(title, ["", "error"], rows, [note for note in notes if note])


def _learnt_from(account: Account) -> list[str]:
    if account.check_rows is None:
        return []
    shown, whole = sum(account.check_rows.values()), len(account.check_rows)
    return [f"learnt from: {account.why} ({shown} check rows of {whole} were opened)"]


def _faults(attack: str, lie: list[str], killed: list[str], paused: list[str]) -> str:
    named = ((f"lie ({attack})", lie), ("killed", killed), ("paused", paused))
    return "; ".join(f"{len(names)} {what} ({', '.join(names)})" for what, names in named if names)


def _where(kept: Path | None) -> str:
    if kept is not None:
        return (
            f"keys, models, logs and databases are in {kept}: try folkmoot motions last --via {kept}/node000"
        )
    return "keep everything with --out FOLDER; run a moot of your own: docs/network.md"


def as_dict(result: LocalResult) -> dict[str, Any]:
    account = result.account
    return {
        **_setting(result),
        "consensus": result.accuracy,
        "agreement": sum(account.agreement) / account.inputs,
        "undecided": account.undecided,
        "contradictions": result.contradictions,
        "simulated": result.simulated,
        "simulated_spread": result.simulated_spread,
        "simulated_agreement": result.simulated_agreement,
        **{json_key(line.name): line.score for line in result.lines},
        **_signers(account),
        "trust": account.trust,
        "by_trust": result.by_trust,
        **_reviewed(account),
        **_cost(result),
        "participant_table": result.participants.to_list(),
    }


def print_result(result: LocalResult, kept: Path | None) -> None:
    from folkmoot.comparing.printing import plus_minus

    account = result.account
    rows = [["the moot", f"{result.accuracy:.3f}", str(account.undecided)]]
    if result.by_trust is not None:
        rows[0][0] = "the moot, by peer review"
        rows.append(["the same nodes, by trust", f"{result.by_trust:.3f}", ""])
    rows.append(
        [
            "simulation of the same votes" if account.trust is None else "simulation without trust",
            f"{result.simulated:.3f}{plus_minus(result.simulated_spread, 3)}",
            "",
        ]
    )
    rows += [
        [
            line.name,
            "" if line.score is None else f"{line.score:.3f}",
            "" if line.coverage is None else str(round((1 - line.coverage) * account.inputs)),
        ]
        for line in result.lines
    ]
    faults = _faults(result.config.attack, result.byzantine, result.killed, result.paused)
    notes = [
        f"agreement {sum(account.agreement) / account.inputs:.3f} "
        f"(simulated {result.simulated_agreement:.3f}); "
        + (
            f"a quorum of {account.quorum} of {account.participants} signed each decision"
            if account.trust is None
            else "decisions are the asking node's own, and agreement is of those whom it trusts"
        ),
        f"took part {len(account.took_part)}, silent {len(account.silent)}; "
        f"inputs on which two honest nodes claim different decisions: {result.contradictions}",
        f"the asking node sent {account.queries:,} queries and {account.bytes_sent:,} bytes; the motion took "
        f"{account.seconds:.1f} s, everything {result.seconds:.1f} s",
    ]
    notes += _learnt_from(account)
    if any(line.ties for line in result.lines):
        notes.append("undecided inputs count as wrong here; of the other rules tied labels share")
    notes += [f"EVIDENCE against {name}: {what}" for name, what in account.evidence.items()]
    if faults:
        notes.insert(0, faults)
    notes.append(_where(kept))
    print_table(
        f"{result.config.nodes} processes, {account.inputs} digits",
        ["", "accuracy", "undecided"],
        rows,
        notes,
    )
