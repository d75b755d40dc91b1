"""A node's models put together: that of ``node.toml``, those adopted, and what makes better ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from folkmoot.network.membership.identity import SETTINGS
from folkmoot.network.service.holdout import Holdout
from folkmoot.network.service.improve.candidates import MODEL, SCHEMA, UNSEEN, Candidates, digest_of
from folkmoot.network.service.improve.choice import Choice
from folkmoot.network.service.improve.improving import Improving, Now, World
from folkmoot.network.service.improve.pools import Pools
from folkmoot.network.service.improve.settings import Improve, own_rows, unfitted_estimator
from folkmoot.network.service.models import Model, ModelFacts, is_function, load_model
from folkmoot.network.service.voter import Voter
from folkmoot.network.storage.adoptions import Adoptions
from folkmoot.network.storage.storage import Storage
from folkmoot.tabular import shortened

if TYPE_CHECKING:
    from folkmoot.network.membership.roster import Member
    from folkmoot.network.service.operation import Settings


def base_id(model: str) -> str:
    """What an adoption is instead of: the digest of a model's file, wherever that is, or its function."""
    return model if is_function(model) else digest_of(Path(model))


def labels_of(model: ModelFacts, settings: Settings) -> list[str] | None:
    """The labels that a node's model knows, as it says itself or its operator does; None if nobody does."""
    if settings.labels is None:
        return model.labels
    known = settings.labels if model.labels is None else model.labels
    strange = next((label for label in settings.labels if label not in known), None)
    if strange is not None:
        raise ValueError(
            f"labels in {settings.folder / SETTINGS} must be among those of the model, {', '.join(known)}: "
            f"got {strange!r}"
        )
    return list(settings.labels)


def _labels_given(model: ModelFacts, settings: Settings) -> list[str] | None:
    """The same while the node runs: labels in node.toml that an adopted model does not know count no more."""
    try:
        return labels_of(model, settings)
    except ValueError:
        return model.labels


def load_candidate(candidates: Candidates, motion: str, settings: Settings) -> Model:
    """The model of a candidate, if its files are those that were made; ValueError if they are not."""
    candidates.check(candidates.report(motion))
    place = candidates.place(motion)
    schema = place / SCHEMA
    return load_model(str(place / MODEL), allow=settings.allow, schema=schema if schema.is_file() else None)


@dataclass(frozen=True)
class NodeModels:
    """The models of a node."""

    base: Model  # that of node.toml
    choice: Choice
    candidates: Candidates
    adoptions: Adoptions
    id: str

    @classmethod
    def of(cls, settings: Settings, base: Model, holdout: Holdout, storage: Storage) -> NodeModels:
        """The models of a node that starts; ValueError if the adopted one cannot be used."""
        candidates, adoptions = Candidates(settings.folder), Adoptions(storage)
        identity = base_id(settings.model)
        choice = Choice(
            base, identity, holdout, candidates, adoptions,
            lambda motion: Voter(load_candidate(candidates, motion, settings)),
            lambda facts: _labels_given(facts, settings),
        )  # fmt: skip
        adopted = choice.current()
        if adopted:
            try:
                labels_of(load_candidate(candidates, adopted, settings), settings)
            except (ValueError, OSError) as error:
                raise ValueError(
                    f"the adopted model of {settings.folder} cannot be used: {error}; to go back to the one "
                    f"before it, type folkmoot node adopt {settings.folder} --undo"
                ) from None
        else:
            labels_of(base, settings)
        return cls(base, choice, candidates, adoptions, identity)

    def now(self, settings: Settings) -> Now:
        """The model that votes in new motions, for a refit."""
        adopted = self.choice.current()
        place = self.candidates.place(adopted)
        return Now(
            self.base.schema,
            self.base.columns,
            str(place / MODEL) if adopted else settings.model,
            settings.allow,
            settings.trust_pickle,
            str(place / UNSEEN) if adopted else "",
            "" if settings.holdout is None else str(settings.holdout),
        )

    def improving(self, settings: Settings, storage: Storage, world: World) -> Improving | None:
        """What makes better models; None without ``[improve]``."""
        if settings.improve is None:
            left = Pools(self.candidates.folder)
            for motion in left.names():  # inputs of others, which nobody wants any more
                left.discard(motion)
            return None
        if settings.refit is None:
            raise ValueError("[improve] needs somebody who fits models: give Settings.refit")
        return Improving(settings.improve, settings.folder, storage, settings.refit, world)


def check_improve(
    improve: Improve, model: Model, allow: Iterable[str], members: Iterable[Member], folder: Path
) -> str:
    """What ``[improve]`` will do, in a line; ValueError if it cannot."""
    names = sorted({member.name for member in members})
    strangers = improve.strangers(names)
    if strangers:
        raise ValueError(
            f"askers of [improve] in {folder / SETTINGS} must be members of the roster, {shortened(names)}: "
            f"got {strangers[0]!r}"
        )
    rows = own_rows(improve, model.schema, model.columns)
    estimator = unfitted_estimator(improve.estimator, tuple(allow))
    askers = ", ".join(improve.askers) or "nobody but this node"
    return (
        f"{len(rows.labels)} rows of {len(set(rows.labels))} labels, {type(estimator).__name__}; "
        f"pools of {askers}"
    )
