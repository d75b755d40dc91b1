"""``folkmoot learn``: a user's own table, its groups as participants, consensus beside every comparison."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from folkmoot.cli.learn_checks import (
    MOOT_FILE,
    PREDICTIONS,
    check_improving,
    check_score,
    check_tested,
    new_folder,
    pool_of,
)
from folkmoot.cli.learn_output import learned_dict, print_learned, truths, write_answers
from folkmoot.cli.options import (
    AGGREGATIONS,
    COUNCIL,
    FILES_PANEL,
    FLOAT,
    MOOT_PANEL,
    OUTPUT_PANEL,
    Jobs,
    Json,
    MaliciousUpTo,
    Overwrite,
    Seed,
    answers_option,
    believe_option,
    believed,
    protocol_option,
    protocol_typed,
)
from folkmoot.cli.output import collected_warnings, print_json, progress_bars, say
from folkmoot.cli.study_output import write_study

if TYPE_CHECKING:
    from folkmoot.aggregation.interface import Aggregation
    from folkmoot.datasets.moot_data import MootData
    from folkmoot.learning.classifier import ConsensusClassifier
    from folkmoot.learning.regressor import ConsensusRegressor

ANSWERS: Final = ("labels", "probabilities", "numbers")
_SHOWN: Final = (
    f"Each group shows rows to all, so that the rule is chosen by them; {MOOT_FILE} holds these. To show "
    "none: --believe {alike}"
)
_ALIKE: Final = {"labels": "plurality", "probabilities": "pool", "numbers": "trimmed-mean"}


def learn(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE", help="A table with a header: CSV, .gz or .parquet.", show_default=False
        ),
    ],
    target: Annotated[
        str,
        typer.Option(
            "--target", help="The column to predict.", show_default=False, rich_help_panel=FILES_PANEL
        ),
    ],
    group: Annotated[
        str,
        typer.Option(
            "--group", help="The column of participants.", show_default=False, rich_help_panel=FILES_PANEL
        ),
    ],
    drop: Annotated[
        str | None,
        typer.Option(
            "--drop", help="Columns to leave out: a,b,c.", show_default=False, rich_help_panel=FILES_PANEL
        ),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            "--test",
            help="Test on the rows of this file.",
            show_default="all rows of a fifth of the groups, which take no part",
            rich_help_panel=FILES_PANEL,
        ),
    ] = None,
    test_rows: Annotated[
        float | None,
        typer.Option(
            "--test-rows",
            help="Test on this share of each group's rows.",
            show_default=False,
            rich_help_panel=FILES_PANEL,
            **FLOAT,
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            help="rf, nearest, tree, svm, boosting or mixed (five of them in turn); for classes also "
            "logistic and bayes, for numbers linear.",
            rich_help_panel=MOOT_PANEL,
        ),
    ] = "rf",
    answers: Annotated[
        str | None, answers_option(ANSWERS, show_default="labels; numbers for a target of many values")
    ] = None,
    believe: Annotated[
        str | None, believe_option(AGGREGATIONS, show_default="auto, which shows ten rows of each group")
    ] = None,
    protocol: Annotated[str, protocol_option("council, {protocols}")] = COUNCIL,
    improve: Annotated[
        Path | None,
        typer.Option(
            "--improve",
            help="Agree on answers for the rows of this file, and fit every model again with them.",
            show_default=False,
            rich_help_panel=MOOT_PANEL,
        ),
    ] = None,
    malicious: MaliciousUpTo = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    score: Annotated[
        str | None,
        typer.Option(
            "--score",
            help="Also score by these of scikit-learn's scorers: f1_macro,roc_auc.",
            show_default=False,
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder for the page, its pictures, predictions.csv and the moot.",
            show_default="folkmoot-learn, or the next that is free",
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Fit a model per group of a table; all agree on the test rows.

    Each group is a participant. The target may be a class or a number. A column of texts becomes TF-IDF
    weights of its words.
    """
    from folkmoot import checks
    from folkmoot.datasets import read_table

    check_improving(improve)
    rule = believed("auto" if believe is None and protocol == COUNCIL else believe)
    if answers not in (None, *ANSWERS):
        raise ValueError(f"--answers must be one of {', '.join(ANSWERS)}: got {answers!r}")
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
            task=None if answers is None else "regression" if answers == "numbers" else "classification",
            seed=seed,
        )
    check_tested(table, data, target)
    everyone, most = checks.population(len(table.participants), malicious or 0, argument="adversaries")
    if table.numeric and protocol != COUNCIL:
        raise ValueError(
            f"--protocol {protocol} is for labels, and {target} holds numbers: leave it out, or add "
            "--answers labels"
        )
    moot = _moot(table, model, rule, protocol, answers, jobs, seed)
    moot._check_parameters()
    from folkmoot.runs.study import (  # heavy, so only once the options are known to be good
        malicious_counts,
        study,
    )

    counts = malicious_counts(everyone) if malicious is None else malicious_counts(everyone, most=most)
    rest = None if improve is None else pool_of(improve, table)
    if table.layout is None or table.X_test is None or table.lines_test is None:
        raise ValueError("the rows must come from a table, some of them to test on")
    from folkmoot.runs.learned import LearnedMoot

    learned = LearnedMoot(moot, table.layout)
    with collected_warnings() as warnings, progress_bars() as progress:
        result = study(moot, table, counts, scoring=scores or None, progress=progress, pool=rest)
        of_test = learned.answers(table.X_test)
    warnings[:0] = about_the_table
    found = learned_dict(result, warnings)
    where = write_study(result, folder, f"folkmoot: {table.description}", found)
    write_answers(folder / PREDICTIONS, of_test, table.lines_test, table.groups_test, truths(table))
    learned.save(folder / MOOT_FILE)
    alike = "numbers" if table.numeric else answers or "labels"
    if json:
        print_json(found)
    else:
        print_learned(result, scores)
    say(
        *([_SHOWN.format(alike=_ALIKE[alike])] if believe is None and moot.shown_ is not None else []),
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
    answers: str | None,
    jobs: int | None,
    seed: int,
) -> ConsensusClassifier | ConsensusRegressor:
    from folkmoot.learning.base_learners import for_table, models_for
    from folkmoot.learning.classifier import ConsensusClassifier
    from folkmoot.learning.regressor import ConsensusRegressor

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
