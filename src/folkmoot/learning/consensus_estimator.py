"""Base of the estimators: participants, their rows, fitting and predicting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.base import is_classifier
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from folkmoot import checks
from folkmoot.arrays import Array, Ints, Progress
from folkmoot.learning.composition import Composed, has_names, named_models
from folkmoot.learning.diagram import diagram
from folkmoot.learning.labels import is_missing
from folkmoot.learning.participants import Participant, Task, stratified_shards, tell
from folkmoot.learning.tables import check_columns, check_inputs, columns_each, group_column, rows_of

# Seen most where a splitter has groups and ``fit`` has none.
_HOW_GROUPS_ARRIVE: Final = (
    ", and fit got no groups: fit(X, y, groups=g), or with cross_val_score and the like "
    'params={"groups": g}, as their own groups= reaches the splitter only'
)


class ConsensusEstimator(Composed):
    """Base of the estimators: participants with one model and some rows each."""

    columns: Any
    n_jobs: int | None
    random_state: Any

    participants_: list[Participant]
    seed_: int
    _numbers: ClassVar[bool] = False  # do participants answer with numbers?

    # ---- who takes part ----------------------------------------------------------------------

    @property
    def estimators_(self) -> list[Any]:
        """The fitted models, one per participant."""
        check_is_fitted(self, "participants_")
        return [participant.model for participant in self.participants_]

    @property
    def named_estimators_(self) -> dict[str, Any]:
        """The fitted models by the participants' names."""
        check_is_fitted(self, "participants_")
        return {participant.name: participant.model for participant in self.participants_}

    def _sk_visual_block_(self) -> Any:
        """The diagram in a notebook: the models, after ``fit`` by the participants' names."""
        fitted = hasattr(self, "participants_")
        return diagram(list(self.named_estimators_.items()) if fitted else self._pairs())

    def _share_out(self, y: Array, groups: Any, draw: np.random.Generator) -> list[tuple[str, Any, Ints]]:
        """Name, model and rows of every participant."""
        models = self._named()
        if groups is None:
            _enough(len(models), f"estimators holds one model{_HOW_GROUPS_ARRIVE}")
            shards = stratified_shards(y, len(models), draw)
            return [(name, model, rows) for (name, model), rows in zip(models, shards, strict=True)]
        labels, whose = _check_groups(groups, len(y))
        _enough(
            len(labels),
            f"groups names one participant, {labels[0]!r}; leave groups out to share the rows among models",
        )
        if len(labels) == len(y):
            raise ValueError(
                f"groups must say whose each row is: each of the {len(y)} rows has a group of its own, which "
                "leaves a participant one row to learn from; give the column of owners, not of ids"
            )
        return [
            (label, model, np.flatnonzero(whose == i))
            for i, (label, model) in enumerate(
                zip(labels, _match(models, labels, has_names(self.estimators)), strict=True)
            )
        ]

    def _named(self) -> list[tuple[str, Any]]:
        models = named_models(self.estimators)
        taken = next((name for name, _ in models if name in self.get_params(deep=False)), None)
        if taken is not None:
            raise ValueError(f"the name of an estimator must not be that of a parameter: got {taken!r}")
        self._check_kinds(models)
        return models

    def _check_kinds(self, models: list[tuple[str, Any]]) -> None:
        """All models predict labels, or all numbers, as in scikit-learn's ``VotingClassifier``."""
        labels = is_classifier(self)
        wrong, right = ("regressor", "classifier") if labels else ("classifier", "regressor")
        for name, model in models:
            if hasattr(model, "__sklearn_tags__") and get_tags(model).estimator_type == wrong:
                what = "numbers" if labels else "labels"
                other = "Regressor" if labels else "Classifier"
                raise ValueError(
                    f"{type(self).__name__} needs {right}s: {name!r} ({type(model).__name__}) is a {wrong}, "
                    f"which predicts {what}; take a {right}, or give all models to Consensus{other}"
                )

    def _prefit(self) -> list[Participant]:
        models = self._named()
        _enough(len(models), "estimators holds one model")
        names = [name for name, _ in models]
        each = columns_each(self.columns, names)
        return [
            Participant(name, model, columns, numbers=self._numbers)
            for (name, model), columns in zip(models, each, strict=True)
        ]

    # ---- fitting and asking ------------------------------------------------------------------

    def _weights(self, fit_params: dict[str, Any]) -> Any:
        """The sample weights among the keywords of ``fit``; there is no other."""
        weights = fit_params.pop("sample_weight", None)
        if fit_params:
            raise TypeError(f"fit takes no argument {next(iter(fit_params))!r}: only sample_weight, progress")
        if self.prefit and weights is not None:
            raise ValueError("sample_weight is for fitting: models with prefit=True are fitted already")
        return weights

    def _start(self) -> np.random.Generator:
        """Forget an earlier fit, and seed this one."""
        for name in ("n_features_in_", "feature_names_in_", "_one_dimensional"):
            self.__dict__.pop(name, None)
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))
        return np.random.default_rng(self.seed_)

    def _tasks(
        self,
        X: Any,
        y: Array,
        groups: Any,
        weights: Array | None,
        draw: np.random.Generator,
        hold_out: Callable[[Array], Ints],
        refit: bool = False,
    ) -> list[Task]:
        shares = self._share_out(y if y.ndim == 1 else y[:, 0], groups, draw)
        names = [name for name, _, _ in shares]
        columns = columns_each(self.columns, names)
        check_columns(columns, names, X)
        seeds = draw.integers(0, 2**31, len(shares))
        free = self.random_state is None  # then so are the models
        return [
            Task(
                name, model, columns[i], rows_of(X, rows), y[rows],
                None if weights is None else weights[rows], hold_out(y[rows]),
                None if free else int(seeds[i]), refit=refit, places=rows, numbers=self._numbers,
            )
            for i, (name, model, rows) in enumerate(shares)
        ]  # fmt: skip

    def _fit_all(
        self, fit: Callable[[Task], Participant], tasks: Sequence[Task], progress: Progress | None
    ) -> list[Participant]:
        done: list[Participant] = self._everybody(fit, [(task,) for task in tasks], progress)
        tell(
            [p.name for p in done if p.constant],
            "rows of one class only, so this participant always answers that class",
        )
        tell([p.name for p in done if not p.weighted], "the model takes no sample_weight; fitted without")
        tell([f"{p.name} ({p.fault})" for p in done if p.fault], "cannot predict its held-out rows")
        tell(
            [f"{p.name} ({p.unrefitted})" for p in done if p.unrefitted],
            "goes on with the model that has not seen its held-out rows",
        )
        return done

    def _ask(self, X: Any, do: Any = None, *more: Any) -> list[Any]:
        """Everybody's answers to X, or ``do(participant, X, *more)``; a str says what went wrong.

        At least one participant has an answer.
        """
        answers: list[Any] = self._everybody(do or _answer, [(p, X, *more) for p in self.participants_], None)
        if all(isinstance(each, str) for each in answers):
            name, fault = self.participants_[0].name, answers[0]
            raise ValueError(f"no participant can answer; the first, {name!r}, says {fault}")
        return answers

    def _everybody(self, do: Any, arguments: Sequence[tuple[Any, ...]], progress: Progress | None) -> Any:
        results: list[Any] = [None] * len(arguments)
        for done, (i, result) in enumerate(_shared_out(do, arguments, self.n_jobs), start=1):
            results[i] = result
            if progress:
                progress(done, len(arguments))
        return results

    def _check_again(self, X: Any) -> Any:
        check_is_fitted(self, "participants_")
        # With prefit models and no rows there is nothing to compare X with.
        X = check_inputs(self, X, reset=False, compare=hasattr(self, "n_features_in_"))
        names = [p.name for p in self.participants_]
        check_columns([p.columns for p in self.participants_], names, X)
        return X

    # ---- malicious ----------------------------------------------------------------------------

    def _inherit_tags(self, tags: Any) -> None:
        """NaN and sparse rows are allowed if every model says so."""
        inner = [get_tags(m) if hasattr(m, "__sklearn_tags__") else None for _, m in self._pairs()]
        tagged = [each for each in inner if each is not None]
        whole = bool(tagged) and len(tagged) == len(inner)
        tags.input_tags.allow_nan = whole and all(each.input_tags.allow_nan for each in tagged)
        tags.input_tags.sparse = whole and all(each.input_tags.sparse for each in tagged)
        tags.target_tags.multi_output = (
            tags.estimator_type == "regressor"
            and whole
            and all(each.target_tags.multi_output for each in tagged)
        )

    def _malicious(
        self, given: Any, kind: type | tuple[type, ...], default: Callable[[], Any]
    ) -> dict[int, Any]:
        """Byzantine participants by number, from ``adversaries=``: None, how many, or a mapping."""
        n = len(self.participants_)
        if given is None:
            return {}
        if not isinstance(given, Mapping):
            _, byzantine = checks.population(n, given, argument="adversaries")
            order = np.random.default_rng(self.seed_).permutation(n)
            return {int(i): default() for i in order[:byzantine]}
        places = {participant.name: i for i, participant in enumerate(self.participants_)}
        result = {}
        for who, adversary in given.items():
            if not isinstance(adversary, kind):
                kinds = " or ".join(each.__name__ for each in (kind if isinstance(kind, tuple) else (kind,)))
                raise TypeError(f"adversaries must map participants to {kinds}: got {adversary!r}")
            if isinstance(who, str):
                if who not in places:
                    raise ValueError(f"adversaries must name participants: there is no {who!r}")
                who = places[who]
            elif not 0 <= checks.integer("a Byzantine participant", who) < n:
                raise ValueError(f"adversaries must name participants 0..{n - 1}: got {who}")
            result[int(who)] = adversary
        return result


