"""``folkmoot node adopt``: see what a pool made of the node's model, let the new one vote, or undo it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from folkmoot.cli.network.init_node import Folder, check_node
from folkmoot.cli.network.motions import storage_of
from folkmoot.cli.network.run_node import Allow, ModelOption
from folkmoot.cli.options import Json
from folkmoot.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from folkmoot.network.service.improve.candidates import Report
    from folkmoot.network.service.operation import Settings

_SHOWN = 12  # changes of labels; --json has all


def adopt(
    folder: Folder,
    motion: Annotated[
        str | None,
        typer.Argument(
            metavar="[MOTION]",
            help="The motion that was the pool: 4 or more digits of its name, or 'last'.",
            show_default="the latest that can be adopted",
        ),
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Put the model back that voted before.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Show the report, and change nothing.")] = False,
    model: ModelOption = None,
    allow: Allow = None,
    json: Json = False,
) -> None:
    """Show what a pool made of the node's model, and let the new one vote from the next motion on."""
    from folkmoot.network.service.improve import adopting

    check_node(folder)
    if undo and (motion is not None or show):
        raise ValueError("--undo takes back the latest adoption: give neither a motion nor --show with it")
    settings, storage = _settings(folder, model, allow), storage_of(folder)
    if undo:
        step = adopting.undo(settings, storage)
        running = _votes_at(settings)
        if json:
            print_json({"undone": step.former, "votes": step.votes or None, "running": running is not None})
            return
        say(
            f"undone: from the next motion on {_named(step.votes)} votes, and no more that of motion "
            f"{step.former[:12]}"
        )
    else:
        report = adopting.candidate_in(settings, storage, motion)
        if show:
            if json:
                print_json(_as_dict(report))
            else:
                _print(report)
            return
        step = adopting.adopt(settings, storage, report)
        running = _votes_at(settings)
        if json:
            print_json(
                {
                    "adopted": step.votes,
                    "former": step.former or None,
                    "running": running is not None,
                    "report": _as_dict(report),
                }
            )
            return
        _print(report)
        say(
            f"adopted: it votes from the next motion on; folkmoot node adopt {folder} --undo puts "
            f"{_named(step.former)} back"
        )
    if running is not None and running != step.votes:
        say(
            "the running node was started with another model than node.toml has now: what was adopted counts "
            "when it is started again",
            error=True,
        )


def _settings(folder: Any, model: str | None, allow: list[str] | None) -> Settings:
    from folkmoot.network.service.node_file import read_node_file
    from folkmoot.network.service.operation import Settings

    told = read_node_file(folder)
    return Settings(
        folder, told.roster or folder, told.chosen_model(model), allow or told.allow, labels=told.labels
    )


def _votes_at(settings: Settings) -> str | None:
    """Which adopted model the running node lets vote, "" for that of node.toml; None if it does not run."""
    from folkmoot.network.service.asking import Asker
    from folkmoot.network.service.operation import is_running

    if not is_running(settings.folder):
        return None
    return Asker(settings.folder).status().model


def _named(motion: str) -> str:
    return f"the model of motion {motion[:12]}" if motion else "the model of node.toml"


def _as_dict(report: Report) -> dict[str, Any]:
    import msgspec

    return dict(msgspec.to_builtins(report))


def _print(report: Report) -> None:
    from folkmoot.tabular import shortened

    say(
        f"motion {report.motion[:12]}, a pool of {report.asker}: {report.inputs:,} inputs, "
        f"{report.decided:,} decided, {report.used:,} used; this node's own model had answered "
        f"{report.otherwise:,} of these otherwise"
    )
    if report.labels:
        counted = [f"{label}: {times:,}" for label, times in report.labels.items()]
        say(f"agreed labels: {shortened(counted)}")
    if report.gain is not None and report.shared is not None:
        say(
            f"by first votes the labels promise a gain of {report.gain:.1%} of the pool over this node's own "
            f"model; those that count for it held {report.shared:.0%} of them in the end"
        )
    if report.before is not None:
        say(
            f"of {report.rows:,} own rows, right before: {_right(report.before, report.rows)} "
            f"({report.compared_with})"
        )
    if report.after is not None:
        say(
            f"of {report.rows:,} own rows, right after:  {_right(report.after, report.rows)} "
            "(fitted to the pool alone)"
        )
    if report.changes:
        rows = [
            [
                each.before or "-",
                each.after,
                f"{each.rows:,}",
                f"{each.right_before:,}",
                f"{each.right_after:,}",
            ]
            for each in report.changes[:_SHOWN]
        ]
        rest = len(report.changes) - len(rows)
        print_table(
            "answers to own rows that change",
            ["from", "to", "rows", "right before", "right after"],
            rows,
            [f"and {rest} more kinds of change (--json has all)"] if rest else [],
        )
    if report.lost:
        say(f"labels that the new model does not know any more: {', '.join(report.lost)}")
    say(
        f"{report.asker} chose the inputs of the pool. A model can answer your rows well and still hold a "
        "backdoor: adopt it only if you trust who chose them"
    )
    if report.why is not None:
        say(f"refused: {report.why}")


def _right(part: int, whole: int) -> str:
    share = f"{part / whole:.3f}".removeprefix("0") if whole else "-"
    return f"{part:,}, {share}"
