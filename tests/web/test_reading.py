"""What the API says of a node and its motions is what commands and signatures show."""

from __future__ import annotations

from pathlib import Path

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from folkmoot.network.storage.storage import DATABASE, Storage
from folkmoot.runs.processes import Nodes
from support.command import run, run_json
from support.network.paged import Paged, Reply
from support.network.real_moot import until


@pytest.fixture(scope="module")
def name(nodes: Nodes) -> str:
    paged = Paged(nodes.settings[0].folder)
    put = paged.ask([[float(i)] for i in range(40)], rounds=40)
    paged.over(put)
    return put


def without_token(paged: Paged, method: str, path: str) -> Reply:
    """What is answered without one, which may be late: such requests are slowed down."""
    replies: list[Reply] = []

    def answered() -> bool:
        replies.append(paged.send(method, path, token=""))
        return replies[-1].status != 429

    until(answered, "it is answered again")
    return replies[-1]


def test_the_description_is_valid_and_names_every_route(paged: Paged) -> None:
    described = without_token(paged, "GET", "/openapi.json").json
    assert described["openapi"] == "3.1.0"
    assert not list(OpenAPIV31SpecValidator(described).iter_errors())
    for path, methods in described["paths"].items():
        for method in methods:
            tried = path.replace("{motion}", "0000").replace("{name}", "nobody").replace("{roster}", "0000")
            reply = without_token(paged, method.upper(), tried)
            assert reply.status == (200 if path == "/openapi.json" else 401)
            assert paged.send("DELETE", tried).status == 405
    terms = {each["name"]: each for each in described["paths"]["/v1/motions"]["post"]["parameters"]}
    assert {"labels", "probabilities"} == set(terms["voting"]["schema"]["enum"])
    assert terms["regression"]["schema"]["type"] == "boolean"
    schemas = described["components"]["schemas"]
    assert {"claim", "first_numbers", "window"} <= schemas["Input"]["properties"].keys()
    for nowhere in (
        "/page.html",
        "/static/page.js",
        "/v2/moot",
        "/v1/motions/",
        "/v1/moot/",
        "/metrics",
        "/%2e%2e/token",
    ):
        reply = paged.send("GET", nowhere)
        assert (reply.status, reply.headers["Content-Type"]) == (404, "application/problem+json")


def test_the_moot_is_as_node_status_tells_it(paged: Paged, name: str) -> None:
    del name  # something was said, so that everybody was seen
    told, shown = paged.get("/v1/moot"), run_json("node", "status", paged.folder)
    assert set(told) == set(shown)
    for key in ("node", "moot", "participants", "quorum", "own_motions"):
        assert told[key] == shown[key]
    assert [peer["name"] for peer in told["peers"]] == [f"node{i:03d}" for i in range(1, 6)]
    assert all(peer["connected"] and peer["seen"] > 1.7e9 for peer in told["peers"])


def test_a_motion_and_its_inputs_are_as_motions_tells_them(paged: Paged, name: str) -> None:
    shown = run_json("motions", name, "--via", paged.folder)
    told = paged.get(f"/v1/motions/{name[:10]}")
    assert told.pop("live") is None
    assert told.pop("decided") == 40 - shown["undecided"]
    assert told.pop("certificate") == f"/v1/motions/{name}/certificate"
    assert told == {key: value for key, value in shown.items() if key in told}
    lists = {"decisions", "agreement", "first_votes", "majority", "why_undecided"}
    others = {"claims", "first_numbers", "windows"}  # of other motions
    assert set(shown) - set(told) == lists | others
    pages = [paged.get(f"/v1/motions/{name}/inputs?from={start}&most=15") for start in (0, 15, 30)]
    assert [page["next"] for page in pages] == [15, 30, None]
    lines = [line for page in pages for line in page["inputs"]]
    assert [line["input"] for line in lines] == list(range(40))
    assert [line["decision"] for line in lines] == shown["decisions"]
    for key in lists - {"decisions"}:
        assert [line[key] for line in lines] == shown[key]
    # By hand: model p errs where the last digit is p, and five of six are right then.
    assert shown["decisions"] == ["odd" if i % 2 else "even" for i in range(40)]
    assert name in [each["motion"] for each in paged.get("/v1/motions?last=200")["motions"]]


def test_rounds_are_those_that_are_stored(paged: Paged, name: str) -> None:
    storage = Storage(paged.folder / DATABASE)
    stored = storage.motion(bytes.fromhex(name))
    kept = storage.held(stored.name).rounds
    storage.close()
    told = paged.get(f"/v1/motions/{name}/rounds?input=7")
    assert told["played"] == stored.summary["rounds"]
    assert len(told["rounds"]) == len(kept.rounds) > 0
    assert sum(len(each["asked"]) for each in told["rounds"]) == stored.summary["queries"]
    for number, (line, each) in enumerate(zip(told["rounds"], kept.rounds, strict=True)):
        assert line["asked"] == [stored.names[place] for place in each.asked]
        answers = kept.answers(number, stored.motion)
        labels = {stored.names[place]: ("even", "odd")[votes[7]] for place, votes in answers.items()}
        assert line["answers"] == labels
        # A round of a busy machine may bring no answer in time: then there are no shares.
        odd = sum(int((votes == 1).sum()) for votes in answers.values()) / (40 * max(len(answers), 1))
        assert line["shares"].get("odd", 0.0) == pytest.approx(odd, abs=1e-6)


def test_a_certificate_and_evidence_hold_for_others(
    paged: Paged, nodes: Nodes, name: str, tmp_path: Path
) -> None:
    roster = nodes.settings[0].roster
    file = tmp_path / "decided.certificate"
    file.write_bytes(paged.send("GET", f"/v1/motions/{name}/certificate").body)
    checked = run("verify", file, "--roster", roster)
    assert checked.returncode == 0, checked.stderr

    def accused() -> bool:
        return "node005" in paged.get(f"/v1/motions/{name}")["evidence"]

    until(accused, "a node that tells everybody something else is caught")
    reply = paged.send("GET", f"/v1/motions/{name}/evidence/node005")
    assert reply.status == 200
    file = tmp_path / "caught.evidence"
    file.write_bytes(reply.body)
    (line,) = run_json("evidence", file, "--roster", roster)["evidence"]
    assert (line["against"], line["motion"], line["holds"]) == ("node005", name, True)
    reply = paged.send("GET", f"/v1/motions/{name}/evidence/node001")
    assert reply.status == 404
    assert reply.json["detail"] == f"there is no evidence against 'node001' in motion {name[:12]}"


def test_what_is_not_there_is_said_as_at_the_prompt(paged: Paged, name: str) -> None:
    for wrong in ("ffff", "zz", "a" * 64, "x" * 300):
        reply = paged.send("GET", f"/v1/motions/{wrong}")
        shown = run("motions", wrong, "--via", paged.folder)
        assert reply.status == 404
        assert f"folkmoot: {reply.json['detail']}\n" == shown.stderr
    for query in ("wait=61", "wait=-1", "wait=x", "wait=1e3", "wait=" + "9" * 400):
        reply = paged.send("GET", f"/v1/motions/{name}?{query}")
        assert reply.status == 400
        assert reply.json["detail"].startswith("wait must be a whole number from 0 to 60: got")
    assert paged.send("GET", "/v1/motions?last=0").status == 400
    assert paged.send("GET", f"/v1/motions/{name}/inputs?from=41").status == 400
    assert paged.send("GET", f"/v1/motions/{name}/rounds?input=40").status == 400
