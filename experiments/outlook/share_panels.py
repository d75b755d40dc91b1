"""The pictures of the study ``outlook``: accuracy by the share of liars, and accuracy by messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from experiments.outlook.crowds import BOASTED, HOLDOUT
from experiments.outlook.methods import FINAL, NOTHING, TRUST
from folkmoot.pictures.palette import GREY, SERIES, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Row(Protocol):
    """What is drawn of a row."""

    crowd: str
    method: str
    known: str
    share: float
    accuracy: float
    error: float | None
    messages: float | None


SLUSH: Final = "Slush"
_SHOWN: Final = {NOTHING, HOLDOUT, TRUST}


def drawn(rows: Sequence[Any]) -> dict[str, Figure]:
    """Both pictures, a column or panel for each crowd."""
    return {"outlook": _by_share(rows), "messages": _by_messages(rows)}


def _by_share(rows: Sequence[Row]) -> Figure:
    """Above what knows nothing of anybody, below what goes by holdouts; in both Slush, and Slush by trust."""
    crowds = list(dict.fromkeys(each.crowd for each in rows))
    figure, axes = panels(2, len(crowds), size=(3.6, 3.2))
    for at, (axis, crowd) in enumerate(zip(axes, crowds * 2, strict=True)):
        here = [each for each in rows if each.crowd == crowd]
        kinds = (HOLDOUT, BOASTED) if at >= len(crowds) else (NOTHING,)
        methods = list(dict.fromkeys(each.method for each in here if each.known in kinds))
        colours = [colour for colour in SERIES if colour != GREY]
        for method, colour in zip([name for name in methods if name != SLUSH], colours, strict=False):
            for known, style in zip(kinds, ("-", ":"), strict=False):
                label = method if style == "-" else None
                _line(axis, here, method, known, color=colour, ls=style, label=label)
        _line(axis, here, SLUSH, NOTHING, color=GREY, ls="-", lw=2.2, label=SLUSH)
        _line(axis, here, FINAL, TRUST, color="black", ls="--", label="final votes by holdout trust")
        axis.set(ylim=(-0.02, 1.02))
        axis.set_title(crowd if at < len(crowds) else "", fontsize=10, loc="left")
    for axis in axes[len(crowds) :]:
        axis.set_xlabel("% perfectly malicious")
    axes[0].set_ylabel("accuracy, knowing nothing")
    axes[len(crowds)].set_ylabel("accuracy, by holdout\n(dotted: liars claim the best)")
    for axis in (axes[0], axes[len(crowds)]):
        axis.legend(frameon=False, fontsize=7, loc="center right")
    return figure


def _line(axis: Any, rows: Sequence[Row], method: str, known: str, **style: Any) -> None:
    here = [each for each in rows if (each.method, each.known) == (method, known)]
    here.sort(key=lambda each: each.share)
    if here:
        axis.errorbar(
            [100 * each.share for each in here],
            [each.accuracy for each in here],
            [each.error or 0.0 for each in here],
            **{"lw": 1.2, "marker": ".", "ms": 4, **style},
        )


def _by_messages(rows: Sequence[Row]) -> Figure:
    crowds = list(dict.fromkeys(each.crowd for each in rows))
    figure, axes = panels(1, len(crowds), size=(4.6, 3.6))
    for axis, crowd in zip(axes, crowds, strict=True):
        here = [each for each in rows if each.crowd == crowd and not each.share and each.messages]
        here = [each for each in here if each.known in _SHOWN]
        for at, each in enumerate(here):
            known = "" if each.known == NOTHING else f" ({each.known})"
            axis.plot(
                [each.messages], [each.accuracy], "os^D"[at % 4],
                color=SERIES[at % len(SERIES)], ms=5, label=each.method + known,
            )  # fmt: skip
        axis.set(xlabel="messages for the batch, nobody lying", xscale="log")
        axis.set_title(crowd, fontsize=10, loc="left")
    axes[0].set_ylabel("accuracy")
    axes[-1].legend(frameon=False, fontsize=6)
    return figure