def _answer(participant: Participant, X: Any) -> Array | str:
    return participant.predict(X)


def _enough(n: int, what: str) -> None:
    if n < 2:
        raise ValueError(f"a moot needs at least two participants: {what}")


def _match(models: list[tuple[str, Any]], labels: list[str], by_user: bool) -> list[Any]:
    """A model for each group: by name if the user gave names, else in order; or one for all."""
    by_name = dict(models)
    if set(by_name) == set(labels):
        return [by_name[label] for label in labels]
    if len(models) == 1:
        return [models[0][1]] * len(labels)
    if len(models) != len(labels):
        raise ValueError(
            f"groups names {len(labels)} participants, and estimators holds {len(models)} models: "
            "give one model for each, or a list of one model for all"
        )
    if by_user:
        strange = sorted(set(by_name) - set(labels))
        raise ValueError(
            f"estimators names {strange[0]!r}, and no group has that name: name the models after the groups "
            f"({', '.join(map(repr, labels[:5]))}{', ...' if len(labels) > 5 else ''}), or give a plain list"
        )
    return [model for _, model in models]


def _check_groups(groups: Any, rows: int) -> tuple[list[str], Array]:
    """The participants' names, in the order of their groups, and the number of each row's participant."""
    values = group_column(groups)
    if len(values) != rows:
        raise ValueError(f"groups must say whose each of the {rows} rows is: got {len(values)} entries")
    missing = np.flatnonzero([is_missing(value) for value in values.tolist()])
    if missing.size:
        raise ValueError(f"groups must say whose each row is: groups[{missing[0]}] is missing")
    kinds = {isinstance(value, str) for value in values.tolist()} if values.dtype == object else set()
    if len(kinds) > 1:
        raise TypeError("groups must be all words or all numbers: got some of each")
    labels, whose = np.unique(values, return_inverse=True)
    return [str(label) for label in labels.tolist()], whose


