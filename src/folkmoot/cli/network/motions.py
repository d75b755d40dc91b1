"""``folkmoot motions`` and ``truth``: what a node remembers, and what it is told afterwards."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.options import Everything, Json, Play, whole_number
from folkmoot.cli.output import new_file, page_path, print_json, print_table, say, warn

if TYPE_CHECKING:
    from folkmoot.explanation import Explanation
    from folkmoot.network.storage.account import Account
    from folkmoot.network.storage.storage import Storage, StoredMotion

Node = Annotated[
    Path, typer.Option("--via", metavar="DIR", help="Your node's folder; the node may be running or not.")
]
_SHOWN = 20
_IN_VAIN = 3  # invitations that came to nothing, unless --all


def motions(
    motion: Annotated[
        str | None,
        typer.Argument(
            metavar="[MOTION]",
            help="One motion: 4 or more digits of its name, or 'last'.",
            show_default=False,
        ),
    ] = None,
    via: Node = Path(),
    everything: Everything = False,
    last: Annotated[
        int | None,
        typer.Option(
            "--last",
            parser=whole_number,
            metavar="N",
            help="List the N newest only.",
            show_default="20, and with --json all",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write the motion's decisions into this .csv file.", show_default=False),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate",
            metavar="FILE",
            help="Write what this node holds of the motion into this file, for folkmoot verify.",
            show_default=False,
        ),
    ] = None,
    why: Annotated[
        list[int] | None,
        typer.Option(
            "--why",
            parser=whole_number,
            metavar="INPUT",
            help="Explain this input of the motion; may be repeated.",
            show_default=False,
        ),
    ] = None,
    play: Play = None,
    json: Json = False,
) -> None:
    """List the motions that this node has taken part in, or show one with its results."""
    import msgspec

    from folkmoot.network.storage.account import account, as_dict, find
    from folkmoot.network.storage.database import DamagedError
    from folkmoot.network.storage.invitations import Invitations

    if last is not None and (last < 1 or everything or motion is not None):
        raise ValueError(f"--last must be a number of at least 1, without --all and MOTION: got {last}")
    page = page_path(play)
    storage = storage_of(via)
    if motion is not None:
        stored = find(storage, motion)
        found = account(storage, stored)
        reasons = _reasons(storage, stored, why or [])
        if certificate is not None:
            _write_certificate(certificate, storage, stored)
        if out is not None:
            write_decisions(out, found)
        if page is not None:
            _write_page(page, storage, stored)
        if json:
            more = {"why": [reason.to_dict() for reason in reasons]} if why else {}
            print_json(as_dict(found) | more)
            return
        if not why:
            print_account(found, everything=everything)
        for reason in reasons:
            say(*str(reason).split("\n"))
        return
    for option, given in (("--out", out), ("--certificate", certificate), ("--why", why), ("--play", page)):
        if given is not None:
            raise ValueError(
                f"{option} must be given with a motion: type 4 or more digits of its name, or 'last'"
            )
    count = storage.count()
    accounts: list[Account] = []
    damaged: list[str] = []
    for name in storage.names(last=last or (None if everything or json else _SHOWN)):
        try:
            accounts.append(account(storage, storage.motion(name)))
        except DamagedError:
            damaged.append(name.hex())
    in_vain = Invitations(storage).in_vain()
    if json:
        told = {"motions": [as_dict(each) for each in accounts], "damaged": damaged}
        print_json(told | {"invitations": [msgspec.structs.asdict(each) for each in in_vain]})
        _complain_of(damaged)
        return
    rows = [
        [
            each.motion[:12],
            _time(each.created),
            each.asker,
            str(each.inputs),
            each.protocol,
            each.state,
            f"{each.inputs - each.undecided} of {each.inputs}",
            _mean(each.agreement),
            "" if each.answers == "numbers" else f"{_as_most_voted(each)} of {each.inputs - each.undecided}",
            f"{len(each.took_part)} of {each.participants}",
            f"{each.seconds:.1f} s",
        ]
        for each in accounts
    ]
    header = [
        "motion",
        "put",
        "by",
        "inputs",
        "protocol",
        "state",
        "decided",
        "agreement",
        "as most voted",
        "took part",
        "time",
    ]
    hidden = count - len(accounts) - len(damaged)
    title = f"{count} motion{'' if count == 1 else 's'} at this node"
    notes = [f"{hidden} older ones: --all"] if hidden else []
    notes += [
        f"invitation {each.name[:12]} of {_time(each.created)} ({each.inputs} inputs): no motion; {each.why}"
        for each in in_vain[: None if everything else _IN_VAIN]
    ]
    print_table(title, header, rows, notes)
    _complain_of(damaged)


def _reasons(storage: Storage, stored: StoredMotion, inputs: list[int]) -> list[Explanation]:
    if not inputs:
        return []
    from folkmoot.network.storage.reasons import reason

    return [reason(storage, stored, i) for i in inputs]


def _complain_of(damaged: list[str]) -> None:
    if damaged:
        names = ", ".join(name[:12] for name in damaged[:8])
        raise ValueError(
            f"{len(damaged)} motion{'' if len(damaged) == 1 else 's'} damaged and not shown ({names}): what "
            "is stored is not what this node wrote; put a copy of the database back (docs/operations.md)"
        )


def truth(
    motion: Annotated[str, typer.Argument(metavar="MOTION", help="4 or more digits of its name, or 'last'.")],
    file: Annotated[
        Path,
        typer.Argument(metavar="TRUTH", help="Columns input (from 0) and label; or one label a line."),
    ],
    via: Node = Path(),
    json: Json = False,
) -> None:
    """Tell the node what was right: each participant's track record, for --alpha local and --weights
    record.
    """
    from folkmoot.network.service.truths import read_truths, records_of, tell
    from folkmoot.network.storage.account import find

    storage = storage_of(via)
    stored = find(storage, motion)
    labels = read_truths(file, stored.motion)
    doubt = tell(storage, stored, labels, str(file))
    if doubt:
        warn(doubt)
    lines = records_of(storage, stored)
    if json:
        print_json({"motion": stored.name.hex(), "told": len(labels), "records": lines})
        return
    rows = [
        [name, str(x["right"]), str(x["voted"]), f"{x['accuracy']:.3f}"] for name, x in sorted(lines.items())
    ]
    truths = "1 truth" if len(labels) == 1 else f"{len(labels)} truths"
    print_table(
        f"{truths} told about {stored.name.hex()[:12]}; track records at this node:",
        ["participant", "right", "voted", "accuracy"],
        rows,
        "accuracy is (right + 1) / (voted + 2); ask --weights record uses it, --alpha local its own record",
    )


def print_account(account: Account, *, everything: bool = False) -> None:
    """A motion for people: decisions first, then who and what it cost."""
    cost = (
        f"this node asked {account.queries:,} queries in {account.rounds_played} rounds, sent "
        f"{account.bytes_sent:,} bytes, received {account.bytes_received:,}, {account.seconds:.2f} s"
    )
    print_decisions(account, [cost], everything=everything)


def print_decisions(account: Account, more: list[str], *, everything: bool = False) -> None:
    """A motion for people: decisions, who took part, and some lines more."""
    shown = account.inputs if everything else min(account.inputs, _SHOWN)
    numbers = account.answers == "numbers"
    rows = [
        [
            str(i),
            _answer(account, i),
            *([_window(account.windows[i])] if numbers else []),
            f"{account.agreement[i]:.3f}",
            _first_of(account, i),
        ]
        for i in range(shown)
    ]
    decided = account.inputs - account.undecided
    notes = (
        [f"and {account.inputs - shown} more: --all shows them, --out FILE.csv writes them"]
        if shown < account.inputs
        else []
    )
    notes.append(
        f"{decided} of {account.inputs} inputs decided ({_by_whom(account)}), "
        f"mean agreement {_mean(account.agreement)}"
    )
    if account.answers != "numbers" and _as_most_voted(account) < decided:
        notes.append(
            f"{decided - _as_most_voted(account)} decided otherwise than most had voted at first: the talk "
            "turned them, or labels were level"
        )
    if account.undecided:
        notes.append(f"undecided: {account.undecided} ({_why_not(account)})")
    notes.append(f"took part: {len(account.took_part)} ({_names(account.took_part)})")
    if account.silent:
        notes.append(f"silent: {len(account.silent)} ({_names(account.silent)})")
    if account.late:
        notes.append(f"voted late: {_names(account.late)}")
    notes += [f"abstained: {name}: {why}" for name, why in account.abstained.items()]
    notes += [f"refused: {name}: {why}" for name, why in account.refused.items()]
    notes += _check_rows(account)
    if not account.columns:
        notes.append("unchecked: the columns of the inputs have no names, so models took them in their order")
    notes += [f"EVIDENCE against {name}: {what}" for name, what in account.evidence.items()]
    notes += more
    rule = f"{account.protocol}, k={account.k}, "
    rule += f"alpha={account.alpha}" if account.tol is None else f"tol={account.tol:g}"
    title = f"motion {account.motion[:12]} by {account.asker}: {rule}"
    header = ["input", "decision", "agreement", "first votes"]
    if numbers:
        first = "first numbers: lowest, median, highest"
        header = ["input", "decision", "a quorum signed", "agreement", first]
    print_table(title, header, rows, notes)


def _check_rows(account: Account) -> list[str]:
    """What was learnt from, in a motion by peer review, and at its asker who sent none."""
    none = [f"no check rows: {name}: {why}" for name, why in account.without_rows.items()]
    if account.check_rows is None:
        return none
    each = ", ".join(f"{name} {rows}" for name, rows in account.check_rows.items())
    notes = [f"check rows: {sum(account.check_rows.values())} ({each})"]
    if account.tol is not None:
        notes.append(f"this node opened the talk by its own review; {account.why}")
    if account.vanished:
        notes.append(f"check rows dropped, since their labels were not opened: {_names(account.vanished)}")
    return notes + none


def _answer(account: Account, i: int) -> str:
    """What was decided on an input, as it is shown."""
    claim = account.claims[i] if account.claims else None
    label = account.decisions[i]
    if isinstance(claim, float):
        return f"{claim:.6g}"
    if label is None or not isinstance(claim, list):
        return "undecided" if label is None else label
    return f"{label} ({claim[account.labels.index(label)] / sum(claim):.3f})"


def _window(ends: list[float] | None) -> str:
    """Between which numbers those of a quorum lie; the claim is the middle."""
    return "" if ends is None else f"{ends[0]:.6g} to {ends[1]:.6g}"


def _first_of(account: Account, i: int) -> str:
    if account.answers == "numbers":
        return ", ".join(f"{number:.6g}" for number in account.first_numbers[i])
    return _first(account.first_votes[i])


def _first(tally: dict[str, int], most: int = 3) -> str:
    """The first votes on an input, the most common label first."""
    ranked = sorted(tally.items(), key=lambda item: -item[1])
    return ", ".join(f"{count} {label}" for label, count in ranked[:most]) + (
        f", {len(ranked) - most} more labels" if len(ranked) > most else ""
    )


def _as_most_voted(account: Account) -> int:
    """On how many inputs the decision is the label that most had voted for at first."""
    pairs = zip(account.decisions, account.majority, strict=True)
    return sum(label is not None and label == leader for label, leader in pairs)


def _by_whom(account: Account) -> str:
    if account.tol is not None:
        return (
            f"a quorum of {account.quorum} of {account.participants} signed numbers within {account.tol:g}, "
            f"and {account.least_voters} or more had an answer at first"
        )
    if account.trust is None:
        return (
            f"a quorum of {account.quorum} of {account.participants} signed the same, and "
            f"{account.least_voters} or more had voted so"
        )
    if account.check_rows is not None:
        return f"by this node's own review; {account.why}"
    trusted = sum(weight > 0 for weight in account.trust.values())
    return f"by this node's own trust, in {trusted} of {account.participants}; {account.why}"


def _why_not(account: Account) -> str:
    """Why inputs are undecided; if there are several reasons, on how many inputs each."""
    found = Counter(why for why in account.why_undecided if why is not None)
    if len(found) == 1:
        return next(iter(found))
    return "; ".join(f"{count}: {why}" for why, count in found.most_common())


def write_decisions(path: Path, account: Account) -> None:
    """``input,label,agreement``; an undecided input has no label."""
    from folkmoot.files.tabular import write_table
    from folkmoot.network.storage.account import decisions_table

    write_table(path, *decisions_table(account))
    say(f"wrote {path}", error=True)


def _write_page(path: Path, storage: Storage, stored: StoredMotion) -> None:
    from folkmoot.network.storage.motion_page import motion_page

    motion_page(storage, stored).save(path)
    say(f"wrote {path} (open it in a browser)", error=True)


def _write_certificate(path: Path, storage: Storage, stored: StoredMotion) -> None:
    from folkmoot.files.durable import replace_file
    from folkmoot.network.storage.certificate import write_certificate

    new_file("--certificate", path)
    replace_file(path, write_certificate(stored, storage.held(stored.name)))
    say(f"wrote {path}: anybody can check it with folkmoot verify {path} --roster ROSTER.toml", error=True)


def storage_of(via: Path) -> Storage:
    """What the node in a folder has stored; ValueError if there is none."""
    from folkmoot.network.storage.storage import DATABASE, Storage

    if not (via / "node.toml").is_file():
        raise ValueError(f"--via must be a node's folder: there is no node in {via}")
    if not (via / DATABASE).is_file():
        raise ValueError(f"the node in {via} has no motions yet: nothing was ever put to it")
    return Storage(via / DATABASE)


def _names(names: list[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _mean(shares: list[float]) -> str:
    return f"{sum(shares) / len(shares):.3f}"


def _time(created: float) -> str:
    return datetime.fromtimestamp(created).astimezone().strftime("%Y-%m-%d %H:%M:%S")
