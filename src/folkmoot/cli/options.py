"""Options that commands share, and how what is typed becomes a number: each refusal shows what was typed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from folkmoot.aggregation import Aggregation
    from folkmoot.council import Council
    from folkmoot.files.vote_files import VoteTable
    from folkmoot.protocols import SnowProtocol
    from folkmoot.protocols.sampling import Everyone, Others
    from folkmoot.simulation.play_options import Device as DeviceName

SAMPLING = ("everyone", "others")
COUNCIL = "council"
MOOT_PANEL = "The moot"  # a group of options


def whole_number(text: str) -> int:
    """Option parser: an integer, or a line that shows what was typed."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"expected a whole number, got {text!r}") from None


def seed_number(text: str) -> int:
    """Option parser: a seed that every source of randomness takes."""
    seed = whole_number(text)
    if not 0 <= seed < 2**32:
        raise typer.BadParameter(f"seed must satisfy 0 <= seed < 2^32, got {seed}")
    return seed


def real_number(text: str) -> float:
    """Option parser: a number, or a line that shows what was typed."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"expected a number, got {text!r}") from None


def parse_accuracies(text: str) -> float | list[float]:
    """``0.6``; ``0.7,0.6,0.5``; or ``60x0.7,41x0.6``, which is 60 times 0.7 and 41 times 0.6."""
    from folkmoot.checks import MOST_PARTICIPANTS

    values: list[float] = []
    for part in text.split(","):
        times, _, value = part.strip().rpartition("x")
        try:
            count, accuracy = int(times) if times else 1, float(value)
        except ValueError:
            raise ValueError(
                f"--p must be a number, a list such as 0.7,0.6 or groups such as 60x0.7,41x0.6: got {text!r}"
            ) from None
        if not 1 <= count <= MOST_PARTICIPANTS:
            most = f"{MOST_PARTICIPANTS:,}"
            raise ValueError(f"--p must name groups of 1 to {most} participants: got {part.strip()!r}")
        values += [accuracy] * count
    return values[0] if "," not in text and "x" not in text else values


def whole_alpha(text: str | None) -> int | None:
    """A threshold typed where 'local' would do as well."""
    try:
        return None if text is None else int(text)
    except ValueError:
        raise ValueError(f"--alpha must be a whole number or 'local': got {text!r}") from None


def asked(participants: int, k: int | None, alpha: int | None = None) -> tuple[int, int]:
    """Sample size and threshold: those typed, or the defaults; a k that cannot be asked is refused."""
    from folkmoot.checks import default_query
    from folkmoot.protocols.sampling import Others

    if k is not None:
        Others().check(participants, k)
    return default_query(participants, k, alpha)


def check_workers(table: VoteTable, path: Path, column: str) -> None:
    """ValueError if a file of votes has those of one worker only."""
    if len(table.workers) < 2:
        raise ValueError(
            f"{path} must hold votes of at least two workers: all are of {table.workers[0]!r}; is "
            f"--worker-column {column} the column that says who voted?"
        )


def believed(typed: str | None) -> Aggregation | None:
    """The aggregation that ``--believe`` names; None for the default."""
    from folkmoot.aggregation.naming import aggregation_called

    return None if typed is None else aggregation_called(typed)


def protocol_typed(
    name: str, participants: int, k: int | None = None, alpha: int | None = None, beta: int = 20
) -> Council | SnowProtocol[Any]:
    """The protocol that ``--protocol`` names, among so many participants."""
    from folkmoot.protocols import PROTOCOLS, named_protocol

    if name == COUNCIL:
        from folkmoot.council import Council

        return Council()
    if name not in PROTOCOLS:
        raise ValueError(f"--protocol must be one of {COUNCIL}, {', '.join(PROTOCOLS)}: got {name!r}")
    return named_protocol(name, *asked(participants, k, alpha), beta=beta)


class ListingCommand(TyperCommand):
    """A command whose help names the protocols, attacks and aggregations; only its help imports them."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """As usual, with the names in place of ``{protocols}`` and the like."""
        with self.naming():
            super().format_help(ctx, formatter)

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Meanwhile the help of the options has the names that there are now."""
        helps = {option: str(getattr(option, "help", None) or "") for option in self.params}
        helps = {option: told for option, told in helps.items() if "{" in told}
        if helps:
            from folkmoot.adversaries import ATTACKS
            from folkmoot.aggregation.naming import AGGREGATIONS
            from folkmoot.protocols import PROTOCOLS

            lists: dict[str, Iterable[str]] = {
                "{protocols}": PROTOCOLS,
                "{attacks}": ATTACKS,
                "{aggregations}": AGGREGATIONS,
            }
            for option, told in helps.items():
                for mark, names in lists.items():
                    told = told.replace(mark, ", ".join(names))
                vars(option)["help"] = told
        try:
            yield
        finally:
            for option, told in helps.items():
                vars(option)["help"] = told


