"""``folkmoot learn``: a user's own table, its groups as participants, consensus beside every comparison."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.learn_checks import (
    MOOT_FILE,
    PREDICTIONS,
    check_improving,
    check_score,
    new_folder,
    pool_of,
)
from folkmoot.cli.learn_output import learned_dict, print_learned, truths, write_answers
from folkmoot.cli.options import (
    FLOAT,
    INT,
    MOOT_PANEL,
    Believe,
    Jobs,
    Json,
    Overwrite,
    Protocol,
    Seed,
    believed,
    protocol_typed,
)
from folkmoot.cli.output import collected_warnings, print_json, progress_bars, say
from folkmoot.cli.study_output import write_study

if TYPE_CHECKING:
    from folkmoot.aggregation import Aggregation
    from folkmoot.datasets import MootData
    from folkmoot.learning import ConsensusClassifier, ConsensusRegressor

_DATA = "The table"


def learn(
    data: Annotated[
        Path, typer.Argument(metavar="TABLE", help="With a header: CSV, .gz or .parquet.", show_default=False)
    ],
    target: Annotated[
        str,
        typer.Option("--target", help="The column to predict.", show_default=False, rich_help_panel=_DATA),
    ],
    group: Annotated[
        str,
        typer.Option(
            "--group", help="The column that says whose row it is.", show_default=False, rich_help_panel=_DATA
        ),
    ],
    task: Annotated[
        str | None,
        typer.Option(
            "--task",
            help="What the target is: classification or regression.",
            show_default="by its different numbers",
            rich_help_panel=_DATA,
        ),
    ] = None,
    drop: Annotated[
        str | None,
        typer.Option(
            "--drop", help="Columns to leave out: a,b,c.", show_default=False, rich_help_panel=_DATA
        ),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            "--test",
            help="Test on the rows of this file.",
            show_default="all rows of a fifth of the groups, which take no part",
            rich_help_panel=_DATA,
        ),
    ] = None,
    test_rows: Annotated[
        float | None,
        typer.Option(
            "--test-rows",
            help="Test on this share of each group's rows.",
            show_default=False,
            rich_help_panel=_DATA,
            **FLOAT,
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            help="rf, nearest, tree, svm or boosting; for classes also logistic or bayes; for numbers also "
            "linear; mixed: five of them in turn.",
            rich_help_panel=MOOT_PANEL,
        ),
    ] = "rf",
    answers: Annotated[
        str,
        typer.Option(
            "--answers",
            help="What participants vote with where classes are predicted: labels or probabilities.",
            rich_help_panel=MOOT_PANEL,
        ),
    ] = "labels",
    believe: Believe = None,
    protocol: Protocol = "council",
    improve: Annotated[
        Path | None,
        typer.Option(
            "--improve",
            help="Agree on answers for the rows of this file; fit every model again to its own and these.",
            show_default=False,
            rich_help_panel=MOOT_PANEL,
        ),
    ] = None,
    malicious: Annotated[
        int | None,
        typer.Option(
            "--malicious",
            help="Experiment: the most participants that lie.",
            show_default="30% of them",
            rich_help_panel=MOOT_PANEL,
            **INT,
        ),
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    score: Annotated[
        str | None,
        typer.Option(
            "--score",
            help="Also score by these of scikit-learn's scorers: f1_macro,roc_auc.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder for the page, its pictures, predictions.csv and the moot.",
            show_default="folkmoot-learn, or the next that is free",
        ),
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Let every group of a table fit a model of its own, and all agree on the test rows.

    The target may be a class or a number. A column of texts becomes TF-IDF weights of its words.
    """
    from folkmoot import checks
    from folkmoot.datasets import read_table

    check_improving(improve)
    rule = believed(believe)
    if task not in (None, "classification", "regression"):
        raise ValueError(f"--task must be classification or regression: got {task!r}")
    if answers not in ("labels", "probabilities"):
        raise ValueError(f"--answers must be labels or probabilities: got {answers!r}")
    if jobs == 0:
        raise ValueError("--jobs must be a number of processes, or -1 for one a core: got 0")
    scores = check_score(score)
    folder = new_folder(out, overwrite)
    with collected_warnings() as about_the_table:
        table = read_table(
            data,
            target,
            group,
            drop=[name.strip() for name in drop.split(",")] if drop is not None else [],
            test=test,
            test_rows=test_rows,
            task="regression" if task == "regression" else "classification" if task else None,
            seed=seed,
        )
    everyone, most = checks.population(len(table.participants), malicious or 0, argument="adversaries")
    about_classes = {"--protocol": protocol != "council", "--answers": answers != "labels"}
    given = next((option for option, is_given in about_classes.items() if is_given), None)
    if table.numeric and given is not None:
        raise ValueError(
            f"{given} is for classes, and {target} holds numbers: leave it out, or add --task classification"
        )
    moot = _moot(table, model, rule, protocol, answers, jobs, seed)
    moot._check_parameters()
    from folkmoot.runs.study import liar_counts, study  # heavy, so only once the options are known to be good

    counts = liar_counts(everyone) if malicious is None else liar_counts(everyone, most=most)
    rest = None if improve is None else pool_of(improve, table)
    if table.layout is None or table.X_test is None or table.lines_test is None:
        raise ValueError("the rows must come from a table, some of them to test on")
    from folkmoot.runs.learned import LearnedMoot

    learned = LearnedMoot(moot, table.layout)
    with collected_warnings() as warnings, progress_bars() as progress:
        result = study(moot, table, counts, scoring=scores or None, progress=progress, pool=rest)
        told = learned.answers(table.X_test)
    warnings[:0] = about_the_table
    found = learned_dict(result, warnings)
    where = write_study(result, folder, f"folkmoot: {table.description}", found)
    write_answers(folder / PREDICTIONS, told, table.lines_test, table.groups_test, truths(table))
    learned.save(folder / MOOT_FILE)
    if json:
        print_json(found)
    else:
        print_learned(result, scores)
    say(
        where,
        f"answers to the test rows: {folder / PREDICTIONS}",
        f"for new rows: folkmoot predict {folder / MOOT_FILE} NEW.csv, or in Python "
        f"folkmoot.read_moot({str(folder)!r}).predict('NEW.csv')",
        error=True,
    )


def _moot(
    table: MootData,
    model: str,
    rule: Aggregation | None,
    protocol: str,
    answers: str,
    jobs: int | None,
    seed: int,
) -> ConsensusClassifier | ConsensusRegressor:
    from folkmoot.learning import ConsensusClassifier, ConsensusRegressor
    from folkmoot.learning.base_learners import for_table, models_for

    plain = models_for(model, len(table.participants), numbers=table.numeric)
    models = [for_table(each, len(table.feature_names), table.categorical, table.texts) for each in plain]
    if table.numeric:
        return ConsensusRegressor(models, aggregation=rule, holdout=0.2, n_jobs=jobs, random_state=seed)
    return ConsensusClassifier(
        models,
        protocol=protocol_typed(protocol, len(table.participants)),
        aggregation=rule,
        voting="probabilities" if answers == "probabilities" else "labels",
        n_jobs=jobs,
        random_state=seed,
    )
