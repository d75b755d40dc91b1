"""``/metrics`` for Prometheus, on loopback: what a node counts, as text."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, Literal, NamedTuple

from folkmoot import __version__
from folkmoot.network.service.assembly import AnyNode, Assembly
from folkmoot.network.service.door import limited
from folkmoot.network.service.status import newest_of
from folkmoot.node.membership.roster import quorum
from folkmoot.node.service.loop_delay import LoopDelay
from folkmoot.node.transports.mesh import Mesh

_COUNTED: Final = {
    "frames_received": "Frames that arrived.",
    "frames_sent": "Frames that were sent; one that waits for a connection counts.",
    "bytes_received": "Bytes in the frames that arrived, without length and TLS.",
    "bytes_sent": "Bytes in the frames that were sent, without length and TLS.",
    "queries_sent": "Queries asked, in motions that are over.",
    "motions_over": "Motions that are over.",
    "evidence": "Participants that contradicted themselves, once a motion.",
    "motions_forgotten": "Old motions that made room for others.",
    "check_rows_shown": "Check rows that this node has shown to askers.",
    "check_rows_learnt_from": "Opened check rows that this node has learnt from.",
    "check_rows_vanished": "Contributors whose check rows were dropped, once a motion.",
    "dropped_no_connection": "Frames given up because too much waited for a connection.",
}


class Described(NamedTuple):
    """A metric: its kind, what it says, and the label that its samples have, if any."""

    kind: Literal["counter", "gauge"]
    text: str
    label: str = ""


# Every metric of a node, in the order in which it tells them.
METRICS: Final = {
    **{f"folkmoot_{name}_total": Described("counter", text) for name, text in _COUNTED.items()},
    "folkmoot_refused_total": Described("counter", "What was not acted on, by reason.", "why"),
    "folkmoot_participants": Described("gauge", "Participants in the roster."),
    "folkmoot_quorum": Described("gauge", "Participants that must sign the same."),
    "folkmoot_roster_epoch": Described("gauge", "Rosters that came before the one in force."),
    "folkmoot_roster_present": Described("gauge", "1 if this node is in the roster in force."),
    "folkmoot_roster_proposals": Described("gauge", "Rosters that are proposed to replace it."),
    "folkmoot_rosters_held": Described("gauge", "Rosters under which motions may still be under way."),
    "folkmoot_peers_connected": Described("gauge", "Peers with a connection."),
    "folkmoot_peers_benched": Described("gauge", "Peers not asked at present."),
    "folkmoot_motions_open": Described("gauge", "Motions under way."),
    "folkmoot_motion_seconds_total": Described(
        "counter", "Seconds that the motions that are over took at this node."
    ),
    "folkmoot_invitations_open": Described("gauge", "Motions of this node that wait for check rows."),
    "folkmoot_audit_entries": Described("gauge", "The number of the audit log's last entry."),
    "folkmoot_stored_bytes": Described("gauge", "Bytes stored in the database."),
    "folkmoot_clock_skew_seconds": Described(
        "gauge", "Largest difference from a peer's clock, when it connected."
    ),
    "folkmoot_loop_delay_seconds": Described(
        "gauge", "How long a message waits before the node looks at it, in the last minute.", "quantile"
    ),
    "folkmoot_info": Described("gauge", "Always 1; the version is in its label.", "version"),
    "folkmoot_peer_connected": Described("gauge", "1 if there is a connection.", "peer"),
    "folkmoot_peer_benched": Described("gauge", "1 if it is not asked at present.", "peer"),
    "folkmoot_peer_latency_seconds": Described(
        "gauge", "Round trip to the peer, as the kernel measures it (Linux).", "peer"
    ),
    "folkmoot_peer_clock_skew_seconds": Described(
        "gauge", "Seconds that its clock was ahead when it connected.", "peer"
    ),
    "folkmoot_peer_frames_received_total": Described("counter", "Frames that came from it.", "peer"),
    "folkmoot_peer_refused_total": Described("counter", "Messages from it that were not acted on.", "peer"),
    "folkmoot_peer_abstentions_total": Described(
        "counter", "Motions in which it had no vote on some inputs; this node too.", "peer"
    ),
}


def metrics(node: AnyNode, mesh: Mesh, delay: LoopDelay) -> str:
    """All counters and gauges in Prometheus's text format."""
    counts = dict.fromkeys(_COUNTED, 0) | dict(node.counts) | dict(mesh.counts)
    refused = {name: count for name, count in sorted(counts.items()) if name.startswith("refused_")}
    skew = max((abs(skew) for skew in mesh.skews().values()), default=0.0)
    members = {bytes.fromhex(member.fingerprint) for member in node.roster}  # others may be about to leave
    samples: dict[str, Mapping[str, float]] = {
        **{f"folkmoot_{name}_total": {"": counts[name]} for name in _COUNTED},
        "folkmoot_refused_total": {name.removeprefix("refused_"): count for name, count in refused.items()},
        "folkmoot_participants": {"": node.seat.n},
        "folkmoot_quorum": {"": quorum(node.seat.n)},
        **_of_rosters(node),
        "folkmoot_peers_connected": {"": len(members.intersection(mesh.connected()))},
        "folkmoot_peers_benched": {"": len(node.health.benched(mesh.now()))},
        "folkmoot_motions_open": {"": node.open_motions},
        "folkmoot_motion_seconds_total": {"": node.counts["motion_milliseconds"] / 1000},
        "folkmoot_invitations_open": {"": len(newest_of(node).reviews.under_way())},
        "folkmoot_audit_entries": {"": node.storage.audit.head()[0]},
        "folkmoot_stored_bytes": {"": node.storage.used()},
        "folkmoot_clock_skew_seconds": {"": round(skew, 3)},
        "folkmoot_loop_delay_seconds": {
            f"{share:g}": round(delay.quantile(share), 4) for share in (0.5, 0.99, 1.0)
        },
        "folkmoot_info": {__version__: 1},
        **_of_peers(node, mesh),
    }
    return "".join(_told(name, described, samples[name]) for name, described in METRICS.items())


