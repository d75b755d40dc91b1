"""``folkmoot deliberate``: votes from a file, consensus beside every centralised answer."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from folkmoot.cli.options import (
    INT,
    AlphaOrLocal,
    Beta,
    Json,
    KOrAll,
    LabelColumn,
    Plot,
    Protocol,
    Repeats,
    RoundsEach,
    Seed,
    TaskColumn,
    WorkerColumn,
    whole_alpha,
)
from folkmoot.cli.output import (
    collected_warnings,
    number,
    picture_path,
    print_json,
    print_table,
    progress_bar,
    save_picture,
)

if TYPE_CHECKING:
    from folkmoot.adversaries import Adversary
    from folkmoot.outcome import Outcome
    from folkmoot.protocols import SnowProtocol
    from folkmoot.vote_files import VoteTable
    from folkmoot.votes import Votes


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
        int, typer.Option("--byzantine", help="Turn so many participants, drawn by --seed, Byzantine.", **INT)
    ] = 0,
    attack: Annotated[
        str,
        typer.Option(
            "--attack",
            help="One of: {attacks}.",
        ),
    ] = "malicious",
    trust: Annotated[
        bool, typer.Option("--trust", help="Let each learn from --gold and all votes whom to believe.")
    ] = False,
    gold: Annotated[
        Path | None,
        typer.Option("--gold", help="Columns task,label: known tasks, for --trust.", show_default=False),
    ] = None,
    rounds: RoundsEach = 50,
    repeats: Repeats = 10,
    seed: Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write task,label,agreement of the first time here.", show_default=False),
    ] = None,
    json: Json = False,
    plot: Plot = None,
) -> None:
    """Let the workers of a vote file talk until they agree, beside every centralised answer."""
    import numpy as np

    from folkmoot.adversaries import handed_in
    from folkmoot.baselines import Verdict, centralised
    from folkmoot.cli.gold import check_gold, read_gold, trust_as_dict, trust_in_words
    from folkmoot.simulation import deliberate as run
    from folkmoot.simulation.self_anchored import listen_first
    from folkmoot.vote_files import read_votes

    path = picture_path(plot)
    if out is not None and not out.parent.is_dir():
        raise ValueError(f"--out must name a file in a folder that exists: there is no {out.parent}")
    check_gold(trust, gold)
    columns = {"task": task_column, "worker": worker_column, "label": label_column}
    golden = None if gold is None else read_gold(votes, truth, gold, **columns)
    table = read_votes(votes, truth, **columns) if golden is None else golden.table
    participants, inputs = table.votes.shape
    classes = len(table.labels)
    notes: list[str] = []
    adversaries = _adversaries(table, byzantine, attack, seed)
    seen = handed_in(table.votes, adversaries, table.truth, classes)
    rule = _protocol(table, seen, protocol, k, alpha, beta, notes)
    known = table.truth if table.truth is not None and (table.truth >= 0).all() else None
    options: dict[str, Any] = {
        "adversaries": adversaries,
        "truth": known,
        "rounds": rounds,
        "seed": seed,
        "classes": classes,
    }
    with collected_warnings() as lines:
        started = time.perf_counter()
        with progress_bar("deliberating") as progress:
            plain = outcome = run(table.votes, rule, repeats=repeats, progress=progress, **options)
            listeners = None
            if golden is not None:
                listeners = listen_first(
                    table.votes, golden.anchors, adversaries=adversaries, truth=known, classes=classes
                )
            if listeners is not None:
                outcome = listeners.talk(rule, repeats=repeats, progress=progress, **options)
        seconds = time.perf_counter() - started
        verdicts = centralised(seen, classes, table.truth, plain.honest)
    notes += lines
    accuracy = None if table.truth is None else np.atleast_1d(outcome.accuracy(table.truth)).tolist()
    result = _result(outcome, table, protocol, accuracy, seconds)
    result["byzantine"] = len(adversaries)
    by_trust = ""
    if golden is not None:
        result |= trust_as_dict(golden, listeners)
        notes.insert(0, trust_in_words(golden, listeners, participants - len(adversaries)))
    if listeners is not None:
        by_trust = " by trust"
        right = None if table.truth is None else float(np.mean(plain.accuracy(table.truth)))
        verdicts.append(Verdict("without trust", right, plain.undecided / repeats))
    result |= {name.replace(" ", "_").replace("-", "_").lower(): value for name, value, _ in verdicts}
    result["warnings"] = notes
    if out is not None:
        _write(out, outcome, table)
    if json:
        print_json(result)
    else:
        rows = [
            [name, "-" if right is None else number(right), "-" if open_ is None else f"{open_:g}"]
            for name, right, open_ in verdicts
        ]
        error = "" if result["standard_error"] is None else f" ± {number(result['standard_error'])}"
        shown = "-" if accuracy is None else number(result["consensus"]) + error
        rows.append([f"{protocol}{by_trust}, {repeats} times", shown, number(result["undecided"])])
        print_table(
            f"{participants} participants, {inputs} inputs, {classes} classes",
            ["who decides", "accuracy", "undecided"],
            rows,
            _note(result, notes),
        )
    if path:
        from folkmoot.report import deliberation_figure as pictures

        talk = partial(run, table.votes) if listeners is None else listeners.talk
        recorded = talk(rule, record=True, **options)
        save_picture(pictures.deliberation(recorded, verdicts, protocol, accuracy), path)


def _protocol(
    table: VoteTable, seen: Votes, name: str, k: int | None, alpha: str | None, beta: int, notes: list[str]
) -> SnowProtocol[Any]:
    from folkmoot.checks import DEFAULT_K, default_query
    from folkmoot.protocols import named_protocol
    from folkmoot.thresholds import StrongConfidence

    participants = len(table.workers)
    size, least = default_query(participants, k)
    if k is None and size < DEFAULT_K:
        notes.append(f"only {participants} participants: k = {size}")
    threshold: int | StrongConfidence
    if alpha == "local":
        threshold = StrongConfidence(_accuracies(table, seen, notes))
    else:
        given = whole_alpha(alpha)
        threshold = least if given is None else given
    return named_protocol(name, size, threshold, beta=beta)


def _accuracies(table: VoteTable, seen: Votes, notes: list[str]) -> Any:
    """Each participant's accuracy by the votes it handed in; one half where nothing is known."""
    import numpy as np

    from folkmoot.baselines import dawid_skene, participant_accuracies

    if table.truth is None:
        notes.append("local thresholds from accuracies estimated without labels (Dawid-Skene)")
        each = dawid_skene(seen, len(table.labels)).accuracies
    else:
        notes.append("local thresholds from accuracies on the truth itself, as in the paper")
        each = participant_accuracies(seen, table.truth)
    return np.nan_to_num(each, nan=0.5)