def rows_by_group(groups: Any, names: list[str], rows: int, by_user: bool) -> list[Ints]:
    """The rows of each participant: of the group with its name, or of the groups in order if it has none."""
    labels, whose = _check_groups(groups, rows)
    if len(labels) != len(names):
        raise ValueError(f"groups names {len(labels)} participants, and there are {len(names)} models")
    _match([(name, None) for name in names], labels, by_user)  # raises for names that do not fit
    order = names if set(labels) == set(names) else labels
    return [np.flatnonzero(whose == labels.index(label)) for label in order]


def check_weights(weights: Any, rows: int) -> Array | None:
    """Sample weights, one per row, finite and not negative."""
    if weights is None:
        return None
    values: Array = column_or_1d(np.asarray(weights, dtype=np.float64))
    check_consistent_length(values, np.empty(rows))
    if not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError("sample_weight must be finite and >= 0")
    return values


def _shared_out(
    do: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], n_jobs: int | None
) -> Iterator[tuple[int, Any]]:
    """``do(*arguments[i])`` for each i, in whatever order they are done, with their number.

    Some backends (Ray's) hand over whole lists only: then all come at once.
    """
    tasks = [delayed(_numbered)(i, do, each) for i, each in enumerate(arguments)]
    workers = None if n_jobs is None else max(1, min(effective_n_jobs(n_jobs), len(tasks)))
    backend, _ = get_active_backend()
    if backend.supports_return_generator:
        yield from Parallel(n_jobs=workers, return_as="generator_unordered")(tasks)
    else:
        yield from Parallel(n_jobs=workers)(tasks)


def _numbered(i: int, do: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[int, Any]:
    return i, do(*arguments)
