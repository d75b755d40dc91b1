"""``folkmoot learn``: a user's own table, its groups as participants, consensus beside every comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from folkmoot.cli.options import (
    FLOAT,
    INT,
    AlphaOrLocal,
    Beta,
    Jobs,
    Json,
    KOrAll,
    Protocol,
    Repeats,
    RoundsEach,
    Seed,
    asked,
    whole_alpha,
)
from folkmoot.cli.output import collected_warnings, print_json, progress_bars, say
from folkmoot.cli.study_output import as_dict, check_folder, print_study, write_study


def learn(
    data: Annotated[
        Path, typer.Argument(metavar="TABLE", help="With a header: CSV, .gz or .parquet.", show_default=False)
    ],
    target: Annotated[str, typer.Option("--target", help="The column to predict.", show_default=False)],
    group: Annotated[
        str, typer.Option("--group", help="The column that says whose row it is.", show_default=False)
    ],
    model: Annotated[
        str,
        typer.Option(
            "--model", help="rf, logistic, nearest, tree, bayes, svm, boosting, or mixed: five in turn."
        ),
    ] = "rf",
    drop: Annotated[
        str | None, typer.Option("--drop", help="Columns to leave out: a,b,c.", show_default=False)
    ] = None,
    test: Annotated[
        Path | None, typer.Option("--test", help="Test on the rows of this file.", show_default=False)
    ] = None,
    test_groups: Annotated[
        float | None,
        typer.Option(
            "--test-groups", help="Or on this share of the groups, left out.", show_default="0.2", **FLOAT
        ),
    ] = None,
    test_rows: Annotated[
        float | None,
        typer.Option(
            "--test-rows", help="Or on this share of each group's rows.", show_default=False, **FLOAT
        ),
    ] = None,
    protocol: Protocol = "slush",
    k: KOrAll = None,
    alpha: AlphaOrLocal = None,
    beta: Beta = 20,
    byzantine: Annotated[
        int | None,
        typer.Option(
            "--byzantine", help="Malicious participants at most.", show_default="30% of them", **INT
        ),
    ] = None,
    voting: Annotated[
        str, typer.Option("--voting", help="What is handed in and agreed on: labels or probabilities.")
    ] = "labels",
    pool: Annotated[
        str, typer.Option("--pool", help="Of probabilities: agree on them (mean) or on their logs (log).")
    ] = "mean",
    trim: Annotated[
        int | None,
        typer.Option(
            "--trim", help="Of probabilities: liars to withstand.", show_default="a third of them", **INT
        ),
    ] = None,
    peer_review: Annotated[
        bool,
        typer.Option(
            "--peer-review", help="Everybody shows some rows; all learn from them whom to believe on what."
        ),
    ] = False,
    check_rows: Annotated[
        str | None,
        typer.Option(
            "--check-rows",
            help="How many each shows, inputs and labels: at most half of its rows; or 'all'.",
            show_default="10",
        ),
    ] = None,
    privacy: Annotated[
        float | None,
        typer.Option(
            "--privacy",
            help="Show labels by randomised response with this epsilon; inputs stay in clear.",
            show_default="labels as they are",
            **FLOAT,
        ),
    ] = None,
    rounds: RoundsEach = 50,
    repeats: Repeats = 10,
    holdout: Annotated[
        float, typer.Option("--holdout", help="Share of its rows by which each learns its accuracy.", **FLOAT)
    ] = 0.2,
    refit: Annotated[
        bool,
        typer.Option("--refit/--no-refit", help="Then fit each model again on all its rows."),
    ] = True,
    out: Annotated[Path, typer.Option("--out", help="Folder for the report and its pictures.")] = Path(
        "folkmoot-learn"
    ),
    seed: Seed = 0,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Let every group of a table fit a model of its own, and all agree on the test rows."""
    from folkmoot import checks
    from folkmoot.datasets import read_table
    from folkmoot.protocols import named_protocol
    from folkmoot.thresholds import StrongConfidence

    showing = _check_showing(peer_review, check_rows, privacy)
    folder = check_folder(out)
    left_out = [name.strip() for name in drop.split(",")] if drop else []
    with collected_warnings() as about_the_table:
        table = read_table(
            data,
            target,
            group,
            drop=left_out,
            test=test,
            test_groups=test_groups,
            test_rows=test_rows,
            seed=seed,
        )
    participants = len(table.participants)
    if participants < 2:
        raise ValueError(f"--group must name at least two participants: all rows of {data} are of one")
    if jobs == 0:
        raise ValueError("--jobs must be a number of processes, or -1 for one a core: got 0")
    local = alpha == "local"
    size, threshold = asked(participants, k, None if local else whole_alpha(alpha))
    rule = named_protocol(protocol, size, StrongConfidence() if local else threshold, beta=beta)
    soft = _check_voting(
        voting,
        pool,
        participants,
        trim,
        {"--protocol": protocol != "slush", "--k": k is not None, "--alpha": alpha is not None},
        peer_review,
    )
    everyone, most = checks.population(participants, 0 if byzantine is None else byzantine)

    # Heavy, so only once the table is known to be good.
    from folkmoot.learning import ConsensusClassifier
    from folkmoot.learning.base_learners import for_table, models_for
    from folkmoot.runs.shown_rows import READ_BACKWARDS
    from folkmoot.runs.study import liar_counts, study

    models = [
        for_table(each, len(table.feature_names), table.categorical)
        for each in models_for(model, participants)
    ]
    counts = liar_counts(everyone) if byzantine is None else liar_counts(everyone, most=most)
    with collected_warnings() as warnings, progress_bars() as progress:
        classifier = ConsensusClassifier(
            models,
            protocol=None if soft and not peer_review else rule,
            trust="peer-review" if peer_review else None,
            check_rows=showing,
            privacy=privacy,
            voting="probabilities" if soft else "labels",
            pool="log" if pool == "log" else "mean",
            trim=trim,
            holdout=holdout,
            refit=refit,
            rounds=rounds,
            n_jobs=jobs,
            random_state=seed,
        )
        result = study(classifier, table, counts, watched=0, repeats=repeats, progress=progress)
    warnings[:0] = about_the_table
    where = write_study(result, folder, f"folkmoot: {table.description}", warnings)
    if json:
        print_json(as_dict(result, warnings))
    else:
        report, shown = result.report(0), result.shown
        about = [] if shown is None else [str(shown)]
        helpful = [READ_BACKWARDS] if shown is not None and any(shown.anchored[1:]) else []
        print_study(
            result,
            [f"{report.title}.", "Accuracy, by how many participants are perfectly malicious:"],
            [*about, *report.notes, *helpful],
        )
    say(where, error=True)


