"""A council of models that answer with texts: first votes are proposals, final votes are choices."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, Final, Protocol, TypeAlias

from folkmoot import checks
from folkmoot.aggregation.texts import LONGEST, Candidate, Choice, candidates, verdict
from folkmoot.models.prompts import as_text
from folkmoot.texts.choosing import (
    CHOOSE,
    Choose,
    UnreadableError,
    nearest,
    own,
    prompt_for,
    read_reply,
    shuffled,
)
from folkmoot.texts.embedding import Embedding, local_embedding
from folkmoot.texts.outcome import Answered, Saying, TextOutcome

__all__ = ["ConsensusText"]

FAILED: Final = "its model failed"
TOO_SLOW: Final = "its model was too slow"
TOO_LONG: Final = "its answer is too long"
NO_TEXT: Final = "its model answered with no text"
_GRACE: Final = 0.25  # seconds beyond the deadline: a model that minds it says why it has no answer
_MOST_TEXTS: Final = 10_000


class TextModel(Protocol):
    """A model such as ``folkmoot.models.OpenAIModel``; ``until`` is a time of ``time.monotonic``.

    Each answer has a ``label``, the text, or None with ``reason`` and ``detail``.
    """

    def answers(self, X: Any, *, until: float | None = None) -> Sequence[Any]:
        """Answer inputs."""

    def say(self, prompts: Sequence[str], *, until: float | None = None) -> Sequence[Any]:
        """Reply to prompts."""


Member: TypeAlias = TextModel | Callable[[str], str]


class ConsensusText:
    """Models that answer with texts and agree on one answer, in one process.

    Each member proposes an answer. Each then sees the question and all different answers, in an order of its
    own and without names, and chooses. Answers that a quorum of members calls the same count as one. The
    answer is what most members chose, if at least ``faults + 1`` did; otherwise it is undecided.

    Parameters
    ----------
    members : sequence or mapping
        The members: models such as ``folkmoot.models.OpenAIModel`` without labels, or functions from a text
        to a text. A mapping, or a sequence of pairs (name, member), names them.
    choose : {"own-model", "embedding", "same"}, or one for each member by name
        How a member chooses: its own model does, or it takes the answer nearest to all others, or it stays
        with its own.
    embedding : callable, optional
        For ``"embedding"``: takes texts and returns an array (text, dimension). Default: WordLlama if it is
        installed, else TF-IDF; ``outcome.embedding`` says which.
    faults : int, optional
        The number of members that may lie. Default: the largest number below a third.
    least : int, default 0
        How many members must choose an answer. 0 is ``faults + 1``.
    seconds : float, default 60
        How long a request may take; proposals have half of it. A member that is slower has no vote.
    seed : int, default 0
        Seeds the order of answers in prompts.

    Notes
    -----
    Parameters in groups:

    * who takes part: ``members``, ``faults``, ``least``;
    * how a member chooses: ``choose``, ``embedding``;
    * running: ``seconds``, ``seed``.

    A member that fails, refuses or is slow costs its own vote only. Models of one provider, or trained on the
    same texts, err together. A council makes an answer robust against single members, and puts on record who
    said what. It does not make the answer right.

    Examples
    --------
    >>> from folkmoot import ConsensusText
    >>> members = {
    ...     "north": lambda text: "Paris.", "south": lambda text: "PARIS", "east": lambda text: "It is Lyon"
    ... }
    >>> moot = ConsensusText(members, choose="same")
    >>> moot.ask(["What is the capital of France?"]).answers
    ['Paris.']
    """

    def __init__(
        self,
        members: Mapping[str, Member] | Sequence[Member | tuple[str, Member]],
        *,
        choose: Choose | Mapping[str, Choose] = "own-model",
        embedding: Embedding | None = None,
        faults: int | None = None,
        least: int = 0,
        seconds: float = 60.0,
        seed: int = 0,
    ) -> None:
        self._members = _named(members)
        n = len(self._members)
        self._choose = _chosen(choose, list(self._members))
        self._embedding = embedding
        self.faults = (n - 1) // 3 if faults is None else checks.integer("faults", faults, least=0)
        if self.faults >= n:
            raise ValueError(f"faults must be below the number of members, {n}: got faults={self.faults}")
        self.least = checks.integer("least", least, least=0) or self.faults + 1
        if self.least > n:
            raise ValueError(f"least must be at most the number of members, {n}: got least={least}")
        self.seconds = checks.finite("seconds", seconds)
        if self.seconds <= 0:
            raise ValueError(f"seconds must be above 0: got seconds={seconds}")
        self.seed = checks.seed(seed)

    @property
    def names(self) -> list[str]:
        """The members' names."""
        return list(self._members)

    def ask(self, texts: Sequence[Any]) -> TextOutcome:
        """Ask all members, and count what they choose.

        Parameters
        ----------
        texts : sequence of str or JSON value
            The questions.

        Returns
        -------
        TextOutcome
            The answers, with who said and chose what.

        Raises
        ------
        ValueError
            If there are no questions, or one is none. A member's failure is no error.
        """
        questions = _checked(texts)
        began = time.monotonic()
        said = self._all(
            {name: partial(_propose, member, questions) for name, member in self._members.items()},
            len(questions), began + self.seconds / 2,
        )  # fmt: skip
        found = [
            candidates(_texts(each[k] for each in said), self._salt(k, text))
            for k, text in enumerate(questions)
        ]
        second = self._all(
            {
                name: partial(self._make_choices, i, questions, found)
                for i, name in enumerate(self._members)
            },
            len(questions), began + self.seconds,
        )  # fmt: skip
        answered = []
        for k, question in enumerate(questions):
            cast = {i: each[k] for i, each in enumerate(second)}
            choices = {i: each for i, each in cast.items() if isinstance(each, Choice)}
            why = {i: (each.reason, each.detail) for i, each in cast.items() if isinstance(each, Saying)}
            proposed = [each[k] for each in said]
            decided = verdict(found[k], choices, faults=self.faults, least=self.least)
            answered.append(Answered(question, tuple(proposed), choices, why, decided))
        return TextOutcome(
            names=tuple(self._members), answered=tuple(answered), faults=self.faults, least=self.least,
            choose=tuple(self._choose.values()), embedding=self._named_embedding,
            seconds=time.monotonic() - began,
        )  # fmt: skip

    @property
    def _named_embedding(self) -> str:
        """The embedding in words; "" if nobody chooses by it."""
        if "embedding" not in self._choose.values():
            return ""
        return local_embedding().words if self._embedding is None else "one of the caller"

    def _salt(self, place: int, question: Any) -> bytes:
        key = json.dumps([self.seed, place, question])
        return hashlib.sha256(key.encode()).digest()

    def _make_choices(
        self,
        me: int,
        questions: Sequence[Any],
        found: Sequence[tuple[Candidate, ...]],
        put: Callable[[int, Any], None],
        until: float,
    ) -> None:
        """The choice of a member among each question's candidates."""
        name, how = self.names[me], list(self._choose.values())[me]
        asks: list[tuple[int, list[int], str]] = []
        for k, (question, options) in enumerate(zip(questions, found, strict=True)):
            if not options:
                put(k, Saying(None, "nobody proposed an answer"))
            elif how == "same" or (len(options) == 1 and me in options[0].proposers):
                choice = own(me, options)
                put(k, choice if choice.best is not None else Saying(None, "it proposed no answer"))
            elif how == "embedding":
                put(k, nearest(options, self._embedding))
            else:
                order = shuffled(len(options), self._salt(k, question) + name.encode())
                asks.append((k, order, prompt_for(question, [each.text for each in options], order)))
        if not asks:
            return

        def replied(place: int, said: Any) -> None:
            k, order, _ = asks[place]
            put(k, _read_choice(said, order))

        _ask(self._members[name], [prompt for _, _, prompt in asks], replied, until)

    def _all(
        self, jobs: Mapping[str, Callable[[Callable[[int, Any], None], float], None]], many: int, until: float
    ) -> list[list[Any]]:
        """The results of all jobs by then, run at the same time.

        A thread that does not end in time is left alone: it is a daemon, so it keeps nobody from leaving.
        """
        slots: list[list[Any]] = [[Saying(None, TOO_SLOW)] * many for _ in jobs]
        lock, closed = threading.Lock(), False

        def run(place: int, job: Callable[[Callable[[int, Any], None], float], None]) -> None:
            done: set[int] = set()

            def put(k: int, value: Any) -> None:
                with lock:
                    if not closed:
                        slots[place][k] = value
                        done.add(k)

            try:
                job(put, until)
            except Exception as error:
                for k in set(range(many)) - done:
                    put(k, _failed(error))

        threads = [
            threading.Thread(target=run, args=(place, job), name=f"folkmoot {name}", daemon=True)
            for place, (name, job) in enumerate(jobs.items())
        ]
        for each in threads:
            each.start()
        for each in threads:
            each.join(max(until + _GRACE - time.monotonic(), 0))
        with lock:
            closed = True
        return slots


