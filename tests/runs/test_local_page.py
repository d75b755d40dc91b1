"""``folkmoot local --page``: the node that asks in a browser, until Ctrl-C."""

from __future__ import annotations

import importlib.util
import json
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.test_local import of_session
from support.browser import browser, opened, violations
from support.command import assert_refused
from support.live_page import LIVE, dropped, ready
from support.network.real_moot import until
from support.process import start

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]


def test_the_node_that_asks_is_shown_until_control_c(browser: Browser, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    kept = tmp_path / "kept"
    where = kept / "node000" / "page.json"
    command = ["local", "--nodes", 4, "--byzantine", 1, "--attack", "equivocating", "--inputs", 5]
    with start(*command, "--rounds", 30, "--page", "--out", kept, new_session=True) as process:
        try:
            until(lambda: where.exists(), "its page is open", 60.0)
            told = json.loads(where.read_text())
            with opened(browser, f"{told['page']}/#token={told['token']}") as page:
                ready(page)
                assert page.inner_text("#title") == "node000 in its moot"
                expect(page.locator("#accused summary")).to_have_count(1, timeout=2 * LIVE)
                expect(page.locator(".decisions tbody tr")).to_have_count(5, timeout=2 * LIVE)
                assert violations(page) == []
                dropped(page, "two.csv", "a,b\n1,2\n")  # what is sent through it reaches the node
                expect(page.locator("#ask .found")).to_contain_text(
                    "the model takes 64 columns", timeout=LIVE
                )
            assert process.stderr is not None
            said = [process.stderr.readline(), process.stderr.readline()]  # when the table is printed, too
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0
    assert "4 processes, 5 digits" in out
    assert told["token"] not in "".join([out, err, *said])
    assert "".join(said).splitlines() + err.splitlines() == [
        f"the address of the page holds a token: it is in {where}",
        "the nodes and their page stay until Ctrl-C",
        "ended: all nodes are stopped",
    ]
    assert not where.exists()
    until(lambda: not of_session(process.pid), "processes are left", 20.0)


def test_wrong_addresses_and_what_is_not_installed_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    local = ("local", "--nodes", 3, "--out", tmp_path / "kept")
    assert_refused("--page-at must be given with --page", *local, "--page-at", "127.0.0.1:7700")
    wrong = "--page-at must be on this machine, such as 127.0.0.1:7700: got '10.0.0.5:7700'"
    assert_refused(wrong, *local, "--page", "--page-at", "10.0.0.5:7700")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        at = f"127.0.0.1:{taken.getsockname()[1]}"
        busy = f"--page-at must be an address that is free: {at}: "
        assert_refused(busy, *local, "--page", "--page-at", at)
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "uvicorn" else found(name))
    missing = 'needs uvicorn, which is not installed: pip install "folkmoot[page]"'
    assert_refused(missing, *local, "--page")
