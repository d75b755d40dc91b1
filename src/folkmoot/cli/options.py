"""Options that commands share, and how what is typed becomes a number: each refusal shows what was typed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from folkmoot.aggregation.interface import Aggregation
    from folkmoot.files.vote_files import VoteTable
    from folkmoot.protocols.sampling import Everyone, Others
    from folkmoot.protocols.snow import SnowProtocol
    from folkmoot.simulation.council import Council
    from folkmoot.simulation.setting import Device as DeviceName

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


def number_of_processes(text: str) -> int:
    """Option parser: how many processes work, as joblib takes it."""
    number = whole_number(text)
    if number == 0:
        raise typer.BadParameter("expected a number of processes, or -1 for one per core, got 0")
    return number


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
    from folkmoot.protocols.naming import PROTOCOLS, named_protocol

    if name == COUNCIL:
        from folkmoot.simulation.council import Council

        return Council()
    if name not in PROTOCOLS:
        raise ValueError(f"--protocol must be one of {COUNCIL}, {', '.join(PROTOCOLS)}: got {name!r}")
    return named_protocol(name, *asked(participants, k, alpha), beta=beta)


# What stands for a mark in a help text: the names that this command takes, where they are defined.
LISTS = {
    "{attacks on votes}": ("folkmoot.adversaries.naming", "ATTACKS"),
    "{attacks on clusterings}": ("folkmoot.clustering.adversaries", "PARTITION_ATTACKS"),
    "{attacks on nodes}": ("folkmoot.local.moot", "ATTACKS"),
    "{aggregations}": ("folkmoot.aggregation.naming", "AGGREGATIONS"),
    "{protocols}": ("folkmoot.protocols.naming", "PROTOCOLS"),
}


class ListingCommand(TyperCommand):
    """A command whose help has names for the marks of ``LISTS``; only its help imports them."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """As usual, with the names in place of the marks."""
        with self.naming():
            super().format_help(ctx, formatter)

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Meanwhile the help of the options has the names that there are now."""
        helps = {option: str(getattr(option, "help", None) or "") for option in self.params}
        helps = {option: help_text for option, help_text in helps.items() if "{" in help_text}
        for option, help_text in helps.items():
            for mark, (module, names) in LISTS.items():
                if mark in help_text:
                    help_text = help_text.replace(mark, ", ".join(getattr(import_module(module), names)))
            vars(option)["help"] = help_text
        try:
            yield
        finally:
            for option, help_text in helps.items():
                vars(option)["help"] = help_text


def device_called(typed: str | None) -> DeviceName:
    """The device that was typed, or the CPU; ValueError if it is none."""
    from folkmoot.simulation.setting import check_device

    return check_device(cast("DeviceName", typed or "cpu"))


def named_law(name: str) -> Everyone | Others:
    """The sampling law that ``--sampling`` names."""
    from folkmoot.protocols.sampling import Everyone, Others

    if name not in SAMPLING:
        raise ValueError(f"--sampling must be one of {', '.join(SAMPLING)}: got {name!r}")
    return Everyone() if name == "everyone" else Others()


INT = {"parser": whole_number, "metavar": "<int>"}
FLOAT = {"parser": real_number, "metavar": "<float>"}
SMALLEST = "floor(k/2)+1"
AGGREGATIONS = "{aggregations}, with parameters as in peer-review(rows=5)"
EXPERIMENT_PANEL = "Experiment: some participants are malicious"
FILES_PANEL = "The files"
RUN_PANEL = "The run"
OUTPUT_PANEL = "What is shown and written"


def attack_option(names: str, default: str) -> Any:
    """``--attack`` with the names that this command takes."""
    return typer.Option(
        "--attack",
        help=f"What malicious participants do: {names}.",
        show_default=default,
        rich_help_panel=EXPERIMENT_PANEL,
    )


def attack_typed(typed: str | None, malicious: int, default: str, known: Iterable[str]) -> str:
    """The attack of ``--attack``, which needs somebody malicious."""
    if typed is None:
        return default
    if typed not in known:
        raise ValueError(f"--attack must be one of {', '.join(known)}: got {typed!r}")
    if not malicious:
        raise ValueError("--attack says what malicious participants do: give --malicious, too")
    return typed


def check_beta(protocol: str, beta: int | None) -> None:
    """ValueError if ``--beta`` is typed with a protocol that has none."""
    from folkmoot.protocols.naming import PROTOCOLS

    with_beta = [name for name, rule in PROTOCOLS.items() if "beta" in rule.__dataclass_fields__]
    if beta is not None and protocol in PROTOCOLS and protocol not in with_beta:
        names = " or ".join(with_beta)
        raise ValueError(f"--beta is for --protocol {names}: leave it out with --protocol {protocol}")


def answers_option(names: Iterable[str], **more: Any) -> Any:
    """``--answers`` with the kinds that this command takes."""
    return typer.Option(
        "--answers", help=f"What models answer: {', '.join(names)}.", rich_help_panel=MOOT_PANEL, **more
    )


def believe_option(names: str, **more: Any) -> Any:
    """``--believe`` with the names that this command takes."""
    return typer.Option(
        "--believe", help=f"How votes become an answer: {names}.", rich_help_panel=MOOT_PANEL, **more
    )


def protocol_option(names: str) -> Any:
    """``--protocol`` with the names that this command takes."""
    return typer.Option("--protocol", help=f"How votes are exchanged: {names}.", rich_help_panel=MOOT_PANEL)


