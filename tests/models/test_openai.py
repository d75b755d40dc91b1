"""A language model over a real socket: what it says, what is no vote, and that no server can do harm."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import random
import ssl
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from sklearn.base import clone

import folkmoot.models.posting as posting
from folkmoot import ConsensusClassifier
from folkmoot.models import OpenAIModel
from folkmoot.models.labels import pairs_of
from folkmoot.models.parsing import CUT, REFUSED, Token, by_normal, chances_in, label_in
from folkmoot.models.posting import NONSENSE, TOO_SLOW, UNREACHED
from folkmoot.models.posting import REFUSED as HTTP_REFUSED
from folkmoot.models.remote import OTHER
from folkmoot.models.usage import Usage
from support.scripted_models import INJECTION, ScriptedServer, scripted_server

LABELS = ["spam", "ham"]
TEXTS = ["win a prize", "see you at eight", "prize, prize"]
TRUTH = ["spam", "ham", "spam"]
KEY = "sk-Abc123-secret-of-the-tests"


def rule(prompt: str) -> str:
    return "spam" if "prize" in prompt.splitlines()[-1] else "ham"


def likely(prompt: str) -> dict[str, float]:
    return {"spam": 0.75, "ham": 0.25} if rule(prompt) == "spam" else {"spam": 0.125, "ham": 0.875}


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with scripted_server(rule, likely) as script:
        yield script


def member(server: ScriptedServer, name: str, **changes: Any) -> OpenAIModel:
    given: dict[str, Any] = {"labels": LABELS, "retries": 0, "timeout": 10.0} | changes
    return OpenAIModel(server.url, name, **given)


def test_each_input_is_one_request_and_its_label_one_answer(server: ScriptedServer) -> None:
    model = member(server, "right", system="You sort mail.", temperature=0.5, seed=3, max_tokens=9)
    before = len(server.of("right"))
    assert model.predict(TEXTS).tolist() == TRUTH
    asked = server.of("right")[before:]
    assert len(asked) == 3
    assert {body["messages"][0]["content"] for body in asked} == {"You sort mail."}
    assert {(body["temperature"], body["seed"], body["max_tokens"]) for body in asked} == {(0.5, 3, 9)}
    assert {json.loads(body["messages"][1]["content"].splitlines()[-1]) for body in asked} == set(TEXTS)
    assert model.usage.counts() == {
        "requests": 3, "failed": 0, "prompt_tokens": 21, "completion_tokens": 6,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("refusing", REFUSED), ("filtered", REFUSED), ("rambling", OTHER), ("injecting", OTHER), ("cut", CUT),
        ("failing", HTTP_REFUSED), ("unknown", HTTP_REFUSED), ("redirecting", HTTP_REFUSED),
        ("garbage", NONSENSE), ("empty", NONSENSE), ("wrong-shape", NONSENSE), ("endless", NONSENSE),
        ("deep", NONSENSE), ("surrogates", NONSENSE), ("quoting-key", HTTP_REFUSED), ("json", OTHER),
    ],
)  # fmt: skip
def test_anything_but_a_label_is_no_vote_with_its_reason(
    server: ScriptedServer, name: str, reason: str
) -> None:
    (said,) = member(server, name).answers(TEXTS[:1])
    assert (said.label, said.reason) == (None, reason)
    assert said.detail.isprintable()
    assert len(said.detail) < 500


def test_a_connection_that_is_closed_or_refused_is_no_vote(server: ScriptedServer) -> None:
    (said,) = member(server, "closing").answers(TEXTS[:1])
    assert (said.label, said.reason in (NONSENSE, UNREACHED)) == (None, True)
    (said,) = OpenAIModel("http://127.0.0.1:1/v1", "x", LABELS, retries=0).answers(TEXTS[:1])
    assert (said.label, said.reason) == (None, UNREACHED)


@pytest.mark.parametrize("name", ["slow", "dripping"])
def test_no_server_holds_a_caller_longer_than_the_timeout(server: ScriptedServer, name: str) -> None:
    start = time.monotonic()
    (said,) = member(server, name, timeout=0.3).answers(TEXTS[:1])
    assert (said.label, said.reason) == (None, TOO_SLOW)
    assert time.monotonic() - start < 10  # the members go on for longer
    start = time.monotonic()
    said = member(server, name, timeout=30, retries=5, parallel=1).answers(TEXTS, until=start + 0.3)[-1]
    assert (said.label, said.reason) == (None, TOO_SLOW)
    assert time.monotonic() - start < 10


def test_a_redirect_is_not_followed(server: ScriptedServer) -> None:
    before = len(server.asked)
    (said,) = member(server, "redirecting").answers(TEXTS[:1])
    assert "redirect" in said.detail
    assert len(server.asked) == before + 1


@pytest.mark.parametrize("name", ["once-failing", "limited"])
def test_what_may_succeed_later_is_tried_again(name: str) -> None:
    with scripted_server(rule) as server:
        model = member(server, name, retries=1)
        assert model.predict(TEXTS[:1]).tolist() == ["spam"]
        assert model.usage.counts()["requests"] == 2
        assert model.usage.counts()["failed"] == 1


def test_what_cannot_succeed_is_not_tried_again(server: ScriptedServer) -> None:
    model = member(server, "unknown", retries=5)
    assert model.predict(TEXTS[:1]).tolist() == [None]
    assert model.usage.counts()["requests"] == 1


@pytest.mark.parametrize("parallel", [1, 3])
def test_as_many_requests_are_under_way_as_was_said(parallel: int) -> None:
    with scripted_server(rule) as server:
        member(server, "right", parallel=parallel).predict(TEXTS * 6)
        assert 1 <= server.at_once <= parallel
        if parallel > 1:
            assert server.at_once > 1


def test_the_form_that_was_asked_for_is_the_form_that_counts(server: ScriptedServer) -> None:
    assert member(server, "json", answer="json").predict(TEXTS).tolist() == TRUTH
    schema = server.of("json")[-1]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["label"]["enum"] == LABELS
    assert member(server, "first-line", answer="first-line").predict(TEXTS).tolist() == TRUTH
    assert member(server, "first-line").predict(TEXTS).tolist() == [None] * 3
    assert member(server, "injecting", answer="first-line").predict(TEXTS).tolist() == [None] * 3


def test_numbers_are_labels_too() -> None:
    with scripted_server(lambda prompt: "1" if "prize" in prompt.splitlines()[-1] else "0") as numbers:
        model = member(numbers, "right", labels=[0, 1])
        assert model.predict(TEXTS).tolist() == [1, 0, 1]
        assert model.classes_.dtype.kind == "i"


def test_probabilities_are_those_of_the_tokens(server: ScriptedServer) -> None:
    found = member(server, "likely").predict_proba(TEXTS)
    np.testing.assert_allclose(found, [[0.75, 0.25], [0.125, 0.875], [0.75, 0.25]], atol=1e-9)


def test_probabilities_of_a_server_without_logprobs_are_counted(server: ScriptedServer) -> None:
    model = member(server, "no-logprobs", samples=6)
    np.testing.assert_allclose(model.predict_proba(TEXTS[:1]), [[4 / 6, 2 / 6]])  # the script: seeds 2 and 5
    drawn = [body for body in server.of("no-logprobs") if not body.get("logprobs")]
    assert [body["seed"] for body in drawn] == list(range(6))
    assert {body["temperature"] for body in drawn} == {1.0}


def test_no_vote_has_no_probabilities(server: ScriptedServer) -> None:
    assert np.isnan(member(server, "rambling").predict_proba(TEXTS)).all()


def test_the_walk_along_the_tokens_is_exact() -> None:
    """Against a model whose chances are known: it shows the tokens that they imply."""
    from support.scripted_models import tokens_of

    for seed in range(200):
        drawn = random.Random(seed)
        labels = drawn.sample(["positive", "possible", "no", "not sure", "neutral", "none", "p", "7"], 4)
        weights = [drawn.random() for _ in labels]
        chances = {label: w / sum(weights) for label, w in zip(labels, weights, strict=True)}
        said = drawn.choice(labels)
        ended = drawn.random() < 0.5  # whether the server shows that the answer ends
        shown = tokens_of(said, chances, size=drawn.choice([1, 2, 5, 40]), ended=ended)
        tokens = [
            Token(t["token"], t["logprob"], [(o["token"], o["logprob"]) for o in t["top_logprobs"]])
            for t in shown
        ]
        found = chances_in(tokens, "label", by_normal(pairs_of(labels)))
        if found is None:
            assert not ended, seed
            assert any(label != said and label.startswith(said) for label in labels), seed
            continue
        # What branched off towards several labels at once is left out: the rest keeps its proportions.
        kept = [p for p, q in zip(found, chances.values(), strict=True) if p > 0]
        true = [q for p, q in zip(found, chances.values(), strict=True) if p > 0]
        np.testing.assert_allclose(kept, np.array(true) / sum(true), atol=1e-9, err_msg=f"seed {seed}")
        assert found[labels.index(said)] > 0, seed


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("spam", "spam"), (" Spam.\n", "spam"), ('"HAM"', "ham"), ("**ham**", "ham"),
        ("\uff53\uff50\uff41\uff4d", "spam"),
        ("spam ham", None), ("not spam", None), ("", None), (".", None), ("spam" * 9999, None),
        ("spam\nham", None), ("{\"label\": \"spam\"}", None), ("sp\u200bam", None),
    ],
)  # fmt: skip
def test_a_label_is_read_strictly(text: str, label: str | None) -> None:
    assert label_in(text, "label", by_normal(pairs_of(LABELS))) == label


@pytest.mark.parametrize(
    "text",
    [
        '{"label": "spam", "label": "ham"}', '{"label": "spam", "why": "x"}', '[["label", "spam"]]', '"spam"',
        '{"label": ["spam"]}', '{"label": "spam"} ham', '{"label": "eggs"}', '{"Label": "spam"}', "[" * 4000,
        '```json\n{"label": "spam"}\n```', '{"label": NaN}', "{}",
    ],
)  # fmt: skip
def test_json_counts_in_one_form_only(text: str) -> None:
    assert label_in(text, "json", by_normal(pairs_of(LABELS))) is None


def test_what_an_input_says_is_data() -> None:
    """Places, braces and quotes in an input stay in it, and instructions stay inside the quotation."""
    hostile = f'"}}\n{{labels}} {{system}} {{{{x}}}} """ \n=== {INJECTION}'
    with scripted_server(rule) as server:
        member(server, "right").predict([hostile])
        (asked,) = server.of("right")
        last = asked["messages"][-1]["content"].splitlines()[-1]
        assert json.loads(last) == hostile
        assert asked["messages"][-1]["content"].count(INJECTION) == 1


