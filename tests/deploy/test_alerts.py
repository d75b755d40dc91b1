"""The alert rules, as Prometheus itself evaluates them: each fires when it should, and not before."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

RULES = Path(__file__).parents[2] / "deploy" / "alerts.yml"

promtool = shutil.which("promtool")
pytestmark = pytest.mark.skipif(
    promtool is None, reason="there is no promtool on this machine: apt-get install prometheus"
)

# An alert; series, a value a minute; when it is quiet, and when it fires (minutes).
NODE = '{job="folkmoot", instance="north"}'
PEER = '{job="folkmoot", instance="north", peer="east"}'
LATE = '{job="folkmoot", instance="north", le="+Inf"}'
SOON = '{job="folkmoot", instance="north", le="0.5"}'
LONG = '{job="folkmoot", instance="north", le="10"}'
MORE = '{job="folkmoot", instance="north", le="60"}'
YES = '{job="folkmoot", instance="north", decided="yes"}'
NO = '{job="folkmoot", instance="north", decided="no"}'
FULL = '{job="folkmoot", instance="north", why="disk_full"}'
CASES: list[tuple[str, dict[str, str], int, int]] = [
    ("FolkmootNodeDown", {f"up{NODE}": "1x4 0x20"}, 5, 8),
    (
        "FolkmootNoQuorum",
        {f"folkmoot_peers_connected{NODE}": "2x9 1x20", f"folkmoot_quorum{NODE}": "3x30"},
        9,
        16,
    ),
    ("FolkmootPeerAway", {f"folkmoot_peer_connected{PEER}": "1 0x60"}, 20, 32),
    ("FolkmootEvidence", {f"folkmoot_evidence_total{NODE}": "0x10 1x100"}, 10, 13),
    ("FolkmootClock", {f"folkmoot_clock_skew_seconds{NODE}": "30x10 31x20"}, 14, 17),
    (
        "FolkmootBusy",
        {
            f"folkmoot_loop_delay_seconds_bucket{SOON}": "0+240x10 2400+200x40",
            f"folkmoot_loop_delay_seconds_bucket{MORE}": "0+240x50",
            f"folkmoot_loop_delay_seconds_bucket{LATE}": "0+240x50",
        },
        14,
        22,
    ),
    ("FolkmootModelFails", {f"folkmoot_model_failures_total{NODE}": "0x10 5+5x40"}, 14, 18),
    ("FolkmootModelFails", {f"folkmoot_model_trouble{NODE}": "0x10 1x40"}, 14, 18),
    (
        "FolkmootModelSlow",
        {
            f"folkmoot_model_seconds_bucket{LONG}": "0+5x20 100+0x80",
            f"folkmoot_model_seconds_bucket{MORE}": "0+5x100",
            f"folkmoot_model_seconds_bucket{LATE}": "0+5x100",
        },
        30,
        60,
    ),
    (
        "FolkmootUndecided",
        {f"folkmoot_inputs_total{YES}": "0+10x20 200+0x100", f"folkmoot_inputs_total{NO}": "0x20 0+30x100"},
        20,
        60,
    ),
    ("FolkmootNoRoom", {f"folkmoot_refused_total{FULL}": "_x20 1x30"}, 19, 22),
    ("FolkmootNoRoom", {f"folkmoot_refused_total{FULL}": "3x40 4x30"}, 39, 43),
]


@pytest.mark.parametrize(
    ("alert", "series", "quiet", "fires"), CASES, ids=[f"{c[0]}{number}" for number, c in enumerate(CASES)]
)
def test_alerts_fire_when_they_should(
    alert: str, series: dict[str, str], quiet: int, fires: int, tmp_path: Path
) -> None:
    told = "".join(
        f"      - series: '{name}'\n        values: '{values}'\n" for name, values in series.items()
    )
    query = f'count(ALERTS{{alertname="{alert}", alertstate="firing"}}) or vector(0)'
    expected = "".join(
        f"      - expr: '{query}'\n        eval_time: {minute}m\n        exp_samples: [{{value: {value}}}]\n"
        for minute, value in ((quiet, 0), (fires, 1))
    )
    test = tmp_path / "test.yml"
    test.write_text(
        f"rule_files: ['{RULES}']\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n"
        f"    input_series:\n{told}    promql_expr_test:\n{expected}"
    )
    result = subprocess.run(
        [str(promtool), "test", "rules", test], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_alert_is_tested() -> None:
    names = [line.split()[-1] for line in RULES.read_text().splitlines() if "- alert:" in line]
    assert sorted(names) == sorted({case[0] for case in CASES})
