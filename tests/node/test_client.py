"""The client: what it sends and what it makes of answers, against a server that the test plays."""

from __future__ import annotations

import json
import socketserver
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

from folkmoot.checks import ArgumentError
from folkmoot.node.client import RAW, SOCKET, Client, NodeAwayError, NodeRefusal, short_path

NAME = "ab" * 32


class Played(BaseHTTPRequestHandler):
    """Answers as the table says; notes what it was asked."""

    answers: ClassVar[dict[str, list[tuple[int, Any]]]] = {}
    asked: ClassVar[list[tuple[str, Any, bytes]]] = []

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.asked.append((f"{self.command} {self.path}", self.headers, body))
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

    def address_string(self) -> str:
        return "there"


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def get_request(self) -> Any:
        request, _ = super().get_request()
        return request, ("there", 0)


@contextmanager
def serving(server: Any) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    Played.asked.clear()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def played() -> Iterator[Client]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Played)
    with serving(server):
        yield Client(f"http://127.0.0.1:{server.server_port}/", "secret", timeout=5.0)


def test_asking_waits_and_gathers_all_pages() -> None:
    opened = {"motion": NAME, "undecided": 3, "live": {"phase": "voting"}}
    closed = {"motion": NAME, "undecided": 1, "live": None}
    path = f"/v2/motions/{NAME}"
    Played.answers = {
        "POST /v2/motions": [(202, {"motion": NAME, "location": ""})] * 3,
        f"GET {path}": [(200, opened), (200, closed), (200, opened)],
        f"GET {path}?wait=30.000": [(200, opened), (200, closed)],
        f"GET {path}/inputs?from=0&most=5000": [
            (200, {"lists": {"decisions": ["a", None], "first": [{}, {}]}, "next": 2})
        ]
        * 3,
        f"GET {path}/inputs?from=2&most=5000": [
            (200, {"lists": {"decisions": ["b"], "first": [{}]}, "next": None})
        ]
        * 3,
    }
    with played() as client:
        answer = client.ask(np.array([[1, 2], [3, 4]], dtype=">i4"), labels=["a", "b"])
        assert answer.decisions == ["a", None, "b"]
        assert (answer.motion, answer.undecided) == (NAME, 1)
        assert answer.details == {
            "motion": NAME,
            "undecided": 1,
            "decisions": answer.decisions,
            "first": [{}] * 3,
        }
        client.ask(pd.DataFrame({"age": [40.0], "dose": [np.nan]}), seconds="90s")
        client.ask([[1, None]], columns=[{"name": "x", "unit": "mm"}, "y"], wait=False)
    sent = [(heard, body) for what, heard, body in Played.asked if what.startswith("POST")]
    assert {heard["Authorization"] for heard, _ in sent} == {"Bearer secret"}
    assert len({heard["Idempotency-Key"] for heard, _ in sent}) == 3
    assert [heard["Content-Type"] for heard, _ in sent] == [RAW, RAW, "application/json"]
    head, _, numbers = sent[0][1].partition(b"\n")
    assert json.loads(head) == {"dtype": "<i4", "width": 2, "columns": [], "labels": ["a", "b"]}
    assert np.frombuffer(numbers, "<i4").tolist() == [1, 2, 3, 4]
    head, _, numbers = sent[1][1].partition(b"\n")
    assert json.loads(head) == {"dtype": "<f8", "width": 2, "columns": ["age", "dose"], "seconds": "90s"}
    assert np.array_equal(np.frombuffer(numbers), [40.0, np.nan], equal_nan=True)
    assert json.loads(sent[2][1]) == {"inputs": [[1.0, None]], "columns": [{"name": "x", "unit": "mm"}, "y"]}


def test_progress_is_told_while_a_motion_is_under_way() -> None:
    path, seen = f"GET /v2/motions/{NAME}", []
    live = [{"live": {"round": number}, "motion": NAME} for number in range(3)]
    Played.answers = {path: [(200, live[0])], f"{path}?wait=0.500": [(200, live[1]), (200, {"live": None})]}
    with played() as client:
        assert client.motion(NAME, wait=True, progress=lambda told: seen.append(told["live"]["round"])) == {
            "live": None
        }
    assert seen == [0, 1]


