"""``/metrics`` for Prometheus, on loopback: what a node counts, as text."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from folkmoot import __version__
from folkmoot.network.membership.roster import quorum
from folkmoot.network.service.door import limited
from folkmoot.network.service.loop_delay import LoopDelay
from folkmoot.network.service.node import Node
from folkmoot.network.transports.mesh import Mesh

_HELP = {
    "frames_received": "Frames that arrived.",
    "frames_sent": "Frames that were sent.",
    "bytes_received": "Bytes in the frames that arrived.",
    "bytes_sent": "Bytes in the frames that were sent.",
    "queries_sent": "Queries asked, in motions that are over.",
    "motions_over": "Motions that are over.",
    "evidence": "Participants that contradicted themselves, once a motion.",
    "motions_forgotten": "Old motions that made room for others.",
    "dropped_no_connection": "Frames given up for want of a connection.",
}


def metrics(node: Node, mesh: Mesh, delay: LoopDelay) -> str:
    """All counters and gauges in Prometheus's text format."""
    lines: list[str] = []
    counts = dict.fromkeys(_HELP, 0) | dict(node.counts) | dict(mesh.counts)
    refused = {name: count for name, count in counts.items() if name.startswith("refused_")}
    for name, text in _HELP.items():
        lines += _metric(f"folkmoot_{name}_total", "counter", text, {"": counts[name]})
    reasons = {f'{{why="{name.removeprefix("refused_")}"}}': count for name, count in sorted(refused.items())}
    lines += _metric("folkmoot_refused_total", "counter", "What was not acted on, by reason.", reasons)
    lines += _metric("folkmoot_participants", "gauge", "Participants in the roster.", {"": node.seat.n})
    lines += _metric(
        "folkmoot_quorum", "gauge", "Participants that must sign the same.", {"": quorum(node.seat.n)}
    )
    connected = len(mesh.connected())
    lines += _metric("folkmoot_peers_connected", "gauge", "Peers with a connection.", {"": connected})
    benched = len(node.health.benched(mesh.now()))
    lines += _metric("folkmoot_peers_benched", "gauge", "Peers not asked at present.", {"": benched})
    lines += _metric("folkmoot_motions_open", "gauge", "Motions under way.", {"": node.open_motions})
    seconds = {"": node.counts["motion_milliseconds"] / 1000}
    text = "Seconds that the motions that are over took at this node."
    lines += _metric("folkmoot_motion_seconds_total", "counter", text, seconds)
    lines += _metric(
        "folkmoot_stored_bytes", "gauge", "Bytes that what is stored takes.", {"": node.storage.used()}
    )
    skew = max((abs(skew) for skew in mesh.skews().values()), default=0.0)
    text = "Largest difference from a peer's clock."
    lines += _metric("folkmoot_clock_skew_seconds", "gauge", text, {"": round(skew, 3)})
    quantiles = {f'{{quantile="{share:g}"}}': round(delay.quantile(share), 4) for share in (0.5, 0.99, 1.0)}
    text = "How long what arrives waits until the node looks at it, in the last minute."
    lines += _metric("folkmoot_loop_delay_seconds", "gauge", text, quantiles)
    lines += _metric("folkmoot_info", "gauge", "The version.", {f'{{version="{__version__}"}}': 1})
    lines += _of_peers(node, mesh)
    return "\n".join(lines) + "\n"


def _of_peers(node: Node, mesh: Mesh) -> list[str]:
    """What is known of each participant; a name has no character that would have to be escaped."""
    own, now = node.seat.place, mesh.now()
    connected, latencies, skews = set(mesh.connected()), mesh.latencies(), mesh.skews()
    others = [peer for peer in range(node.seat.n) if peer != own]

    def each(values: Mapping[int, float]) -> dict[str, float]:
        return {f'{{peer="{node.roster[peer].name}"}}': value for peer, value in values.items()}

    benched = node.health.benched(now)
    gauges: dict[str, tuple[str, Mapping[int, float]]] = {
        "connected": ("1 if there is a connection.", {peer: int(peer in connected) for peer in others}),
        "benched": ("1 if it is not asked at present.", {peer: int(peer in benched) for peer in others}),
        "latency_seconds": ("To it and back, as the kernel measures.", latencies),
        "clock_skew_seconds": ("That its clock was ahead.", {p: round(s, 3) for p, s in skews.items()}),
    }
    lines: list[str] = []
    for name, (text, values) in gauges.items():
        lines += _metric(f"folkmoot_peer_{name}", "gauge", text, each(values))
    told = {peer: node.by_peer[peer] for peer in range(node.seat.n)}
    for name, key, text in (
        ("frames_received", "frames", "Frames that came from it."),
        ("refused", "refused", "Messages of it that were not acted on."),
        ("abstentions", "abstained", "Motions in which it had no vote on some inputs; this node too."),
    ):
        counts = {p: count[key] for p, count in told.items() if p != own or key == "abstained"}
        lines += _metric(f"folkmoot_peer_{name}_total", "counter", text, each(counts))
    return lines


def _metric(name: str, kind: str, text: str, values: Mapping[str, float]) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}", *(f"{name}{k} {v}" for k, v in values.items())]


async def serve_metrics(node: Node, mesh: Mesh, delay: LoopDelay, host: str, port: int) -> asyncio.Server:
    """Answer GET /metrics, and nothing else."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(
            OSError, ValueError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
        ):
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5.0)
            request = head.split(b"\r\n", 1)[0].split()
            found = len(request) == 3 and request[0] == b"GET" and request[1].split(b"?")[0] == b"/metrics"
            body = metrics(node, mesh, delay).encode() if found else b"only GET /metrics is answered here\n"
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
