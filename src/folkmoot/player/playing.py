"""``play``: runs as a page that plays them turn by turn (docs/watch.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Array, Ints
from folkmoot.outcome import Outcome
from folkmoot.player.form import Input, PlayedMoot, PlayedRun, closest_first
from folkmoot.player.images import data_addresses
from folkmoot.player.page import DELIBERATIONS, Player, player_data, player_page
from folkmoot.votes import NO_VOTE, Votes, check_truth

MOST_PARTICIPANTS = 1000  # more than that are not told apart on a ring
_COLUMNS = 60  # shown of a row


@overload
def play(
    outcomes: Outcome | Mapping[str, Outcome],
    path: None = None,
    *,
    truth: npt.ArrayLike | None = None,
    images: npt.ArrayLike | None = None,
    rows: Any = None,
    inputs: int | Sequence[int] = 24,
    input_names: Sequence[str] | None = None,
    title: str | None = None,
    about: str | None = None,
) -> Player: ...


@overload
def play(
    outcomes: Outcome | Mapping[str, Outcome],
    path: str | PathLike[str],
    *,
    truth: npt.ArrayLike | None = None,
    images: npt.ArrayLike | None = None,
    rows: Any = None,
    inputs: int | Sequence[int] = 24,
    input_names: Sequence[str] | None = None,
    title: str | None = None,
    about: str | None = None,
) -> Path: ...


def play(
    outcomes: Outcome | Mapping[str, Outcome],
    path: str | PathLike[str] | None = None,
    *,
    truth: npt.ArrayLike | None = None,
    images: npt.ArrayLike | None = None,
    rows: Any = None,
    inputs: int | Sequence[int] = 24,
    input_names: Sequence[str] | None = None,
    title: str | None = None,
    about: str | None = None,
) -> Player | Path:
    """Write a page that plays deliberations turn by turn: queries, answers and changes of mind.

    The page is one HTML file that works offline. Several outcomes about the same inputs stand side by side.

    Parameters
    ----------
    outcomes : Outcome, or mapping of str to Outcome
        From ``deliberate``, by name on the page. Of several repetitions, the first is played.
    path : str or path, optional
        The file to write, such as ``"deliberation.html"``. Default: none; the page is returned.
    truth : array-like of int, shape (input,), optional
        The right class of each input, -1 where it is not known.
    images : array-like, shape (input, height, width) or (input, height, width, 3 or 4), optional
        A picture of each input: ink on paper, or colours as they are.
    rows : array-like or data frame, shape (input, column), optional
        The values of each input, shown beside it.
    inputs : int or sequence of int, default 24
        How many inputs to show at the most, those undecided in some moot first and then those with the
        closest first votes; or which.
    input_names : sequence of str, optional
        Names of the inputs. Default: their numbers.
    title : str, optional
        The title of the page.
    about : str, optional
        The text below the title.

    Returns
    -------
    Player or Path
        The page, which shows itself in a notebook; with ``path`` the file that was written.

    Raises
    ------
    ValueError
        If an outcome has no turns, or the outcomes are not about the same inputs. Or if there is not
        one image, row, name or truth for each, or the file cannot be there.

    Examples
    --------
    >>> from folkmoot import Slush, deliberate, play
    >>> from folkmoot.adversaries import PerfectlyMalicious
    >>> votes = [[1, 1, 0, 1]] * 9 + [[0, 1, 1, 0]] * 2
    >>> truth = [1, 1, 0, 1]
    >>> malicious = {i: PerfectlyMalicious() for i in range(4)}
    >>> few = deliberate(votes, Slush(k=5, alpha=3))
    >>> many = deliberate(votes, Slush(k=5, alpha=3), adversaries=malicious, truth=truth)
    >>> player = play({"nobody malicious": few, "4 malicious": many}, truth=truth)
    >>> player  # doctest: +ELLIPSIS
    Player(... kB of HTML: save(path) writes it)
    """
    where = None if path is None else _writable(path)
    data = deliberations_to_play(
        outcomes, truth=truth, images=images, rows=rows, inputs=inputs, input_names=input_names
    )
    first = next(iter(_named(outcomes).values()))
    participants, count = len(first.honest), first.decisions.shape[-1]
    player = player_page(
        title or f"{participants} participants deliberate until they agree",
        f"{about or f'{participants} participants; {_rule(first)}.'} {_shown(data, count)}",
        data,
    )
    return player if where is None else player.save(where)


def deliberations_to_play(
    outcomes: Outcome | Mapping[str, Outcome],
    *,
    truth: npt.ArrayLike | None = None,
    images: npt.ArrayLike | None = None,
    rows: Any = None,
    inputs: int | Sequence[int] = 24,
    input_names: Sequence[str] | None = None,
) -> dict[str, Any]:
    """The data of a page with a player; arguments as of ``play``."""
    moots = _named(outcomes)
    first = next(iter(moots.values()))
    count = first.decisions.shape[-1]
    known = None if truth is None else check_truth(truth, count, first.classes, complete=False)
    pictures = None if images is None else _images(images, count)
    table = None if rows is None else _rows(rows, count)
    called = [f"input {i}" for i in range(count)] if input_names is None else list(map(str, input_names))
    if len(called) != count:
        raise ValueError(f"input_names must hold one per input ({count}): got {len(called)}")
    chosen = _chosen(inputs, list(moots.values()))
    addresses: Sequence[str | None] = [None] * len(chosen)
    ink = False
    if pictures is not None:
        addresses, ink = data_addresses(pictures[chosen])
    return player_data(
        [str(label) for label in (range(first.classes) if first.labels is None else first.labels)],
        [
            Input(
                called[i],
                NO_VOTE if known is None else int(known[i]),
                address,
                None if table is None else table[i],
            )
            for i, address in zip(chosen, addresses, strict=True)
        ],
        [_moot(name, outcome, chosen, known) for name, outcome in moots.items()],
        ink=ink,
    )


def _shown(data: dict[str, Any], count: int) -> str:
    """The number of inputs on the page, if there are more."""
    shown = len(data[DELIBERATIONS]["inputs"])
    return "" if shown == count else f"Shown are {shown} of {count:,} inputs, undecided and close ones first."


def _named(outcomes: Outcome | Mapping[str, Outcome]) -> dict[str, Outcome]:
    """The outcomes by name, all of them recorded and about the same inputs."""
    named = {"the deliberation": outcomes} if isinstance(outcomes, Outcome) else outcomes
    if not isinstance(named, Mapping):
        raise TypeError(f"outcomes must be an Outcome, or map names to outcomes: got {outcomes!r}")
    if not named:
        raise ValueError("outcomes must hold at least one Outcome: got none")
    moots = {str(name): each for name, each in named.items()}
    first: Outcome | None = None
    for name, each in moots.items():
        if not isinstance(each, Outcome):
            raise TypeError(f"outcomes must map names to outcomes: got {each!r} for {name!r}")
        _first_votes(each)
        if len(each.honest) > MOST_PARTICIPANTS:
            raise ValueError(
                f"at most {MOST_PARTICIPANTS:,} participants can be drawn: got {len(each.honest):,}"
            )
        first = first or each
        for what, mine, others in (
            ("inputs", each.decisions.shape[-1], first.decisions.shape[-1]),
            ("classes", each.classes, first.classes),
        ):
            if mine != others:
                raise ValueError(
                    f"outcomes must be about the same inputs: {name!r} has {mine} {what}, another {others}"
                )
    return moots


def _first_votes(outcome: Outcome) -> Votes:
    """The first votes; ValueError if there are no turns."""
    outcome._known_run("play")
    if outcome.votes is None:
        raise ValueError("play needs the first votes, which an outcome of deliberate(...) has")
    return outcome.votes


def _writable(path: str | PathLike[str]) -> Path:
    """The file, checked before the work is done."""
    where = Path(path)
    if where.is_dir():
        raise ValueError(f"path must name a file such as deliberation.html: {where} is a folder")
    if not where.parent.is_dir():
        raise ValueError(f"path must name a file in a folder that exists: there is no {where.parent}")
    return where


def _images(images: npt.ArrayLike, count: int) -> Array:
    try:
        pictures = np.asarray(images)
    except ValueError:
        pictures = np.empty(0, dtype=object)
    shaped = pictures.ndim == 3 or (pictures.ndim == 4 and pictures.shape[3] in (3, 4))
    if not shaped or pictures.dtype.kind not in "biuf" or 0 in pictures.shape[1:]:
        raise ValueError(
            "images must have the shape (input, height, width), or (input, height, width, 3 or 4) for "
            f"colours: got an array of {pictures.dtype} of the shape {pictures.shape}"
        )
    if len(pictures) != count:
        raise ValueError(f"images must hold one per input ({count}): got {len(pictures)}")
    return pictures


def _rows(rows: Any, count: int) -> list[list[tuple[str, str]]]:
    """Names and values of the first columns of each row, as text."""
    if hasattr(rows, "toarray"):
        rows = rows.toarray()
    names = [str(name) for name in rows.columns] if hasattr(rows, "columns") else None
    table = np.asarray(rows, dtype=object)
    if table.ndim != 2:
        raise ValueError(f"rows must have the shape (input, column): got the shape {table.shape}")
    if len(table) != count:
        raise ValueError(f"rows must hold one per input ({count}): got {len(table)}")
    columns = names or [f"column {i}" for i in range(table.shape[1])]
    return [
        [(column, f"{value:g}" if isinstance(value, float) else str(value)) for column, value in pairs]
        for pairs in (list(zip(columns, row, strict=True))[:_COLUMNS] for row in table)
    ]


def _chosen(inputs: int | Sequence[int], moots: list[Outcome]) -> list[int]:
    """The inputs to show, in this order."""
    count = moots[0].decisions.shape[-1]
    if not isinstance(inputs, (Sequence, np.ndarray)):
        most = checks.integer("inputs", inputs, least=1)
        votes = [(_first_votes(each), _once(each.decision, 1)) for each in moots]
        return closest_first(votes, moots[0].classes)[:most]
    if len(inputs) < 1:
        raise ValueError("inputs must name at least one input: got none")
    which = [checks.integer("an input", i) for i in inputs]
    for i in which:
        if not 0 <= i < count:
            raise ValueError(f"inputs must satisfy 0 <= i < {count}, the number of inputs: got {i}")
    return which


def _moot(name: str, outcome: Outcome, chosen: list[int], truth: Ints | None) -> PlayedMoot:
    votes = _first_votes(outcome)
    decided, end = _once(outcome.decision, 1), _once(outcome.decisions, 2)
    right = None if truth is None or (truth == NO_VOTE).all() else float(outcome.accuracies(truth)[0])
    return PlayedMoot(
        name=name,
        rule=_rule(outcome),
        names=[f"#{i}" for i in range(len(votes))] if outcome.names is None else list(outcome.names),
        honest=outcome.honest,
        runs=[
            PlayedRun(
                first=votes[:, i],
                turns=outcome.turns(i),
                decision=int(decided[i]),
                end=end[:, i],
                absent=[] if outcome.present is None else np.flatnonzero(~outcome.present[:, i]).tolist(),
            )
            for i in chosen
        ],
        inputs=votes.shape[1],
        undecided=int((decided == NO_VOTE).sum()),
        right=right,
        malicious=outcome.malicious,
        lockstep=outcome.schedule == "lockstep",
    )


def _once(values: Array, axes: int) -> Array:
    """The first repetition."""
    return values if values.ndim == axes else values[0]


def _rule(outcome: Outcome) -> str:
    """The protocol in words."""
    protocol = outcome.protocol
    alpha = f"alpha = {protocol.alpha}" if isinstance(protocol.alpha, int) else "thresholds by participant"
    parts = [f"{type(protocol).__name__}, k = {protocol.k}, {alpha}"]
    if outcome.schedule == "lockstep":
        parts.append("all at once")
    return "; ".join([*parts, f"seed {outcome.seed}"])