def _of_rosters(node: AnyNode) -> dict[str, Mapping[str, float]]:
    epoch, present, proposals, held = node.roster.epoch, 1, 0, 1
    if isinstance(node, Assembly):
        epoch, present = node.chronicle.tip.epoch, int(node.present)
        proposals, held = len(node.chronicle.proposals), len(node.halls)
    return {
        "folkmoot_roster_epoch": {"": epoch},
        "folkmoot_roster_present": {"": present},
        "folkmoot_roster_proposals": {"": proposals},
        "folkmoot_rosters_held": {"": held},
    }


def _of_peers(node: AnyNode, mesh: Mesh) -> dict[str, Mapping[str, float]]:
    """What is known of each participant; a name has no character that would have to be escaped."""
    own, connected, benched = node.seat.place, set(mesh.connected()), node.health.benched(mesh.now())
    others = [peer for peer in range(node.seat.n) if peer != own]
    known = {peer: bytes.fromhex(node.roster[peer].fingerprint) for peer in others}
    latencies, skews = mesh.latencies(), mesh.skews()
    gauges: dict[str, Mapping[int, float]] = {
        "connected": {peer: int(known[peer] in connected) for peer in others},
        "benched": {peer: int(peer in benched) for peer in others},
        "latency_seconds": {peer: latencies[who] for peer, who in known.items() if who in latencies},
        "clock_skew_seconds": {peer: round(skews[who], 3) for peer, who in known.items() if who in skews},
        "frames_received_total": {peer: node.by_peer[peer]["frames"] for peer in others},
        "refused_total": {peer: node.by_peer[peer]["refused"] for peer in others},
        "abstentions_total": {peer: node.by_peer[peer]["abstained"] for peer in range(node.seat.n)},
    }
    return {
        f"folkmoot_peer_{name}": {node.roster[peer].name: value for peer, value in values.items()}
        for name, values in gauges.items()
    }


def _told(name: str, described: Described, samples: Mapping[str, float]) -> str:
    lines = [f"# HELP {name} {described.text}", f"# TYPE {name} {described.kind}"]
    for value, sample in samples.items():
        label = f'{{{described.label}="{value}"}}' if described.label else ""
        lines.append(f"{name}{label} {sample}")
    return "\n".join(lines) + "\n"


async def serve_metrics(node: AnyNode, mesh: Mesh, delay: LoopDelay, host: str, port: int) -> asyncio.Server:
    """Answer GET /metrics, and nothing else."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(
            OSError, ValueError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
        ):
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5.0)
            request = head.split(b"\r\n", 1)[0].split()
            found = len(request) == 3 and request[0] == b"GET" and request[1].split(b"?")[0] == b"/metrics"
            told = metrics(node, mesh, delay) if found else "only GET /metrics is answered here\n"
            body = told.encode()
            status = "200 OK" if found else "404 Not Found"
            header = (
                f"HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            )
            writer.write(header.encode() + body)
            await writer.drain()
        writer.close()

    def full() -> None:
        node.counts["refused_metrics_full"] += 1

    return await asyncio.start_server(limited(answer, full), host, port, limit=8192)
