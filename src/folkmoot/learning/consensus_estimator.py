"""Base of the estimators: parameters by name, participants, their rows, fitting and asking.

``estimators`` may be a plain list, so names are made up where there are none. scikit-learn's own
``_BaseComposition`` takes named pairs only, and changes models in place. In ``[model] * 3`` all three are one
object, and a fitted model is the caller's.
"""

from __future__ import annotations

import copy
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, ClassVar, Final, Self

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from folkmoot import checks
from folkmoot.arrays import Array, Ints, Progress
from folkmoot.learning.participants import Participant, Task, stratified_shards, warn_about
from folkmoot.learning.tables import (
    check_columns,
    check_inputs,
    columns_each,
    group_column,
    is_missing,
    rows_of,
)
from folkmoot.protocols.slush import Slush

_IMMUTABLE: Final = ("protocol", "aggregation")  # ``protocol__alpha`` replaces them by a copy
_DRAWN: Final = 12  # participants in the diagram of a notebook
# Seen most where a splitter has groups and ``fit`` has none.
_HOW_GROUPS_ARRIVE: Final = (
    ", and fit got no groups: fit(X, y, groups=g), or with cross_val_score and the like "
    'params={"groups": g}, as their own groups= reaches the splitter only'
)


def named_models(estimators: Any) -> list[tuple[str, Any]]:
    """``estimators`` as (name, model) pairs; models without a name get that of their class."""
    _refuse_path(estimators)
    if isinstance(estimators, dict):
        raise TypeError(
            "estimators must be a list of models or of (name, model) pairs: got a dict; write "
            "list(models.items())"
        )
    if not isinstance(estimators, (list, tuple)):
        raise TypeError(
            "estimators must be a list of models or of (name, model) pairs: got "
            f"{estimators!r}; for one model in every group write [{type(estimators).__name__}()]"
        )
    if not estimators:
        raise ValueError("estimators must hold at least one model: got an empty list")
    pairs = [_is_pair(item) for item in estimators]
    if any(pairs) and not all(pairs):
        raise ValueError("estimators must be all models or all (name, model) pairs: got some of each")
    if all(pairs):
        names = [str(name) for name, _ in estimators]
        models = [model for _, model in estimators]
    else:
        models = list(estimators)
        kinds = [type(model).__name__.lower() for model in models]
        often, seen = Counter(kinds), Counter[str]()
        names = []
        for kind in kinds:
            seen[kind] += 1
            names.append(f"{kind}-{seen[kind]}" if often[kind] > 1 else kind)
    for model in models:
        _refuse_path(model)
        if isinstance(model, type):
            raise TypeError(f"estimators must hold models, not classes: write {model.__name__}()")
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise ValueError(f"estimators must have different names: got {twice!r} more than once")
    bad = next((name for name in names if "__" in name), None)
    if bad is not None:
        raise ValueError(f"the name of an estimator must not contain '__': got {bad!r}")
    return list(zip(names, models, strict=True))


def _refuse_path(model: Any) -> None:
    """A file's name is not the model in it, and what loads it depends on who made it."""
    if isinstance(model, (str, os.PathLike)):
        raise TypeError(
            f"estimators must hold models: got the text or path {str(model)!r}; load it first, such as "
            "skops.io.load(path), and give prefit=True"
        )


def has_names(estimators: Any) -> bool:
    """Whether the models came with names."""
    return all(map(_is_pair, estimators))


def _is_pair(item: Any) -> bool:
    return isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[0], str)


