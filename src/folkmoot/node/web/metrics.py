"""``/metrics`` for Prometheus.

Motions, the own model and the delay of the loop are counted as things happen. All else is read from the
status of the node when somebody asks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from folkmoot import __version__
from folkmoot.machine import to_install
from folkmoot.node.service.interface import PeerStatus, Status

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
# What follows from the status; names without "folkmoot_" before them.
_GAUGES: Final[dict[str, tuple[str, Callable[[Status], float]]]] = {
    "ready": (
        "1 if this node is in the roster in force, reaches a quorum and has room for motions.",
        lambda status: not status.why_not_ready,
    ),
    "participants": ("Participants in the roster in force.", attrgetter("participants")),
    "quorum": ("Participants that must sign what is agreed.", attrgetter("quorum")),
    "roster_epoch": ("Rosters that came before the one in force.", attrgetter("epoch")),
    "roster_present": ("1 if this node is in the roster in force.", attrgetter("present")),
    "roster_proposals": ("Rosters that are proposed to replace it.", lambda status: len(status.proposals)),
    "rosters_held": ("Rosters under which motions may still be under way.", attrgetter("rosters")),
    "peers_connected": (
        "Peers with a connection.",
        lambda status: sum(peer.connected for peer in status.peers),
    ),
    "peers_benched": (
        "Peers that did not answer lately and are not asked at present.",
        lambda status: sum(peer.benched for peer in status.peers),
    ),
    "motions_open": ("Motions under way.", lambda status: len(status.motions)),
    "motions_waiting": ("Motions of this node that wait for a place.", attrgetter("waiting")),
    "invitations_open": (
        "Motions of this node that wait for validation rows.",
        lambda status: len(status.invitations),
    ),
    "audit_entries": ("The number of the last entry in the audit log.", lambda status: status.audit[0]),
    "stored_bytes": ("Bytes stored in the database.", lambda status: status.disk[0]),
    "storable_bytes": ("Bytes that the database may take.", lambda status: status.disk[1]),
    "clock_skew_seconds": (
        "The largest difference from the clock of a peer, when it connected.",
        lambda status: max((abs(peer.skew) for peer in status.peers if peer.skew is not None), default=0.0),
    ),
    "model_loaded_timestamp_seconds": (
        "When the own model was loaded, in seconds since 1970.",
        attrgetter("model.loaded"),
    ),
    "model_trouble": (
        "1 if the own model failed on some rows when it was asked last.",
        lambda status: bool(status.model.trouble),
    ),
}
# Of each peer; None is not told.
_BY_PEER: Final[dict[str, tuple[str, str, Callable[[PeerStatus], float | None]]]] = {
    "peer_connected": ("gauge", "1 if there is a connection.", attrgetter("connected")),
    "peer_benched": ("gauge", "1 if it is not asked at present.", attrgetter("benched")),
    "peer_latency_seconds": (
        "gauge",
        "Seconds to it and back, as the kernel measures them (Linux).",
        attrgetter("latency"),
    ),
    "peer_clock_skew_seconds": (
        "gauge",
        "Seconds that its clock was ahead when it connected.",
        attrgetter("skew"),
    ),
    "peer_frames_received": ("counter", "Frames that came from it.", attrgetter("frames")),
    "peer_refused": ("counter", "Messages from it that were not acted on.", attrgetter("refused")),
    "peer_abstentions": (
        "counter",
        "Motions in which it had no vote on some inputs.",
        attrgetter("abstained"),
    ),
}
_COUNTED: Final = {
    "frames_received": "Frames that arrived.",
    "frames_sent": "Frames that were sent. One that waits for a connection counts.",
    "bytes_received": "Bytes in the frames that arrived, without length and TLS.",
    "bytes_sent": "Bytes in the frames that were sent, without length and TLS.",
    "evidence": "Participants that contradicted themselves, once per motion.",
    "motions_forgotten": "Old motions that made room for others.",
    "dropped_no_connection": "Frames given up because too much waited for a connection.",
    "model_requests": "Requests to the service behind the own model, retries included.",
    "model_failed": "Requests to the service behind the own model without a usable answer.",
    "model_prompt_tokens": "Tokens that the service behind the own model has read.",
    "model_completion_tokens": "Tokens that the service behind the own model has written.",
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
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

        if self._status is None:
            return
        spent = {f"model_{name}": count for name, count in self._status.model.usage.items()}
        yield from _counted({**self._counts, **spent})
        for name, (text, value) in _GAUGES.items():
            yield GaugeMetricFamily(f"folkmoot_{name}", text, value=float(value(self._status)))
        families: dict[str, Any] = {"gauge": GaugeMetricFamily, "counter": CounterMetricFamily}
        for name, (kind, text, of) in _BY_PEER.items():
            family: Any = families[kind](f"folkmoot_{name}", text, labels=["peer"])
            for peer in self._status.peers:
                if (found := of(peer)) is not None:
                    family.add_metric([peer.name], float(found))
            yield family
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
    found += [Told(f"folkmoot_{name}", "gauge", (), text) for name, (text, _) in _GAUGES.items()]
    found += [
        Told(f"folkmoot_{name}" + ("_total" if kind == "counter" else ""), kind, ("peer",), text)
        for name, (kind, text, _) in _BY_PEER.items()
    ]
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
