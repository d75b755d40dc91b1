"""``folkmoot ask``: put inputs to the moot through a node, and see what it decides."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from folkmoot.cli.main import InterruptedCommandError
from folkmoot.cli.node.account_output import print_account, write_decisions
from folkmoot.cli.node.options import Node, Token, client_of, option
from folkmoot.cli.options import (
    COUNCIL,
    FLOAT,
    INT,
    MOOT_PANEL,
    AlphaOrLocal,
    Beta,
    Deadline,
    Everything,
    Json,
    KOrAll,
    OutCsv,
    Rounds,
    answers_option,
    believe_option,
    check_beta,
    protocol_option,
)
from folkmoot.cli.output import new_file, print_json, progress_bar, warn
from folkmoot.node.durations import seconds_of

ANSWERS: Final = ("labels", "probabilities", "numbers", "text")
BELIEVE: Final = ("plurality", "dawid-skene", "record", "own", "peer-review")
_OWN: Final = ("own", "peer-review")
_ROWS: Final = 10  # validation rows of a member, by default
_UNDECIDED: Final = 1  # exit code of --require-decided

of_moot = partial(option, panel=MOOT_PANEL)
Believe = Annotated[str, believe_option(", ".join(BELIEVE))]
Protocol = Annotated[str, protocol_option("council, {protocols}")]


def ask(
    inputs: Annotated[
        Path,
        typer.Argument(
            metavar="INPUTS",
            help="A table with a header; .npy; .txt of one text per line; .jsonl of records.",
        ),
    ],
    node: Node = ".",
    token: Token = None,
    answers: Annotated[str, answers_option(ANSWERS)] = "labels",
    believe: Believe = "plurality",
    rule: Annotated[
        str | None,
        of_moot(
            "--rule",
            "The rule: of probabilities mean or log, of numbers trimmed-mean or median.",
            default="mean, trimmed-mean",
        ),
    ] = None,
    labels: Annotated[
        str | None,
        of_moot("--labels", "The possible answers.", "A,B,...", default="all that members have announced"),
    ] = None,
    least: Annotated[
        int | None,
        of_moot("--least", "First votes that a label needs.", default="one more than may lie", **INT),
    ] = None,
    coin: Annotated[
        bool,
        of_moot("--coin", "Settle ties by a coin that nobody can choose."),
    ] = False,
    step: Annotated[
        float | None,
        of_moot(
            "--step", "With --answers numbers: the grid that they are rounded to.", default="1e-06", **FLOAT
        ),
    ] = None,
    rows: Annotated[
        int | None,
        of_moot(
            "--rows", "With --believe peer-review: validation rows per member.", default=str(_ROWS), **INT
        ),
    ] = None,
    protocol: Protocol = COUNCIL,
    k: KOrAll = None,
    alpha: AlphaOrLocal = None,
    beta: Beta = None,
    rounds: Rounds = None,
    deadline: Deadline = "60s",
    schema: Annotated[
        Path | None,
        option(
            "--schema",
            "A file of names, units and ranges of the columns.",
            "FILE",
            default="names in the header",
        ),
    ] = None,
    require_decided: Annotated[
        bool, option("--require-decided", "Exit with 1 if an input stays undecided.")
    ] = False,
    everything: Everything = False,
    out: OutCsv = None,
    json: Json = False,
) -> None:
    """Put inputs to the moot, and print what it decides.

    Every member's model votes; a quorum signs the votes, and anybody can compute the answer from them. With
    --believe plurality, dawid-skene and record all members weigh votes alike. With own each member trusts
    its held-out rows, with peer-review the validation rows that members show.
    """
    from folkmoot.node.service.input_files import read_inputs

    new_file("--out", out, reads=(inputs, schema))
    check_beta(protocol, beta)
    wanted = None if labels is None else [label.strip() for label in labels.split(",")]
    if wanted is not None and "" in wanted:
        raise ValueError(f"--labels must be names with commas between them, such as yes,no: got {labels!r}")
    if rule is not None and answers in ("labels", "text"):
        raise ValueError(f"--rule is for probabilities and numbers: with --answers {answers} take --believe")
    waits = seconds_of(deadline, "--deadline")
    if not waits:
        raise ValueError(f"--deadline must be longer than nothing, such as 30s: got {deadline!r}")
    terms = believing(answers, believe, protocol, rows) | {
        name: value
        for name, value in (
            ("least", least), ("step", step), ("k", k), ("beta", beta), ("rounds", rounds), ("rule", rule),
            ("alpha", _alpha(alpha)), ("coin", coin or None),
            ("labels", wanted),
        )
        if value is not None
    }  # fmt: skip
    batch = read_inputs(inputs, schema)
    if batch.missing:
        warn(f"{batch.missing} of {len(batch)} inputs have missing values: models that take none abstain")
    columns = [
        {"name": c.name, "unit": c.unit, "low": c.low, "high": c.high, "kind": c.kind} for c in batch.schema
    ]
    account = put(node, token, batch.plain, columns, terms | {"seconds": waits})
    if out is not None:
        write_decisions(out, account)
    if json:
        print_json(account)
    else:
        print_account(account, everything=everything)
    if require_decided and account["undecided"]:
        raise typer.Exit(_UNDECIDED)


def put(node: str, token: Path | None, rows: Any, columns: Any, terms: dict[str, Any]) -> dict[str, Any]:
    """Put a motion, wait for it with a bar, and return its whole account."""
    client = client_of(node, token)
    with progress_bar("the moot votes") as bar:

        def progress(account: dict[str, Any]) -> None:
            live = account["live"]
            if bar is not None and live is not None:
                bar(len(live["committed"]), account["participants"])

        try:
            answer = client.ask(rows, columns=columns, progress=progress, **terms)
        except KeyboardInterrupt as interrupt:
            raise InterruptedCommandError(*interrupt.args) from None
    return answer.details


def believing(answers: str, believe: str, protocol: str, rows: int | None) -> dict[str, Any]:
    """The terms of a motion by the words of the prompt."""
    from folkmoot.node.session.terms import MOST_WINDOW
    from folkmoot.protocols.naming import PROTOCOLS

    for name, value, known in (
        ("--answers", answers, ANSWERS),
        ("--believe", believe, BELIEVE),
        ("--protocol", protocol, (COUNCIL, *PROTOCOLS)),
    ):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}: got {value!r}")
    if answers != "labels" and believe in ("dawid-skene", "record"):
        raise ValueError(f"--believe {believe} is for --answers labels: got --answers {answers}")
    if protocol != COUNCIL and believe != "plurality":
        raise ValueError(f"give --believe or --protocol, not both: got {believe} and {protocol}")
    if rows is not None and believe != "peer-review":
        raise ValueError(f"--rows is for --believe peer-review: leave it out with --believe {believe}")
    terms: dict[str, Any] = {"answers": answers}
    if answers == "text":  # language models take their time, twice
        terms["window_share"] = MOST_WINDOW
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
