"""The result of ``plan``: settings, best first, beside answers without rounds; as a table and for JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from folkmoot.comparing.printing import PlainTable, Printed, plus_minus, size
from folkmoot.planning.limits import BreaksAt, Target
from folkmoot.planning.setting import IN_TIME, PlannedSetting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HEADER: Final = ("protocol", "k", "alpha", "rounds", "accuracy", "agreement", "in time", "messages", "bytes")


@dataclass(frozen=True)
class Broadcast:
    """The cost if all send their first votes to all, and each takes the majority.

    Parameters
    ----------
    messages : int
        n (n - 1).
    bytes : int
        Their size, each as large as an answer to a query.
    cheaper : bool
        Whether that is fewer messages than the first setting of the plan takes.

    Examples
    --------
    >>> from folkmoot import plan
    >>> plan(n=11, p=0.8, protocol="slush").broadcast
    Broadcast(messages=110, bytes=11330, cheaper=True)
    """

    messages: int
    bytes: int
    cheaper: bool


@dataclass(frozen=True)
class Plan(Printed):
    """Settings for a moot, best first, as ``plan`` finds them; ``print`` shows a table.

    Parameters
    ----------
    n : int
        Participants in all.
    byzantine : int
        How many of the n always answer wrong.
    labels : int
        The number of labels.
    inputs : int
        The inputs of a batch, which one query carries.
    settings : tuple of PlannedSetting
        The first is the cheapest in messages of those within 0.005 of the best accuracy. Of each protocol
        those are listed that nothing cheaper matches.
    mean_participant : float
        The accuracy of the mean honest participant.
    majority : float
        The accuracy of the majority of all n first votes, those of malicious participants too.
    majority_error : float or None
        Its standard error; None if it is exact.
    broadcast : Broadcast
        The cost of giving everybody all first votes.
    breaks_at : BreaksAt
        The limits of the first setting.
    target : Target or None
        The number of participants that the target needs, if one was given.
    remarks : tuple of str
        Further notes.

    Examples
    --------
    >>> from folkmoot import plan
    >>> found = plan(n=11, p=0.8, byzantine=1, protocol="slush")
    >>> round(found.majority, 4), found.breaks_at.byzantine
    (0.9672, 2)
    """

    n: int
    byzantine: int
    labels: int
    inputs: int
    settings: tuple[PlannedSetting, ...]
    mean_participant: float
    majority: float
    majority_error: float | None
    broadcast: Broadcast
    breaks_at: BreaksAt
    target: Target | None
    remarks: tuple[str, ...] = ()

    header = _HEADER

    @property
    def title(self) -> str:
        """The participants and the inputs, in words."""
        malicious = f", {self.byzantine} Byzantine" if self.byzantine else ""
        return (
            f"{self.n} participants{malicious}, right with {self.mean_participant:.4g} on average, "
            f"{self.labels} labels, {self.inputs:,} input{'s' if self.inputs > 1 else ''} a batch"
        )

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The settings as the header says."""
        return [_row(each) for each in self.settings]

    @property
    def notes(self) -> list[str]:
        """Beside what to see it, where it breaks, and how it was found."""
        everybody = self.broadcast
        in_time = f"all agree in time with a chance of {IN_TIME:g}"
        lines = [
            f"take the first: the cheapest within 0.005 of the best accuracy, of those in which {in_time}"
            if self.settings[0].in_time >= IN_TIME
            else f"in no setting tried {in_time}; the first is the cheapest of those that come close",
            f"mean participant {self.mean_participant:.4f}, majority of all first votes "
            f"{self.majority:.4f}{plus_minus(self.majority_error)}",
            f"all send their votes to all: {everybody.messages:,} messages, {size(everybody.bytes)}; that is "
            + ("cheaper, and gives the majority" if everybody.cheaper else "more expensive than the first"),
            _breaks_in_words(self.breaks_at, self.byzantine),
        ]
        if self.target is not None:
            lines.append(self.target.reason + _setting_in_words(self.target.setting))
        if not all(each.exact for each in self.settings):
            exact = "; lines without it are exact" if any(each.exact for each in self.settings) else ""
            lines.append(f"± is a standard error{exact}")
        return [*lines, *self.remarks]

    def _as_table(self) -> PlainTable:
        return self.title, self.header, self.rows, self.notes

    def plot(self, ax: Any = None) -> Figure:
        """Draw what accuracy costs: the settings of each protocol, the majority and the mean participant.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw in. Default: a new figure.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        from folkmoot.planning.picture import draw_plan

        return draw_plan(self, ax)

    def to_dict(self) -> dict[str, Any]:
        """Make plain values of it, for JSON."""
        return asdict(self)


def _row(each: PlannedSetting) -> tuple[str, ...]:
    name = each.protocol if each.beta is None else f"{each.protocol}, beta {each.beta}"
    return (
        name,
        str(each.k),
        str(each.alpha),
        str(each.rounds),
        f"{each.accuracy:.4f}{plus_minus(each.standard_error)}",
        f"{each.agreement:.4f}",
        f"{each.in_time:.4f}",
        f"{each.messages:,.0f}",
        size(round(each.bytes)),
    )


def _setting_in_words(setting: PlannedSetting | None) -> str:
    if setting is None:
        return ""
    return f": {setting.protocol} with k = {setting.k}, alpha = {setting.alpha}, {setting.rounds} rounds"


def _breaks_in_words(found: BreaksAt, byzantine: int) -> str:
    """The two limits in one sentence."""
    most = {
        None: "never better than the mean participant, whoever lies",
        0: "better than the mean participant while nobody lies",
    }
    first = most.get(found.byzantine, f"better than the mean participant up to {found.byzantine} Byzantine")
    malicious = f"with {byzantine} Byzantine" if byzantine else "with nobody malicious"
    second = "for no accuracy" if found.p is None else f"from accuracy {found.p:.4f} on"
    return f"the first is {first}; {malicious}, {second}"
