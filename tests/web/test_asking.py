"""Motions over HTTP: JSON and CSV put the same one, a key puts it once, mistakes get the prompt's line."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from folkmoot.network.storage.storage import DATABASE, Storage
from support.command import run, run_json
from support.network.paged import Paged

JSON, CSV = "application/json", "text/csv"
TERMS = {"rounds": 30, "k": 4, "alpha": 3, "seconds": 9.0, "pace": 0.01, "labels": ["even", "odd"]}


def headers_of(paged: Paged, *names: str) -> list[Any]:
    """The motions as they were signed, but for what differs from motion to motion."""
    storage = Storage(paged.folder / DATABASE)
    motions = [storage.motion(bytes.fromhex(name)).motion for name in names]
    storage.close()
    return [msgspec.structs.replace(each, nonce=bytes(16), created=0.0) for each in motions]


def test_json_csv_and_the_prompt_put_the_same_motion(paged: Paged, tmp_path: Path) -> None:
    rows = [[1.0], [2.5], [float("nan")], [-3e-7]]
    table = b"size\n1\n2.5\nnan\n-3e-7\n"
    (tmp_path / "inputs.csv").write_bytes(table)
    plain = [[None if x != x else x for x in row] for row in rows]
    terms = TERMS | {"trust": True}
    one = paged.send("POST", "/v1/motions", {"rows": plain, "columns": ["size"], **terms})
    query = "&".join(f"{key}={','.join(v) if isinstance(v, list) else v}" for key, v in terms.items())
    two = paged.send("POST", f"/v1/motions?{query}", table, Content_Type="text/csv; charset=utf-8")
    assert (one.status, two.status) == (202, 202), one.body + two.body
    options = ["--rounds", 30, "--k", 4, "--alpha", 3, "--deadline", "9s", "--pace", "10ms"]
    options += ["--labels", "even,odd", "--trust"]
    at_the_door = run_json("ask", tmp_path / "inputs.csv", "--via", paged.folder, *options)
    token = ["--token", paged.folder / "token"]
    over_http = run_json("ask", tmp_path / "inputs.csv", "--url", paged.url, *token, *options)
    assert set(at_the_door) == set(over_http)
    names = [one.json["motion"], two.json["motion"], at_the_door["motion"], over_http["motion"]]
    first, *others = headers_of(paged, *names)
    assert all(other == first for other in others)
    assert [column.name for column in first.schema] == ["size"]
    assert first.trust
    assert len(set(names)) == 4


def test_a_long_poll_ends_with_the_motion_and_not_before(paged: Paged) -> None:
    put = paged.ask([[float(i)] for i in range(6)], rounds=60, pace=0.05)
    began = time.monotonic()
    early = paged.get(f"/v1/motions/{put}?wait=1")
    assert time.monotonic() - began > 0.9
    while early["live"] and early["live"]["phase"] != "talking":  # a busy machine gathers votes for longer
        early = paged.get(f"/v1/motions/{put}?wait=1")
    assert (early["state"], early["live"]["phase"]) == ("open", "talking")
    live = early["live"]
    assert 0 < live["round"] < 60
    assert live["rounds"] == 60
    assert 0 < live["heard"] <= len(live["asked"]) <= 5
    assert sum(live["shares"].values()) == pytest.approx(1.0, abs=1e-5)
    assert 0 < live["remaining"] < 12
    late = paged.over(put)
    assert late["live"] is None
    assert late["decided"] == 6
    began = time.monotonic()
    assert paged.over(put) == late
    assert time.monotonic() - began < 5.0


def test_the_same_key_puts_nothing_twice(paged: Paged) -> None:
    def count() -> int:
        found: int = paged.get("/v1/motions?last=1")["count"]
        return found

    body = {"rows": [[1.0], [2.0]], "seconds": 6.0, "rounds": 10}
    before = count()
    replies: list[Any] = []

    def put() -> None:
        replies.append(paged.send("POST", "/v1/motions", body, Idempotency_Key="one"))

    threads = [threading.Thread(target=put) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30.0)
    assert {reply.status for reply in replies} == {202}
    assert len({reply.json["motion"] for reply in replies}) == 1
    assert count() == before + 1
    other = paged.send("POST", "/v1/motions", body | {"rounds": 11}, Idempotency_Key="one")
    assert other.status == 422
    assert "give each motion its own" in other.json["detail"]
    long = paged.send("POST", "/v1/motions", body, Idempotency_Key="x" * 201)
    assert long.status == 400
    assert count() == before + 1
    wrong = paged.send("POST", "/v1/motions", body | {"k": 99}, Idempotency_Key="two")
    again = paged.send("POST", "/v1/motions", body | {"k": 99}, Idempotency_Key="two")
    assert wrong.status == again.status == 400  # nothing was put, and it is tried again
    paged.over(replies[0].json["motion"])


@pytest.mark.parametrize(
    ("options", "terms"),
    [
        (["--k", 9], {"k": 9}),
        (["--k", 4, "--alpha", 2], {"k": 4, "alpha": 2}),
        (["--rounds", 0], {"rounds": 0}),
        (["--deadline", "900h"], {"seconds": 900 * 3600.0}),
        (["--protocol", "slosh"], {"protocol": "slosh"}),
        (["--labels", "even"], {"labels": ["even"]}),
        (["--labels", "even,even"], {"labels": ["even", "even"]}),
        (["--least-voters", 40], {"least_voters": 40}),
        (["--alpha", "local", "--weights", "mine"], None),
        (["--rounds", 600], {"rounds": 600}),
    ],
)
def test_a_mistake_gets_the_line_of_the_prompt(
    paged: Paged, tmp_path: Path, options: list[object], terms: dict[str, Any] | None
) -> None:
    (tmp_path / "inputs.csv").write_text("1\n2\n")
    token = ["--token", paged.folder / "token"]
    at_the_door = run("ask", tmp_path / "inputs.csv", "--via", paged.folder, *options)
    over_http = run("ask", tmp_path / "inputs.csv", "--url", paged.url, *token, *options)
    assert at_the_door.returncode == over_http.returncode == 2
    assert at_the_door.stderr == over_http.stderr
    if terms is not None:
        reply = paged.send("POST", "/v1/motions", {"rows": [[1.0], [2.0]], **terms})
        assert reply.status in (400, 409)
        assert reply.headers["Content-Type"] == "application/problem+json"
        assert reply.json["status"] == reply.status
        # The prompt names its options in what it refuses itself; otherwise it is the same line.
        said = at_the_door.stderr.removeprefix("folkmoot: ").rstrip("\n")
        assert _with_options(reply.json["detail"]) == _with_options(said)


def _with_options(line: str) -> str:
    for name in ("k", "alpha", "rounds", "least_voters", "protocol", "labels"):
        line = line.replace(f"{name}=", f"--{name.replace('_', '-')} ")
        if line.startswith(f"{name} "):
            line = f"--{name.replace('_', '-')} {line.removeprefix(name).lstrip()}"
    return line.replace("seconds must", "--deadline must").replace("seconds=", "--deadline ")


@pytest.mark.parametrize(
    ("body", "kind", "status", "said"),
    [
        (b"{", JSON, 400, "the body must be JSON with rows of numbers"),
        (b'{"rows": []}', JSON, 400, "the body must hold at least one input"),
        (b'{"rows": [[]]}', JSON, 400, "the body must hold at least one input"),
        (b'{"rows": [[1], [1, 2]]}', JSON, 400, "row 1 must have 1 numbers, as row 0 has: got 2"),
        (b'{"rows": [["a"]]}', JSON, 400, "Expected `float | null`, got `str`"),
        (b'{"rows": [[1]], "round": 3}', JSON, 400, "unknown field `round`"),
        (b'{"rows": [[1]], "columns": ["a", "b"]}', JSON, 400, "got 2 names for 1 columns"),
        (b'{"rows": [[1]], "columns": [{"name": "a", "low": 5}]}', JSON, 400, "must be 5.0 to inf"),
        (b'{"rows": ' + b"[" * 100_000, JSON, 400, "the body must be JSON"),
        (b"\xff\xfe1", JSON, 400, "the body must be JSON"),
        (b"a\n1\nx\n", CSV, 400, "the body, line 3: expected a number, got 'x'"),
        (b"a,b\n1\n", CSV, 400, "the body, line 2: expected 2 cells, got 1"),
        (b"", CSV, 400, "the body is empty"),
        (b"\x1f\x8b\x08\x00", CSV, 400, "as plain text in UTF-8, such as CSV: it is compressed"),
        (b"1\n", "text/html", 415, "Content-Type must be application/json or text/csv: got 'text/html'"),
    ],
)  # fmt: skip
def test_bad_bodies_get_one_line(paged: Paged, body: bytes, kind: str, status: int, said: str) -> None:
    reply = paged.send("POST", "/v1/motions", body, Content_Type=kind)
    assert reply.status == status, reply.body
    assert said in reply.json["detail"]
    assert "\n" not in reply.json["detail"]


def test_bad_terms_in_the_address_get_one_line(paged: Paged) -> None:
    for query, said in {
        "round=3": "the address may say protocol, k, alpha",
        "rounds=x": "the address must say terms",
        "trust=perhaps": "the address must say terms",
        "labels=a": "must name 2 to",
    }.items():
        reply = paged.send("POST", f"/v1/motions?{query}", b"1\n", Content_Type="text/csv")
        assert reply.status == 400
        assert said in reply.json["detail"]
    reply = paged.send("POST", "/v1/motions?rounds=3", {"rows": [[1.0]]})
    assert (reply.status, "in the body" in reply.json["detail"]) == (400, True)


def test_truths_over_http_are_truths_at_the_prompt(paged: Paged, tmp_path: Path) -> None:
    put = paged.ask([[float(i)] for i in range(4)], rounds=10, seconds=6.0)
    paged.over(put)
    path = f"/v1/motions/{put}/truth"
    file = tmp_path / "truth.csv"
    for text, said in {
        b"input,label\n9,odd\n": "line 2: input must be 0 to 3: got '9'",
        b"input,label\n1,blue\n": "line 2: label must be one of even, odd: got 'blue'",
        b"x,y\n1,2\n": "must have the columns input,label or label",
        b"input,label\n0,even\n0,even\n": "line 3: input 0 has a truth already",
    }.items():
        file.write_bytes(text)
        reply, shown = (
            paged.send("PUT", path, text, Content_Type="text/csv"),
            run("truth", put, file, "--via", paged.folder),
        )
        assert reply.status == 400
        assert said in reply.json["detail"]
        line = shown.stderr.removeprefix("folkmoot: ").rstrip("\n")
        assert line == reply.json["detail"].replace("the body", str(file))
    mistakes: list[dict[str, Any]] = [
        {"truths": []},
        {"truths": [{"input": 4, "label": "odd"}]},
        {"truths": [{"input": 0, "label": "x"}]},
    ]
    for wrong in mistakes:
        assert paged.send("PUT", path, wrong).status == 400
    told = paged.send(
        "PUT", path, {"truths": [{"input": 1, "label": "odd"}, {"input": 2, "label": "even"}]}
    ).json
    file.write_text("input,label\n1,odd\n2,even\n")
    assert told["told"] == 2
    assert told["records"] == run_json("truth", put, file, "--via", paged.folder)["records"]
    assert told["warning"] == ""
    whole = b"label\neven\nodd\neven\nodd\n"
    assert "agreement is not truth" in paged.send("PUT", path, whole, Content_Type="text/csv").json["warning"]
