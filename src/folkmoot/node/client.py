"""Ask a running node: needs nothing but Python itself. Every command of the prompt goes through it."""

from __future__ import annotations

import http.client
import json
import math
import os
import socket
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

from folkmoot.node.durations import seconds_of

__all__ = ["Answer", "Client", "Event", "NodeAwayError", "NodeRefusal"]

SOCKET: Final = "door.sock"  # in a node's folder, while it runs
LONGEST_PATH: Final = 107  # bytes; the kernel has 108 for the path of a socket and the zero at its end
RAW: Final = "application/x-folkmoot-inputs"  # a line of JSON, then the numbers as bytes
_KINDS: Final = ("b", "i", "u", "f")  # of NumPy's numbers that are sent as bytes
_POLL: Final = 30  # seconds of one long poll
_LOOK: Final = 0.5  # the same, where somebody wants to see progress
_PAGE: Final = 5000  # inputs in one answer
_PART: Final = 1 << 20  # bytes sent at a time


class NodeAwayError(ValueError):
    """No node answers there: it is not running, or not at this address.

    Examples
    --------
    >>> from folkmoot.node.client import NodeAwayError
    >>> issubclass(NodeAwayError, ValueError)
    True
    """


class NodeRefusal(ValueError):  # noqa: N818 (not a mistake of this program)
    """A node does not do what it was asked.

    Parameters
    ----------
    status : int
        Of HTTP, such as 404.
    why : str
        The node's line.

    Examples
    --------
    >>> from folkmoot.node.client import NodeRefusal
    >>> NodeRefusal(404, "there is no such motion").status
    404
    """

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True)
class Answer:
    """The result of a motion.

    Parameters
    ----------
    motion : str
        Its name.
    decisions : list of str or None
        The answer to each input, None where there is no decision.
    undecided : int
        Inputs without a decision.
    details : dict
        The whole account, as ``folkmoot motions MOTION --json`` has it.

    Examples
    --------
    >>> from folkmoot.node.client import Answer
    >>> Answer("6ece", ["yes", None], 1, {}).decisions
    ['yes', None]
    """

    motion: str
    decisions: list[Any]
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
        The data of the event.
    id : str
        With it the next ``events(after=)`` goes on here.

    Examples
    --------
    >>> from folkmoot.node.client import Event
    >>> Event("over", {"undecided": 0}, "1-7").kind
    'over'
    """

    kind: str
    data: dict[str, Any]
    id: str = ""


class Client:
    """A program that asks a running node.

    Parameters
    ----------
    node : str or Path
        The folder of a node on this machine, or where one answers, such as http://127.0.0.1:7700.
    token : str
        With an address: what the file ``token`` of the node's folder holds; that of ``token.read`` may only
        read. A folder needs none.
    timeout : float
        Seconds in which a node must answer.

    Examples
    --------
    >>> from folkmoot import Client
    >>> client = Client("north")  # doctest: +SKIP
    >>> client.ask([[1.0, 2.0], [3.0, 4.0]], seconds="10s").decisions  # doctest: +SKIP
    ['yes', 'no']

    >>> Client("http://127.0.0.1:7700/page", "")
    Traceback (most recent call last):
        ...
    ValueError: an address must be such as http://127.0.0.1:7700: got 'http://127.0.0.1:7700/page'
    """

    def __init__(self, node: str | Path = ".", token: str = "", timeout: float = 30.0) -> None:
        self._token, self._timeout = token, timeout
        self._folder: Path | None = None
        self.where = str(node)
        if "://" not in self.where:
            self._open_folder(Path(node))
            return
        parts = urlsplit(self.where)
        try:
            port = parts.port
        except ValueError:
            port = -1
        wrong = parts.path.strip("/") or parts.query or parts.fragment or parts.username or port == -1
        if parts.scheme not in ("http", "https") or not parts.hostname or wrong:
            raise ValueError(f"an address must be such as http://127.0.0.1:7700: got {self.where!r}")
        if any(character <= " " or character > "~" for character in token):
            raise ValueError("token must be what the file 'token' of the node's folder holds, without spaces")
        self.where = self.where.rstrip("/")
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, port

    def _open_folder(self, folder: Path) -> None:
        if self._token:
            raise ValueError(f"a token must be given with an address only: the folder {folder} needs none")
        if not (folder / "node.toml").is_file():
            raise ValueError(
                f"node must be a node's folder, or an address such as http://127.0.0.1:7700: "
                f"there is no node in {folder}"
            )
        self._folder = folder

    # ---- motions -------------------------------------------------------------------------------

    def ask(
        self,
        X: Any,
        *,
        columns: Any = None,
        wait: bool | float | str = True,
        progress: Callable[[dict[str, Any]], object] | None = None,
        **terms: Any,
    ) -> Answer:
        """Put a motion and wait until it is over; ValueError, with why, if the node refuses it.

        Parameters
        ----------
        X : rows of numbers, texts or records
            Lists, a NumPy array (a mapped one need not fit into memory) or a data frame, whose column names
            are sent along; None and NaN are missing. A list of texts; or records, which are dictionaries or
            a data frame with columns that are not numbers.
        columns : list of str or dict, or None
            The columns: names, or dicts with name, unit, low and high.
        wait : bool, float or str
            True: until it is over. False returns at once. A time, such as "90s": so long at the most.
        progress : callable or None
            Called now and then with what is known of the motion; ``live`` says how far it is.
        **terms : object
            On what terms, as ``folkmoot ask`` has them.

        Returns
        -------
        Answer
            What was decided.
        """
        with _saying("nothing was put"):
            name = self.put(X, columns=columns, **terms)
        with _saying("the node goes on, and folkmoot motions shows what comes of it"):
            return self.answer(name, wait=wait, progress=progress)

    def put(self, X: Any, *, columns: Any = None, **terms: Any) -> str:
        """Put a motion and return its name at once; as ``ask``."""
        key = {"Idempotency-Key": uuid.uuid4().hex}
        return str(self._inputs("/v2/motions", X, columns, terms, key)["motion"])

    def check(self, X: Any, *, columns: Any = None, **terms: Any) -> dict[str, Any]:
        """The node's check of inputs and terms; nothing is put, and nobody else is told."""
        return dict(self._inputs("/v2/check", X, columns, terms, {}))

    def answer(
        self,
        motion: str,
        wait: bool | float | str = False,
        progress: Callable[[dict[str, Any]], object] | None = None,
    ) -> Answer:
        """The result of a motion so far, or when it is over; ``wait`` and ``progress`` as in ``ask``."""
        account = self.motion(motion, wait=wait, progress=progress)
        lists = self.inputs(account["motion"])
        details = {key: value for key, value in account.items() if key not in ("live", "certified")} | lists
        return Answer(account["motion"], lists["decisions"], account["undecided"], details)

    def motion(
        self,
        motion: str,
        wait: bool | float | str = False,
        progress: Callable[[dict[str, Any]], object] | None = None,
    ) -> dict[str, Any]:
        """The account of a motion without its inputs, and ``live`` while it is under way."""
        limit = 0.0 if wait is False else math.inf if wait is True else seconds_of(wait, "wait")
        end, step = time.monotonic() + limit, _POLL if progress is None else _LOOK
        path = f"/v2/motions/{quote(motion, safe='')}"
        account = self._json("GET", path)
        while account["live"] is not None and (left := end - time.monotonic()) > 0:
            if progress is not None:
                progress(account)
            account = self._json("GET", f"{path}?wait={min(step, left):.3f}")
        return dict(account)

    def inputs(self, motion: str) -> dict[str, list[Any]]:
        """The result of each input: decisions and all other lists of the account, each by its name."""
        lists: dict[str, list[Any]] = {}
        start: int | None = 0
        while start is not None:
            page = self._json("GET", f"/v2/motions/{quote(motion, safe='')}/inputs?from={start}&most={_PAGE}")
            for name, values in page["lists"].items():
                lists.setdefault(name, []).extend(values)
            start = page["next"]
        return lists

    def motions(self, last: int = 20) -> dict[str, Any]:
        """``motions``, the newest last; ``count`` of all; ``damaged`` ones; ``invitations`` without one."""
        return dict(self._json("GET", f"/v2/motions?last={last}"))

    def rounds(self, motion: str) -> dict[str, Any]:
        """The node's own rounds in a talk that are kept; ``played``, how many there were."""
        return dict(self._json("GET", f"/v2/motions/{quote(motion, safe='')}/rounds"))

    def why(self, motion: str, about: int) -> dict[str, Any]:
        """Why an input got its answer: ``text``, and the same as data in ``reason``."""
        return dict(self._json("GET", f"/v2/motions/{quote(motion, safe='')}/why?input={about}"))

    def play(self, motion: str) -> str:
        """A page that plays what the node saw of a motion."""
        return self._bytes(f"/v2/motions/{quote(motion, safe='')}/play").decode()

    def certificate(self, motion: str) -> bytes:
        """The certificate of a motion, for ``folkmoot verify``."""
        return self._bytes(f"/v2/motions/{quote(motion, safe='')}/certificate")

    def tell(self, motion: str, truths: Mapping[int, str] | str | bytes) -> dict[str, Any]:
        """Tell what was right: labels by input, or a table as text; returns track records."""
        path = f"/v2/motions/{quote(motion, safe='')}/truth"
        if isinstance(truths, Mapping):
            body = {"truths": [{"input": place, "label": label} for place, label in truths.items()]}
            return dict(self._json("PUT", path, json.dumps(body).encode(), "application/json"))
        table = truths.encode() if isinstance(truths, str) else truths
        return dict(self._json("PUT", path, table, "text/csv"))

    # ---- the node ------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """The node, its peers, the motions under way and its budgets."""
        return dict(self._json("GET", "/v2/status"))

    def access(self) -> dict[str, Any]:
        """Rights of the caller; inputs and answers of the node's model; ``page``, the address of its page."""
        return dict(self._json("GET", "/v2/access"))

    def records(self) -> dict[str, Any]:
        """How often each participant was right, by name."""
        return dict(self._json("GET", "/v2/records")["records"])

    def evidence(self) -> list[dict[str, Any]]:
        """Evidence against members, the newest last."""
        return list(self._json("GET", "/v2/evidence")["evidence"])

    def evidence_file(self, about: str, participant: str) -> bytes:
        """The evidence against a participant in a motion, or about a roster, by name or digest."""
        return self._bytes(f"/v2/evidence/{quote(about, safe='')}/{quote(participant, safe='')}")

    def audit(self) -> bytes:
        """The audit log, signed by the node."""
        return self._bytes("/v2/audit")

    def reload(self) -> dict[str, Any]:
        """Let the node load the model that its node.toml names now; what that takes and answers."""
        return dict(self._json("POST", "/v2/reload"))

    def metrics(self) -> str:
        """The metrics in the format of Prometheus."""
        return self._bytes("/metrics").decode()

    def events(self, after: str = "") -> Iterator[Event]:
        """Events at the node as they happen; ends when the node stops.

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
        connection = self._connection(_POLL)
        try:
            response = self._response(connection, "GET", "/v2/events", None, headers)
            fields: dict[str, str] = {}
            while line := response.readline():
                text = line.decode(errors="replace").rstrip("\n")
                if text:
                    name, _, value = text.partition(": ")
                    fields[name] = value
                elif fields:
                    yield Event(
                        fields.get("event", ""), self._read(fields.get("data", "")), fields.get("id", "")
                    )
                    fields = {}
        except (OSError, http.client.HTTPException) as error:
            raise NodeAwayError(f"the node at {self.where} went away ({error})") from None
        finally:
            connection.close()

    # ---- the roster ----------------------------------------------------------------------------

    def roster(self) -> dict[str, Any]:
        """The roster in force, and what is proposed to come next."""
        return dict(self._json("GET", "/v2/roster"))

    def roster_file(self, epoch: int | None = None) -> bytes:
        """The roster of an epoch with the signatures that made it so; None: the one in force."""
        return self._bytes("/v2/roster/file" + ("" if epoch is None else f"?epoch={epoch}"))

    def propose(self, **change: list[str]) -> dict[str, Any]:
        """Propose a roster: lists ``add``, ``remove``, ``rotate``, ``replace``. ``file`` is its file."""
        body = json.dumps(change).encode()
        return dict(self._json("POST", "/v2/roster/proposals", body, "application/json"))

    def sign(self, proposal: str | bytes) -> dict[str, Any]:
        """Sign a proposal: the first digits of its name, or its file. ``file`` is what that is then."""
        body, kind = proposal, "application/toml"
        if isinstance(body, str):
            body, kind = json.dumps({"proposal": body}).encode(), "application/json"
        return dict(self._json("POST", "/v2/roster/signatures", body, kind))

    # ---- HTTP ----------------------------------------------------------------------------------

    def _inputs(
        self, path: str, X: Any, columns: Any, terms: Mapping[str, Any], headers: dict[str, str]
    ) -> Any:
        """Send inputs: numbers in memory as bytes, all else as JSON."""
        said = {"columns": _names(X) if columns is None else columns, **terms}
        things = _things(X)
        if things is not None:
            said["columns"] = columns or []
            body = json.dumps({"inputs": things, **said}, allow_nan=False).encode()
            return self._json("POST", path, body, "application/json", headers)
        plain = X.to_numpy() if hasattr(X, "to_numpy") else X
        kind: Any = getattr(plain, "dtype", None)
        if getattr(kind, "kind", "") not in _KINDS or plain.ndim != 2 or not plain.size:
            body = json.dumps({"inputs": _rows(plain), **said}, allow_nan=False).encode()
            return self._json("POST", path, body, "application/json", headers)
        if kind.str.startswith(">"):
            plain = plain.astype(kind.newbyteorder("<"))
        rows, width = plain.shape
        head = json.dumps({"dtype": plain.dtype.str, "width": width, **said}, allow_nan=False).encode()
        size = width * plain.dtype.itemsize
        step = max(1, _PART // size)

        def parts() -> Iterator[bytes]:
            yield head + b"\n"
            for start in range(0, rows, step):
                yield plain[start : start + step].tobytes()

        headers = {**headers, "Content-Length": str(len(head) + 1 + rows * size)}
        return self._json("POST", path, parts(), RAW, headers)

    def _connection(self, more: float = 0.0) -> http.client.HTTPConnection:
        seconds = self._timeout + more
        if self._folder is not None:
            return _FolderConnection(self._folder, seconds)
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        return kind(self._host, self._port, timeout=seconds)

    def _bytes(
        self,
        path: str,
        method: str = "GET",
        body: bytes | Iterable[bytes] | None = None,
        headers: dict[str, str] | None = None,
    ) -> bytes:
        connection = self._connection(_POLL)
        try:
            return self._response(connection, method, path, body, headers or {}).read()
        except (OSError, http.client.HTTPException) as error:
            raise NodeAwayError(f"the node at {self.where} went away ({error})") from None
        finally:
            connection.close()

    def _json(
        self,
        method: str,
        path: str,
        body: bytes | Iterable[bytes] | None = None,
        kind: str = "",
        headers: dict[str, str] | None = None,
    ) -> Any:
        shown = {**(headers or {}), **({"Content-Type": kind} if kind else {})}
        return self._read(self._bytes(path, method, body, shown))

    def _read(self, said: bytes | str) -> dict[str, Any]:
        try:
            found = json.loads(said)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):  # all that a node answers is an object
            raise ValueError(f"the answer of {self.where} is no JSON object: is that a node's page?")
        return found

    def _response(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | Iterable[bytes] | None,
        headers: dict[str, str],
    ) -> http.client.HTTPResponse:
        try:
            connection.connect()
        except OSError as error:
            raise NodeAwayError(self._away(error)) from None
        shown = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        with suppress(BrokenPipeError, ConnectionResetError):  # it has refused already: read why
            connection.request(method, path, body, shown | headers)
        response = connection.getresponse()
        if response.status >= 300:
            raise refusal(response.status, response.reason, response.read())
        return response

    def _away(self, error: OSError) -> str:
        if self._folder is not None:
            how = f"folkmoot node run --node {self.where}"
            return f"the node in {self.where} is not running: start it with {how}"
        why = error.strerror or error
        return f"no node answers at {self.where} ({why}): was it started with folkmoot node run --page?"


class _FolderConnection(http.client.HTTPConnection):
    """A connection to the socket in a node's folder."""

    def __init__(self, folder: Path, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self._folder = folder

    def connect(self) -> None:
        """Connect; its files' permissions say who may."""
        made = socket.socket(socket.AF_UNIX)
        try:
            made.settimeout(self.timeout)
            with short_path(self._folder) as path:
                made.connect(path)
        except BaseException:
            made.close()
            raise
        self.sock = made


@contextmanager
def short_path(folder: Path) -> Iterator[str]:
    """A path of the socket in a node's folder that fits into an address, however deep the folder is."""
    path = str(folder.absolute() / SOCKET)
    if len(os.fsencode(path)) <= LONGEST_PATH:
        yield path
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{handle}/{SOCKET}"
    finally:
        os.close(handle)


@contextmanager
def _saying(what: str) -> Iterator[None]:
    """Ctrl-C, with what becomes of what was begun."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(what) from None


def refusal(status: int, reason: str, data: bytes) -> ValueError:
    """The refusal of a node: an ``ArgumentError`` about arguments, so that the prompt can name options."""
    try:
        problem = json.loads(data)
        detail = str(problem["detail"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return NodeRefusal(status, f"the answer was {status} {reason}: is that a node's page?")
    if problem.get("message"):
        from folkmoot.checks import ArgumentError

        with suppress(KeyError, ValueError, TypeError):
            return ArgumentError(str(problem["message"]), **problem["given"])
    return NodeRefusal(status, detail)


def _names(X: Any) -> list[str]:
    """The names of a data frame's columns, if all are text; else none."""
    columns = getattr(X, "columns", None)
    names = [] if columns is None or callable(columns) else list(columns)
    return names if all(isinstance(name, str) for name in names) else []


def _things(X: Any) -> list[Any] | None:
    """Texts or records as JSON has them; None if the inputs are rows of numbers."""
    if hasattr(X, "columns") and hasattr(X, "to_dict"):
        if getattr(X.to_numpy().dtype, "kind", "") in _KINDS:
            return None
        rows = X.to_dict("records") if hasattr(X, "itertuples") else X.to_dicts()
        return [{str(name): _field(value) for name, value in row.items()} for row in rows]
    values = X.tolist() if getattr(X, "ndim", 0) == 1 else X
    if isinstance(values, list | tuple) and values:
        if isinstance(values[0], str):
            return list(values)
        if isinstance(values[0], Mapping):
            return [{str(name): _field(value) for name, value in row.items()} for row in values]
    return None


def _field(value: Any) -> Any:
    """A value of JSON; None for what is missing."""
    plain = value.item() if hasattr(value, "item") else value
    if plain is None or isinstance(plain, str | bool | int):
        return plain
    try:
        return float(plain) if math.isfinite(plain) else None
    except TypeError:
        if type(plain).__name__ in ("NAType", "NaTType"):
            return None
        raise ValueError(f"a field must be a number, a text, a boolean or null: got {plain!r:.60}") from None


def _rows(X: Any) -> list[list[float | None]]:
    rows = X.tolist() if hasattr(X, "tolist") else X
    try:
        found = [[None if value is None else float(value) for value in row] for row in rows]
    except (TypeError, ValueError):
        raise ValueError("X must hold rows of numbers, such as [[1.0, 2.0], [3.0, 4.0]]") from None
    if any(value in (math.inf, -math.inf) for row in found for value in row):
        raise ValueError("X must not hold infinite numbers: JSON has none")
    return [[value if value == value else None for value in row] for row in found]  # NaN is missing
