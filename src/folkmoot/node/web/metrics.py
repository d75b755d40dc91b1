"""``/metrics`` for Prometheus.

Motions, the own model and the delay of the loop are counted as things happen. All else is read from the
status of the node when somebody asks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from folkmoot import __version__
from folkmoot.extras import to_install
from folkmoot.node.service.interface import Status
from folkmoot.node.web.readiness import why_not_ready

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

LOOKS: Final = 0.25  # seconds between two looks at how late the loop is
_BUCKETS: Final[dict[str, Any]] = {
    "folkmoot_motion_seconds": {"buckets": (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 3600)},
    "folkmoot_model_seconds": {"buckets": (0.001, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300)},
    "folkmoot_loop_delay_seconds": {"buckets": (0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30)},
}


class Told(NamedTuple):
    """A metric, as the documentation lists it."""

    name: str
    kind: str
    labels: tuple[str, ...]
    text: str


_HAPPENED: Final[dict[str, tuple[str, list[str], str]]] = {
    "folkmoot_inputs": ("counter", ["decided"], "Inputs of motions that are over."),
    "folkmoot_motion_seconds": (
        "histogram",
        [],
        "Seconds from when a motion was put until it was over at this node.",
    ),
    "folkmoot_model_seconds": ("histogram", [], "Seconds that the own model took for one chunk of rows."),
    "folkmoot_model_rows": ("counter", [], "Rows that the own model was asked about."),
    "folkmoot_model_failures": ("counter", [], "Rows that the own model could not answer."),
    "folkmoot_loop_delay_seconds": ("histogram", [], "How late this node looks at what arrives."),
}
_GAUGES: Final = {
    "folkmoot_ready": "1 if this node is in the roster in force, reaches a quorum and has room for motions.",
    "folkmoot_participants": "Participants in the roster in force.",
    "folkmoot_quorum": "Participants that must sign what is agreed.",
    "folkmoot_roster_epoch": "Rosters that came before the one in force.",
    "folkmoot_roster_present": "1 if this node is in the roster in force.",
    "folkmoot_roster_proposals": "Rosters that are proposed to replace it.",
    "folkmoot_rosters_held": "Rosters under which motions may still be under way.",
    "folkmoot_peers_connected": "Peers with a connection.",
    "folkmoot_peers_benched": "Peers that did not answer lately and are not asked at present.",
    "folkmoot_motions_open": "Motions under way.",
    "folkmoot_motions_waiting": "Motions of this node that wait for a place.",
    "folkmoot_invitations_open": "Motions of this node that wait for validation rows.",
    "folkmoot_audit_entries": "The number of the last entry in the audit log.",
    "folkmoot_stored_bytes": "Bytes stored in the database.",
    "folkmoot_storable_bytes": "Bytes that the database may take.",
    "folkmoot_clock_skew_seconds": "The largest difference from the clock of a peer, when it connected.",
    "folkmoot_model_loaded_timestamp_seconds": "When the own model was loaded, in seconds since 1970.",
    "folkmoot_model_trouble": "1 if the own model failed on some rows when it was asked last.",
}
_BY_PEER: Final = {
    "folkmoot_peer_connected": "1 if there is a connection.",
    "folkmoot_peer_benched": "1 if it is not asked at present.",
    "folkmoot_peer_latency_seconds": "Seconds to it and back, as the kernel measures them (Linux).",
    "folkmoot_peer_clock_skew_seconds": "Seconds that its clock was ahead when it connected.",
}
_COUNTED_BY_PEER: Final = {
    "folkmoot_peer_frames_received": "Frames that came from it.",
    "folkmoot_peer_refused": "Messages from it that were not acted on.",
    "folkmoot_peer_abstentions": "Motions in which it had no vote on some inputs.",
}
_COUNTED: Final = {
    "frames_received": "Frames that arrived.",
    "frames_sent": "Frames that were sent. One that waits for a connection counts.",
    "bytes_received": "Bytes in the frames that arrived, without length and TLS.",
    "bytes_sent": "Bytes in the frames that were sent, without length and TLS.",
    "evidence": "Participants that contradicted themselves, once per motion.",
    "motions_forgotten": "Old motions that made room for others.",
    "dropped_no_connection": "Frames given up because too much waited for a connection.",
}


class Metrics:
    """The metrics of a node: give them to ``Node`` as its meter, and to ``serve``."""

    def __init__(self) -> None:
        try:
            from prometheus_client import (
                CollectorRegistry,
                Counter,
                Histogram,
                ProcessCollector,
                disable_created_metrics,
            )
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"/metrics needs prometheus_client, which is not installed: {to_install('page')}",
                name=error.name,
            ) from None
        cast("Any", disable_created_metrics)()  # the time since when it is counted is that of the process
        self._registry = CollectorRegistry()
        self._status: Status | None = None
        self._counts: Mapping[str, int] = {}
        ProcessCollector(registry=self._registry)
        made: dict[str, Any] = {
            name: (Counter if kind == "counter" else Histogram)(
                name, text, labels, registry=self._registry, **_BUCKETS.get(name, {})
            )
            for name, (kind, labels, text) in _HAPPENED.items()
        }
        inputs = made["folkmoot_inputs"]
        self._decided, self._undecided = inputs.labels("yes"), inputs.labels("no")
        self._motion, self._model = made["folkmoot_motion_seconds"], made["folkmoot_model_seconds"]
        self._rows, self._failed = made["folkmoot_model_rows"], made["folkmoot_model_failures"]
        self._delay = made["folkmoot_loop_delay_seconds"]
        self._registry.register(cast("Any", self))

    # ---- what the node tells -----------------------------------------------------------------

    def motion_over(self, inputs: int, undecided: int, seconds: float) -> None:
        """A motion is over for this node, so many seconds after it was put."""
        self._decided.inc(inputs - undecided)
        self._undecided.inc(undecided)
        self._motion.observe(seconds)

    def model_answered(self, rows: int, failed: int, seconds: float) -> None:
        """The own model was asked about so many rows, and could not answer some of them."""
        self._rows.inc(rows)
        self._failed.inc(failed)
        self._model.observe(seconds)

    async def watch_loop(self) -> None:
        """Measure how late the loop is, until it is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + LOOKS
            await asyncio.sleep(LOOKS)
            self._delay.observe(max(0.0, loop.time() - due))

    # ---- what Prometheus asks ----------------------------------------------------------------

    def text(self, status: Status, counts: Mapping[str, int]) -> tuple[bytes, str]:
        """All metrics in Prometheus's text format, and its media type."""
        from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

        self._status, self._counts = status, counts
        return generate_latest(self._registry), CONTENT_TYPE_PLAIN_0_0_4

    def collect(self) -> Iterator[Metric]:
        """The metrics that follow from the status that ``text`` was given."""
        from prometheus_client.metrics_core import GaugeMetricFamily

        if self._status is None:
            return
        yield from _counted(self._counts)
        for name, value in _gauges(self._status).items():
            yield GaugeMetricFamily(name, _GAUGES[name], value=value)
        yield from _by_peer(self._status)
        info = GaugeMetricFamily("folkmoot_info", _INFO, labels=["version"])
        info.add_metric([__version__], 1)
        yield info