def _adversaries(table: VoteTable, count: int, attack: str, seed: int) -> dict[int, Adversary]:
    import numpy as np

    from folkmoot import checks
    from folkmoot.adversaries import ATTACKS, Copycat, Knows

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
    chosen = order[:liars]
    if kind is Copycat:
        return {i: Copycat(target=order[liars]) for i in chosen}
    return {i: kind() for i in chosen}


def _by_repeat(outcome: Outcome) -> Any:
    return outcome.decision if outcome.decision.ndim == 2 else outcome.decision[None]


def _result(
    outcome: Outcome, table: VoteTable, protocol: str, accuracy: list[float] | None, seconds: float
) -> dict[str, Any]:
    import numpy as np

    from folkmoot.protocols import PROTOCOLS

    repeats = len(_by_repeat(outcome))
    mean = None if accuracy is None else float(np.mean(accuracy))
    error = None if accuracy is None or repeats < 2 else float(np.std(accuracy, ddof=1) / np.sqrt(repeats))
    return {
        "participants": len(table.workers),
        "inputs": len(table.tasks),
        "classes": len(table.labels),
        "labels": table.labels,
        "byzantine": int((~outcome.honest).sum()),
        "protocol": protocol,
        **{name: mean if name == protocol else None for name in PROTOCOLS},
        "consensus": mean,
        "standard_error": error,
        "agreement": float(outcome.agreement.mean()),
        "settled": float(outcome.settled.mean()),
        "undecided": outcome.undecided / repeats,
        "rounds": float(outcome.rounds.mean()),
        "queries": float(np.mean(outcome.queries)),
        "repeats": repeats,
        "seconds": round(seconds, 6),
    }


def _note(result: dict[str, Any], notes: list[str]) -> str:
    lines = [
        f"agreement {number(result['agreement'])}, settled {number(result['settled'])}, "
        f"{result['rounds']:.1f} rounds a participant, {result['queries']:,.0f} requests, "
        f"{result['seconds']:.2f} s for {result['repeats']} times"
    ]
    if result["byzantine"]:
        lines.append(f"{result['byzantine']} participants are Byzantine; mean and best are of the others")
    return "\n".join([*lines, *notes])


def _write(path: Path, outcome: Outcome, table: VoteTable) -> None:
    import csv

    decision = _by_repeat(outcome)[0]
    agreement = outcome.agreement if outcome.agreement.ndim == 1 else outcome.agreement[0]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["task", "label", "agreement"])
        for task, colour, share in zip(table.tasks, decision.tolist(), agreement.tolist(), strict=True):
            writer.writerow([task, "" if colour < 0 else table.labels[colour], f"{share:.4f}"])