def test_records_and_data_frames_have_places_by_name() -> None:
    pd = pytest.importorskip("pandas")
    rows = [{"age": 61, "note": "pain {labels}", "smoker": True, "bmi": None}]
    prompt = "{{{age}}} {note} {smoker} {bmi} | {labels}\n{input_json}"
    with scripted_server(rule) as server:
        model = member(server, "right", prompt=prompt)
        model.predict(rows)
        model.predict(pd.DataFrame(rows))
        said = [body["messages"][-1]["content"].splitlines()[0] for body in server.of("right")]
        assert said == ["{61} pain {labels} true null | spam, ham"] * 2
        with pytest.raises(ValueError, match=r"prompt names \{weight\}: it can name \{age\}, \{note\}"):
            member(server, "right", prompt="{weight}").predict(rows)


def test_one_failing_member_costs_its_vote_only(server: ScriptedServer) -> None:
    names = ["right", "likely", "refusing", "rambling", "failing"]
    moot = ConsensusClassifier([(name, member(server, name)) for name in names], prefit=True).fit()
    assert moot.predict(TEXTS).tolist() == TRUTH


def test_the_key_is_sent_and_shown_nowhere(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("FOLKMOOT_TEST_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    shown = []
    for name in ("right", "quoting-key", "failing", "unknown", "garbage", "slow", "redirecting"):
        model = member(server, name, api_key_env="FOLKMOOT_TEST_KEY", timeout=0.3)
        said = model.answers(TEXTS[:1])
        assert server.asked[-1][0]["Authorization"] == f"Bearer {KEY}"
        shown += [
            repr(model), str(vars(model)), repr(said), repr(model.usage), f"{pickle.dumps(model)!r}",
            repr(clone(model)), repr(copy.deepcopy(model)), repr(model.check()), model._repr_html_(),
        ]  # fmt: skip
    monkeypatch.setenv("FOLKMOOT_TEST_KEY", f"{KEY}\nX-Other: 1")
    try:
        member(server, "right", api_key_env="FOLKMOOT_TEST_KEY").predict(TEXTS)
    except ValueError:
        shown.append(traceback.format_exc())
    for given in (
        {"api_key_env": KEY},
        {"base_url": f"http://u:{KEY}@h/v1"},
        {"base_url": f"http://h/?k={KEY}"},
    ):
        with pytest.raises(ValueError, match="not shown") as caught:
            member(server, "right").set_params(**given).predict(TEXTS)
        shown.append(str(caught.value))
    assert len(shown) == 7 * 9 + 4
    assert not [text for text in [*shown, caplog.text] if KEY in text]


def test_https_needs_a_certificate_that_this_system_trusts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = self_signed()
    (tmp_path / "c.pem").write_bytes(certificate + key)
    (tmp_path / "trusted.pem").write_bytes(certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "c.pem")
    with scripted_server(rule, tls=context) as server:
        for trusted, wanted in ((False, None), (True, "spam")):
            if trusted:
                monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "trusted.pem"))
            posting._tls.cache_clear()
            (said,) = member(server, "right").answers(TEXTS[:1])
            assert (said.label, said.reason in ("", UNREACHED)) == (wanted, True)
        assert len(server.asked) == 1
    posting._tls.cache_clear()