def _named(members: Mapping[str, Member] | Sequence[Member | tuple[str, Member]]) -> dict[str, Member]:
    pairs = members.items() if isinstance(members, Mapping) else map(_pair, count(), members)
    found: dict[str, Member] = {}
    for name, member in pairs:
        if name in found:
            raise ValueError(f"members must have different names: got {name!r} twice")
        if not (hasattr(member, "answers") and hasattr(member, "say")) and not callable(member):
            raise TypeError(
                f"member {name} must be a function from a text to a text, or a model such as "
                f"folkmoot.models.OpenAIModel: got a {type(member).__name__}"
            )
        if getattr(member, "labels", None) is not None:
            raise ValueError(f"member {name} must answer with texts: leave out its labels")
        found[name] = member
    if len(found) < 2:
        raise ValueError(f"members must be two or more: got {len(found)}")
    return found


def _pair(place: int, given: Member | tuple[str, Member]) -> tuple[str, Member]:
    if not isinstance(given, tuple):
        return str(place), given
    if len(given) != 2 or not isinstance(given[0], str):
        raise ValueError("members must be models, or pairs of a name and a model")
    return given


def _chosen(choose: Choose | Mapping[str, Choose], names: Sequence[str]) -> dict[str, Choose]:
    if isinstance(choose, str):
        checks.one_of("choose", choose, CHOOSE)
        return dict.fromkeys(names, choose)
    for name, how in choose.items():
        if name not in names:
            raise ValueError(f"choose must name members, {', '.join(names)}: got {name!r}")
        checks.one_of("choose", how, CHOOSE)
    return {name: choose.get(name, "own-model") for name in names}