_REFUSED: Final = "What was not acted on, by reason."
_INFO: Final = "Always 1. The version is in its label."


def described() -> list[Told]:
    """Every metric that a node may have, for the documentation."""
    found = [
        Told(f"{name}_total" if kind == "counter" else name, kind, tuple(labels), text)
        for name, (kind, labels, text) in _HAPPENED.items()
    ]
    found += [Told(f"folkmoot_{name}_total", "counter", (), text) for name, text in _COUNTED.items()]
    found.append(Told("folkmoot_refused_total", "counter", ("why",), _REFUSED))
    found += [Told(name, "gauge", (), text) for name, text in _GAUGES.items()]
    found += [Told(name, "gauge", ("peer",), text) for name, text in _BY_PEER.items()]
    by_peer = {f"{name}_total": text for name, text in _COUNTED_BY_PEER.items()}
    found += [Told(name, "counter", ("peer",), text) for name, text in by_peer.items()]
    return [*found, Told("folkmoot_info", "gauge", ("version",), _INFO)]


def _counted(counts: Mapping[str, int]) -> Iterator[Metric]:
    """A counter for each thing that is counted; what is refused is one, by reason."""
    from prometheus_client.metrics_core import CounterMetricFamily

    refused = CounterMetricFamily("folkmoot_refused", _REFUSED, labels=["why"])
    for name, count in sorted((dict.fromkeys(_COUNTED, 0) | dict(counts)).items()):
        if name.startswith("refused_"):
            refused.add_metric([name.removeprefix("refused_")], count)
        else:
            text = _COUNTED.get(name, f"{name.replace('_', ' ').capitalize()} since the start.")
            yield CounterMetricFamily(f"folkmoot_{name}", text, value=count)
    yield refused


def _gauges(status: Status) -> dict[str, float]:
    skews = [abs(peer.skew) for peer in status.peers if peer.skew is not None]
    return {
        "folkmoot_ready": float(not why_not_ready(status)),
        "folkmoot_participants": status.participants,
        "folkmoot_quorum": status.quorum,
        "folkmoot_roster_epoch": status.epoch,
        "folkmoot_roster_present": float(status.present),
        "folkmoot_roster_proposals": len(status.proposals),
        "folkmoot_rosters_held": status.rosters,
        "folkmoot_peers_connected": sum(peer.connected for peer in status.peers),
        "folkmoot_peers_benched": sum(peer.benched for peer in status.peers),
        "folkmoot_motions_open": len(status.motions),
        "folkmoot_motions_waiting": status.waiting,
        "folkmoot_invitations_open": len(status.invitations),
        "folkmoot_audit_entries": status.audit[0],
        "folkmoot_stored_bytes": status.disk[0],
        "folkmoot_storable_bytes": status.disk[1],
        "folkmoot_clock_skew_seconds": max(skews, default=0.0),
        "folkmoot_model_loaded_timestamp_seconds": status.model.loaded,
        "folkmoot_model_trouble": float(bool(status.model.trouble)),
    }


def _by_peer(status: Status) -> Iterator[Metric]:
    from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

    known: dict[str, dict[str, float | None]] = {
        peer.name: {
            "folkmoot_peer_connected": float(peer.connected),
            "folkmoot_peer_benched": float(peer.benched),
            "folkmoot_peer_latency_seconds": peer.latency,
            "folkmoot_peer_clock_skew_seconds": peer.skew,
            "folkmoot_peer_frames_received": peer.frames,
            "folkmoot_peer_refused": peer.refused,
            "folkmoot_peer_abstentions": peer.abstained,
        }
        for peer in status.peers
    }
    families: list[GaugeMetricFamily | CounterMetricFamily] = [
        GaugeMetricFamily(name, text, labels=["peer"]) for name, text in _BY_PEER.items()
    ]
    families += [CounterMetricFamily(name, text, labels=["peer"]) for name, text in _COUNTED_BY_PEER.items()]
    for family in families:
        for peer, values in known.items():
            value = values[family.name]
            if value is not None:
                family.add_metric([peer], value)
        yield family
