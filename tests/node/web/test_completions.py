"""A moot as a language model, over TCP in the form of OpenAI: real nodes, a token, and plain HTTP."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from folkmoot.node.certificate import verify
from folkmoot.node.service.models import Model
from folkmoot.node.web.completions import Message, TextPart, question_of
from folkmoot.node.web.server import Page
from support.node.moot import Moot
from support.node.moot import model as plain
from support.node.served import opened


def answering(words: Callable[[str], str | None]) -> Model:
    """A model that answers texts."""
    return plain(lambda texts: [words(str(text)) for text in texts])


def served(models: Sequence[Model], folder: Path, ask: Callable[[str, str], Any]) -> tuple[Moot, Any]:
    """What a client in another thread gets: it is given host and token of the first node's page."""
    moot = Moot(models)
    node = moot.nodes[0]
    assert node is not None

    async def main() -> Any:
        async with opened(node, folder, page=Page("127.0.0.1:0")) as server:
            assert server.address is not None
            url, _, token = server.address.partition("/#token=")
            host = url.removeprefix("http://")
            asking = asyncio.create_task(asyncio.to_thread(ask, host, token))
            while not asking.done():  # the network in memory has a time of its own
                moot.network.run(moot.network.time + 0.05)
                await asyncio.sleep(0.002)
            return await asking

    return moot, asyncio.run(main())


def posted(host: str, token: str, body: Any, path: str = "/v1/chat/completions") -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(host, timeout=60)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", path, json.dumps(body), headers)
    response = connection.getresponse()
    found = response.status, response.read()
    connection.close()
    return found


def messages(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text} for text in texts]


CAPITAL = [
    answering(lambda text: "Paris." if "France" in text else None), answering(lambda _: "PARIS"),
    answering(lambda _: "paris"), answering(lambda _: "Lyon"),
]  # fmt: skip


def test_a_question_is_answered_by_the_moot_with_its_certificate(tmp_path: Path) -> None:
    def ask(host: str, token: str) -> Any:
        asked = {"model": "folkmoot", "messages": messages("Capital of France?"), "temperature": 0.2}
        status, data = posted(host, token, asked)
        told = json.loads(data)
        connection = http.client.HTTPConnection(host, timeout=60)
        connection.request(
            "GET", told["folkmoot"]["certificate"], headers={"Authorization": f"Bearer {token}"}
        )
        certificate = connection.getresponse().read()
        connection.request("GET", "/v1/models", headers={"Authorization": f"Bearer {token}"})
        models = json.loads(connection.getresponse().read())
        connection.close()
        return status, told, certificate, models

    moot, (status, told, certificate, models) = served(CAPITAL, tmp_path, ask)
    assert status == 200
    (choice,) = told["choices"]
    assert (told["object"], choice["finish_reason"]) == ("chat.completion", "stop")
    assert choice["message"]["content"] in ("Paris.", "PARIS", "paris")
    assert choice["message"]["refusal"] is None
    about = told["folkmoot"]
    assert (about["decided"], about["participants"], about["faults"], about["share"]) == (True, 4, 1, 0.75)
    assert sorted(about["final_votes"].values()) == [1, 3]
    assert verify(certificate, moot.roster).motion.hex() == about["motion"]
    assert [each["id"] for each in models["data"]] == ["folkmoot"]


def test_a_stream_has_the_same_answer_whole(tmp_path: Path) -> None:
    def ask(host: str, token: str) -> Any:
        return posted(host, token, {"messages": messages("Capital of France?"), "stream": True})

    _, (status, data) = served(CAPITAL, tmp_path, ask)
    assert status == 200
    events = [
        line.removeprefix("data: ") for line in data.decode().split("\n\n") if line.startswith("data: ")
    ]
    assert events[-1] == "[DONE]"
    chunks = [json.loads(event) for event in events[:-1]]
    assert {each["object"] for each in chunks} == {"chat.completion.chunk"}
    said = "".join(each["choices"][0]["delta"].get("content", "") for each in chunks)
    assert said in ("Paris.", "PARIS", "paris")
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1]["folkmoot"]["decided"] is True


def test_an_undecided_motion_is_a_refusal_and_no_content(tmp_path: Path) -> None:
    def always(text: str) -> Callable[[str], str]:
        return lambda _: text

    models = [answering(always(text)) for text in "abcd"]

    def ask(host: str, token: str) -> Any:
        return posted(host, token, {"messages": messages("Which?"), "folkmoot": {"seconds": "20s"}})

    _, (status, data) = served(models, tmp_path, ask)
    told = json.loads(data)
    assert status == 200
    message = told["choices"][0]["message"]
    assert message["content"] is None
    assert message["refusal"] == "The moot has not decided: the most choices of an answer are 1, too few."
    assert told["folkmoot"]["decided"] is False


def test_models_with_labels_classify_a_message(tmp_path: Path) -> None:
    models = [
        plain(lambda texts: ["spam" if "PRIZE" in str(text) else "ham" for text in texts], ["spam", "ham"])
        for _ in range(4)
    ]

    def ask(host: str, token: str) -> Any:
        return [
            posted(host, token, {"messages": messages(text)}) for text in ("WIN A PRIZE", "see you at eight")
        ]

    _, answers = served(models, tmp_path, ask)
    assert [json.loads(data)["choices"][0]["message"]["content"] for _, data in answers] == ["spam", "ham"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400), ({"messages": []}, 400), ({"messages": messages("a"), "n": 2}, 400),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}, 400),
        ({"messages": messages("a"), "folkmoot": {"second": 3}}, 400),
        ({"messages": messages("a"), "folkmoot": {"labels": ["a", "b"]}}, 422),
    ],
    ids=["nothing", "no messages", "two answers", "a picture", "no term", "labels of texts"],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused(tmp_path: Path, body: Any, status: int) -> None:
    _, (found, data) = served(CAPITAL, tmp_path, lambda host, token: posted(host, token, body))
    assert found == status, data
    told = json.loads(data)
    assert told["detail"].count("\n") == 0
    assert told["error"]["message"] == told["detail"]


def test_without_a_token_nothing_is_asked(tmp_path: Path) -> None:
    _, (status, _) = served(
        CAPITAL, tmp_path, lambda host, _: posted(host, "wrong", {"messages": messages("a")})
    )
    assert status == 401


def test_a_conversation_is_one_input() -> None:
    assert question_of([Message("user", "What?")]) == "What?"
    assert question_of([Message("user", '{"age": 61}')]) == {"age": 61}
    assert question_of([Message("user", "[1, 2]")]) == "[1, 2]"
    parts: Any = [TextPart("text", "a"), TextPart("text", "b")]
    assert question_of([Message("user", parts)]) == "a\nb"
    talk = question_of([Message("system", "Be brief."), Message("user", "What?")])
    assert json.loads(talk) == [
        {"role": "system", "content": "Be brief."}, {"role": "user", "content": "What?"}
    ]  # fmt: skip