def test_truths_as_labels_and_as_a_table() -> None:
    Played.answers = {f"PUT /v2/motions/{NAME}/truth": [(200, {"told": 1})] * 2}
    with played() as client:
        client.tell(NAME, {3: "benign"})
        client.tell(NAME, "input,label\n3,benign\n")
    (_, first, body), (_, second, table) = Played.asked
    assert json.loads(body) == {"truths": [{"input": 3, "label": "benign"}]}
    assert (first["Content-Type"], second["Content-Type"]) == ("application/json", "text/csv")
    assert table == b"input,label\n3,benign\n"


def test_events_and_their_ids() -> None:
    text = b'id: 5-1\nevent: moot\ndata: {"a": 1}\n\nevent: ping\ndata: {}\n\n'
    text += b'id: 5-2\nevent: over\ndata: {"b": "x: y"}\n\n'
    Played.answers = {"GET /v2/events": [(200, text)]}
    with played() as client:
        found = [(event.id, event.kind, event.data) for event in client.events(after="5-0")]
    assert found == [("5-1", "moot", {"a": 1}), ("", "ping", {}), ("5-2", "over", {"b": "x: y"})]


@pytest.mark.parametrize("deep", [False, True])
def test_a_folder_is_asked_through_its_socket_however_deep_it_is(tmp_path: Path, deep: bool) -> None:
    folder = tmp_path.joinpath(*["a" * 60] * 3) if deep else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "node.toml").touch()
    client = Client(folder)
    with pytest.raises(NodeAwayError, match=r"is not running: start it with folkmoot node run"):
        client.status()
    Played.answers = {"GET /v2/status": [(200, {"node": "north"})]}
    with short_path(folder) as path:
        server = UnixServer(path, Played)
    with serving(server):
        assert client.status() == {"node": "north"}
    assert Played.asked[0][1]["Authorization"] is None
    (folder / SOCKET).unlink()


def test_what_goes_wrong_is_one_line(tmp_path: Path) -> None:
    about_arguments = {
        "detail": "x",
        "message": "{seconds} must be less: got {seconds=}",
        "given": {"seconds": 9},
    }
    Played.answers = {
        "GET /v2/status": [
            (409, {"detail": "why not"}), (422, about_arguments), (500, b"<html>"), (302, b""), (200, b""),
            (200, b"7"),
        ],
    }  # fmt: skip
    with played() as client:
        with pytest.raises(NodeRefusal, match=r"^why not$") as refused:
            client.status()
        assert refused.value.status == 409
        with pytest.raises(ArgumentError) as wrong:
            client.status()
        assert wrong.value.named({"seconds": "--deadline"}) == "--deadline must be less: got --deadline 9"
        with pytest.raises(
            ValueError, match="the answer was 500 Internal Server Error: is that a node's page"
        ):
            client.status()
        with pytest.raises(ValueError, match="the answer was 302"):  # the token goes nowhere else
            client.status()
        for _ in range(2):
            with pytest.raises(ValueError, match=r"the answer of .* is no JSON object"):
                client.status()
    assert len(Played.asked) == 6
    with pytest.raises(NodeAwayError, match=r"no node answers at .*: was it started with .* --page"):
        client.status()
    for url in ("ftp://a", "http://", "http://a/b", "http://a?b", "http://u@a", "http://a:x"):
        with pytest.raises(ValueError, match=r"an address must be such as http://127\.0\.0\.1:7700: got"):
            Client(url, "secret")
    for token in ("a b", "a\r\nHost: x", "ä"):
        with pytest.raises(ValueError, match="token must be what the file 'token'"):
            Client("http://127.0.0.1:1", token)
    with pytest.raises(ValueError, match=r"there is no node in"):
        Client(tmp_path)
    (tmp_path / "node.toml").touch()
    with pytest.raises(ValueError, match="needs none"):
        Client(tmp_path, "secret")
    for rows in ([1.0, 2.0], 3, "abc", [["a"]]):
        with pytest.raises(ValueError, match="X must hold rows of numbers"):
            client.ask(rows)
    with pytest.raises(ValueError, match="X must not hold infinite numbers"):
        client.ask([[float("inf")]])
    with pytest.raises(ValueError, match="wait must be a time such as 30s"):
        client.motion(NAME, wait="soon")


def test_it_needs_nothing_but_python() -> None:
    names = "print(*{name.partition('.')[0] for name in sys.modules})"
    code = f"import sys; from folkmoot.node.client import Client; {names}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(result.stdout.split())
    assert not {"numpy", "msgspec", "starlette", "typer", "cryptography"} & loaded
