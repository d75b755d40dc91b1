"""``folkmoot node page``, and what ``node run --page`` prints: the token is for a terminal only."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from folkmoot.node.membership.identity import create
from folkmoot.node.membership.roster import Roster
from support.command import assert_refused, run, run_json
from support.network.real_moot import until

MODEL = "def model(X):\n    return ['even'] * len(X)\nmodel.labels = ['even', 'odd']\nmodel.columns = 1\n"


def on_terminal(*arguments: object, **options: object) -> tuple[subprocess.Popen[bytes], int]:
    """A command whose stdout is a terminal; what it prints there can be read from the second one."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "folkmoot", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=theirs, **options)  # type: ignore[call-overload]
    os.close(theirs)
    return process, ours


def line_of(terminal: int) -> str:
    said = b""
    while not said.endswith(b"\n"):
        said += os.read(terminal, 4096)
    return said.decode().strip()


def test_the_address_with_the_token_is_printed_on_a_terminal_only(tmp_path: Path) -> None:
    folder, roster, log = tmp_path / "north", tmp_path / "roster.toml", tmp_path / "log"
    made = create(folder, name="north", listen="127.0.0.1:0", addresses=["127.0.0.1:9"])
    Roster([made.member()]).write(roster)
    (tmp_path / "constant.py").write_text(MODEL)
    shown = ("node", "page", folder)
    assert_refused(f"the node in {folder} is not running: start it with folkmoot node run", *shown)
    environment = os.environ | {"PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{tmp_path}"}
    command = ["node", "run", folder, "--roster", roster, "--model", "constant:model", "--page"]
    with log.open("w") as stderr:
        process, terminal = on_terminal(*command, "127.0.0.1:0", stderr=stderr, env=environment)
    try:
        address = line_of(terminal)
        until(lambda: '"page open"' in log.read_text(), "it is open")
        token, read_token = ((folder / name).read_text().strip() for name in ("token", "token.read"))
        url = re.fullmatch(rf"(http://127\.0\.0\.1:\d+)/#token={token}", address)
        assert url is not None, address
        assert token not in log.read_text()

        piped = run("node", "page", folder)
        assert (piped.returncode, piped.stdout) == (0, f"{url[1]}\n")
        said = f"the address with its token is shown on a terminal only; the token is in {folder / 'token'}\n"
        assert piped.stderr == said
        told = run_json("node", "page", folder, "--read-only")
        assert told == {"url": url[1], "token_file": str(folder / "token.read"), "address": None}
        again, seen = on_terminal("node", "page", folder, "--read-only")
        assert line_of(seen) == f"{url[1]}/#token={read_token}"
        assert again.wait(30) == 0
        os.close(seen)

        (folder / "token.read").rename(folder / "elsewhere")
        assert_refused(f"there is no {folder / 'token.read'}: stop the node", *shown, "--read-only")
        (folder / "token").write_text("short")
        assert_refused(f"{folder / 'token'} must hold a token", *shown)
        for damaged in ("{", "[]", '{"url": 1}'):
            (folder / "page.json").write_text(damaged)
            assert_refused(f"{folder / 'page.json'} is damaged", *shown)
        (folder / "page.json").unlink()
        assert_refused(f"the node in {folder} has no page: start it with", *shown)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


@pytest.mark.parametrize("made", [False, True])
def test_a_folder_without_a_node_is_named(tmp_path: Path, made: bool) -> None:
    folder = tmp_path / "nowhere"
    if made:
        folder.mkdir()
    assert_refused(f"there is no node in {folder}: give the folder that", "node", "page", folder)
