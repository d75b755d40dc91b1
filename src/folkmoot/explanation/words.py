"""An explanation in words: one sentence, and the facts below it, line by line."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from folkmoot.files.terminal import printable

if TYPE_CHECKING:
    from folkmoot.explanation.explanation import ChangeOfMind, Explanation, Participation

_WIDTH: Final = 100
_MOST_NAMES: Final = 6  # in a sentence; lists below it name everybody
_MOST_CHANGES: Final = 40
_MOST_LISTED: Final = 20  # participants without a vote
_CLOSE: Final = 2  # votes
_OF_ONE: Final = {"were": "was", "are": "is"}

COUNTED: Final = {
    "equal": "which all count the same",
    "weight": "with what each weighs",
    "accuracy": "with the accuracy that is estimated of each",
    "own": "with the weight that the median participant gives each",
}


def called(label: Any) -> str:
    """A label for people."""
    return "none" if label is None else printable(str(label))


def listed(names: Sequence[str], most: int = _MOST_NAMES) -> str:
    """Names as a sentence has them: a, b and c; or a, b and 5 more."""
    shown = list(names)
    if len(shown) > most:
        shown = [*shown[: most - 1], f"{len(shown) - most + 1} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def number(value: float) -> str:
    """A weight, with as many digits as a person reads."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if value else "0"


def chance(value: float) -> str:
    """A probability: .873."""
    if value in (0, 1):
        return f"{value:.0f}"
    if value < 0.0005:
        return "below .001"
    if value >= 0.9995:
        return "above .999"
    return f"{value:.3f}".removeprefix("0").rstrip("0")


def rounds_of(count: int) -> str:
    """1 round, 4 rounds."""
    return "1 round" if count == 1 else f"{count} rounds"


def sentence(
    answer: Any,
    participants: Sequence[Participation],
    changes: Sequence[ChangeOfMind],
    rounds: int,
) -> str:
    """The reason for the answer, or for none, in one sentence."""
    voted = _votes_in_words(answer, participants)
    following = [participant for participant in participants if participant.part == "follows"]
    if answer is None:
        held = f"after {rounds_of(rounds)} {_final_in_words(following)}" if following else "nobody took part"
        return f"There is no answer: {voted}, {held}."
    steps = [voted]
    steps.append(_changes_in_words(answer, following, changes, rounds))
    end = _share(sum(participant.holds == answer for participant in following), len(following))
    if any(participant.part == "lies" for participant in participants):
        end += " that follow the protocol"
    return f"{called(answer)} was the answer because {', '.join(steps)}, and in the end {end} held it."


def _share(some: int, whole: int) -> str:
    if some == whole == 2:
        return "both"
    return f"all {whole}" if some == whole > 1 else f"{some} of {whole}"


def _votes_in_words(answer: Any, participants: Sequence[Participation]) -> str:
    counts = Counter(participant.voted for participant in participants if participant.voted is not None)
    total = sum(counts.values())
    if not total:
        return "nobody voted"
    if answer is None:
        return f"at first {shares_in_words(counts, 'were')}"
    mine = counts.pop(answer, 0)
    rest = ", ".join(f"{count} for {called(label)}" for label, count in _ranked(counts))
    if not rest:
        return f"all {total} who voted were for it at first" if total > 1 else "the only vote was for it"
    return f"{mine or 'none'} of {total} voted for it at first ({rest})"


def _final_in_words(following: Sequence[Participation]) -> str:
    held = shares_in_words(Counter(participant.holds for participant in following), "are")
    return f"{held}, and more than half of the {len(following)} must be for one label"


def shares_in_words(counts: Counter[Any], verb: Literal["were", "are"]) -> str:
    """4 were for cat, 3 for dog and 2 for none; 1 was for cat."""
    ranked = _ranked(counts)
    parts = [f"{count} for {called(label)}" for label, count in ranked]
    first = _OF_ONE[verb] if ranked[0][1] == 1 else verb
    parts[0] = parts[0].replace(" ", f" {first} ", 1)
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _ranked(counts: Counter[Any]) -> list[tuple[Any, int]]:
    return sorted(counts.items(), key=lambda item: (item[0] is None, -item[1]))


def _changes_in_words(
    answer: Any, following: Sequence[Participation], changes: Sequence[ChangeOfMind], rounds: int
) -> str:
    moved = [(change.name, change.after) for change in changes]
    if not moved:
        return "nobody changed its mind"
    ended = {participant.name: participant.holds for participant in following}
    kept = dict.fromkeys(name for name, after in moved if ended[name] == after)  # not taken back
    towards = [name for name in kept if ended[name] == answer]
    away = [name for name in kept if ended[name] != answer]
    if not kept:
        return "nobody changed its mind for good"
    who, where = (towards, "to it") if towards else (away, "away from it")
    verb = "changed its mind" if len(who) == 1 else "changed their minds"
    asked = f" in {rounds_of(rounds)} of asking others" if rounds else ""
    return f"{listed([printable(name) for name in who])} {verb} {where}{asked}"


