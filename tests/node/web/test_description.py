"""``/openapi.json``: a valid description, and every answer is as it says."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from openapi_spec_validator import validate

from folkmoot.node.log import Journal
from folkmoot.node.session.terms import Terms
from folkmoot.node.web.api import CALLS, Api
from folkmoot.node.web.calls import described
from folkmoot.node.web.feed import Feed
from folkmoot.node.web.files import PATHS
from folkmoot.node.web.requests import Reader
from folkmoot.node.wire.batch import Batch
from support.node.in_thread import running
from support.node.served import Played

API = json.loads(msgspec.json.encode(described(CALLS.values())))
JSON, CSV, RAW, TOML = "application/json", "text/csv", "application/x-folkmoot-inputs", "application/toml"
HEAD = b'{"dtype":"<i2","width":1,"labels":["even","odd"]}\n'
ROWS = b'{"inputs":[[1,2],[3,null]],"labels":["even","odd"],"seconds":"90s"}'
CHAT = b'{"messages":[{"role":"user","content":"even?"}],"folkmoot":{"seconds":"1s"}}'
TRUTH = b'{"truths":[{"input":0,"label":"odd"}]}'

# A request: method, path, kind and body, and the status that is expected. {motion} is one that is over.
CASES: list[tuple[str, str, str, bytes, int]] = [
    ("GET", "/healthz", "", b"", 200),
    ("GET", "/readyz", "", b"", 200),
    ("GET", "/openapi.json", "", b"", 200),
    ("GET", "/metrics", "", b"", 404),  # this one counts nothing
    ("GET", "/v2/access", "", b"", 200),
    ("GET", "/v2/status", "", b"", 200),
    ("POST", "/v2/reload", "", b"", 200),
    ("GET", "/v2/records", "", b"", 200),
    ("GET", "/v2/evidence", "", b"", 200),
    ("GET", "/v2/evidence/{motion}/member-01", "", b"", 200),
    ("GET", "/v2/evidence/{motion}/nobody", "", b"", 404),
    ("GET", "/v2/audit", "", b"", 200),
    ("GET", "/v2/motions?last=1000", "", b"", 200),
    ("GET", "/v2/motions?last=1001", "", b"", 400),
    ("GET", "/v2/motions?last=0", "", b"", 400),
    ("POST", "/v2/motions", JSON, ROWS, 202),
    ("POST", "/v2/motions", RAW, HEAD + bytes(8), 202),
    ("POST", "/v2/motions?labels=even,odd&seconds=1.5", CSV, b"x,y\n1,2\n", 202),
    ("POST", "/v2/motions?labels=even,odd&second=1.5", CSV, b"x,y\n1,2\n", 400),
    ("POST", "/v2/motions?k=ten", CSV, b"x,y\n1,2\n", 400),
    ("POST", "/v2/motions", JSON, b'{"inputs":[]}', 400),
    ("POST", "/v2/motions", JSON, b'{"inputs":[[1]],"second":3}', 400),
    ("POST", "/v2/motions", JSON, b'{"inputs":[[1]],"seconds":0}', 400),
    ("POST", "/v2/motions", JSON, b'{"inputs":[[1],[1,2]]}', 422),
    ("POST", "/v2/motions", JSON, b'{"inputs":[[1]],"rows":3}', 422),
    ("POST", "/v2/motions", JSON, b"[" * 10_000, 400),
    ("POST", "/v2/motions", "text/plain", b"1,2\n", 415),
    ("POST", "/v2/check", JSON, ROWS, 200),
    ("GET", "/v2/motions/{motion}", "", b"", 200),
    ("GET", "/v2/motions/last?wait=0.001", "", b"", 200),
    ("GET", "/v2/motions/last?wait=61", "", b"", 400),
    ("GET", "/v2/motions/last?wait=nan", "", b"", 400),
    ("GET", "/v2/motions/ffffffff", "", b"", 404),
    ("GET", "/v2/motions/{motion}/inputs?from=0&most=10000&only=contested", "", b"", 200),
    ("GET", "/v2/motions/{motion}/inputs?most=10001", "", b"", 400),
    ("GET", "/v2/motions/{motion}/inputs?only=some", "", b"", 400),
    ("GET", "/v2/motions/{motion}/rounds", "", b"", 200),
    ("GET", "/v2/motions/{motion}/why?input=1", "", b"", 200),
    ("GET", "/v2/motions/{motion}/why", "", b"", 400),
    ("GET", "/v2/motions/{motion}/play", "", b"", 200),
    ("GET", "/v2/motions/{motion}/answers", "", b"", 200),
    ("GET", "/v2/motions/{motion}/certificate", "", b"", 200),
    ("PUT", "/v2/motions/{motion}/truth", JSON, TRUTH, 200),
    ("PUT", "/v2/motions/{motion}/truth", JSON, TRUTH.replace(b"0", b"0.0"), 200),
    ("PUT", "/v2/motions/{motion}/truth", CSV, b"input,label\n0,odd\n", 200),
    ("PUT", "/v2/motions/{motion}/truth", JSON, b'{"truths":[]}', 400),
    ("PUT", "/v2/motions/{motion}/truth", JSON, b'{"truths":[{"input":-1,"label":"a"}]}', 400),
    ("GET", "/v1/models", "", b"", 200),
    ("POST", "/v1/chat/completions", JSON, CHAT, 200),
    ("POST", "/v1/chat/completions", JSON, b'{"messages":[]}', 400),
    ("GET", "/v2/roster", "", b"", 200),
    ("GET", "/v2/roster/file?epoch=0", "", b"", 200),
    ("GET", "/v2/roster/file?epoch=7", "", b"", 404),
    ("POST", "/v2/roster/proposals", JSON, b'{"remove":["member-01"]}', 200),
    ("POST", "/v2/roster/proposals", JSON, b"{}", 422),
    ("POST", "/v2/roster/signatures", TOML, b"# proposal\n", 200),
    ("POST", "/v2/roster/signatures", JSON, b'{"proposal":"12345"}', 404),
    ("POST", "/v2/roster/signatures", JSON, b'{"proposal":"xyz"}', 400),
]


def test_the_description_is_valid() -> None:
    validate(API)


def test_every_call_is_described_and_asked_here() -> None:
    async def routed() -> set[tuple[str, str]]:
        routes: list[Any] = list(_api(Played(), Path()).router().routes)
        page = set(PATHS)
        return {
            (way, each.path)
            for each in routes
            for way in each.methods
            if way != "HEAD" and each.path not in page
        }

    described_ones = {(method.upper(), path) for path, calls in API["paths"].items() for method in calls}
    assert asyncio.run(routed()) == described_ones
    asked = {(method, path) for method, path, _ in (_described(method, path) for method, path, *_ in CASES)}
    assert described_ones - asked == {("GET", "/v2/events")}  # a stream: test_events.py


def test_every_answer_is_as_described(tmp_path: Path) -> None:
    played = Played()
    name = played.begins(Batch([[1.0], [2.0]]), Terms(labels=("even", "odd")))
    played.ends(name)
    played.accuses(name, "member-01")
    with running(played, tmp_path) as node:
        url, _, token = node.address.partition("/#token=")
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
        for case in CASES:
            _check(connection, {"Authorization": f"Bearer {token}"}, name.hex(), *case)
        connection.close()


def _check(
    connection: http.client.HTTPConnection,
    headers: dict[str, str],
    motion: str,
    method: str,
    path: str,
    kind: str,
    body: bytes,
    status: int,
) -> None:
    said = f"{method} {path}"
    headers = headers | ({"Content-Type": kind} if kind else {})
    connection.request(method, path.format(motion=motion), body, headers)
    answer = connection.getresponse()
    data = answer.read()
    assert answer.status == status, f"{said}: {data!r}"
    told = _described(method, path)[2]["responses"]
    expected, media = told.get(str(status), told["default"]), answer.headers["content-type"]
    assert media in expected["content"], f"{said}: {media}"
    schema = expected["content"][media]["schema"]
    if media in ("application/json", "application/problem+json"):
        found = json.loads(data)
        jsonschema.Draft202012Validator({**schema, "components": API["components"]}).validate(found)
        assert "\n" not in found.get("detail", "")


def _described(method: str, path: str) -> tuple[str, str, dict[str, Any]]:
    """The call of the description that a request is."""
    plain = path.partition("?")[0]
    for template, calls in API["paths"].items():
        if (
            re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template)), plain)
            and method.lower() in calls
        ):
            return method, template, calls[method.lower()]
    raise AssertionError(f"{method} {path} is not described")


def _api(played: Played, folder: Path) -> Api:
    node: Any = played
    return Api(node, Reader(folder), Feed(node, Journal("error")), None)


@pytest.mark.slow
def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    """What a fuzzer makes of the description, on a real socket.

    It is in no extra: it brings some forty packages that nothing else needs.
    """
    pytest.importorskip("schemathesis", reason="pip install schemathesis")
    played = Played()
    (tmp_path / "run.toml").write_text(
        "request-timeout = 70\n"
        "[checks.positive_data_acceptance]\n"  # 422: it fits the description, and cannot be done as it is
        'expected-statuses = ["2xx", "401", "403", "404", "409", "422", "503"]\n'
        '[[operations]]\ninclude-path = "/v2/motions/{motion}"\nparameters = { "query.wait" = 0.1 }\n'
    )
    with running(played, tmp_path) as node:
        url, _, token = node.address.partition("/#token=")
        result = subprocess.run(
            [
                *[sys.executable, "-m", "schemathesis.cli", "--config-file", str(tmp_path / "run.toml")],
                *["run", f"{url}/openapi.json", "-H", f"Authorization: Bearer {token}", "--no-color"],
                *["--exclude-path", "/v2/events", "--max-examples", "20"],
                *["--exclude-path", "/v1/chat/completions"],  # waits for its motion, which nobody ends here
            ],
            capture_output=True,
            text=True,
            timeout=600,
            cwd=tmp_path,
            check=False,
        )
    assert result.returncode == 0, result.stdout[-5000:]
