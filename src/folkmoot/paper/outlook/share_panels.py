"""The pictures of the study ``outlook``: accuracy by the share of liars, and accuracy by messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from folkmoot.palette import SERIES, panels
from folkmoot.paper.outlook.crowds import BOASTED, HOLDOUT
from folkmoot.paper.outlook.methods import NOTHING, TRUST

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


_STYLES: Final = {NOTHING: "-", HOLDOUT: "-", BOASTED: ":", TRUST: "--"}


def drawn(rows: Sequence[Any]) -> dict[str, Figure]:
    """Both pictures, a panel for each crowd."""
    return {"outlook": _by_share(rows), "messages": _by_messages(rows)}


def _by_share(rows: Sequence[Row]) -> Figure:
    """Solid: knowing nothing, or by holdout; dotted: liars claim the best; dashed: by trust."""
    crowds = list(dict.fromkeys(each.crowd for each in rows))
    methods = [name for name in dict.fromkeys(each.method for each in rows) if not name.startswith("teams, ")]
    figure, axes = panels(1, len(crowds), size=(4.6, 4.2))
    for axis, crowd in zip(axes, crowds, strict=True):
        for at, method in enumerate(methods):
            for known, style in _STYLES.items():
                here = sorted(
                    (
                        each
                        for each in rows
                        if (each.crowd, each.method, each.known) == (crowd, method, known)
                    ),
                    key=lambda each: each.share,
                )
                if here:
                    axis.errorbar(
                        [100 * each.share for each in here],
                        [each.accuracy for each in here],
                        [each.error or 0.0 for each in here],
                        color=SERIES[at % len(SERIES)],
                        ls=style, lw=1.1, marker="." if at < len(SERIES) else "x", ms=4,
                        label=method if style == "-" else None,
                    )  # fmt: skip
        axis.set(xlabel="% perfectly malicious", ylim=(-0.02, 1.02))
        axis.set_title(crowd, fontsize=10, loc="left")
    axes[0].set_ylabel("accuracy (dotted: liars claim the best; dashed: by trust)")
    axes[-1].legend(frameon=False, fontsize=7)
    return figure


def _by_messages(rows: Sequence[Row]) -> Figure:
    crowds = list(dict.fromkeys(each.crowd for each in rows))
    figure, axes = panels(1, len(crowds), size=(4.6, 3.6))
    for axis, crowd in zip(axes, crowds, strict=True):
        here = [each for each in rows if each.crowd == crowd and not each.share and each.messages]
        here = [each for each in here if each.known in _STYLES and each.known != BOASTED]
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
