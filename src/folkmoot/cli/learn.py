"""``folkmoot learn``: a user's own table, its groups as participants, consensus beside every comparison."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from folkmoot.cli.learn_checks import (
    MOOT_FILE,
    PREDICTIONS,
    check_improving,
    check_numbers,
    check_score,
    check_showing,
    check_trim,
    check_voting,
    new_folder,
    pool_of,
)
from folkmoot.cli.learn_output import learned_dict, print_learned, truths, write_answers, write_learned
from folkmoot.cli.options import (
    FLOAT,
    INT,
    AlphaOrLocal,
    Beta,
    Jobs,
    Json,
    KOrAll,
    Participants,
    Protocol,
    Repeats,
    RoundsEach,
    Seed,
    asked,
    check_simulated,
    whole_alpha,
)
from folkmoot.cli.output import collected_warnings, print_json, progress_bars, say

if TYPE_CHECKING:
    from folkmoot.datasets import MootData
    from folkmoot.old import ConsensusClassifier, ConsensusRegressor
    from folkmoot.protocols import SnowProtocol
    from folkmoot.runs.number_study import NumberStudy
    from folkmoot.runs.study import Pool, Study


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
            "--model",
            help="rf, nearest, tree, svm or boosting; for classes also logistic or bayes; for numbers also "
            "linear; mixed: five of them in turn.",
        ),
    ] = "rf",
    task: Annotated[
        str | None,
        typer.Option(
            "--task",
            help="What the target is: classification or regression.",
            show_default="by its different numbers",
        ),
    ] = None,
    drop: Annotated[
        str | None, typer.Option("--drop", help="Columns to leave out: a,b,c.", show_default=False)
    ] = None,
    test: Annotated[
        Path | None, typer.Option("--test", help="Test on the rows of this file.", show_default=False)
    ] = None,
    test_groups: Annotated[
        float | None,
        typer.Option(
            "--test-groups",
            help="Test on this share of the groups, which take no part.",
            show_default="0.2",
            **FLOAT,
        ),
    ] = None,
    test_rows: Annotated[
        float | None,
        typer.Option(
            "--test-rows", help="Test on this share of each group's rows.", show_default=False, **FLOAT
        ),
    ] = None,
    protocol: Protocol = "slush",
    k: KOrAll = None,
    alpha: AlphaOrLocal = None,
    beta: Beta = 20,
    byzantine: Annotated[
        int | None,
        typer.Option(
            "--byzantine", help="The most malicious participants to try.", show_default="30% of them", **INT
        ),
    ] = None,
    voting: Annotated[
        str, typer.Option("--voting", help="What is handed in and agreed on: labels or probabilities.")
    ] = "labels",
    pool: Annotated[
        str, typer.Option("--pool", help="With probabilities: agree on them (mean) or on their logs (log).")
    ] = "mean",
    trim: Annotated[
        int | None,
        typer.Option(
            "--trim",
            help="With probabilities: how many liars to withstand.",
            show_default="a third of them",
            **INT,
        ),
    ] = None,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Each learns from its own rows and all votes whom to believe."),
    ] = False,
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
            help="How many each shows, inputs and labels (with --improve inputs): at most half; or 'all'.",
            show_default="10",
        ),
    ] = None,
    privacy: Annotated[
        float | None,
        typer.Option(
            "--privacy",
            help="Show labels with noise (randomised response with this epsilon); inputs stay as they are.",
            show_default="labels as they are",
            **FLOAT,
        ),
    ] = None,
    expert: Annotated[
        str | None,
        typer.Option(
            "--expert",
            help="Hear a model that is fitted to the rows shown as one more voter: rf, logistic, ...",
            show_default=False,
        ),
    ] = None,
    improve: Annotated[
        Path | None,
        typer.Option(
            "--improve",
            help="Agree on answers for the rows of this file; fit every model again to its own and these.",
            show_default=False,
        ),
    ] = None,
    safe: Annotated[
        bool,
        typer.Option(
            "--safe",
            help="With --improve: take a new model only if it is not worse on the participant's own rows.",
        ),
    ] = False,
    score: Annotated[
        str | None,
        typer.Option(
            "--score",
            help="Also score by these of scikit-learn's scorers: f1_macro,roc_auc.",
            show_default=False,
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
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder for the page, its pictures, predictions.csv and the moot.",
            show_default="folkmoot-learn, or the next that is free",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over an earlier run in it.")] = False,
    save: Annotated[
        bool, typer.Option("--save/--no-save", help="Write the fitted moot too, for folkmoot predict.")
    ] = True,
    seed: Seed = 0,
    jobs: Jobs = None,
    participants: Participants = False,
    json: Json = False,
) -> None:
    """Let every group of a table fit a model of its own, and all agree on the test rows.

    The target may be a class or a number. A column of texts becomes TF-IDF weights of its words.
    """
    from folkmoot import checks
    from folkmoot.datasets import read_table

    check_simulated(protocol)
    showing = check_showing(peer_review, check_rows, privacy, expert, improve is not None)
    check_improving(improve, safe)
    if trust and peer_review:
        raise ValueError("--trust learns from votes alone and --peer-review from shown rows: leave one out")
    if task not in (None, "classification", "regression"):
        raise ValueError(f"--task must be classification or regression: got {task!r}")
    if jobs == 0:
        raise ValueError("--jobs must be a number of processes, or -1 for one a core: got 0")
    folder = new_folder(out, overwrite)
    with collected_warnings() as about_the_table:
        table = read_table(
            data,
            target,
            group,
            drop=[name.strip() for name in drop.split(",")] if drop is not None else [],
            test=test,
            test_groups=test_groups,
            test_rows=test_rows,
            task="regression" if task == "regression" else "classification" if task else None,
            seed=seed,
        )
    everyone, most = checks.population(len(table.participants), 0 if byzantine is None else byzantine)
    if table.numeric:
        about_classes = {
            "--protocol": protocol != "slush",
            "--alpha": alpha is not None, "--beta": beta != 20,
            "--voting": voting != "labels", "--pool": pool != "mean", "--trust": trust,
            "--check-rows": check_rows is not None, "--privacy": privacy is not None, "--no-refit": not refit,
            "--expert": expert is not None,
        }  # fmt: skip
        check_numbers(target, about_classes)
        moot = _moot_of_numbers(table, model, k, trim, peer_review, holdout, rounds, jobs, seed)
    else:
        about_labels = {
            "--protocol": protocol != "slush", "--k": k is not None, "--alpha": alpha is not None,
            "--trust": trust,
        }  # fmt: skip
        soft = check_voting(voting, pool, len(table.participants), trim, about_labels, peer_review)
        rule = _rule(len(table.participants), protocol, k, alpha, beta)
        moot = _moot_of_classes(
            table,
            model,
            protocol=None if soft and not peer_review else rule,
            trust="peer-review" if peer_review else "self-anchored" if trust else None,
            check_rows=showing,
            privacy=privacy,
            expert=None if expert is None else _expert(table, expert),
            voting="probabilities" if soft else "labels",
            pool="log" if pool == "log" else "mean",
            trim=trim,
            holdout=holdout,
            refit=refit,
            rounds=rounds,
            n_jobs=jobs,
            random_state=seed,
        )
    from folkmoot.runs.study import liar_counts  # heavy, so only once the options are known to be good

    counts = liar_counts(everyone) if byzantine is None else liar_counts(everyone, most=most)
    scores = check_score(score)
    rest = None if improve is None else pool_of(improve, table, showing, safe)
    _study(moot, table, counts, repeats, scores, folder, about_the_table, save, json, participants, rest)


def _rule(participants: int, protocol: str, k: int | None, alpha: str | None, beta: int) -> SnowProtocol[Any]:
    from folkmoot.protocols import named_protocol
    from folkmoot.thresholds import StrongConfidence

    local = alpha == "local"
    size, threshold = asked(participants, k, None if local else whole_alpha(alpha))
    return named_protocol(protocol, size, StrongConfidence() if local else threshold, beta=beta)


def _models(table: MootData, model: str) -> list[Any]:
    from folkmoot.learning.base_learners import for_table, models_for

    models = models_for(model, len(table.participants), numbers=table.numeric)
    return [for_table(each, len(table.feature_names), table.categorical, table.texts) for each in models]


def _expert(table: MootData, name: str) -> Any:
    from folkmoot.learning.base_learners import MODELS, for_table

    if name not in MODELS:
        raise ValueError(f"--expert must be one of {', '.join(MODELS)}: got {name!r}")
    return for_table(MODELS[name](), len(table.feature_names), table.categorical, table.texts)


def _moot_of_classes(table: MootData, model: str, **settings: Any) -> ConsensusClassifier:
    from folkmoot.old import ConsensusClassifier

    return ConsensusClassifier(_models(table, model), **settings)


def _moot_of_numbers(
    table: MootData,
    model: str,
    k: int | None,
    trim: int | None,
    reviewed: bool,
    holdout: float,
    rounds: int,
    jobs: int | None,
    seed: int,
) -> ConsensusRegressor:
    from folkmoot.old import ConsensusRegressor

    participants = len(table.participants)
    if k is not None:
        asked(participants, k)
    check_trim(trim, participants)
    return ConsensusRegressor(
        _models(table, model),
        k=k,
        trim=trim,
        weights="peer-review" if reviewed else None,
        holdout=holdout,
        rounds=rounds,
        n_jobs=jobs,
        random_state=seed,
    )


def _study(
    moot: ConsensusClassifier | ConsensusRegressor,
    table: MootData,
    counts: list[int],
    repeats: int,
    scores: list[str],
    folder: Path,
    about_the_table: list[str],
    save: bool,
    json: bool,
    participants: bool,
    pool: Pool | None,
) -> None:
    """Fit the moot, compare it, write everything and print what came of it."""
    from folkmoot.old import ConsensusClassifier
    from folkmoot.runs.learned import LearnedMoot
    from folkmoot.runs.number_study import number_study
    from folkmoot.runs.study import study

    if table.layout is None or table.X_test is None or table.lines_test is None:
        raise ValueError("the rows must come from a table, some of them to test on")
    learned = LearnedMoot(moot, table.layout, tuple(table.classes.tolist()))
    result: Study | NumberStudy
    with collected_warnings() as warnings, progress_bars() as progress:
        if isinstance(moot, ConsensusClassifier):
            wanted = scores or None
            result = study(
                moot, table, counts, watched=0, repeats=repeats, scoring=wanted, progress=progress, pool=pool
            )
        else:
            result = number_study(moot, table, counts, scoring=scores, progress=progress, pool=pool)
        answers = learned.answers(table.X_test)
    warnings[:0] = about_the_table
    title, found = f"folkmoot: {table.description}", learned_dict(result, warnings)
    where = write_learned(result, folder, title, found)
    write_answers(folder / PREDICTIONS, answers, table.lines_test, table.groups_test, truths(table))
    if save:
        learned.save(folder / MOOT_FILE)
    if json:
        print_json(found)
    else:
        print_learned(result, scores, participants)
    say(where, f"answers to the test rows: {folder / PREDICTIONS}", error=True)
    if save:
        say(f"for new rows: folkmoot predict {folder / MOOT_FILE} NEW.csv", error=True)