def _check_showing(peer_review: bool, check_rows: str | None, privacy: float | None) -> int | Literal["all"]:
    """How many rows each shows; nobody shows any unless ``--peer-review`` asks for it."""
    from folkmoot import checks

    given = {"--check-rows": check_rows, "--privacy": privacy}
    lonely = next((option for option, value in given.items() if value is not None), None)
    if not peer_review and lonely is not None:
        raise ValueError(f"{lonely} is for rows that are shown: add --peer-review, or leave it out")
    if privacy is not None and checks.finite("--privacy", privacy) <= 0:
        raise ValueError(
            f"--privacy must be above 0, or left out to show labels as they are: got {privacy:g}"
        )
    if check_rows is None:
        return 10
    if check_rows == "all":
        return "all"
    try:
        rows = int(check_rows)
    except ValueError:
        rows = 0
    if rows < 1:
        raise ValueError(f"--check-rows must be a whole number of at least 1, or 'all': got {check_rows!r}")
    return rows


def _check_voting(
    voting: str,
    pool: str,
    participants: int,
    trim: int | None,
    about_labels: dict[str, bool],
    peer_review: bool,
) -> bool:
    """Whether probabilities are handed in; options that do not go together are refused."""
    for option, value, known in (
        ("--voting", voting, ("labels", "probabilities")),
        ("--pool", pool, ("mean", "log")),
    ):
        if value not in known:
            raise ValueError(f"{option} must be {' or '.join(known)}: got {value!r}")
    soft = voting == "probabilities"
    if peer_review and (pool != "mean" or trim is not None):
        option = "--pool" if pool != "mean" else "--trim"
        raise ValueError(
            f"{option} is for agreeing on probabilities, but --peer-review weighs them: leave one out"
        )
    given = next((option for option, is_given in about_labels.items() if is_given), None)
    if soft and not peer_review and given is not None:
        raise ValueError(f"{given} is for --voting labels: leave it out with --voting probabilities")
    if not soft and (pool != "mean" or trim is not None):
        option = "--pool" if pool != "mean" else "--trim"
        raise ValueError(f"{option} is for probabilities: add --voting probabilities")
    if trim is not None and not 0 <= 2 * trim < participants:
        raise ValueError(
            f"--trim must satisfy 0 <= 2 trim < {participants}, the number of participants: got {trim}"
        )
    return soft
