"""Who may come in: tokens, names, rates, sizes, connections; who vanishes leaves nothing behind."""

from __future__ import annotations

import http.client
import socket
import stat
import time
from contextlib import suppress
from pathlib import Path

from folkmoot.runs.processes import Nodes
from support.network.paged import Paged
from support.network.real_moot import until

GUESS = "0" * 48
SAFE = {
    "Content-Security-Policy": "default-src 'none'; connect-src 'self'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def test_without_a_token_nothing_is_told_and_the_second_one_may_only_read(paged: Paged) -> None:
    for name in ("token", "token.read", "page.json"):
        assert stat.S_IMODE((paged.folder / name).stat().st_mode) == 0o600
    assert paged.token != paged.read_token
    body = {"rows": [[1.0]], "rounds": 5, "seconds": 3.0}
    for wrong in ("", "x", paged.token[:-1], paged.token + "0", paged.token.upper(), paged.read_token[::-1]):
        for method, path in (
            ("GET", "/v1/moot"),
            ("GET", "/v1/events"),
            ("POST", "/v1/motions"),
            ("GET", "/nowhere"),
        ):
            reply = paged.send(method, path, body if method == "POST" else None, token=wrong)
            assert reply.status == 401
            assert reply.headers["WWW-Authenticate"] == "Bearer"
            assert reply.json["detail"].startswith("the token is wrong: send Authorization: Bearer TOKEN")
    basic = paged.send("GET", "/v1/moot", Authorization=f"Basic {paged.token}")
    assert basic.status == 401
    assert paged.send("GET", "/v1/moot", token=paged.read_token).status == 200
    for method, path in (("POST", "/v1/motions"), ("PUT", "/v1/motions/last/truth")):
        reply = paged.send(method, path, body, token=paged.read_token)
        assert reply.status == 403
        assert reply.json["detail"] == "this token may only read: use that of the file 'token'"


def test_only_the_page_s_own_names_are_answered(paged: Paged) -> None:
    port = paged.port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}", f"LOCALHOST:{port}"):
        assert paged.send("GET", "/v1/moot", Host=host).status == 200
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1",
        f"127.0.0.1:{port + 1}",
        f"127.0.0.1.evil.example:{port}",
        "",
    ):
        reply = paged.send("GET", "/v1/moot", Host=host)
        assert reply.status == 421
        assert "is not called" in reply.json["detail"]
    for origin in (f"http://127.0.0.1:{port}", f"http://localhost:{port}"):
        assert paged.send("GET", "/v1/moot", Origin=origin).status == 200
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{port}", "http://127.0.0.1", ""):
        reply = paged.send("GET", "/v1/moot", Origin=origin)
        assert reply.status == 403
        assert "are not answered: only the page's own are" in reply.json["detail"]


def test_every_answer_has_the_safe_headers(paged: Paged) -> None:
    replies = [
        paged.send("GET", "/v1/moot"),
        paged.send("GET", "/openapi.json", token=""),
        paged.send("GET", "/v1/moot", token=GUESS),
        paged.send("GET", "/nowhere"),
        paged.send("DELETE", "/v1/moot"),
        paged.send("GET", "/v1/moot", Host="evil.example"),
        paged.send("POST", "/v1/motions", b"x", Content_Type="text/plain"),
    ]
    assert [reply.status for reply in replies] == [200, 200, 401, 404, 405, 421, 415]
    stream = paged.stream()
    for headers in [*(reply.headers for reply in replies), stream.headers]:
        assert {name: headers[name] for name in SAFE} == SAFE
        assert headers["Server"] is None
        assert headers["Access-Control-Allow-Origin"] is None
    stream.close()


def test_a_body_that_is_too_long_is_not_taken(paged: Paged) -> None:
    for extra in ("Content-Length: 16777217\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", paged.port), timeout=20.0) as connection:
            head = f"POST /v1/motions HTTP/1.1\r\nHost: 127.0.0.1:{paged.port}\r\n"
            head += f"Authorization: Bearer {paged.token}\r\nContent-Type: text/csv\r\n{extra}"
            connection.sendall(head.encode())
            if "chunked" in extra:
                part = b"100000\r\n" + b"1\n" * (1 << 19) + b"\r\n"
                with suppress(ConnectionError):  # it has heard enough
                    for _ in range(18):
                        connection.sendall(part)
            response = http.client.HTTPResponse(connection)
            response.begin()
            assert response.status == 413
            assert b"a body must have at most 16,777,216 bytes" in response.read()
    assert paged.send("GET", "/v1/moot").status == 200


def test_wrong_tokens_are_slowed_down_and_right_ones_are_not(paged: Paged) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", paged.port, timeout=20.0)
    statuses = []
    for _ in range(120):
        connection.request("GET", "/v1/moot", headers={"Authorization": f"Bearer {GUESS}"})
        response = connection.getresponse()
        response.read()
        statuses.append(response.status)
    connection.close()
    assert set(statuses) == {401, 429}
    assert response.headers["Retry-After"] == "1"
    assert paged.send("GET", "/v1/moot").status == 200
    assert paged.send("GET", "/v1/moot", token=paged.read_token).status == 200
    until(lambda: paged.send("GET", "/v1/moot", token=GUESS).status == 401, "it may try again")


def handles(nodes: Nodes) -> int:
    process = nodes.processes[0]
    assert process is not None
    return len(list(Path(f"/proc/{process.pid}/fd").iterdir()))


def at_rest(nodes: Nodes) -> int:
    """How many files and sockets a node has when those of earlier requests are closed."""
    found = [-1, handles(nodes)]

    def same() -> bool:
        time.sleep(0.2)
        found.append(handles(nodes))
        return found[-1] == found[-2]

    until(same, "its handles do not change")
    return found[-1]


def test_clients_that_vanish_leave_nothing_behind(paged: Paged, nodes: Nodes) -> None:
    put = paged.ask([[1.0], [2.0]], rounds=100, pace=0.1, seconds=25.0)
    before = at_rest(nodes)
    polls = []  # the motion must not be over before the last of them is there
    for _ in range(10):
        poll = socket.create_connection(("127.0.0.1", paged.port), timeout=20.0)
        head = f"GET /v1/motions/{put}?wait=60 HTTP/1.1\r\nHost: 127.0.0.1:{paged.port}\r\n"
        poll.sendall(f"{head}Authorization: Bearer {paged.token}\r\n\r\n".encode())
        polls.append(poll)
    until(lambda: handles(nodes) >= before + 10, "they are all there")
    for poll in polls:
        poll.close()
    until(lambda: handles(nodes) <= before, "all of them are gone")
    streams = [paged.stream() for _ in range(64)]  # as many as there may be: none of the old ones counts
    assert all(stream.next() for stream in streams)
    reply = paged.send("GET", "/v1/events")
    assert (reply.status, reply.headers["Retry-After"]) == (503, "5")
    for stream in streams:
        stream.close()
    until(lambda: handles(nodes) <= before, "all of them are gone")
    paged.over(put)


def test_connections_are_bounded(paged: Paged, nodes: Nodes) -> None:
    """Those beyond 128 are closed at once; each takes a file of the node, which peers need, too."""
    before = at_rest(nodes)
    idle = [socket.create_connection(("127.0.0.1", paged.port), timeout=20.0) for _ in range(140)]
    for connection in idle[128:]:
        assert connection.recv(4096) == b""
    assert handles(nodes) <= before + 134  # 128, and peers that may come back meanwhile
    for connection in idle:
        connection.close()
    until(lambda: handles(nodes) <= before, "all of them are gone")
    assert paged.send("GET", "/v1/moot").status == 200