def closeness_in_words(why: Explanation) -> str | None:
    """How close the decision was, and how that was found; None if unknown."""
    if why.closeness is None:
        return None
    close, runner_up = why.closeness, why.runner_up
    how = "exact" if close.exact else f"{close.times} replays, ± {chance(close.error)}"
    now, other = chance(close.chance), called(runner_up)
    if close.votes is None:
        return (
            f"It was not close: had all of its votes gone to {other}, it would still have been the likelier "
            f"answer (its probability was {now}; {how})."
        )
    if close.votes == 0 or close.moved_chance is None:
        return f"It could have gone otherwise: with these votes its probability was {now} only ({how})."
    votes = "1 of its votes" if close.votes == 1 else f"{close.votes} of its votes"
    against = sum(count for label, count in why.first_votes.items() if label != why.answer)
    # A few votes are many where few voted: it is not close if more would have to turn than were against it.
    opening = "It was close: had" if close.votes <= min(_CLOSE, against) else "Had"
    then = f"its probability would have been {chance(close.moved_chance)} instead of {now}"
    return f"{opening} {votes} gone to {other}, {then} ({how})."


def change_in_words(change: ChangeOfMind) -> str:
    """A change of mind, with the answers before it."""
    when = f"round {change.round}: " if change.round else ""
    line = f"{when}{printable(change.name)}, {called(change.before)} -> {called(change.after)}"
    if not change.answers:
        return line
    said: dict[str, list[str]] = {}
    for answer in change.answers:
        what = called(answer.label) if answer.label is not None else "nothing"
        said.setdefault(what, []).append(answer.name)
    mine = called(change.after)
    order = sorted(said, key=lambda what: (what != mine, -len(said[what])))
    answers = "; ".join(f"{listed([_glued(each) for each in said[what]], 99)} said {what}" for what in order)
    reached = f"{number(change.tally)} of {len(change.answers)}, {change.alpha} needed"
    return f"{line}, after {answers} ({reached})".replace("\xa0", " ")


def as_text(why: Explanation) -> str:
    """The whole explanation as lines of text."""
    lines = [f"{printable(why.called)}: {'undecided' if why.answer is None else called(why.answer)}"]
    lines += _wrapped(why.sentence)
    close = closeness_in_words(why)
    lines += [] if close is None else _wrapped(close)
    lines += ["", f"first votes, {COUNTED[why.counted_by]}:"]
    weigh = why.counted_by != "equal"
    votes = [
        (f"{participant.name} {number(participant.counts)}" if weigh else participant.name, participant.voted)
        for participant in why.participants
    ]
    lines += [line for label, names in _by_label(votes) for line in _names_of(label, names)]
    notes = [(participant.name, participant.note) for participant in why.participants if participant.note]
    lines += _grouped("of these:", [each for each in notes if each not in why.uncounted])
    if why.changes:
        lines.append("changes of mind:")
        for change in why.changes[:_MOST_CHANGES]:
            lines += _wrapped(change_in_words(change), "  ")
        if len(why.changes) > _MOST_CHANGES:
            lines.append(f"  and {len(why.changes) - _MOST_CHANGES} more")
    ends = _by_label(
        [
            (participant.name, participant.holds)
            for participant in why.participants
            if participant.part == "follows"
        ]
    )
    if len(ends) > 1:
        lines.append("in the end:")
        lines += [line for label, names in ends for line in _names_of(label, names)]
    lines += _grouped("not counted:", [(each.name, each.why) for each in why.uncounted])
    lines += [line for each in why.missing for line in _wrapped(each)]
    return "\n".join(lines)


def by_reason(reasons: Sequence[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Each reason with the names of the participants that it is given for."""
    found: dict[str, list[str]] = {}
    for name, reason in reasons:
        found.setdefault(reason, []).append(name)
    return list(found.items())


def _grouped(title: str, reasons: Sequence[tuple[str, str]]) -> list[str]:
    lines = [title] if reasons else []
    for reason, names in by_reason(reasons):
        lines += _wrapped(f"{listed([_glued(name) for name in names], _MOST_LISTED)}: {reason}", "  ")
    return lines


def _by_label(votes: Sequence[tuple[str, Any]]) -> list[tuple[Any, list[str]]]:
    """Each label with the names of those who voted for it, the most common first, no vote last."""
    found: dict[Any, list[str]] = {}
    for name, label in votes:
        found.setdefault(label, []).append(name)
    return sorted(found.items(), key=lambda item: (item[0] is None, -len(item[1])))


def _names_of(label: Any, names: Sequence[str]) -> list[str]:
    few = [*names[:_MOST_LISTED], "..."] if label is None and len(names) > _MOST_LISTED else names
    title = "no vote" if label is None else called(label)
    return _wrapped(f"{title} ({len(names)}): {', '.join(map(_glued, few))}", "  ")


def _glued(name: str) -> str:
    """A name that is not broken into lines."""
    return printable(name).replace(" ", "\xa0")


def _wrapped(text: str, indent: str = "") -> list[str]:
    lines = textwrap.wrap(
        text, _WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  " if indent else "",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return [line.replace("\xa0", " ") for line in lines]
