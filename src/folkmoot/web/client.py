"""Ask a node over HTTP: needs nothing but Python itself, and a node that runs with ``--page``."""

from __future__ import annotations

import http.client
import json
import math
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

__all__ = ["Answer", "Client", "Event"]

_POLL: Final = 30  # seconds of one long poll
_PAGE: Final = 5000  # inputs in one answer


@dataclass(frozen=True)
class Answer:
    """What came of a motion.

    Parameters
    ----------
    motion : str
        Its name.
    decisions : list of str or None
        A label for each input, None where there is no decision.
    agreement : list of float
        For each input, the share of those who closed that hold the most common label.
    undecided : int
        Inputs without a decision.
    details : dict
        The whole account, as ``folkmoot motions MOTION --json`` has it.

    Examples
    --------
    >>> from folkmoot.web.client import Answer
    >>> Answer("6ece", ["yes", None], [1.0, 0.6], 1, {}).decisions
    ['yes', None]
    """

    motion: str
    decisions: list[str | None]
    agreement: list[float]
    undecided: int
    details: dict[str, Any]


@dataclass(frozen=True)
class Event:
    """Something that happened at a node.

    Parameters
    ----------
    kind : str
        moot, opened, progress, silent, accused, over or ping.
    data : dict
        What is told about it.
    id : str
        With it the next ``events(after=)`` goes on here.

    Examples
    --------
    >>> from folkmoot.web.client import Event
    >>> Event("over", {"undecided": 0}, "1-7").kind
    'over'
    """

    kind: str
    data: dict[str, Any]
    id: str = ""


