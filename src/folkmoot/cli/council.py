"""``folkmoot council``: language models at several endpoints agree on an answer, in one process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.options import Everything, Json, Overwrite
from folkmoot.cli.output import new_file, print_json, print_table, progress_bar, say
from folkmoot.cli.study_output import check_new

if TYPE_CHECKING:
    from folkmoot.texts.outcome import Answered, TextOutcome

_WHOLE = 3  # questions of which all is printed
_SHOWN = 20  # questions that are printed unless all are wanted
_WIDE = 300  # characters of a text in a table


def council(
    members: Annotated[
        Path,
        typer.Argument(
            metavar="COUNCIL.toml", help="The members: each an endpoint with a model.", show_default=False
        ),
    ],
    question: Annotated[
        str | None, typer.Argument(metavar="QUESTION", help="The question.", show_default=False)
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", help="Ask the questions in this text file, one per line.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write a record of who said and chose what: JSON.", show_default=False),
    ] = None,
    overwrite: Overwrite = False,
    everything: Everything = False,
    json: Json = False,
) -> None:
    """Ask language models, which choose among their answers.

    Each member proposes an answer, then chooses the best of all. The table says who proposed and chose what.
    """
    from folkmoot.runs.council_file import read_council

    if out is not None:
        new_file("--out", out, (".json",))
        check_new([out], "--out", overwrite)
    questions = _questions(question, file)
    moot = read_council(members)
    with progress_bar("asking"):
        outcome = moot.ask(questions)
    _refuse_silence(outcome)
    if json:
        print_json(outcome.to_dict())
    else:
        _print(outcome, everything)
    if out is not None:
        from folkmoot.files.durable import replace_file

        replace_file(out, outcome.to_json().encode("utf-8", "backslashreplace"))
        say(f"wrote {out}", error=True)


def _questions(question: str | None, file: Path | None) -> list[str]:
    if (question is None) == (file is None):
        raise ValueError('give either a QUESTION, such as "What is the capital of France?", or --file FILE')
    if file is None:
        if not (question or "").strip():
            raise ValueError("QUESTION must be a text: got an empty one")
        return [question or ""]
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"--file must name a text file in UTF-8: {file} is none") from None
    found = [line.strip() for line in lines if line.strip()]
    if not found:
        raise ValueError(f"--file must have one question per line: {file} has none")
    return found


def _refuse_silence(outcome: TextOutcome) -> None:
    """One line for the most common mistake: nobody can be reached, by a wrong address or key."""
    if any(said.text is not None for each in outcome.answered for said in each.proposed):
        return
    why = [f"{name}: {said.reason}{f' ({said.detail})' if said.detail else ''}"
           for name, said in zip(outcome.names, outcome.answered[0].proposed, strict=True)]  # fmt: skip
    raise ValueError(f"no member answered; {'; '.join(why)}")


def _print(outcome: TextOutcome, everything: bool) -> None:
    many = len(outcome.answered)
    if many <= _WHOLE or everything:
        for each in outcome.answered:
            _print_whole(outcome, each)
    else:
        rows = [
            [_short(each.question), _answer(each), f"{_support(each)} of {len(outcome.names)}"]
            for each in outcome.answered[:_SHOWN]
        ]
        notes = [] if many <= _SHOWN else [f"... and {many - _SHOWN:,} more: --all shows them"]
        undecided = sum(answer is None for answer in outcome.answers)
        print_table(
            f"{many:,} questions, {undecided:,} undecided:", ["question", "answer", "chosen by"], rows, notes,
            words=True,
        )  # fmt: skip
    lines = outcome.independence.in_words()
    if outcome.effective_votes is None:
        lines = ["effective votes: not known from fewer than 20 questions", *lines]
    if outcome.embedding:
        lines = [f"embedding: {outcome.embedding}", *lines]
    say(*lines)


def _print_whole(outcome: TextOutcome, each: Answered) -> None:
    found, names = each.verdict, outcome.names
    title = [_short(each.question), f"answer: {_answer(each)}"]
    rows = []
    for place, candidate in enumerate(found.candidates):
        same = found.classes[place]
        chosen = [names[i] for i, choice in sorted(each.choices.items()) if choice.best == place]
        rows.append(
            [
                str(place + 1), _short(candidate.text), ", ".join(names[i] for i in candidate.proposers),
                ", ".join(chosen), "" if same == place else str(same + 1),
            ]
        )  # fmt: skip
    silent = [
        f"{name} proposed nothing: {said.reason}{f' ({said.detail})' if said.detail else ''}"
        for name, said in zip(names, each.proposed, strict=True)
        if said.text is None
    ]
    silent += [
        f"{names[i]} chose nothing: {reason}{f' ({detail})' if detail else ''}"
        for i, (reason, detail) in sorted(each.why.items())
    ]
    header = ["", "proposed answer", "by", "chosen by", "same as"]
    if not any(row[-1] for row in rows):
        header, rows = header[:-1], [row[:-1] for row in rows]
    print_table(title, header, rows, silent, words=True)


def _answer(each: Answered) -> str:
    return f"undecided: {each.undecided}" if each.verdict.answer is None else _short(each.verdict.answer)


def _support(each: Answered) -> int:
    return max(each.verdict.votes.values(), default=0)


def _short(text: object) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= _WIDE else f"{line[: _WIDE - 3]}..."