def _checked(texts: Sequence[Any]) -> list[Any]:
    if isinstance(texts, str):
        raise TypeError(f"texts must be a list of questions, such as [{texts!r:.60}]: got one text")
    found = list(texts)
    if not 1 <= len(found) <= _MOST_TEXTS:
        raise ValueError(f"texts must be 1 to {_MOST_TEXTS:,} questions: got {len(found)}")
    for place, text in enumerate(found):
        if isinstance(text, str) and not text.strip():
            raise ValueError(f"texts must be questions: number {place + 1} is empty")
    return found


def _propose(member: Member, questions: Sequence[Any], put: Callable[[int, Any], None], until: float) -> None:
    def proposed(k: int, answer: Any) -> None:
        said = _said(answer)
        if said.text is not None and not said.text.strip():
            said = Saying(None, NO_TEXT)
        elif said.text is not None and len(said.text) > LONGEST:
            said = Saying(None, TOO_LONG, f"it has {len(said.text):,} characters, and may have {LONGEST:,}")
        put(k, said)

    if hasattr(member, "answers"):
        for k, answer in enumerate(member.answers(questions, until=until)):
            proposed(k, answer)
    else:
        _ask(member, [as_text(each) for each in questions], proposed, until)


def _ask(member: Any, prompts: Sequence[str], put: Callable[[int, Any], None], until: float) -> None:
    """Ask a member, a function one prompt after the other."""
    if hasattr(member, "say"):
        for place, answer in enumerate(member.say(prompts, until=until)):
            put(place, answer)
        return
    for place, prompt in enumerate(prompts):
        if time.monotonic() >= until:
            return
        try:
            answer = member(prompt)
        except Exception as error:
            answer = _failed(error)
        put(place, answer)


def _failed(error: Exception) -> Saying:
    return Saying(None, FAILED, f"{type(error).__name__}: {' '.join(str(error).split())}"[:500])


def _said(answer: Any) -> Saying:
    """The text of an answer, or why there is none."""
    if isinstance(answer, Saying):
        return answer
    if hasattr(answer, "reason"):
        if answer.label is None:
            return Saying(None, answer.reason or NO_TEXT, answer.detail)
        answer = answer.label
    if not isinstance(answer, str):
        return Saying(None, NO_TEXT, f"it answered with a {type(answer).__name__}")
    return Saying(answer)


def _texts(said: Iterable[Saying]) -> dict[int, str]:
    """The proposals that there are, by member."""
    return {i: each.text for i, each in enumerate(said) if each.text is not None}


def _read_choice(answer: Any, order: Sequence[int]) -> Choice | Saying:
    said = _said(answer)
    if said.text is None:
        return said
    try:
        return read_reply(said.text, order)
    except UnreadableError as error:
        return Saying(None, str(error), f"it said {' '.join(said.text.split())!r:.200}")