class Client:
    """A program that asks a node over HTTP.

    Parameters
    ----------
    url : str
        Where the node answers, such as http://127.0.0.1:7700.
    token : str
        What the file ``token`` of the node's folder holds; that of ``token.read`` may only read.
    timeout : float
        Seconds in which a node must answer.

    Examples
    --------
    >>> from folkmoot.web.client import Client
    >>> client = Client("http://127.0.0.1:7700", token)  # doctest: +SKIP
    >>> client.ask([[1.0, 2.0], [3.0, 4.0]], seconds=10).decisions  # doctest: +SKIP
    ['yes', 'no']

    >>> Client("127.0.0.1:7700", "")
    Traceback (most recent call last):
        ...
    ValueError: url must be such as http://127.0.0.1:7700: got '127.0.0.1:7700'
    """

    def __init__(self, url: str, token: str, timeout: float = 30.0) -> None:
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = -1
        wrong = parts.path.strip("/") or parts.query or parts.fragment or parts.username or port == -1
        if parts.scheme not in ("http", "https") or not parts.hostname or wrong:
            raise ValueError(f"url must be such as http://127.0.0.1:7700: got {url!r}")
        if any(character <= " " or character > "~" for character in token):
            raise ValueError("token must be what the file 'token' of the node's folder holds, without spaces")
        self.url, self._token, self._timeout = url.rstrip("/"), token, timeout
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, port

    @classmethod
    def of(cls, folder: str | Path) -> Client:
        """The client of a node on this machine, by its folder."""
        try:
            found = json.loads((Path(folder) / "page.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ValueError(
                f"there is no node with a page in {folder}: start it with "
                f"folkmoot node run {folder} --page 127.0.0.1:7700"
            ) from None
        return cls(found["url"], found["token"])

    # ---- what a program wants ------------------------------------------------------------------

    def ask(self, X: Any, *, columns: Any = None, wait: bool = True, **terms: Any) -> Answer:
        """Put a motion and wait until it is over; ValueError, with why, if the node refuses it.

        Parameters
        ----------
        X : rows of numbers
            Lists, a NumPy array or a data frame, whose column names are sent along; None and NaN are missing.
        columns : list of str or dict, or None
            What the columns are: names, or dicts with name, unit, low and high.
        wait : bool
            False returns at once, with nothing decided yet.
        **terms : object
            protocol, k, alpha, beta, rounds, seconds, pace, weights, trust, labels, least_voters, voting,
            regression, tol, peer_review.

        Returns
        -------
        Answer
            What was decided.
        """
        names = columns if columns is not None else _names(X)
        body = json.dumps({"rows": _rows(X), "columns": names, **terms}, allow_nan=False).encode()
        headers = {"Content-Type": "application/json", "Idempotency-Key": uuid.uuid4().hex}
        name = self._json("POST", "/v1/motions", body, headers)["motion"]
        return self.answer(name, wait=float(terms.get("seconds", 30.0)) + 60.0 if wait else 0.0)

    def answer(self, motion: str, wait: float = 0.0) -> Answer:
        """What came of a motion so far; with ``wait``, when it is over or so many seconds have passed."""
        end = time.monotonic() + wait
        path = f"/v1/motions/{quote(motion, safe='')}"
        told = self._json("GET", path)
        while told["state"] == "open" and (left := end - time.monotonic()) > 0:
            told = self._json("GET", f"{path}?wait={max(1, min(_POLL, math.ceil(left)))}")
        lines: list[dict[str, Any]] = []
        start: int | None = 0
        while start is not None:
            page = self._json("GET", f"/v1/motions/{told['motion']}/inputs?from={start}&most={_PAGE}")
            lines += page["inputs"]
            start = page["next"]
        lists = {
            "decisions": [line["decision"] for line in lines],
            **{
                key: [line[key] for line in lines]
                for key in ("agreement", "first_votes", "majority", "why_undecided")
            },
            "claims": [] if told.get("tol") is None else [line["claim"] for line in lines],
            **{
                key: [line[each] for line in lines if told.get("answers") == "numbers"]
                for key, each in (("first_numbers", "first_numbers"), ("windows", "window"))
            },
        }
        own = ("live", "decided", "certificate")  # of HTTP alone
        details = {key: value for key, value in told.items() if key not in own} | lists
        return Answer(told["motion"], lists["decisions"], lists["agreement"], told["undecided"], details)

    def moot(self) -> dict[str, Any]:
        """The node, its peers and the motions under way."""
        return dict(self._json("GET", "/v1/moot"))

    def motions(self, last: int = 20) -> list[dict[str, Any]]:
        """The newest motions, the newest last."""
        found: list[dict[str, Any]] = self._json("GET", f"/v1/motions?last={last}")["motions"]
        return found

    def tell(self, motion: str, truths: dict[int, str]) -> dict[str, Any]:
        """Tell what was right on some inputs of a motion; returns everybody's track record."""
        body = json.dumps({"truths": [{"input": place, "label": label} for place, label in truths.items()]})
        path = f"/v1/motions/{quote(motion, safe='')}/truth"
        return dict(self._json("PUT", path, body.encode(), {"Content-Type": "application/json"}))

    def events(self, after: str = "") -> Iterator[Event]:
        """What happens at the node, as it happens; ends when the node stops.

        Parameters
        ----------
        after : str
            The ``id`` of the last event that is known: what followed it comes first.

        Yields
        ------
        Event
            The first says how the moot is, unless ``after`` is still known.
        """
        headers = {"Last-Event-ID": after} if after else {}
        connection = self._connection()
        try:
            response = self._response(connection, "GET", "/v1/events", b"", headers)
            fields: dict[str, str] = {}
            while line := response.readline():
                text = line.decode().rstrip("\n")
                if text:
                    name, _, value = text.partition(": ")
                    fields[name] = value
                elif fields:
                    yield Event(fields.get("event", ""), json.loads(fields["data"]), fields.get("id", ""))
                    fields = {}
        except OSError as error:
            raise ValueError(f"the node at {self.url} went away ({error})") from None
        finally:
            connection.close()

    # ---- HTTP ----------------------------------------------------------------------------------

    def _connection(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        return kind(self._host, self._port, timeout=self._timeout + _POLL)

    def _json(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Any:
        connection = self._connection()
        try:
            said = self._response(connection, method, path, body, headers or {}).read()
        except (OSError, http.client.HTTPException) as error:
            raise ValueError(f"the node at {self.url} went away ({error})") from None
        finally:
            connection.close()
        try:
            return json.loads(said)
        except ValueError:
            raise ValueError(f"the answer of {self.url} is not JSON: is that a node's page?") from None

    def _response(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes,
        headers: dict[str, str],
    ) -> http.client.HTTPResponse:
        try:
            connection.connect()
        except OSError as error:
            raise ValueError(
                f"no node answers at {self.url} ({error.strerror or error}): is it running with --page?"
            ) from None
        shown = {"Authorization": f"Bearer {self._token}", **headers}
        with suppress(BrokenPipeError, ConnectionResetError):  # it has refused already: read why
            connection.request(method, path, body or None, shown)
        response = connection.getresponse()
        if response.status >= 300:
            raise ValueError(_why(response))
        return response


def _why(response: http.client.HTTPResponse) -> str:
    try:
        return str(json.loads(response.read())["detail"])
    except (ValueError, KeyError, TypeError):
        return f"the answer was {response.status} {response.reason}: is that a node's page?"


def _names(X: Any) -> list[str]:
    """The names of a data frame's columns, if all are text; else none."""
    columns = getattr(X, "columns", None)
    names = [] if columns is None or callable(columns) else list(columns)
    return names if all(isinstance(name, str) for name in names) else []


def _rows(X: Any) -> list[list[float | None]]:
    plain = X.to_numpy() if hasattr(X, "to_numpy") else X
    rows = plain.tolist() if hasattr(plain, "tolist") else plain
    try:
        found = [[_number(value) for value in row] for row in rows]
    except (TypeError, ValueError):
        raise ValueError("X must hold rows of numbers, such as [[1.0, 2.0], [3.0, 4.0]]") from None
    if any(value in (math.inf, -math.inf) for row in found for value in row):
        raise ValueError("X must not hold infinite numbers: JSON has none")
    return found


def _number(value: Any) -> float | None:
    return None if value is None or (number := float(value)) != number else number
