"""The server of a node: a real server, asked through ``Client`` over the folder's socket and over TCP."""

from __future__ import annotations

import asyncio
import json
import socket
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot.checks import ArgumentError
from folkmoot.node.client import SOCKET, Client, NodeRefusal
from folkmoot.node.web.server import MOST, Server
from support.node.served import LOOPBACK, Played, opened, told

ROWS = [[1.0, 2.0], [3.0, None], [5.0, 6.0]]


def token(folder: Path, name: str = "token") -> str:
    return (folder / name).read_text().strip()


def test_every_call_of_the_client_is_answered_in_the_folder(tmp_path: Path) -> None:
    played = Played()

    async def asked() -> None:
        async with opened(played, tmp_path):
            assert stat.S_IMODE((tmp_path / SOCKET).stat().st_mode) == 0o600
            await told(_ask_everything, Client(tmp_path), played)
        assert not (tmp_path / SOCKET).exists()

    asyncio.run(asked())


def _ask_everything(client: Client, played: Played) -> None:
    motion = client.put(
        ROWS, columns=["x", {"name": "y", "unit": "mm"}], seconds="90s", labels=["even", "odd"]
    )
    name = bytes.fromhex(motion)
    batch = played.batches[name]
    assert np.array_equal(batch.array, np.array(ROWS, dtype=float), equal_nan=True)
    assert [(column.name, column.unit) for column in batch.schema] == [("x", ""), ("y", "mm")]
    account = client.motion(motion)
    assert account["terms"]["seconds"] == 90.0
    assert account["live"]["phase"] == "making first votes"
    votes: list[list[str | None]] = [["even", "odd", None]] * 3 + [["odd", "odd", None]] * 2
    played.ends(name, votes)
    answer = client.answer(motion[:8], wait=True)
    assert answer.decisions == ["even", "odd", None]
    assert answer.details["first_votes"] == [{"even": 3, "odd": 2}, {"odd": 5}, {}]
    assert answer.undecided == 1
    assert [each["motion"] for each in client.motions(5)["motions"]] == [motion]
    why = client.why(motion, 0)
    assert [each["first"] for each in why["reason"]["voters"]] == ["even"] * 3 + ["odd"] * 2
    assert why["text"].startswith("input 0: even")
    assert client.rounds(motion)["played"] == 0
    assert motion in client.play("last")
    assert client.certificate(motion) == b"certificate"
    assert client.tell(motion, {0: "odd"})["told"] == 1
    assert client.tell(motion, "input,label\n1,even\n")["warning"] == "from the body"
    assert played.truths == {0: "odd", 1: "even"}
    assert client.records()["north"] == {"right": 1, "voted": 2, "accuracy": 0.5}
    assert client.check(np.array([[1, 2]], dtype=np.int16))["rows"] == [[1.0, 2.0]]
    assert client.status()["participants"] == 5
    assert client.access()["may"] == "ask"
    assert client.access()["page"] is None
    played.accuses(name, "member-01")
    assert client.evidence()[0]["participant"] == "member-01"
    assert client.evidence_file(motion, "member-01") == b"evidence"
    assert client.audit() == b'{"entry":1}\n'
    assert client.reload()["width"] == 2
    assert client.roster()["quorum"] == 4
    assert client.roster_file() == b"# roster\n"
    assert client.propose(remove=["member-01"])["left"] == ["member-01"]
    assert client.sign(b"# proposal\n")["file"] == "# proposal\n# signed\n"
    event = next(iter(client.events()))
    assert (event.kind, event.data["node"]) == ("moot", "north")


@pytest.mark.parametrize("kind", ["|b1", "<i2", "<f4", "<f8", ">f8"])
def test_numbers_in_memory_arrive_to_the_bit(tmp_path: Path, kind: str) -> None:
    played = Played()
    sent = np.array([[0, 1], [1, 0], [1, 1]]).astype(kind)

    async def asked() -> None:
        async with opened(played, tmp_path):
            motion = await told(Client(tmp_path).put, sent)
            kept = played.batches[bytes.fromhex(motion)].array
            assert kept.dtype == np.dtype(kind.replace(">", "<"))
            assert np.array_equal(kept, sent)

    asyncio.run(asked())


def test_what_is_wrong_is_one_line_with_the_names_of_arguments(tmp_path: Path) -> None:
    played = Played()

    def wrong(client: Client) -> None:
        with pytest.raises(ArgumentError) as error:
            client.put(ROWS, labels=["even", "odd"], rows=3)
        assert error.value.named({"rows": "--rows"}).startswith("--rows must be given with")
        with pytest.raises(NodeRefusal, match="the body must be JSON as") as refused:
            client.put(ROWS, seconds="soon")
        assert refused.value.status == 400
        with pytest.raises(NodeRefusal, match="row 1 must have 2 numbers") as refused:
            client.put([[1, 2], [3]])
        assert refused.value.status == 422
        with pytest.raises(NodeRefusal, match="no motion's name begins") as refused:
            client.motion("abcd")
        assert refused.value.status == 404
        played.refuses = "the policy is against it"
        with pytest.raises(NodeRefusal, match="the policy is against it") as refused:
            client.put(ROWS)
        assert refused.value.status == 409

    async def asked() -> None:
        async with opened(played, tmp_path):
            await told(wrong, Client(tmp_path))

    asyncio.run(asked())


