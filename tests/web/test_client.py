"""The client of the API: what it sends and what it makes of answers, against a server that the test plays."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from folkmoot.web.client import Client
from support.command import assert_refused

NAME = "ab" * 32


class Played(BaseHTTPRequestHandler):
    """Answers as the table says; notes what it was asked."""

    answers: ClassVar[dict[str, list[tuple[int, Any]]]] = {}
    asked: ClassVar[list[tuple[str, str, Any]]] = []

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.asked.append(
            (f"{self.command} {self.path}", self.headers["Authorization"], body and json.loads(body))
        )
        status, said = self.answers[f"{self.command} {self.path}"].pop(0)
        data = said if isinstance(said, bytes) else json.dumps(said).encode()
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "http://127.0.0.1:1/stolen")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = _answer  # noqa: N815 (their names)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def played() -> Iterator[Client]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Played)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    Played.asked.clear()
    try:
        yield Client(f"http://127.0.0.1:{server.server_port}/", "secret", timeout=5.0)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def line(place: int, label: str | None) -> dict[str, Any]:
    return {
        "input": place,
        "decision": label,
        "agreement": 0.5,
        "first_votes": {},
        "majority": None,
        "why_undecided": None,
    }


def test_asking_waits_and_gathers_all_pages() -> None:
    opened = {"motion": NAME, "state": "open", "undecided": 3, "live": {}, "decided": 0}
    closed = opened | {"state": "closed", "undecided": 1, "live": None}
    Played.answers = {
        "POST /v1/motions": [(202, {"motion": NAME, "location": ""})] * 3,
        f"GET /v1/motions/{NAME}": [(200, opened), (200, closed), (200, closed)],
        f"GET /v1/motions/{NAME}?wait=30": [(200, opened), (200, closed)],
        f"GET /v1/motions/{NAME}/inputs?from=0&most=5000": [
            (200, {"inputs": [line(0, "a"), line(1, None)], "next": 2})
        ]
        * 3,
        f"GET /v1/motions/{NAME}/inputs?from=2&most=5000": [(200, {"inputs": [line(2, "b")], "next": None})]
        * 3,
    }
    with played() as client:
        answer = client.ask(np.array([[1, 2], [3, np.nan]]), labels=["a", "b"])
        assert answer.decisions == ["a", None, "b"]
        assert (answer.motion, answer.undecided, answer.agreement) == (NAME, 1, [0.5] * 3)
        assert answer.details["decisions"] == answer.decisions
        assert "live" not in answer.details
        client.ask(pd.DataFrame({"age": [40.0], "dose": [None]}))
        client.ask([[1, 2]], columns=[{"name": "x", "unit": "mm"}, "y"], wait=False)
    sent = [body for what, _, body in Played.asked if what.startswith("POST")]
    assert sent[0] == {"rows": [[1.0, 2.0], [3.0, None]], "columns": [], "labels": ["a", "b"]}
    assert sent[1] == {"rows": [[40.0, None]], "columns": ["age", "dose"]}
    assert sent[2]["columns"] == [{"name": "x", "unit": "mm"}, "y"]
    assert {token for _, token, _ in Played.asked} == {"Bearer secret"}


def test_events_and_their_ids() -> None:
    text = b'id: 5-1\nevent: moot\ndata: {"a": 1}\n\nevent: ping\ndata: {}\n\n'
    text += b'id: 5-2\nevent: over\ndata: {"b": "x: y"}\n\n'
    Played.answers = {"GET /v1/events": [(200, text)]}
    with played() as client:
        found = [(event.id, event.kind, event.data) for event in client.events(after="5-0")]
    assert found == [("5-1", "moot", {"a": 1}), ("", "ping", {}), ("5-2", "over", {"b": "x: y"})]


def test_what_goes_wrong_is_one_line() -> None:
    Played.answers = {
        "GET /v1/moot": [(400, {"detail": "why not"}), (500, b"<html>"), (302, b""), (200, b"")],
    }
    with played() as client:
        with pytest.raises(ValueError, match=r"^why not$"):
            client.moot()
        with pytest.raises(
            ValueError, match="the answer was 500 Internal Server Error: is that a node's page"
        ):
            client.moot()
        with pytest.raises(ValueError, match="the answer was 302"):  # the token goes nowhere else
            client.moot()
        with pytest.raises(ValueError, match=r"the answer of .* is not JSON"):
            client.moot()
    assert len(Played.asked) == 4
    with pytest.raises(ValueError, match=r"no node answers at .*: is it running with --page"):
        client.moot()
    for url in (
        "127.0.0.1:7700",
        "ftp://a",
        "http://",
        "http://a/b",
        "http://a?b",
        "http://u@a",
        "http://a:x",
        "",
    ):
        with pytest.raises(ValueError, match=r"url must be such as http://127\.0\.0\.1:7700: got"):
            Client(url, "secret")
    for token in ("a b", "a\r\nHost: x", "ä"):
        with pytest.raises(ValueError, match="token must be what the file 'token'"):
            Client("http://127.0.0.1:1", token)
    for wrong in ([1.0, 2.0], 3, "abc", [["a"]]):
        with pytest.raises(ValueError, match="X must hold rows of numbers"):
            client.ask(wrong)
    with pytest.raises(ValueError, match="X must not hold infinite numbers"):
        client.ask([[float("inf")]])


def test_a_folder_without_a_page_says_what_to_type(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"start it with folkmoot node run .* --page 127.0.0.1:7700"):
        Client.of(tmp_path)


def test_it_needs_nothing_but_python() -> None:
    names = "print(*{name.partition('.')[0] for name in sys.modules})"
    code = f"import sys; from folkmoot.web.client import Client; {names}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(result.stdout.split())
    assert not {"numpy", "msgspec", "starlette", "typer", "cryptography"} & loaded


def test_options_of_ask_that_do_not_go_together(tmp_path: Path) -> None:
    inputs = tmp_path / "inputs.csv"
    inputs.write_text("1\n")
    token = tmp_path / "token"
    token.write_text("a" * 48)
    url = ["--url", "http://127.0.0.1:1"]
    assert_refused("--url needs --token FILE", "ask", inputs, *url)
    assert_refused("give --via or --url, not both", "ask", inputs, *url, "--via", tmp_path, "--token", token)
    assert_refused("no node answers at http://127.0.0.1:1", "ask", inputs, *url, "--token", token)
    assert_refused("url must be such as http://127.0.0.1:7700", "ask", inputs, "--url", "x", "--token", token)
    token.write_text("short")
    assert_refused("must hold a token", "ask", inputs, *url, "--token", token)
