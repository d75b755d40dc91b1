"""deploy/compose.yaml: what its services run is run here, in processes, without containers."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from folkmoot.local.held_ports import HeldPorts
from folkmoot.node.client import Client, NodeAwayError

yaml = pytest.importorskip("yaml", reason="there is no yaml here: pip install pyyaml")
DEPLOY = Path(__file__).parents[2] / "deploy"
HOME = "/var/lib/folkmoot"
NODES = ["north", "south", "west", "east", "mid"]
SECONDS = 120.0


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"])


def test_every_service_is_of_the_image_that_is_built_here(services: dict[str, Any]) -> None:
    assert list(services) == ["setup", *NODES, "ask"]
    for name, service in services.items():
        build = service["build"]
        assert (DEPLOY / build["context"] / build["dockerfile"]).samefile(DEPLOY / "Containerfile"), name
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            assert source == "moot" or (DEPLOY / source).is_dir()
    image = (DEPLOY / "Containerfile").read_text()
    assert 'ENTRYPOINT ["folkmoot"]' in image
    assert f"VOLUME {HOME}" in image


def test_what_the_services_run_decides_a_motion(services: dict[str, Any], tmp_path: Path) -> None:
    """With ports of this machine for the names of containers, and a folder for the volume."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "folkmoot"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m folkmoot "$@"\n')
    program.chmod(0o755)
    environ = os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    ports = HeldPorts(len(NODES))
    number = dict(zip(NODES, ports.numbers, strict=True))

    def here(text: str) -> str:
        return text.replace(HOME, str(tmp_path)).replace("$$", "$")

    def ran(name: str) -> list[str]:
        service = services[name]
        return [*map(here, service.get("entrypoint", ["folkmoot"])), *map(here, service["command"])]

    options: dict[str, Any] = {"cwd": DEPLOY / "example", "env": environ, "text": True}
    setup = ran("setup")
    setup[-1] = re.sub(r"--listen \S+ --address \S+", "$(cat ADDRESS_$name)", setup[-1])
    for name in NODES:
        at = tmp_path / f"address_{name}"
        at.write_text(f"--listen 127.0.0.1:{number[name]}")
    setup[-1] = setup[-1].replace("ADDRESS_", f"{tmp_path}/address_")
    subprocess.run(setup, check=True, capture_output=True, timeout=SECONDS, **options)
    nodes = [
        subprocess.Popen(ran(name), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
        for name in NODES
    ]
    try:
        end = time.monotonic() + SECONDS
        while not _all_connected(tmp_path / "north"):
            assert time.monotonic() < end, "they did not start"
            time.sleep(0.2)
        healthy = [here(word) for word in services["north"]["healthcheck"]["test"][1:]]
        subprocess.run(healthy, check=True, capture_output=True, timeout=SECONDS, **options)
        asked = subprocess.run(ran("ask"), capture_output=True, timeout=SECONDS, check=False, **options)
        assert asked.returncode == 0, asked.stderr  # all is decided
        told = re.findall(r"^ (\d) +(treat|wait) ", asked.stdout, flags=re.M)
        # By the rules, of five: age above 60, 65 and 70, dose above 2 and 2.5.
        assert told == [("0", "treat"), ("1", "wait"), ("2", "treat"), ("3", "wait")]
    finally:
        for node in nodes:
            node.send_signal(signal.SIGTERM)
        assert [node.wait(30) for node in nodes] == [0] * len(NODES)
        ports.close()


def _all_connected(folder: Path) -> bool:
    try:
        return all(peer["connected"] for peer in Client(folder).status()["peers"])
    except NodeAwayError:
        return False
