"""Adopting a candidate, and undoing it: what ``folkmoot node adopt`` does, whether the node runs or not."""

from __future__ import annotations

import time
from dataclasses import dataclass

from folkmoot.network.service.improve.candidates import Candidates, Report
from folkmoot.network.service.improve.setup import base_id, labels_of, load_candidate
from folkmoot.network.service.operation import Settings
from folkmoot.network.storage.adoptions import Adoptions
from folkmoot.network.storage.storage import Storage


@dataclass(frozen=True)
class Step:
    """A change of the model that votes: the motions that models came of; "" is the model of ``node.toml``."""

    former: str
    votes: str


def candidate_in(settings: Settings, storage: Storage, prefix: str | None) -> Report:
    """The candidate of a motion, or without one the latest that could be adopted; ValueError if none is."""
    candidates = Candidates(settings.folder)
    if prefix is not None:
        return candidates.find(prefix)
    latest = candidates.find("last")
    adopted = {each.model for each in Adoptions(storage).pile()}
    able = [each for each in candidates.reports() if each.adoptable and each.motion not in adopted]
    return able[-1] if able else latest


def adopt(settings: Settings, storage: Storage, report: Report) -> Step:
    """Let a candidate vote from the next motion on; ValueError, with nothing changed, if it must not."""
    named = f"the candidate of motion {report.motion[:12]}, a pool of {report.asker},"
    if report.why is not None:
        raise ValueError(f"{named} was refused: {report.why}; the model stays as it is")
    adoptions, base = Adoptions(storage), base_id(settings.model)
    former = adoptions.current(base)
    if former == report.motion:
        raise ValueError(f"{named} votes already")
    candidates = Candidates(settings.folder)
    model = load_candidate(candidates, report.motion, settings)
    labels_of(model, settings)  # those of node.toml must be among its own
    adoptions.adopt(report.motion, base, time.time())
    return Step(former, report.motion)


def undo(settings: Settings, storage: Storage, prefix: str | None = None) -> Step:
    """Put the former model back; ValueError if nothing was adopted.

    ``prefix`` begins the name of the motion whose model was adopted last, so that nothing is undone twice.
    """
    adoptions = Adoptions(storage)
    latest = adoptions.pile()[-1:]
    if prefix is not None and latest and not (prefix and latest[0].model.startswith(prefix.lower())):
        raise ValueError(
            f"the latest adoption is that of motion {latest[0].model[:12]}, and not of {prefix[:12]!r}: "
            "nothing was undone"
        )
    gone = adoptions.undo(time.time())
    if gone is None:
        raise ValueError(
            f"nothing was adopted in {settings.folder}: the model of node.toml votes, and there is none "
            "before it"
        )
    return Step(gone.model, adoptions.current(base_id(settings.model)))
