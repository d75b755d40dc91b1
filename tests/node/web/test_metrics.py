"""``/metrics``: what a node tells and how it stands, as Prometheus reads it."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from folkmoot.node.client import Client, NodeRefusal
from folkmoot.node.service.interface import Meter
from support.fresh import ROOT
from support.node.served import LOOPBACK, Played, opened, told

pytest.importorskip("prometheus_client", reason="the extra page")

from prometheus_client.parser import text_string_to_metric_families

from folkmoot.node.web.metrics import Metrics, described

promtool = shutil.which("promtool")


def read(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Every sample, by name and labels, as the reader of prometheus_client has it."""
    families = list(text_string_to_metric_families(text))
    assert all(family.documentation for family in families)
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def scraped(metrics: Metrics, played: Played) -> str:
    return metrics.text(played.status(), played.counts())[0].decode()


def test_what_happens_is_counted_and_how_a_node_stands_is_read(tmp_path: Path) -> None:
    played, metrics = Played(), Metrics()
    meter: Meter = metrics
    meter.motion_over(10, 3, 0.7)
    meter.motion_over(5, 0, 40.0)
    meter.model_answered(100, 4, 0.02)
    played.away = {"member-02"}

    async def asked() -> str:
        async with opened(played, tmp_path, metrics=metrics):
            return str(await told(Client(tmp_path).metrics))

    found = read(asyncio.run(asked()))
    expected = {
        ("folkmoot_inputs_total", (("decided", "yes"),)): 12,
        ("folkmoot_inputs_total", (("decided", "no"),)): 3,
        ("folkmoot_motion_seconds_count", ()): 2,
        ("folkmoot_motion_seconds_sum", ()): 40.7,
        ("folkmoot_motion_seconds_bucket", (("le", "1.0"),)): 1,
        ("folkmoot_motion_seconds_bucket", (("le", "60.0"),)): 2,
        ("folkmoot_model_rows_total", ()): 100,
        ("folkmoot_model_failures_total", ()): 4,
        ("folkmoot_model_seconds_sum", ()): 0.02,
        ("folkmoot_model_requests_total", ()): 5,
        ("folkmoot_model_completion_tokens_total", ()): 8,
        ("folkmoot_frames_received_total", ()): 3,
        ("folkmoot_evidence_total", ()): 0,
        ("folkmoot_refused_total", (("why", "token"),)): 2,
        ("folkmoot_peers_connected", ()): 3,
        ("folkmoot_quorum", ()): 4,
        ("folkmoot_ready", ()): 1,
        ("folkmoot_peer_connected", (("peer", "member-02"),)): 0,
        ("folkmoot_peer_frames_received_total", (("peer", "member-01"),)): 7,
        ("folkmoot_model_trouble", ()): 0,
    }
    assert {key: found[key] for key in expected} == pytest.approx(expected)
    assert found[("process_resident_memory_bytes", ())] > 0
    assert ("process_cpu_seconds_total", ()) in found


def test_the_loop_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = Metrics()
    monkeypatch.setattr("folkmoot.node.web.metrics.LOOKS", 0.0)

    async def watched() -> None:
        watching = asyncio.ensure_future(metrics.watch_loop())
        for _ in range(10):
            await asyncio.sleep(0)
        watching.cancel()

    asyncio.run(watched())
    assert read(scraped(metrics, Played()))[("folkmoot_loop_delay_seconds_count", ())] > 0


def test_what_goes_without_a_token_is_counted_by_reason(tmp_path: Path) -> None:
    async def asked() -> str:
        async with opened(Played(), tmp_path, page=LOOPBACK, metrics=Metrics()) as server:
            assert server.url is not None
            for _ in range(3):
                with pytest.raises(NodeRefusal, match="the token is wrong"):
                    await told(Client(server.url, "a" * 48).status)
            return str(await told(Client(tmp_path).metrics))

    assert read(asyncio.run(asked()))[("folkmoot_refused_total", (("why", "page_token"),))] == 3


def test_names_are_as_promtool_wants_them() -> None:
    """The rules of ``promtool check metrics``: units, suffixes, help, no reserved label."""
    metrics = Metrics()
    for family in text_string_to_metric_families(scraped(metrics, Played())):
        assert re.fullmatch(r"[a-z][a-z0-9_]*", family.name)
        assert family.documentation
        assert not family.name.endswith(("_total", "_count", "_sum", "_bucket")), family.name
        assert not re.search(r"_(milliseconds|ms|kilobytes|mb|percent)\b", family.name)
        for sample in family.samples:
            assert (family.type == "counter") == sample.name.endswith("_total")
            assert family.type == "histogram" or not {"le", "quantile"} & sample.labels.keys()


@pytest.mark.skipif(
    promtool is None, reason="there is no promtool on this machine: apt-get install prometheus"
)
def test_promtool_finds_nothing() -> None:
    result = subprocess.run(
        [str(promtool), "check", "metrics"], input=scraped(Metrics(), Played()), text=True,
        capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert (result.returncode, result.stdout + result.stderr) == (0, "")


def test_the_dashboard_and_the_alerts_name_metrics_that_a_node_has() -> None:
    families = list(text_string_to_metric_families(scraped(Metrics(), Played())))
    grow = {
        sample.name: family.type in ("counter", "histogram")
        for family in families
        for sample in family.samples
    }
    dashboard = json.loads((ROOT / "deploy" / "grafana-dashboard.json").read_text())
    shown = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    for each in shown:  # what only ever grows is shown as a rate, what is, as it is
        for name in _named(each):
            rated = f"rate({name}" in each or f"increase({name}" in each
            assert rated == grow[name] or name == "folkmoot_evidence_total", each
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids)
    assert _named((ROOT / "deploy" / "alerts.yml").read_text()) <= grow.keys()


def test_the_list_for_the_documentation_is_what_a_node_tells() -> None:
    told = {
        (f"{family.name}_total" if family.type == "counter" else family.name, family.type)
        for family in text_string_to_metric_families(scraped(Metrics(), Played()))
        if family.name.startswith("folkmoot_")
    }
    assert {(each.name, each.kind) for each in described()} == told


def _named(text: str) -> set[str]:
    return set(re.findall(r"\bfolkmoot_\w+", text))
