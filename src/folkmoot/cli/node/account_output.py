"""The account of a motion, for people: what was decided, from which votes, and who took part."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final

from folkmoot.cli.output import print_table, say

_SHOWN: Final = 20
_NAMED: Final = 8
_WIDE: Final = 60  # characters of a text


def print_account(account: dict[str, Any], *, everything: bool = False, more: tuple[str, ...] = ()) -> None:
    """The result of a motion, with one row per input."""
    shown = account["inputs"] if everything else min(account["inputs"], _SHOWN)
    final = any(account["final_votes"])
    header = ["input", "decision", "share", "first votes", *(["final votes"] if final else [])]
    if account["answers"] == "numbers":
        header = ["input", "decision", "first numbers: lowest, median, highest"]
        rows = [[str(i), _decision(account, i), _span(account["first_votes"][i])] for i in range(shown)]
    else:
        rows = [
            [str(i), _decision(account, i), _share(account["shares"][i]), _tally(account["first_votes"][i])]
            + ([_tally(account["final_votes"][i])] if final else [])
            for i in range(shown)
        ]
    print_table(title_of(account), header, rows, [*_notes(account, shown), *more])


def title_of(account: dict[str, Any]) -> str:
    """motion 6ece01a2b3c4 by north: plurality of labels"""
    talk = account["terms"]["protocol"]
    how = f"{account['rule']} of {account['answers']}" + (f", after {talk}" if talk else "")
    return f"motion {account['motion'][:12]} by {account['asker']}: {how}"


def _notes(account: dict[str, Any], shown: int) -> list[str]:
    inputs, notes = account["inputs"], []
    if shown < inputs:
        notes.append(f"and {inputs - shown} more: --all shows them, --out FILE.csv writes them")
    if account["state"] == "open":
        notes.append("not decided yet: the members go on, and folkmoot motions shows what comes of it")
    else:
        how = f" in {account['seconds']:.1f} s" if account["seconds"] else ""
        notes.append(
            f"{inputs - account['undecided']} of {inputs} inputs decided{how}; a quorum of "
            f"{account['quorum']} of {account['participants']} signed, of whom {account['faults']} may lie"
        )
    why = Counter(each for each in account["why_undecided"] if each is not None)
    notes += [f"undecided: {many} ({reason})" for reason, many in why.most_common()]
    notes.append(f"took part: {len(account['took_part'])} ({names(account['took_part'])})")
    for what in ("silent", "withheld", "struck"):
        if account[what]:
            notes.append(f"{what}: {len(account[what])} ({names(account[what])})")
    notes += [f"abstained: {name}: {reason}" for name, reason in account["abstained"].items()]
    notes += [f"refused: {name}: {reason}" for name, reason in account["refused"].items()]
    if account["rows"]:
        each = ", ".join(f"{name} {rows}" for name, rows in account["rows"].items())
        notes.append(f"validation rows: {sum(account['rows'].values())} ({each})")
    if account["fell_back"]:
        texts = account["answers"] == "text"
        what = "choices are its own texts" if texts else "final votes are the plurality of first votes"
        notes.append(f"this node's {what}: {account['fell_back']}")
    if not account["columns"] and account["answers"] != "text":
        notes.append("unchecked: the columns of the inputs have no names, so models took them in their order")
    if account["why"]:
        notes.append(f"this node gave it up: {account['why']}")
    notes += [f"EVIDENCE against {name}: {what}" for name, what in account["evidence"].items()]
    return notes


def names(some: list[str]) -> str:
    """Some names, and how many more there are."""
    return ", ".join(some[:_NAMED]) + (f" and {len(some) - _NAMED} more" if len(some) > _NAMED else "")


def write_decisions(path: Path, account: dict[str, Any]) -> None:
    """``input,label,share``; an undecided input has no label."""
    from folkmoot.files.tabular import write_table, written

    rows = [
        [str(i), "" if label is None else written(label), "" if share is None else f"{share:.6g}"]
        for i, (label, share) in enumerate(zip(account["decisions"], account["shares"], strict=True))
    ]
    write_table(path, ["input", "label", "share"], rows)
    say(f"wrote {path}", error=True)


def _decision(account: dict[str, Any], i: int) -> str:
    found = account["decisions"][i]
    if found is None:
        return "undecided"
    return f"{found:.6g}" if isinstance(found, float) else _short(found)


def _share(share: float | None) -> str:
    return "" if share is None else f"{share:.2f}"


def _span(votes: dict[str, float]) -> str:
    return ", ".join(f"{votes[key]:.6g}" for key in ("lowest", "median", "highest") if key in votes)


def _tally(votes: dict[str, float], most: int = 3) -> str:
    """The votes on an input, the most common label first."""
    ranked = sorted(votes.items(), key=lambda item: -item[1])
    return ", ".join(f"{count:g} {_short(label)}" for label, count in ranked[:most]) + (
        f", {len(ranked) - most} more" if len(ranked) > most else ""
    )


def _short(text: object) -> str:
    """A text on one line, cut if it is long."""
    line = " ".join(str(text).split())
    return line if len(line) <= _WIDE else f"{line[: _WIDE - 3]}..."