async def talk(
    server: Server, *lines: str, body: bytes = b"", close: bool = True
) -> tuple[int, dict[str, str], bytes]:
    """One request as bytes; the status, the headers and the body of the answer."""
    assert server.url is not None
    port = int(server.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    said = [
        lines[0],
        *([] if any(line.startswith("Host") for line in lines) else [f"Host: 127.0.0.1:{port}"]),
    ]
    said += [*lines[1:], *(["Connection: close"] if close else [])]
    writer.write("\r\n".join(said).encode() + b"\r\n\r\n" + body)
    head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)).decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    found = await asyncio.wait_for(reader.read(), 20)
    writer.close()
    return int(head[0].split()[1]), headers, found


def test_on_tcp_a_token_is_needed_but_for_health_the_page_and_the_description(tmp_path: Path) -> None:
    played = Played()

    async def asked() -> None:
        async with opened(played, tmp_path, page=LOOPBACK) as server:
            may_ask = f"Authorization: Bearer {token(tmp_path)}"
            may_read = f"Authorization: Bearer {token(tmp_path, 'token.read')}"
            assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600
            assert server.address == f"{server.url}/#token={token(tmp_path)}"
            assert (await told(Client(tmp_path).access))["page"] == server.address
            assert (await told(Client(str(server.url), token(tmp_path)).access))["page"] == server.url

            async def status(*lines: str, body: bytes = b"") -> int:
                return (await talk(server, *lines, body=body))[0]

            for path in ("/healthz", "/readyz", "/openapi.json", "/", "/page.js"):
                assert await status(f"GET {path} HTTP/1.1") == 200
            assert await status("GET /v2/status HTTP/1.1") == 401
            assert await status("GET /metrics HTTP/1.1") == 401
            assert await status("GET /v2/status HTTP/1.1", f"{may_ask[:-1]}x") == 401
            assert await status("GET /v2/status HTTP/1.1", may_read) == 200
            assert await status("GET /v2/audit HTTP/1.1", may_read) == 403
            assert await status("GET /v2/audit HTTP/1.1", may_ask) == 200
            assert await status("POST /v2/reload HTTP/1.1", may_read) == 403
            assert await status("POST /v2/reload HTTP/1.1", may_ask) == 200
            assert await status("GET /v2/status HTTP/1.1", may_ask, "Host: evil.example") == 421
            assert await status("GET /v2/status HTTP/1.1", may_ask, "Origin: http://evil.example") == 403
            assert await status("GET /v3/status HTTP/1.1", may_ask) == 404
            code, headers, body = await talk(server, "PUT /v2/status HTTP/1.1", may_ask)
            assert (code, headers["allow"]) == (405, "GET, HEAD") or headers["allow"] == "HEAD, GET"
            assert headers["content-type"] == "application/problem+json"
            _, both, _ = await talk(server, "PUT /v2/motions HTTP/1.1", may_ask)
            assert set(both["allow"].split(", ")) == {"GET", "HEAD", "POST"}
            assert "/openapi.json lists what is" in json.loads(body)["detail"]
            assert headers["cache-control"] == "no-store"
            played.away = {"member-01", "member-02"}
            code, _, body = await talk(server, "GET /readyz HTTP/1.1")
            assert (code, json.loads(body)["why"]) == (503, "3 of the 4 members of a quorum are connected")

    asyncio.run(asked())


def test_strangers_leave_the_operator_all_answers(tmp_path: Path) -> None:
    """Of 200 sockets without a token some are closed; whoever has the token is answered each time."""
    count = 200
    assert count > MOST

    async def asked() -> None:
        async with opened(Played(), tmp_path, page=LOOPBACK) as server:
            assert server.url is not None
            port = int(server.url.rpartition(":")[2])
            mine = f"Authorization: Bearer {token(tmp_path)}"
            strangers = []
            for number in range(count):
                stranger = socket.create_connection(("127.0.0.1", port), timeout=10)
                strangers.append(stranger)
                if number % 2:
                    stranger.send(b"GET / HTTP/1.1\r\nHost:")  # half of a request
                if number % 10 == 0:
                    code, _, _ = await talk(server, "GET /v2/status HTTP/1.1", mine)
                    assert code == 200
            for _ in range(20):
                assert (await talk(server, "GET /v2/motions HTTP/1.1", mine))[0] == 200
            for stranger in strangers:
                stranger.close()

    asyncio.run(asked())


