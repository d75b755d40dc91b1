"""``folkmoot ask``: put a batch of inputs to the moot through your node, and see what it agreed on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from folkmoot.cli.interrupting import InterruptedCommandError
from folkmoot.cli.network.durations import seconds_of
from folkmoot.cli.network.motions import print_account, write_decisions
from folkmoot.cli.options import (
    AlphaOrLocal,
    Beta,
    Everything,
    Json,
    KOrAll,
    RoundsEach,
    real_number,
    whole_alpha,
    whole_number,
)
from folkmoot.cli.output import new_file, print_json, progress_bar, warn

if TYPE_CHECKING:
    from folkmoot.network import Account, Batch, Terms
    from folkmoot.network.service.asking import Voting, Weights
    from folkmoot.network.service.control import MotionProgress

Via = Annotated[
    str,
    typer.Option(
        "--via", metavar="DIR|HOST:PORT", help="Your node: its folder, or HOST:PORT of its control door."
    ),
]

_UNDECIDED: Final = 1  # exit code of --require-decided


def ask(
    inputs: Annotated[
        Path, typer.Argument(metavar="INPUTS", help="Rows of numbers, one an input: .npy, or a table.")
    ],
    via: Via = ".",
    token: Annotated[
        Path | None,
        typer.Option(
            "--token",
            metavar="FILE",
            help="With --via HOST:PORT or --url: a copy of the file 'token' in the node's folder.",
            show_default=False,
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            metavar="URL",
            help="Ask over HTTP instead, a node that runs with --page: http://127.0.0.1:7700.",
            show_default=False,
        ),
    ] = None,
    protocol: Annotated[
        str,
        typer.Option("--protocol", help="One of: {protocols}."),
    ] = "slush",
    k: KOrAll = None,
    alpha: AlphaOrLocal = None,
    beta: Beta = 20,
    rounds: RoundsEach = 50,
    weights: Annotated[
        str,
        typer.Option(
            "--weights",
            help="'equal'; 'record': answers weigh by the track record each node keeps; 'learnt': each node "
            "learns from truths it was told whom to believe.",
        ),
    ] = "equal",
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="First votes are revealed before the talk; each node learns whom to ask."
        ),
    ] = False,
    peer_review: Annotated[
        bool,
        typer.Option(
            "--peer-review",
            help="Participants are invited to mix in labelled rows of their own; each node learns from the "
            "answers to these whom to believe.",
        ),
    ] = False,
    deadline: Annotated[str, typer.Option("--deadline", help="When it must be over: 30s, 2m, 1h.")] = "30s",
    pace: Annotated[
        str, typer.Option("--pace", help="Mean time between two rounds of a participant.")
    ] = "20ms",
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels", help="The possible answers: a,b,c", show_default="those of the node's own model"
        ),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            metavar="FILE",
            help="Names, units and ranges of the columns (.schema.toml).",
            show_default="names in the header",
        ),
    ] = None,
    least_voters: Annotated[
        int | None,
        typer.Option(
            "--least-voters",
            parser=whole_number,
            metavar="N",
            help="How many first votes a label needs to be decided.",
            show_default="one more than may lie",
        ),
    ] = None,
    voting: Annotated[
        str,
        typer.Option("--voting", help="What is handed in: 'labels', or 'probabilities' of all labels."),
    ] = "labels",
    regression: Annotated[
        bool, typer.Option("--regression", help="The answers are real numbers; needs --tol.")
    ] = False,
    tol: Annotated[
        float | None,
        typer.Option(
            "--tol",
            parser=real_number,
            metavar="WIDTH",
            help="How far apart the numbers signed by a quorum may be, in the unit of the answers.",
            show_default="0.01 with --voting probabilities",
        ),
    ] = None,
    require_decided: Annotated[
        bool,
        typer.Option(
            "--require-decided",
            help="Exit with 1 if an input stays undecided; without this option, exit with 0.",
        ),
    ] = False,
    everything: Everything = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write the decisions into this .csv file.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Put a motion to the moot: every participant's model votes, they talk, and sign what they agree on."""
    from folkmoot.network import Asker, Terms
    from folkmoot.node.service.input_files import read_inputs

    new_file("--out", out)
    terms = Terms(
        protocol=protocol,
        k=k,
        alpha="local" if alpha == "local" else whole_alpha(alpha),
        beta=beta,
        rounds=rounds,
        seconds=seconds_of(deadline, "--deadline"),
        pace=seconds_of(pace, "--pace"),
        weights=cast("Weights", weights),  # which it checks
        trust=trust,
        labels=None if labels is None else [label.strip() for label in labels.split(",")],
        least_voters=least_voters,
        voting=cast("Voting", voting),  # which it checks
        regression=regression,
        tol=tol,
        peer_review=peer_review,
    )
    batch = read_inputs(inputs, schema)
    missing = batch.missing
    if missing:
        warn(
            f"{missing} of {len(batch)} inputs in {inputs} hold missing or infinite values: "
            "models that cannot take them abstain"
        )
    if url is not None:
        account = _ask_over_http(url, via, token, batch, terms)
    else:
        asker = Asker(via, token)
        with progress_bar("the moot talks") as bar:

            def progress(report: MotionProgress) -> None:
                if bar is not None:
                    bar(min(report.rounds, rounds), rounds)

            try:
                account = asker.ask(batch, terms, progress)
            except KeyboardInterrupt as interrupt:
                raise InterruptedCommandError(*interrupt.args) from None
    if out is not None:
        write_decisions(out, account)
    if json:
        print_json(_as_dict(account))
    else:
        print_account(account, everything=everything)
    if require_decided and account.undecided:
        raise typer.Exit(_UNDECIDED)


def _ask_over_http(url: str, via: str, token: Path | None, batch: Batch, terms: Terms) -> Account:
    from dataclasses import asdict

    import msgspec

    from folkmoot.network.service.door import read_token
    from folkmoot.network.storage.account import Account
    from folkmoot.web.client import Client

    if via != ".":
        raise ValueError(f"give --via or --url, not both: got --via {via} and --url {url}")
    if token is None:
        raise ValueError("--url needs --token FILE: a copy of the file 'token' in the node's folder")
    columns = [
        {"name": each.name, "unit": each.unit, "low": each.low, "high": each.high} for each in batch.schema
    ]
    client = Client(url, read_token(token))
    return msgspec.convert(client.ask(batch.array, columns=columns, **asdict(terms)).details, Account)


def _as_dict(account: Any) -> dict[str, Any]:
    from folkmoot.network.storage.account import as_dict

    return as_dict(account)
