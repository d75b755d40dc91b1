"""``folkmoot deliberate``: votes from a file, their answer beside other ways to answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from folkmoot.cli.options import (
    AGGREGATIONS,
    COUNCIL,
    FILES_PANEL,
    MOOT_PANEL,
    AlphaOrLocal,
    Beta,
    Device,
    Json,
    KOrAll,
    LabelColumn,
    Malicious,
    OutCsv,
    Participants,
    Play,
    Plot,
    Repeats,
    Rounds,
    Seed,
    TaskColumn,
    Truth,
    WorkerColumn,
    asked,
    attack_option,
    attack_typed,
    believe_option,
    believed,
    check_beta,
    check_workers,
    device_called,
    protocol_option,
    protocol_typed,
    whole_alpha,
    why_option,
)
from folkmoot.cli.output import (
    collected_warnings,
    json_key,
    new_file,
    page_path,
    picture_path,
    print_json,
    print_rows,
    print_table,
    progress_bar,
    save_picture,
    say,
)

if TYPE_CHECKING:
    from folkmoot.adversaries.interface import Adversary
    from folkmoot.comparing.report import Report
    from folkmoot.explanation.explanation import Explanation
    from folkmoot.files.vote_files import VoteTable
    from folkmoot.protocols.snow import SnowProtocol
    from folkmoot.simulation.council import Council
    from folkmoot.votes import Missing

_ATTACK = "malicious"
_BELIEVE, _PROTOCOL = (
    believe_option(AGGREGATIONS, show_default="plurality"),
    protocol_option("council, {protocols}"),
)


def deliberate(
    votes: Annotated[
        Path,
        typer.Argument(
            metavar="VOTES",
            help="Columns task,worker,label, or a column for each worker: CSV, .gz or .parquet.",
            show_default=False,
        ),
    ],
    truth: Truth = None,
    gold: Annotated[
        Path | None,
        typer.Option(
            "--gold",
            help="Right answers that --believe may use, as columns task,label; they are not scored.",
            show_default=False,
            rich_help_panel=FILES_PANEL,
        ),
    ] = None,
    task_column: TaskColumn = "task",
    worker_column: WorkerColumn = "worker",
    label_column: LabelColumn = "label",
    skip_unlabelled: Annotated[
        bool,
        typer.Option(
            "--skip-unlabelled", help="Leave out rows without a label.", rich_help_panel=FILES_PANEL
        ),
    ] = False,
    last_vote: Annotated[
        bool,
        typer.Option(
            "--last-vote",
            help="Count the last of several votes of a worker on a task.",
            rich_help_panel=FILES_PANEL,
        ),
    ] = False,
    believe: Annotated[str | None, _BELIEVE] = None,
    protocol: Annotated[str, _PROTOCOL] = COUNCIL,
    k: KOrAll = None,
    alpha: AlphaOrLocal = None,
    beta: Beta = None,
    rounds: Rounds = None,
    missing: Annotated[
        str,
        typer.Option(
            "--missing",
            help="A worker without a vote on a task is absent, or present: it is asked and takes a label.",
            rich_help_panel=MOOT_PANEL,
        ),
    ] = "absent",
    malicious: Malicious = 0,
    attack: Annotated[str | None, attack_option("{attacks on votes}", _ATTACK)] = None,
    repeats: Repeats = None,
    device: Device = None,
    seed: Seed = 0,
    out: OutCsv = None,
    participants: Participants = False,
    why: Annotated[list[str] | None, why_option("TASK")] = None,
    json: Json = False,
    plot: Plot = None,
    play: Play = None,
) -> None:
    """Answer every task of a vote file, beside the majority.

    Other ways to answer stand beside it: the best and the mean worker, and Dawid-Skene. With a protocol
    other than council, workers ask each other in rounds.
    """
    from folkmoot.comparing.comparing import compare
    from folkmoot.files.vote_files import read_votes

    path, page = picture_path(plot), page_path(play)
    new_file("--out", out, reads=(votes, truth, gold))
    aggregation = believed(believe)
    if aggregation is not None and "labels" not in aggregation.takes:
        raise ValueError(
            f"--believe {believe} is for {' and '.join(aggregation.takes)}, and {votes} holds labels: take "
            "plurality, dawid-skene or peer-review"
        )
    without = _missing(missing)
    talk = {"k": k, "alpha": alpha, "beta": beta, "rounds": rounds, "repeats": repeats, "device": device}
    _check_options(protocol, believe, page, **talk)
    check_beta(protocol, beta)
    again = 10 if repeats is None else repeats
    table = read_votes(
        votes,
        truth,
        gold,
        task=task_column,
        worker=worker_column,
        label=label_column,
        skip_unlabelled=skip_unlabelled,
        last_vote=last_vote,
    )
    check_workers(table, votes, worker_column)
    explained = _tasks_to_explain(why or [], table, votes)
    notes = _left_out(table)
    adversaries = _adversaries(table, malicious, attack, seed)
    rule = _protocol(table, adversaries, protocol, k, alpha, 20 if beta is None else beta, without, notes)
    several = protocol != COUNCIL
    run: dict[str, Any] = {}
    if several:
        run = {
            "rounds": 50 if rounds is None else rounds,
            "device": device_called(device),
            "record": bool(path or page),
        }
    with collected_warnings() as lines, progress_bar("deliberating") as progress:
        report = compare(
            table,
            rule,
            aggregation=aggregation,
            adversaries=adversaries,
            repeats=again if several else 1,
            seed=seed,
            missing=without,
            progress=progress,
            **run,
        )
    notes += lines
    reasons = [_reason(report, i, table.tasks[i]) for i in explained]
    result = _as_dict(report, table, protocol)
    result["warnings"] = notes
    if why:
        result["why"] = [reason.to_dict() for reason in reasons]
    if out is not None:
        _write(out, report, table)
    if json:
        print_json(result)
    else:
        print_table(
            report.title, report.columns, [report.cells(line) for line in report.lines],
            [*report.notes, *notes], left=("note",),
        )  # fmt: skip
        print_rows(report.participants, whole=participants)
        for reason in reasons:
            say("", *str(reason).split("\n"))
    if path:
        from folkmoot.report import deliberation_figure as pictures

        save_picture(pictures.deliberation(report), path)
    if page is not None:
        from folkmoot.player.playing import play as write_page

        write_page(
            report.outcome,
            page,
            truth=table.truth,
            input_names=table.tasks,
            title=f"{report.n_participants} workers vote on {report.inputs} tasks",
        )
        say(f"wrote {page} (open it in a browser)", error=True)


def _reason(report: Report, place: int, task: str) -> Explanation:
    from folkmoot.explanation.making import explain

    return explain(report.outcome, place, called=task)


def _check_options(protocol: str, believe: str | None, page: Path | None, **of_rounds: Any) -> None:
    """Options that do not go together."""
    if protocol != COUNCIL:
        if believe is not None:
            raise ValueError(f"--believe is for --protocol council: leave it out with --protocol {protocol}")
        return
    given = next((name for name, value in of_rounds.items() if value is not None), None)
    given = "play" if given is None and page is not None else given
    if given is not None:
        raise ValueError(f"--{given} is for protocols with rounds: add --protocol slush, or leave it out")


def _tasks_to_explain(named: list[str], table: VoteTable, votes: Path) -> list[int]:
    """The tasks of ``--why`` by number; a wrong name is met with those that are near it."""
    from difflib import get_close_matches

    place = {task: i for i, task in enumerate(table.tasks)}
    for task in named:
        if task not in place:
            near = get_close_matches(task, table.tasks, n=5, cutoff=0.5) or table.tasks[:5]
            raise ValueError(f"--why must name a task of {votes}, such as {', '.join(near)}: got {task!r}")
    return [place[task] for task in named]


def _left_out(table: VoteTable) -> list[str]:
    """A note on tasks that have a label and no votes."""
    many = len(table.left_out)
    if not many:
        return []
    tasks = "1 labelled task has" if many == 1 else f"{many:,} labelled tasks have"
    return [f"{tasks} no votes, such as {table.left_out[0]!r}: left out"]


def _missing(typed: str) -> Missing:
    names: dict[str, Missing] = {"absent": "absent", "present": "present"}
    if typed not in names:
        raise ValueError(f"--missing must be absent or present: got {typed!r}")
    return names[typed]


def _protocol(
    table: VoteTable,
    adversaries: dict[int, Adversary],
    name: str,
    k: int | None,
    alpha: str | None,
    beta: int,
    missing: Missing,
    notes: list[str],
) -> Council | SnowProtocol[Any]:
    from folkmoot.checks import DEFAULT_K
    from folkmoot.protocols.snow import SnowProtocol

    participants = len(table.workers)
    local = alpha == "local"
    rule = protocol_typed(name, participants, k, None if local else whole_alpha(alpha), beta)
    if not isinstance(rule, SnowProtocol):
        return rule
    size, _ = asked(participants, k)
    if k is None and size < DEFAULT_K:
        notes.append(f"only {participants} participants: k = {size}")
    if not local:
        return rule
    from dataclasses import replace

    from folkmoot.adversaries.interface import handed_in
    from folkmoot.comparing.judging import judged_accuracies
    from folkmoot.protocols.thresholds import StrongConfidence

    classes = len(table.labels)
    seen = handed_in(table.votes, adversaries, table.truth, classes, missing=missing)
    notes.append(
        "local thresholds from accuracies estimated without labels (Dawid-Skene)"
        if table.truth is None
        else "local thresholds from accuracies on the truth itself, as in the paper"
    )
    skills = judged_accuracies(seen, classes, table.truth)
    return replace(rule, alpha=StrongConfidence(skills))


def _adversaries(table: VoteTable, count: int, typed: str | None, seed: int) -> dict[int, Adversary]:
    import numpy as np

    from folkmoot import checks
    from folkmoot.adversaries.interface import Knows
    from folkmoot.adversaries.naming import ATTACKS

    attack = attack_typed(typed, count, _ATTACK, ATTACKS)
    participants, malicious = checks.population(len(table.workers), count, argument="adversaries")
    checks.integer("seed", seed, least=0)
    kind = ATTACKS[attack]
    if malicious and Knows.TRUTH in kind.knows:
        if table.truth is None:
            raise ValueError(f"--attack {attack} must know the truth: give --truth TRUTH.csv")
        unknown = [task for task, right in zip(table.tasks, table.truth, strict=True) if right < 0]
        if unknown:
            raise ValueError(
                f"--attack {attack} must know every truth: --truth does not name task {unknown[0]!r}"
            )
    order = np.random.default_rng(seed).permutation(participants).tolist()
    return {i: kind.against(order[malicious]) for i in order[:malicious]}


def _as_dict(report: Report, table: VoteTable, protocol: str) -> dict[str, Any]:
    found = report.to_dict()
    lines = {json_key(line.name): line.score for line in report.lines}
    return {**found, "labels": table.labels, "protocol": protocol, "how": found["protocol"], **lines}


def _write(path: Path, report: Report, table: VoteTable) -> None:
    """A row for each task: label and agreement, of several repetitions of the first; probabilities of all."""
    import numpy as np

    from folkmoot.files.tabular import write_table

    outcome = report.outcome
    decided, agreement = np.atleast_2d(outcome.decision)[0], np.atleast_2d(outcome.agreement)[0]
    write_table(
        path,
        ["task", "label", "agreement", *(f"p({label})" for label in table.labels)],
        (
            [task, "" if each < 0 else table.labels[each], f"{share:.4f}", *(f"{p:.4f}" for p in likely)]
            for task, each, share, likely in zip(
                table.tasks, decided, agreement, outcome.probabilities, strict=True
            )
        ),
    )
