"""``folkmoot ask``: put inputs to the moot through a node, and see what it decides."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from folkmoot.cli.interrupting import InterruptedCommandError
from folkmoot.cli.node.account_output import print_account, write_decisions
from folkmoot.cli.node.reached import client_of
from folkmoot.cli.node.words import Node, Token
from folkmoot.cli.options import FLOAT, INT, Everything, Json
from folkmoot.cli.output import new_file, print_json, progress_bar, warn
from folkmoot.durations import seconds_of

ANSWERS: Final = ("labels", "probabilities", "numbers")
BELIEVE: Final = ("plurality", "dawid-skene", "record", "own", "peer-review")
COUNCIL: Final = "council"
_OWN: Final = ("own", "peer-review")
_ROWS: Final = 10  # validation rows of a member, by default
_UNDECIDED: Final = 1  # exit code of --require-decided
_TALK: Final = "A talk"
_VOTE: Final = "Votes and decision"

Answers = Annotated[
    str,
    typer.Option("--answers", help=f"What models answer: {', '.join(ANSWERS)}.", rich_help_panel=_VOTE),
]
Believe = Annotated[
    str,
    typer.Option(
        "--believe",
        help="Whose votes count, and how much. For all alike: plurality, dawid-skene, or record (weights by "
        "this node's records). Each member for itself: own (by its held-out rows) or peer-review (by "
        "validation rows that members show).",
        rich_help_panel=_VOTE,
    ),
]
Protocol = Annotated[
    str,
    typer.Option(
        "--protocol",
        help="council: all members agree on one table of votes. Or members ask each other first, by one of: "
        "{protocols}.",
        rich_help_panel=_TALK,
    ),
]
Deadline = Annotated[str, typer.Option("--deadline", help="How long to wait at the most, such as 30s or 5m.")]


def ask(
    inputs: Annotated[
        Path, typer.Argument(metavar="INPUTS", help="Rows of numbers: .npy, or a table with a header.")
    ],
    node: Node = ".",
    token: Token = None,
    answers: Answers = "labels",
    believe: Believe = "plurality",
    rule: Annotated[
        str | None,
        typer.Option(
            "--rule",
            help="Of probabilities: mean or log. Of numbers: trimmed-mean or median.",
            show_default="mean, trimmed-mean",
            rich_help_panel=_VOTE,
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            metavar="A,B,...",
            help="The possible answers.",
            show_default="all that members have announced",
            rich_help_panel=_VOTE,
        ),
    ] = None,
    least: Annotated[
        int | None,
        typer.Option(
            "--least",
            help="First votes that a label needs.",
            show_default="one more than may lie",
            rich_help_panel=_VOTE,
            **INT,
        ),
    ] = None,
    coin: Annotated[
        bool,
        typer.Option("--coin", help="Settle ties by a coin that nobody can choose.", rich_help_panel=_VOTE),
    ] = False,
    step: Annotated[
        float | None,
        typer.Option(
            "--step",
            help="Of numbers: the grid that they are rounded to.",
            show_default="1e-06",
            rich_help_panel=_VOTE,
            **FLOAT,
        ),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows",
            help="With --believe peer-review: validation rows per member.",
            show_default=str(_ROWS),
            rich_help_panel=_VOTE,
            **INT,
        ),
    ] = None,
    protocol: Protocol = COUNCIL,
    k: Annotated[
        int | None,
        typer.Option("--k", help="Others asked in a round.", show_default="10", rich_help_panel=_TALK, **INT),
    ] = None,
    alpha: Annotated[
        str | None,
        typer.Option(
            "--alpha",
            help="Equal answers that win a round, or 'local': each member its own.",
            show_default="floor(k/2)+1",
            rich_help_panel=_TALK,
        ),
    ] = None,
    beta: Annotated[
        int | None,
        typer.Option(
            "--beta", help="Wins until a member decides.", show_default="20", rich_help_panel=_TALK, **INT
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option("--rounds", help="Rounds at most.", show_default="50", rich_help_panel=_TALK, **INT),
    ] = None,
    deadline: Deadline = "60s",
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            metavar="FILE",
            help="Names, units and ranges of the columns.",
            show_default="names in the header",
        ),
    ] = None,
    require_decided: Annotated[
        bool, typer.Option("--require-decided", help="Exit with 1 if an input stays undecided.")
    ] = False,
    everything: Everything = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Write the decisions into this .csv file.", show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Put inputs to the moot: every member's model votes, and what a quorum signs is the answer."""
    from folkmoot.node.service.input_files import read_inputs

    new_file("--out", out)
    terms = believing(answers, believe, protocol, rows) | {
        name: value
        for name, value in (
            ("least", least), ("step", step), ("k", k), ("beta", beta), ("rounds", rounds), ("rule", rule),
            ("alpha", _alpha(alpha)), ("coin", coin or None),
            ("labels", None if labels is None else [label.strip() for label in labels.split(",")]),
        )
        if value is not None
    }  # fmt: skip
    batch = read_inputs(inputs, schema)
    if batch.missing:
        warn(f"{batch.missing} of {len(batch)} inputs have missing values: models that take none abstain")
    columns = [{"name": c.name, "unit": c.unit, "low": c.low, "high": c.high} for c in batch.schema]
    told = put(node, token, batch.array, columns, terms | {"seconds": seconds_of(deadline, "--deadline")})
    if out is not None:
        write_decisions(out, told)
    if json:
        print_json(told)
    else:
        print_account(told, everything=everything)
    if require_decided and told["undecided"]:
        raise typer.Exit(_UNDECIDED)