def why_option(what: str, **more: Any) -> Any:
    """``--why`` of a task or an input."""
    return typer.Option(
        "--why",
        metavar=what,
        help="Explain this answer; may be repeated.",
        show_default=False,
        rich_help_panel=OUTPUT_PANEL,
        **more,
    )


N = Annotated[int, typer.Option("--n", help="Participants in all.", show_default=False, **INT)]
_K_HELP = "Participants asked per query."
K = Annotated[int, typer.Option("--k", help=_K_HELP, **INT)]
KOrAll = Annotated[
    int | None,
    typer.Option("--k", help=_K_HELP, show_default="10, or all others", rich_help_panel=MOOT_PANEL, **INT),
]
_ALPHA_HELP = "Matching answers (of k) that change a vote"
Alpha = Annotated[int | None, typer.Option("--alpha", help=f"{_ALPHA_HELP}.", show_default=SMALLEST, **INT)]
AlphaOrLocal = Annotated[
    str | None,
    typer.Option(
        "--alpha",
        help=f"{_ALPHA_HELP}; 'local' sets ceil(k x accuracy) per participant.",
        show_default=SMALLEST,
        rich_help_panel=MOOT_PANEL,
    ),
]
Beta = Annotated[
    int | None,
    typer.Option(
        "--beta",
        help="Wins in a row after which a participant decides.",
        show_default="20",
        rich_help_panel=MOOT_PANEL,
        **INT,
    ),
]
Rounds = Annotated[
    int | None,
    typer.Option("--rounds", help="Rounds at most.", show_default="50", rich_help_panel=MOOT_PANEL, **INT),
]
Sampling = Annotated[
    str,
    typer.Option("--sampling", help="everyone: a node may ask itself (the paper's law); others: it may not."),
]
P = Annotated[
    str | None,
    typer.Option(
        "--p",
        help="Accuracy of the honest participants: 0.6, a list (0.7,0.6,...) or groups (60x0.7,41x0.6).",
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
        help="Stop after this many steps; one participant asks in each.",
        show_default=False,
        **INT,
    ),
]
PerNode = Annotated[
    bool, typer.Option("--per-node", help="Count --steps per participant, as the paper does.")
]
_MALICIOUS_HELP = "How many participants are malicious."
Malicious = Annotated[
    int,
    typer.Option("--malicious", help=_MALICIOUS_HELP, rich_help_panel=EXPERIMENT_PANEL, **INT),
]
MaliciousUpTo = Annotated[
    int | None,
    typer.Option(
        "--malicious",
        help=_MALICIOUS_HELP,
        show_default="up to 30% of them, in steps",
        rich_help_panel=EXPERIMENT_PANEL,
        **INT,
    ),
]
MaliciousOrShare = Annotated[
    str,
    typer.Option(
        "--malicious", help=_MALICIOUS_HELP, metavar="<int>|<share>%", rich_help_panel=EXPERIMENT_PANEL
    ),
]
Inputs = Annotated[int, typer.Option("--inputs", help="Inputs of a motion.", **INT)]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        help="The same seed gives the same result.",
        parser=seed_number,
        metavar="<int>",
        rich_help_panel=RUN_PANEL,
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        "--device",
        help="Device that simulates rounds: cpu, cuda (a GPU) or auto; the result is the same.",
        show_default="cpu",
        rich_help_panel=RUN_PANEL,
    ),
]
Repeats = Annotated[
    int | None,
    typer.Option(
        "--repeats", help="How often to run it.", show_default="10", rich_help_panel=RUN_PANEL, **INT
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        help="Processes that fit and predict; -1 is one per core.",
        show_default="1",
        rich_help_panel=RUN_PANEL,
        parser=number_of_processes,
        metavar="<int>",
    ),
]
Deadline = Annotated[
    str,
    typer.Option(
        "--deadline", help="How long to wait at most, such as 30s or 5m.", rich_help_panel=RUN_PANEL
    ),
]
Truth = Annotated[
    Path | None,
    typer.Option(
        "--truth",
        help="The right answers: columns task,label; for clusters object,cluster.",
        show_default=False,
        rich_help_panel=FILES_PANEL,
    ),
]
TaskColumn = Annotated[
    str,
    typer.Option("--task-column", help="The column of tasks, in all files.", rich_help_panel=FILES_PANEL),
]
WorkerColumn = Annotated[
    str, typer.Option("--worker-column", help="The column of voters.", rich_help_panel=FILES_PANEL)
]
LabelColumn = Annotated[
    str,
    typer.Option("--label-column", help="The column of labels, in all files.", rich_help_panel=FILES_PANEL),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print JSON (NaN and infinity as null).", rich_help_panel=OUTPUT_PANEL),
]
Everything = Annotated[
    bool, typer.Option("--all", help="Print every row of the table.", rich_help_panel=OUTPUT_PANEL)
]
Participants = Annotated[
    bool,
    typer.Option("--participants", help="Print a row for every participant.", rich_help_panel=OUTPUT_PANEL),
]
Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        help="Draw into this .png, .svg or .pdf file.",
        show_default=False,
        rich_help_panel=OUTPUT_PANEL,
    ),
]
Play = Annotated[
    Path | None,
    typer.Option(
        "--play",
        help="Write an .html page that plays it round by round.",
        show_default=False,
        rich_help_panel=OUTPUT_PANEL,
    ),
]
OutCsv = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="Write the answers into this CSV file.",
        show_default=False,
        rich_help_panel=OUTPUT_PANEL,
    ),
]
Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", help="Write over files that are there.", rich_help_panel=OUTPUT_PANEL),
]
