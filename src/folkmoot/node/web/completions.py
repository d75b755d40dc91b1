"""A moot as a language model: ``/v1/models`` and ``/v1/chat/completions`` in the form of OpenAI.

Any client of that form can ask a moot. One message is one input of a motion; the answer comes whole, once the
moot has decided. An undecided motion is a refusal, so no program takes "undecided" for an answer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

import msgspec

from folkmoot.node.account import Account
from folkmoot.node.session.terms import MOST_WINDOW
from folkmoot.node.web.shapes import MOST_BODY, TERMS, TermsSaid

MODEL: Final = "folkmoot"
SECONDS: Final = 60.0  # of a motion that says nothing else
MOST_MESSAGES: Final = 1000

_Text = Annotated[str, msgspec.Meta(max_length=MOST_BODY)]


class TextPart(msgspec.Struct, frozen=True):
    """A part of a message; only texts are read."""

    type: Literal["text"]
    text: _Text


class Message(msgspec.Struct, frozen=True):
    """A message of a conversation."""

    role: Annotated[str, msgspec.Meta(min_length=1, max_length=40)]
    content: _Text | list[TextPart] | None = None

    @property
    def text(self) -> str:
        """Its text, whole."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content)
        return self.content or ""


class ChatRequest(msgspec.Struct, frozen=True):
    """A conversation. Members that are not listed here are not looked at: members' models have their own.

    ``folkmoot`` has terms of the motion, as those of ``/v2/motions``.
    """

    messages: Annotated[list[Message], msgspec.Meta(min_length=1, max_length=MOST_MESSAGES)]
    model: str = MODEL
    stream: bool | None = False
    n: Annotated[int, msgspec.Meta(ge=1, le=1)] | None = 1
    folkmoot: TermsSaid | None = None


class Answer(msgspec.Struct, frozen=True):
    """The decision of the moot as a message; ``refusal`` says why there is none."""

    role: Literal["assistant"]
    content: str | None
    refusal: str | None


class Choice(msgspec.Struct, frozen=True):
    """The one choice that there is."""

    index: int
    message: Answer
    finish_reason: Literal["stop"]
    logprobs: None = None


class About(msgspec.Struct, frozen=True):
    """The motion behind an answer: votes by answer, and where the certificate is."""

    motion: str
    state: str
    decided: bool
    first_votes: dict[str, int | float]
    final_votes: dict[str, int | float]
    share: float | None
    participants: int
    faults: int
    effective_votes: float | None
    undecided: str  # why; "" if it is decided
    certificate: str | None  # a path on this server


class Completion(msgspec.Struct, frozen=True):
    """An answer in the form of OpenAI; ``folkmoot`` has what a model alone does not have."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[Choice]
    folkmoot: About


class ModelTold(msgspec.Struct, frozen=True):
    """A model that can be asked."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class ModelList(msgspec.Struct, frozen=True):
    """The models that can be asked: the moot."""

    object: Literal["list"]
    data: list[ModelTold]


def models(node: str) -> ModelList:
    """The list of the one model that there is."""
    return ModelList("list", [ModelTold(MODEL, "model", 0, node)])


def question_of(messages: Sequence[Message]) -> Any:
    """The input that a conversation is: a record if one message is a JSON object, else a text.

    One message is that text. Of several, the input is the conversation as JSON, so that every member sees the
    same.
    """
    if len(messages) == 1:
        text = messages[0].text
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        return found if isinstance(found, dict) and found else text
    return json.dumps([{"role": each.role, "content": each.text} for each in messages], ensure_ascii=False)


def terms_said(asked: ChatRequest, kinds: Sequence[str]) -> dict[str, Any]:
    """The terms of the motion: those that are said, else what the node's own model answers with."""
    said = asked.folkmoot
    default = TermsSaid()
    given = {} if said is None else {name: getattr(said, name) for name in TERMS}
    values = {name: value for name, value in given.items() if value != getattr(default, name)}
    answers = values.setdefault("answers", kinds[0] if "text" not in kinds else "text")
    if answers == "text":
        values.setdefault("window_share", MOST_WINDOW)
    return {"seconds": SECONDS, **values}


def completion(account: Account) -> Completion:
    """Tell the outcome of a motion about one input."""
    decision = account.decisions[0]
    why = "" if decision is not None else account.why_undecided[0] or "not decided in time"
    said = f"{decision:.12g}" if isinstance(decision, float) else decision
    refusal = None if said is not None else f"The moot has not decided: {why}."
    about = About(
        account.motion, account.state, decision is not None, account.first_votes[0],
        account.final_votes[0] if account.final_votes else {}, account.shares[0], account.participants,
        account.faults, account.effective_votes, why,
        f"/v2/motions/{account.motion}/certificate" if account.certified else None,
    )  # fmt: skip
    return Completion(
        f"chatcmpl-{account.motion[:24]}", "chat.completion", int(account.created), MODEL,
        [Choice(0, Answer("assistant", said, refusal), "stop")], about,
    )  # fmt: skip


def streamed(found: Completion) -> bytes:
    """The same as server-sent events: the whole answer, its end, and the mark that nothing follows."""
    answer = found.choices[0].message
    shared = {
        "id": found.id,
        "object": "chat.completion.chunk",
        "created": found.created,
        "model": found.model,
    }
    delta = {key: value for key, value in msgspec.to_builtins(answer).items() if value is not None}
    first = {**shared, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    last = {
        **shared, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
        "folkmoot": msgspec.to_builtins(found.folkmoot),
    }  # fmt: skip
    lines = [msgspec.json.encode(first), msgspec.json.encode(last), b"[DONE]"]
    return b"".join(b"data: " + line + b"\n\n" for line in lines)
