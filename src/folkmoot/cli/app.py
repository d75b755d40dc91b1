"""The ``folkmoot`` command and its groups. Commands are imported when they are called."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from folkmoot import __version__
from folkmoot.cli.listing import Entry, ListingGroup

ABOUT: Final = "Consensus learning: many private models, one agreed answer, no server."

COMMANDS: Final = {
    "demo": Entry(
        "folkmoot.cli.demo:demo",
        "Show what it does: 101 participants with small models of their own agree on digits; up to 60 lie.",
    ),
    "learn": Entry(
        "folkmoot.cli.learn:learn",
        "Let every group of a table fit a model of its own, and all agree on the test rows.",
    ),
    "predict": Entry(
        "folkmoot.cli.predict:predict",
        "Answer new rows by a moot that learn has fitted: labels, probabilities, and how far they agree.",
    ),
    "deliberate": Entry(
        "folkmoot.cli.deliberate:deliberate",
        "Let the workers of a vote file talk until they agree, beside every centralised answer.",
    ),
    "cluster": Entry(
        "folkmoot.cli.cluster:cluster",
        "Let participants agree on one clustering from their own in a file, beside what a server would find.",
    ),
    "plan": Entry(
        "folkmoot.cli.plan:plan",
        "Choose protocol, k, alpha and rounds: what they give, what they cost, and where they break.",
    ),
    "local": Entry(
        "folkmoot.cli.network.local:local",
        "Start a moot of real processes on this machine, put digits to it, break some of it, and compare.",
    ),
    "ask": Entry(
        "folkmoot.cli.network.ask:ask",
        "Put a motion to the moot: every participant's model votes, they talk, and sign what they agree on.",
    ),
    "motions": Entry(
        "folkmoot.cli.network.motions:motions",
        "List the motions that this node has taken part in, or show one with its results.",
    ),
    "truth": Entry(
        "folkmoot.cli.network.motions:truth",
        "Tell the node what was right: each participant's track record, for --alpha local and "
        "--weights record.",
    ),
    "evidence": Entry(
        "folkmoot.cli.network.evidence:evidence",
        "Show who contradicted itself, and verify it: by signatures alone, offline, by anybody with the "
        "roster.",
    ),
    "verify": Entry(
        "folkmoot.cli.network.verify:verify",
        "Verify the certificate of a motion, by signatures alone: what was decided, and who signed it.",
    ),
    "audit": Entry(
        "folkmoot.cli.network.audit:app",
        "The audit log of a node: who asked what and when, what was answered and learnt, in a chain.",
    ),
    "doctor": Entry(
        "folkmoot.cli.doctor:doctor",
        "Look at versions, extras, compiler cache, clock, limits, and nodes' ports and permissions.",
    ),
    "federated": Entry(
        "folkmoot.cli.federated:app",
        "Federated moots: each node chooses who decides for it; what that tolerates.",
    ),
    "theory": Entry(
        "folkmoot.cli.theory:app",
        "The exact theory of consensus learning with Slush: probabilities, not estimates.",
    ),
    "node": Entry(
        "folkmoot.cli.network.node:app",
        "A participant on a machine of its own: its key, its model, its place in the network.",
    ),
    "roster": Entry(
        "folkmoot.cli.network.manage_roster:app",
        "Who takes part: one file, the same for every participant of a network.",
    ),
}


class Folkmoot(ListingGroup):
    """The commands above."""

    ENTRIES = COMMANDS


app = typer.Typer(
    name="folkmoot",
    cls=Folkmoot,
    help=ABOUT,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"folkmoot {__version__}")
        raise typer.Exit


@app.callback(help=ABOUT)
def folkmoot(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Print the version, or nothing: the commands do the work."""