def device_called(typed: str) -> DeviceName:
    """The device that was typed, or ValueError if it is none."""
    from folkmoot.simulation.play_options import check_device

    return check_device(cast("DeviceName", typed))


def named_law(name: str) -> Everyone | Others:
    """The sampling law that ``--sampling`` names."""
    from folkmoot.protocols.sampling import Everyone, Others

    if name not in SAMPLING:
        raise ValueError(f"--sampling must be one of {', '.join(SAMPLING)}: got {name!r}")
    return Everyone() if name == "everyone" else Others()


INT = {"parser": whole_number, "metavar": "<int>"}
FLOAT = {"parser": real_number, "metavar": "<float>"}
SMALLEST = "floor(k/2)+1"

N = Annotated[int, typer.Option("--n", help="Participants in all.", show_default=False, **INT)]
K = Annotated[int, typer.Option("--k", help="Peers asked in a query.", **INT)]
Alpha = Annotated[
    int | None,
    typer.Option(
        "--alpha",
        help="Equal answers that turn a participant, k/2 < alpha <= k.",
        show_default=SMALLEST,
        **INT,
    ),
]
AlphaOrLocal = Annotated[
    str | None,
    typer.Option(
        "--alpha",
        help="Equal answers that turn a participant, or 'local': ceil(k p), each its own.",
        show_default=SMALLEST,
    ),
]
Byzantine = Annotated[int, typer.Option("--byzantine", help="Participants that always answer wrong.", **INT)]
Sampling = Annotated[
    str,
    typer.Option("--sampling", help="everyone: a node may ask itself (the paper's law); others: it may not."),
]
P = Annotated[
    str | None,
    typer.Option(
        "--p",
        help="Accuracy of the honest participants: 0.6, or one each (0.7,0.6,...), or groups (60x0.7,41x0.6)",
        show_default=False,
    ),
]
Delta = Annotated[
    int | None,
    typer.Option("--delta", help="Votes needed beyond a bare majority.", show_default="0", **INT),
]
Q = Annotated[
    float | None,
    typer.Option("--q", help="The majority needs this fraction of the votes.", show_default=False, **FLOAT),
]
Steps = Annotated[
    int | None,
    typer.Option(
        "--steps",
        help="Stop after this many steps; in a step one participant asks once.",
        show_default=False,
        **INT,
    ),
]
PerNode = Annotated[
    bool, typer.Option("--per-node", help="Count --steps per participant, as the paper does.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object (null: no finite number).")]
Participants = Annotated[
    bool, typer.Option("--participants", help="Print a row for every participant, not only those to look at.")
]
Plot = Annotated[
    Path | None, typer.Option("--plot", help="Draw into this .png, .svg or .pdf file.", show_default=False)
]
Play = Annotated[
    Path | None,
    typer.Option("--play", help="Write an .html page that plays it turn by turn.", show_default=False),
]
Seed = Annotated[
    int,
    typer.Option("--seed", help="The same seed, the same result.", parser=seed_number, metavar="<int>"),
]
Device = Annotated[
    str, typer.Option("--device", help="Where talks are played: cpu, cuda (a GPU) or auto; the same bits.")
]
Protocol = Annotated[
    str,
    typer.Option(
        "--protocol",
        help="How votes are exchanged: council (all know one table), or for plain labels {protocols}.",
        rich_help_panel=MOOT_PANEL,
    ),
]
Believe = Annotated[
    str | None,
    typer.Option(
        "--believe",
        help="How a council makes an answer of all votes: {aggregations}; parameters as in "
        "peer-review(rows=5).",
        show_default="plurality; of probabilities pool, of numbers trimmed-mean",
        rich_help_panel=MOOT_PANEL,
    ),
]
Malicious = Annotated[
    int,
    typer.Option(
        "--malicious",
        help="How many participants lie; --seed draws which.",
        rich_help_panel="Experiment: some participants lie",
        **INT,
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Write over files that are there.")]
Beta = Annotated[
    int,
    typer.Option("--beta", help="Wins in a row after which a participant decides.", **INT),
]
KOrAll = Annotated[
    int | None,
    typer.Option("--k", help="Peers asked in a query.", show_default="10, or all others", **INT),
]
RoundsEach = Annotated[
    int,
    typer.Option("--rounds", help="Rounds at most; in one each participant asks once, on average.", **INT),
]
Repeats = Annotated[int, typer.Option("--repeats", help="How often to run it.", **INT)]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", help="Processes that fit and predict; -1 is one a core.", show_default="1", **INT),
]
TaskColumn = Annotated[str, typer.Option("--task-column", help="The column of tasks, in all files.")]
WorkerColumn = Annotated[str, typer.Option("--worker-column", help="The column that says who voted.")]
LabelColumn = Annotated[str, typer.Option("--label-column", help="The column of labels, in all files.")]
Everything = Annotated[bool, typer.Option("--all", help="Print every row of the table.")]
