"""Lists of models as scikit-learn parameters; ``_BaseComposition`` would change the caller's own models.

Every model, and every field of a rule, has a name. ``estimators`` may be a plain list, so names are made up
where there are none. ``protocol`` and ``aggregation`` are immutable, so ``protocol__alpha`` and
``aggregation__rows`` replace them by a copy. All of this then works in ``set_params``, ``clone`` and
``GridSearchCV``. scikit-learn's own ``_BaseComposition`` takes named pairs only, and changes models in place:
in ``[model] * 3`` all three are one object, and a fitted model is the caller's.
"""

from __future__ import annotations

import copy
import os
from collections import Counter
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, Self

from sklearn.base import BaseEstimator, clone

from folkmoot import checks
from folkmoot.protocols.slush import Slush

_IMMUTABLE: Final = ("protocol", "aggregation")


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


class Composed(BaseEstimator):
    """Parameters of an estimator that has ``estimators`` and may have a ``protocol``."""

    estimators: Any
    prefit: bool

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