class ConsensusEstimator(BaseEstimator):
    """Base of the estimators: participants with one model and some rows each."""

    estimators: Any
    prefit: bool
    columns: Any
    n_jobs: int | None
    random_state: Any

    participants_: list[Participant]
    seed_: int
    _numbers: ClassVar[bool] = False  # do participants answer with numbers?
    _adversary: ClassVar[type]  # what ``adversaries=`` may hold,
    _usual_adversary: ClassVar[type]  # and what stands for a number of them

    # ---- parameters by name ------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Collect the parameters by name.

        Parameters
        ----------
        deep : bool, default True
            Whether to add the models, their parameters and the protocol's fields, such as
            ``gaussiannb-1__priors`` and ``protocol__alpha``.

        Returns
        -------
        dict of str to object
            The parameters and their values.
        """
        result: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for name, model in self._pairs():
                result[name] = model
                inner = model.get_params(deep=True) if hasattr(model, "get_params") else {}
                result.update({f"{name}__{key}": value for key, value in inner.items()})
            for part in _IMMUTABLE:
                rule = result.get(part)
                if is_dataclass(rule) and not isinstance(rule, type):
                    result.update({f"{part}__{f.name}": getattr(rule, f.name) for f in fields(rule)})
        return result

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name: whole lists and protocols first, then what is inside them.

        Parameters
        ----------
        **params : dict
            Names as in ``get_params``, and the new values.

        Returns
        -------
        ConsensusClassifier or ConsensusRegressor
            Itself, changed.
        """
        for whole in ("estimators", *_IMMUTABLE):
            if whole in params:
                super().set_params(**{whole: params.pop(whole)})
        for part in _IMMUTABLE:
            inside = {key: params.pop(key) for key in list(params) if key.startswith(f"{part}__")}
            if inside and part not in self.get_params(deep=False):
                raise ValueError(f"{type(self).__name__} has no parameter {part!r}")
            if inside:
                self._set_fields(part, {key.partition("__")[2]: value for key, value in inside.items()})
        names = [name for name, _ in self._pairs()]
        for name in [key for key in params if key in names]:
            self._replace(names.index(name), params.pop(name))
        inner: dict[str, dict[str, Any]] = {}
        for key in [key for key in params if "__" in key and key.partition("__")[0] in names]:
            name, _, parameter = key.partition("__")
            inner.setdefault(name, {})[parameter] = params.pop(key)
        for name, values in inner.items():
            # A copy: in [model] * 3 all three are one object, and a fitted model is the caller's.
            model = dict(self._pairs())[name]
            changed = copy.deepcopy(model) if self.prefit else clone(model)
            self._replace(names.index(name), changed.set_params(**values))
        super().set_params(**params)
        return self

    def _pairs(self) -> list[tuple[str, Any]]:
        """The named models, or none if the list is not valid: ``fit`` says what is wrong with it."""
        try:
            return named_models(self.estimators)
        except (TypeError, ValueError):
            return []

    def _replace(self, place: int, model: Any) -> None:
        items = list(self.estimators)
        items[place] = (items[place][0], model) if _is_pair(items[place]) else model
        self.estimators = items

    def _set_fields(self, part: str, values: dict[str, Any]) -> None:
        rule = getattr(self, part)
        if rule is None:
            rule = self._instead_of_none(part, values)
        known = [f.name for f in fields(rule)] if is_dataclass(rule) else []
        unknown = next((name for name in values if name not in known), None)
        if unknown is not None:
            expected = f"expected one of {', '.join(known)}" if known else "it has none"
            raise ValueError(f"{part} has no parameter {unknown!r}: {expected}")
        setattr(self, part, replace(rule, **values))

    def _instead_of_none(self, part: str, values: dict[str, Any]) -> Any:
        """The rule whose fields are set where none was given."""
        if part == "aggregation":
            raise ValueError(
                f"aggregation is None, which has no parameter {next(iter(values))!r}: set it first, such as "
                "aggregation=PeerReview()"
            )
        # The default for many participants: what is not set keeps its value, alpha the least majority.
        k = checks.integer("k", values.get("k", checks.DEFAULT_K), least=1)
        return Slush(k, checks.least_alpha(k))

    def __sklearn_clone__(self) -> Self:
        """A copy with the same parameters; models that are fitted already stay as they are."""
        if not self.prefit:
            return super().__sklearn_clone__()  # type: ignore[no-any-return]
        params = {name: clone(value, safe=False) for name, value in self.get_params(deep=False).items()
                  if name != "estimators"}  # fmt: skip
        return type(self)(estimators=self.estimators, **params)

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
        return _diagram(list(self.named_estimators_.items()) if fitted else self._pairs())

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
        warn_about(
            [p.name for p in done if p.constant],
            "rows of one class only, so this participant always answers that class",
        )
        warn_about(
            [p.name for p in done if not p.weighted], "the model takes no sample_weight; fitted without"
        )
        warn_about([f"{p.name} ({p.fault})" for p in done if p.fault], "cannot predict its held-out rows")
        warn_about(
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

    # ---- scikit-learn's tags -----------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        """NaN and sparse rows are allowed if every model says so."""
        tags = super().__sklearn_tags__()
        inner = [get_tags(m) if hasattr(m, "__sklearn_tags__") else None for _, m in self._pairs()]
        tagged = [each for each in inner if each is not None]
        whole = bool(tagged) and len(tagged) == len(inner)
        tags.input_tags.allow_nan = whole and all(each.input_tags.allow_nan for each in tagged)
        tags.input_tags.sparse = whole and all(each.input_tags.sparse for each in tagged)
        outputs = [each.target_tags.multi_output for each in tagged]
        tags.target_tags.multi_output = self._numbers and whole and all(outputs)
        return tags

    # ---- malicious ---------------------------------------------------------------------------

    def _malicious(self, given: Any) -> dict[int, Any]:
        """Byzantine participants by number, from ``adversaries=``: None, how many, or a mapping."""
        n = len(self.participants_)
        if given is None:
            return {}
        if not isinstance(given, Mapping):
            _, byzantine = checks.population(n, given, argument="adversaries")
            order = np.random.default_rng(self.seed_).permutation(n)
            return {int(i): self._usual_adversary() for i in order[:byzantine]}
        places = {participant.name: i for i, participant in enumerate(self.participants_)}
        result = {}
        for who, adversary in given.items():
            if not isinstance(adversary, self._adversary):
                kind = self._adversary.__name__
                raise TypeError(f"adversaries must map participants to {kind}: got {adversary!r}")
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


def _diagram(named: Sequence[tuple[str, Any]]) -> Any:
    """Make the block that scikit-learn draws: a box for each participant; the last says how many more."""
    try:
        from sklearn.utils._repr_html.estimator import _VisualBlock
    except ImportError:  # before scikit-learn 1.7
        from sklearn.utils._estimator_html_repr import _VisualBlock

    shown = [(str(name), model) for name, model in named[:_DRAWN]]
    if len(named) > _DRAWN:
        shown.append(("...", f"and {len(named) - _DRAWN} more participants"))
    return _VisualBlock("parallel", [model for _, model in shown], names=[name for name, _ in shown])
