"""``folkmoot deliberate``: votes from a file, consensus beside every centralised answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from folkmoot.cli.options import (
    INT,
    AlphaOrLocal,
    Beta,
    Device,
    Json,
    KOrAll,
    LabelColumn,
    Participants,
    Play,
    Plot,
    Protocol,
    Repeats,
    RoundsEach,
    Seed,
    TaskColumn,
    WorkerColumn,
    asked,
    check_simulated,
    check_workers,
    device_called,
    whole_alpha,
)
from folkmoot.cli.output import (
    collected_warnings,
    json_key,
    new_file,
    number,
    page_path,
    picture_path,
    print_json,
    print_table,
    progress_bar,
    save_picture,
    say,
)
from folkmoot.cli.participant_output import print_participants

if TYPE_CHECKING:
    from folkmoot.adversaries import Adversary
    from folkmoot.comparison import Line, Report
    from folkmoot.files.vote_files import VoteTable
    from folkmoot.outcome import Outcome
    from folkmoot.protocols import SnowProtocol
    from folkmoot.votes import Missing, Votes


def deliberate(
    votes: Annotated[
        Path,
        typer.Argument(
            metavar="VOTES", help="Columns task,worker,label: CSV, .gz or .parquet.", show_default=False
        ),
    ],
    truth: Annotated[
        Path | None,
        typer.Option("--truth", help="Columns task,label: the right answers.", show_default=False),
    ] = None,
    task_column: TaskColumn = "task",
    worker_column: WorkerColumn = "worker",
    label_column: LabelColumn = "label",
    protocol: Protocol = "slush",
    k: KOrAll = None,
    alpha: AlphaOrLocal = None,
    beta: Beta = 20,
    byzantine: Annotated[
        int, typer.Option("--byzantine", help="How many participants lie; --seed draws which.", **INT)
    ] = 0,
    attack: Annotated[
        str,
        typer.Option("--attack", help="One of: {attacks}."),
    ] = "malicious",
    trust: Annotated[
        bool, typer.Option("--trust", help="Let each learn from --gold and all votes whom to believe.")
    ] = False,
    peer_review: Annotated[
        bool, typer.Option("--peer-review", help="Let all learn from --gold and all votes what is right.")
    ] = False,
    gold: Annotated[
        Path | None,
        typer.Option(
            "--gold",
            help="Columns task,label: tasks whose label is known.",
            show_default=False,
        ),
    ] = None,
    missing: Annotated[
        str,
        typer.Option(
            "--missing",
            help="A worker without a vote on a task: absent, or uncoloured (it talks and takes a label).",
        ),
    ] = "absent",
    rounds: RoundsEach = 50,
    repeats: Repeats = 10,
    seed: Seed = 0,
    device: Device = "cpu",
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write task,label,agreement of the first talk here.", show_default=False),
    ] = None,
    participants: Participants = False,
    why: Annotated[
        list[str] | None,
        typer.Option(
            "--why",
            metavar="TASK",
            help="Explain the answer to this task; may be repeated.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
    plot: Plot = None,
    play: Play = None,
) -> None:
    """Let the workers of a vote file talk until they agree, beside every centralised answer."""
    from folkmoot import explanation
    from folkmoot.adversaries import handed_in
    from folkmoot.cli.gold_tasks import check_enough, check_gold, read_gold, trust_as_dict, trust_in_words
    from folkmoot.comparing.printing import times
    from folkmoot.comparison import compare
    from folkmoot.files.vote_files import read_votes

    path, page = picture_path(plot), page_path(play)
    new_file("--out", out)
    check_gold(trust, peer_review, gold)
    check_simulated(protocol)
    without = _missing(missing)
    columns: dict[str, Any] = {"task": task_column, "worker": worker_column, "label": label_column}
    golden = None if gold is None else read_gold(votes, truth, gold, **columns)
    if golden is not None and peer_review:
        check_enough(golden, gold)
    table = read_votes(votes, truth, **columns) if golden is None else golden.table
    check_workers(table, votes, worker_column)
    explained = _tasks_to_explain(why or [], table, votes, gold)
    classes = len(table.labels)
    notes = _left_out(table)
    adversaries = _adversaries(table, byzantine, attack, seed)
    seen = handed_in(table.votes, adversaries, table.truth, classes, missing=without)
    rule = _protocol(table, seen, protocol, k, alpha, beta, notes)
    with collected_warnings() as lines, progress_bar("deliberating") as progress:
        report = compare(
            table.votes,
            rule,
            truth=table.truth,
            adversaries=adversaries,
            anchors=None if golden is None else golden.gold,
            trust="peer-review" if peer_review else "self-anchored",
            names=table.workers,
            labels=table.labels,
            rounds=rounds,
            repeats=repeats,
            seed=seed,
            missing=without,
            device=device_called(device),
            record=path is not None or page is not None,
            progress=progress,
        )
    notes += lines
    result = _as_dict(report, table, protocol)
    if golden is not None:
        result |= trust_as_dict(golden.gold, report, table.workers)
        notes.insert(0, trust_in_words(golden.gold, report))
    others = [(line.name.removeprefix("talk "), line) for line in report.lines if line.name != report.talk]
    result |= {json_key(name): line.accuracy for name, line in others}
    result["scores"] = {json_key(name): dict(line.scores) for name, line in others} | {
        "consensus": dict(report.line(report.talk).scores)
    }
    result["warnings"] = notes
    reasons = [explanation.explain(report.outcome, i, called=table.tasks[i]) for i in explained]
    if why:
        result["why"] = [reason.to_dict() for reason in reasons]
    if out is not None:
        _write(out, report.outcome, table)
    if json:
        print_json(result)
    else:
        by_trust = (" by peer review" if peer_review else " by trust") if report.listeners else ""
        own = (f"{protocol}{by_trust}, {times(repeats)}", report.line(report.talk))
        print_table(
            f"{report.n_participants} participants, {report.inputs} inputs, {classes} classes",
            ["who decides", "accuracy", *_scores(report), "undecided"],
            [_row(name, line, _scores(report)) for name, line in [*others, own]],
            _note(result, report, notes),
        )
        print_participants(report.participant_table, whole=participants)
        for reason in reasons:
            say("", *str(reason).split("\n"))
    if path:
        from folkmoot.report import deliberation_figure as pictures

        save_picture(pictures.deliberation(report), path)
    if page is not None and report.recorded is not None:
        from folkmoot.watching import play as write_page

        write_page(
            report.recorded,
            page,
            truth=table.truth,
            input_names=table.tasks,
            title=f"{report.n_participants} workers talk about {report.inputs} tasks",
        )
        say(f"wrote {page} (open it in a browser)", error=True)


def _tasks_to_explain(named: list[str], table: VoteTable, votes: Path, gold: Path | None) -> list[int]:
    """The tasks of ``--why`` by number; a wrong name is met with those that are near it."""
    from difflib import get_close_matches

    place = {task: i for i, task in enumerate(table.tasks)}
    for task in named:
        if task not in place:
            near = get_close_matches(task, table.tasks, n=5, cutoff=0.5) or table.tasks[:5]
            besides = "" if gold is None else f" that is not in {gold}"
            raise ValueError(
                f"--why must name a task of {votes}{besides}, such as {', '.join(near)}: got {task!r}"
            )
    return [place[task] for task in named]


def _left_out(table: VoteTable) -> list[str]:
    """A note on tasks that have a label and no votes."""
    many = len(table.left_out)
    if not many:
        return []
    tasks = "1 labelled task has" if many == 1 else f"{many:,} labelled tasks have"
    return [f"{tasks} no votes, such as {table.left_out[0]!r}: left out"]


def _missing(typed: str) -> Missing:
    names: dict[str, Missing] = {"absent": "absent", "uncoloured": "uncoloured"}
    if typed not in names:
        raise ValueError(f"--missing must be absent or uncoloured: got {typed!r}")
    return names[typed]


def _protocol(
    table: VoteTable, seen: Votes, name: str, k: int | None, alpha: str | None, beta: int, notes: list[str]
) -> SnowProtocol[Any]:
    from folkmoot.checks import DEFAULT_K
    from folkmoot.comparison import judged_accuracies
    from folkmoot.protocols import named_protocol
    from folkmoot.thresholds import StrongConfidence

    participants = len(table.workers)
    size, least = asked(participants, k)
    if k is None and size < DEFAULT_K:
        notes.append(f"only {participants} participants: k = {size}")
    threshold: int | StrongConfidence
    if alpha == "local":
        notes.append(
            "local thresholds from accuracies estimated without labels (Dawid-Skene)"
            if table.truth is None
            else "local thresholds from accuracies on the truth itself, as in the paper"
        )
        threshold = StrongConfidence(judged_accuracies(seen, len(table.labels), table.truth))
    else:
        given = whole_alpha(alpha)
        threshold = least if given is None else given
    return named_protocol(name, size, threshold, beta=beta)


def _adversaries(table: VoteTable, count: int, attack: str, seed: int) -> dict[int, Adversary]:
    import numpy as np

    from folkmoot import checks
    from folkmoot.adversaries import ATTACKS, Knows

    if attack not in ATTACKS:
        raise ValueError(f"--attack must be one of {', '.join(ATTACKS)}: got {attack!r}")
    participants, liars = checks.population(len(table.workers), count)
    checks.integer("seed", seed, least=0)
    kind = ATTACKS[attack]
    if liars and Knows.TRUTH in kind.knows:
        if table.truth is None:
            raise ValueError(f"--attack {attack} must know the truth: give --truth TRUTH.csv")
        unknown = [task for task, right in zip(table.tasks, table.truth, strict=True) if right < 0]
        if unknown:
            raise ValueError(
                f"--attack {attack} must know every truth: --truth does not name task {unknown[0]!r}"
            )
    order = np.random.default_rng(seed).permutation(participants).tolist()
    return {i: kind.against(order[liars]) for i in order[:liars]}


def _as_dict(report: Report, table: VoteTable, protocol: str) -> dict[str, Any]:
    from folkmoot.protocols import PROTOCOLS

    consensus = report.line(report.talk)
    return {
        "participants": report.n_participants,
        "inputs": report.inputs,
        "classes": report.classes,
        "labels": table.labels,
        "byzantine": len(report.byzantine),
        "protocol": protocol,
        **{name: consensus.accuracy if name == protocol else None for name in PROTOCOLS},
        "consensus": consensus.accuracy,
        "standard_error": consensus.standard_error,
        "agreement": report.agreement,
        "settled": report.settled,
        "undecided": report.undecided,
        "tied": consensus.tied,
        "rounds": report.rounds,
        "queries": float(report.outcome.queries.mean()),
        "repeats": report.repeats,
        "seconds": round(report.seconds, 6),
        "participant_table": report.participant_table.to_list(),
    }


def _scores(report: Report) -> list[str]:
    """The scores beside accuracy; none without truth."""
    from folkmoot.comparing.how_sure.scores import TITLES

    return [title for name, title in TITLES.items() if name in report.line(report.talk).scores]


def _row(name: str, line: Line, titles: list[str]) -> list[str]:
    from folkmoot.comparing.how_sure.scores import TITLES
    from folkmoot.comparing.printing import plus_minus

    scores = [line.scores.get(name) for name, title in TITLES.items() if title in titles]
    return [
        name,
        "-" if line.accuracy is None else number(line.accuracy) + plus_minus(line.standard_error),
        *("-" if score is None else f"{score:.4f}" for score in scores),
        "-" if line.undecided is None else f"{line.undecided:g}",
    ]


def _note(result: dict[str, Any], report: Report, notes: list[str]) -> list[str]:
    from folkmoot.comparing.printing import byzantine_in_words, times

    lines = [
        f"agreement {number(result['agreement'])}, settled {number(result['settled'])}, "
        f"{result['rounds']:.1f} rounds a participant, {result['queries']:,.0f} requests, "
        f"{result['seconds']:.2f} s, talked {times(result['repeats'])}"
    ]
    if result["byzantine"]:
        lines.append(f"{byzantine_in_words(result['byzantine'])}; mean and best are of the others")
    return [*lines, *report.about_undecided, *report.about_scores, *notes]


def _write(path: Path, outcome: Outcome, table: VoteTable) -> None:
    import numpy as np

    from folkmoot.files.tabular import write_table

    answers, agreement = np.atleast_2d(outcome.answers)[0], np.atleast_2d(outcome.agreement)[0]
    rows = zip(table.tasks, answers.tolist(), agreement.tolist(), strict=True)
    write_table(
        path,
        ["task", "label", "agreement"],
        ([task, "" if label is None else str(label), f"{share:.4f}"] for task, label, share in rows),
    )
