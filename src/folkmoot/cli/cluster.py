"""``folkmoot cluster``: clusterings from a file, the agreed one beside central rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from folkmoot.cli.options import (
    FILES_PANEL,
    INT,
    OUTPUT_PANEL,
    Json,
    Malicious,
    OutCsv,
    Participants,
    Plot,
    Rounds,
    Seed,
    Truth,
    attack_option,
    attack_typed,
)
from folkmoot.cli.output import (
    collected_warnings,
    new_file,
    picture_path,
    print_json,
    print_table,
    progress_bar,
    save_picture,
)

if TYPE_CHECKING:
    from folkmoot.arrays import Ints
    from folkmoot.clustering.adversaries import PartitionAdversary
    from folkmoot.clustering.clustering import Clustering
    from folkmoot.files.vote_files import PartitionTable

_ATTACK = "clique"
_WHAT = "numbers are adjusted Rand indices: 1 the same clustering, 0 unrelated ones"


def cluster(
    labels: Annotated[
        Path,
        typer.Argument(
            metavar="LABELS",
            help="Columns object,participant,cluster: CSV, .gz or .parquet.",
            show_default=False,
        ),
    ],
    n_clusters: Annotated[
        int | None,
        typer.Option("--n-clusters", help="Clusters to agree on.", show_default="agreed on", **INT),
    ] = None,
    truth: Truth = None,
    object_column: Annotated[
        str,
        typer.Option("--object-column", help="The column of objects.", rich_help_panel=FILES_PANEL),
    ] = "object",
    participant_column: Annotated[
        str,
        typer.Option("--participant-column", help="The column of participants.", rich_help_panel=FILES_PANEL),
    ] = "participant",
    cluster_column: Annotated[
        str,
        typer.Option(
            "--cluster-column", help="The column of clusters, in all files.", rich_help_panel=FILES_PANEL
        ),
    ] = "cluster",
    malicious: Malicious = 0,
    attack: Annotated[str | None, attack_option("{attacks on clusterings}", _ATTACK)] = None,
    rounds: Rounds = None,
    seed: Seed = 0,
    viewer: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="PARTICIPANT",
            help="Write the clusters that this participant holds.",
            show_default="the agreed ones",
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = None,
    out: OutCsv = None,
    participants: Participants = False,
    json: Json = False,
    plot: Plot = None,
) -> None:
    """Agree on one clustering from those of all participants.

    The result of a central aggregator of the same clusterings stands beside it.
    """
    from folkmoot.clustering.agreeing import cluster as agree
    from folkmoot.files.vote_files import read_partitions

    path = picture_path(plot)
    new_file("--out", out, reads=(labels, truth))
    table = read_partitions(
        labels, truth, object=object_column, participant=participant_column, cluster=cluster_column
    )
    shown = _viewer(viewer, table, labels)
    adversaries = _adversaries(len(table.participants), malicious, attack, seed)
    if shown in adversaries:
        raise ValueError(f"--as must name an honest participant: --malicious made {viewer!r} lie")
    with collected_warnings() as notes, progress_bar("listening") as progress:
        agreed = agree(
            table.partitions,
            n_clusters,
            adversaries=adversaries,
            rounds=10 if rounds is None else rounds,
            names=table.participants,
            seed=seed,
            progress=progress,
        )
    rows = _rows(table, agreed, adversaries, seed)
    if out is not None:
        _write(out, table, agreed, shown)
    if json:
        print_json(_as_dict(table, agreed, rows, notes))
    else:
        print_table(
            f"{len(table.participants)} participants, {len(table.objects):,} objects",
            [
                "who decides",
                "like the participants",
                *(["like the truth"] if table.truth is not None else []),
            ],
            [[name, *(_number(value) for value in values)] for name, *values in rows],
            [*str(agreed).split("\n"), _WHAT],
        )
        if participants:
            _print_participants(agreed)
    if path:
        save_picture(agreed.plot(), path)


def _viewer(name: str | None, table: PartitionTable, path: Path) -> int | None:
    from difflib import get_close_matches

    if name is None:
        return None
    if name not in table.participants:
        near = get_close_matches(name, table.participants, n=5, cutoff=0.5) or table.participants[:5]
        raise ValueError(f"--as must name a participant of {path}, such as {', '.join(near)}: got {name!r}")
    return table.participants.index(name)


def _adversaries(n: int, count: int, typed: str | None, seed: int) -> dict[int, PartitionAdversary]:
    import numpy as np

    from folkmoot import checks
    from folkmoot.clustering.adversaries import PARTITION_ATTACKS

    attack = attack_typed(typed, count, _ATTACK, PARTITION_ATTACKS)
    _, malicious = checks.population(n, count)
    order = np.random.default_rng(seed).permutation(n).tolist()
    return dict.fromkeys(order[:malicious], PARTITION_ATTACKS[attack])


def _rows(
    table: PartitionTable, agreed: Clustering, adversaries: dict[int, PartitionAdversary], seed: int
) -> list[tuple[Any, ...]]:
    """Each rule with its mean index with the honest partitions, and with the truth if there is one."""
    import numpy as np

    from folkmoot.clustering.adversaries import partitions_handed_in
    from folkmoot.clustering.consensus_partitions import (
        MOST_OBJECTS,
        bipartite_consensus,
        evidence_accumulation,
    )
    from folkmoot.clustering.partitions import cross, medoid
    from folkmoot.votes import numbered

    number = max(2, agreed.asked_clusters)
    handed = partitions_handed_in(
        table.partitions, adversaries, clusters=number if agreed.given else None, seed=seed
    )
    honest = numbered(table.partitions[agreed.honest])
    lines: list[tuple[str, Ints | None]] = [
        (
            "evidence accumulation",
            evidence_accumulation(handed, number) if handed.shape[1] <= MOST_OBJECTS else None,
        ),
        ("bipartite consensus", bipartite_consensus(handed, number)),
        ("medoid participant", handed[medoid(handed)]),
        ("agreed", agreed.labels),
    ]
    references = [honest] + ([] if table.truth is None else [table.truth[None]])
    rows = [
        (
            name,
            *(None if found is None else float(cross(found[None], each).rand.mean()) for each in references),
        )
        for name, found in lines
    ]
    others = cross(honest).rand
    np.fill_diagonal(others, np.nan)
    alone = float(np.nanmean(others)) if len(honest) > 1 else None
    mean = ("mean participant", alone, *(float(cross(honest, each).rand.mean()) for each in references[1:]))
    return [mean, *rows]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _as_dict(
    table: PartitionTable, agreed: Clustering, rows: list[tuple[Any, ...]], notes: list[str]
) -> dict[str, Any]:
    from folkmoot.cli.output import json_key

    facts = agreed.to_dict()
    facts["objects"] = table.objects
    scores = {
        json_key(name): {"participants": values[0], "truth": values[1] if len(values) > 1 else None}
        for name, *values in rows
    }
    return {**facts, "scores": scores, "warnings": notes}


def _print_participants(agreed: Clustering) -> None:
    rows = agreed.to_dict()["participants"]
    print_table(
        "participants",
        ["name", "like the agreed one", "effective votes", "judge", "holds the agreed label on"],
        [
            [
                each["name"],
                f"{each['likeness']:.3f}",
                f"{each['voice']:.2f}",
                "yes" if each["anchored"] else "no" if each["honest"] else "lies",
                "-" if each["holds"] is None else f"{each['holds']:.1%}",
            ]
            for each in rows
        ],
        left=("judge",),
    )


def _write(path: Path, table: PartitionTable, agreed: Clustering, viewer: int | None) -> None:
    from folkmoot.files.tabular import write_table

    labels = agreed.labels if viewer is None else agreed.held[viewer]
    rows = zip(table.objects, labels.tolist(), agreed.agreement.tolist(), strict=True)
    write_table(
        path,
        ["object", "cluster", "agreement"],
        ([name, "" if label < 0 else str(label), f"{share:.4f}"] for name, label, share in rows),
    )