def test_a_connection_with_a_token_stays_while_strangers_come(tmp_path: Path) -> None:
    async def asked() -> None:
        async with opened(Played(), tmp_path, page=LOOPBACK) as server:
            assert server.url is not None
            port = int(server.url.rpartition(":")[2])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            lines = f"Host: 127.0.0.1:{port}", f"Authorization: Bearer {token(tmp_path)}"
            request = "\r\n".join(["GET /healthz HTTP/1.1", *lines, "", ""])
            writer.write(request.encode())
            assert b'"ok"' in await asyncio.wait_for(reader.readuntil(b"}"), 10)
            strangers = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MOST + 20)]
            writer.write(request.encode())
            assert b'"ok"' in await asyncio.wait_for(reader.readuntil(b"}"), 10)
            for _, other in [*strangers, (reader, writer)]:
                other.close()

    asyncio.run(asked())


def test_bodies_are_bounded_and_keys_put_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("folkmoot.node.web.requests.MOST_BODY", 1000)
    monkeypatch.setattr("folkmoot.node.web.requests.MOST_RAW", 1000)
    monkeypatch.setattr("folkmoot.node.web.requests.SILENCE", 0.2)
    played = Played()

    async def asked() -> None:
        async with opened(played, tmp_path, page=LOOPBACK) as server:
            mine = f"Authorization: Bearer {token(tmp_path)}"

            async def put(kind: str, body: bytes, *lines: str, length: int | None = None) -> tuple[int, Any]:
                size = len(body) if length is None else length
                code, _, said = await talk(
                    server, f"POST /v2/motions{query} HTTP/1.1", mine, f"Content-Type: {kind}",
                    f"Content-Length: {size}", *lines, body=body,
                )  # fmt: skip
                return code, json.loads(said)

            query = "?labels=even,odd&seconds=2m&coin=true&weights=1,2,3,4,5&rule=weighted"
            code, said = await put("text/csv", b"x,y\n1,2\n3,\n", "Idempotency-Key: monday")
            assert code == 202
            terms = played.accounts[bytes.fromhex(said["motion"])].terms
            assert (terms.seconds, terms.coin, terms.weights) == (120.0, True, (1, 2, 3, 4, 5))
            assert (await put("text/csv", b"x,y\n1,2\n3,\n", "Idempotency-Key: monday"))[1] == said
            assert (await put("text/csv", b"x,y\n1,2\n4,\n", "Idempotency-Key: monday"))[0] == 422
            assert len(played.accounts) == 1
            assert (await put("text/csv", b"x,y\n1,2\n", "Content-Encoding: gzip"))[0] == 415
            assert (await put("text/plain", b"x,y\n1,2\n"))[0] == 415
            assert (await put("application/json", b"{}"))[0] == 422  # terms stand in the address
            query = ""
            raw = "application/x-folkmoot-inputs"
            assert (await put("application/json", b"{" * 500))[0] == 400
            assert (await put("application/json", b" " * 1001))[0] == 413
            assert (await put("application/json", b" ", length=10))[0] == 408
            assert (await put(raw, b'{"dtype":"<f8","width":1}\n' + bytes(992)))[0] == 413
            assert (await put(raw, b'{"dtype":"<f8","width":3}\n' + bytes(32)))[0] == 422
            assert (await put(raw, b'{"dtype":"|b1","width":1}\n\x02'))[0] == 422
            assert (await put(raw, b'{"dtype":"<f8"'))[0] == 400
            assert (await put(raw, b'{"dtype":"|O8","width":1}\n' + bytes(8)))[0] == 400
            assert (await put(raw, b'{"dtype":"<f8","width":1}\n'))[0] == 422
            assert len(played.accounts) == 1
            assert {path.name for path in tmp_path.iterdir()} == {"node.toml", "token", "token.read", SOCKET}

    asyncio.run(asked())


def test_one_node_per_folder_and_a_socket_left_behind_is_replaced(tmp_path: Path) -> None:
    async def asked() -> None:
        left = socket.socket(socket.AF_UNIX)
        left.bind(str(tmp_path / SOCKET))
        left.close()
        async with opened(Played(), tmp_path):
            with pytest.raises(ValueError, match=r"a node runs in .* already: stop it first"):
                async with opened(Played(), tmp_path):
                    pass
            assert (await told(Client(tmp_path).status))["node"] == "north"

    asyncio.run(asked())


def test_a_token_that_others_can_read_opens_no_page(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a" * 48)
    (tmp_path / "token").chmod(0o644)
    with pytest.raises(ValueError, match="must be readable by its owner only: type chmod 600"):
        asyncio.run(_once(tmp_path))
    assert not (tmp_path / SOCKET).exists()


async def _once(folder: Path) -> None:
    async with opened(Played(), folder, page=LOOPBACK):
        pass