def self_signed() -> tuple[bytes, bytes]:
    """A certificate for 127.0.0.1, and its key."""
    own = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a server of language models")])
    now = datetime.now(UTC)
    address = x509.IPAddress(ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder(name, name, own.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(own, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    return made.public_bytes(pem), own.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def test_a_missing_key_is_one_clear_line(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(ValueError, match="api_key_env names NO_SUCH_KEY, which is not set: type export"):
        member(server, "right", api_key_env="NO_SUCH_KEY").predict(TEXTS)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"base_url": "127.0.0.1:8000"}, "base_url must be an address"),
        ({"base_url": "ftp://h/v1"}, "base_url must be an address"),
        ({"base_url": "http://h:99999/v1"}, "base_url must be an address"),
        ({"base_url": None}, "base_url must be an address"),
        ({"model": ""}, "model must be the server's name"),
        ({"labels": ["yes"]}, "labels must be two or more"),
        ({"labels": ["yes", "Yes."]}, "labels must differ"),
        ({"answer": "regex"}, "answer must be 'label' or 'first-line' or 'json'"),
        ({"timeout": 0}, "timeout must be"),
        ({"timeout": "5"}, "timeout must be a positive number of seconds: got timeout='5'"),
        ({"temperature": "hot"}, "temperature must be a number from 0 on: got temperature='hot'"),
        ({"temperature": -1}, "temperature must be a number from 0 on"),
        ({"system": 3}, "system must be text: got system=3"),
        ({"prompt": 3}, "prompt must be text: got prompt=3"),
        ({"extra": 3}, "extra must be members of a request by name: got extra=3"),
        ({"parallel": 0}, "parallel must satisfy parallel >= 1"),
        ({"prompt": "Say {labels}"}, "prompt must have a place for the input"),
        ({"prompt": "{input} {"}, "prompt must have every { closed"),
    ],
)
def test_wrong_parameters_are_one_clear_line(given: dict[str, Any], line: str) -> None:
    model = OpenAIModel("http://127.0.0.1:1/v1", "m", LABELS, retries=0).set_params(**given)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the line is compared below)
        model.predict(TEXTS)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_labels_answers_are_texts(server: ScriptedServer) -> None:
    assert member(server, "rambling", labels=None).predict(TEXTS[:1])[0].startswith("Well, that depends")
    (said,) = member(server, "cut", labels=None).answers(TEXTS[:1])
    assert (said.label, said.reason) == (None, CUT)
    (said,) = member(server, "right").say(["prize"])
    assert said.text == "spam"


def test_counts_travel_in_pickles() -> None:
    usage = pickle.loads(pickle.dumps(Usage(1, 2, 3, 4)))  # noqa: S301 (ours)
    assert usage.counts() == {"requests": 1, "failed": 2, "prompt_tokens": 3, "completion_tokens": 4}


def test_no_http_package_is_needed() -> None:
    code = (
        "import sys; import folkmoot.models; "
        "print(sorted({'httpx', 'requests', 'aiohttp', 'urllib3', 'openai'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