def put(node: str, token: Path | None, rows: Any, columns: Any, terms: dict[str, Any]) -> dict[str, Any]:
    """Put a motion, wait for it with a bar, and return its whole account."""
    client = client_of(node, token)
    with progress_bar("the moot votes") as bar:

        def progress(told: dict[str, Any]) -> None:
            live = told["live"]
            if bar is not None and live is not None:
                bar(len(live["committed"]), told["participants"])

        try:
            answer = client.ask(rows, columns=columns, progress=progress, **terms)
        except KeyboardInterrupt as interrupt:
            raise InterruptedCommandError(*interrupt.args) from None
    return answer.details


def believing(answers: str, believe: str, protocol: str, rows: int | None) -> dict[str, Any]:
    """The terms of a motion by the words of the prompt."""
    from folkmoot.protocols import PROTOCOLS

    for option, value, known in (
        ("--answers", answers, ANSWERS),
        ("--believe", believe, BELIEVE),
        ("--protocol", protocol, (COUNCIL, *PROTOCOLS)),
    ):
        if value not in known:
            raise ValueError(f"{option} must be one of {', '.join(known)}: got {value!r}")
    if answers != "labels" and believe in ("dawid-skene", "record"):
        raise ValueError(f"--believe {believe} is for --answers labels: got --answers {answers}")
    if protocol != COUNCIL and believe != "plurality":
        raise ValueError(f"give --believe or --protocol, not both: got {believe} and {protocol}")
    if rows is not None and believe != "peer-review":
        raise ValueError("--rows must be given with --believe peer-review: nobody else shows any")
    terms: dict[str, Any] = {"answers": answers}
    if believe in ("dawid-skene", "record"):
        terms["rule"] = "dawid-skene" if believe == "dawid-skene" else "weighted"
    elif believe in _OWN:
        terms["believe"] = "own"
        if believe == "peer-review":
            terms["rows"] = _ROWS if rows is None else rows
    if protocol != COUNCIL:
        terms["protocol"] = protocol
    return terms


def _alpha(typed: str | None) -> int | str | None:
    if typed is None or typed == "local":
        return typed
    try:
        return int(typed)
    except ValueError:
        raise ValueError(f"--alpha must be a whole number or 'local': got {typed!r}") from None
