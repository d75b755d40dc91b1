"""POST to a service that may be slow, broken or hostile: bounded in time, size and number of requests.

The client is ``http.client`` of Python itself. It brings no package, follows no redirect, keeps no cookie and
reads no proxy from the environment. It bounds the head of an answer; the rest has a limit of bytes here. And
one deadline holds for a whole exchange, since the timeout of a socket begins anew with every byte.
"""

from __future__ import annotations

import functools
import http.client
import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final, TypeVar
from urllib.parse import urlsplit

from folkmoot.models.usage import Usage

TOO_SLOW: Final = "its model was too slow"
UNREACHED: Final = "its model could not be reached"
REFUSED: Final = "its model's server refused the request"
NONSENSE: Final = "its model's server sent no valid answer"

_AGAIN: Final = (408, 429, 500, 502, 503, 504)  # a later try may succeed
_PAUSE: Final = 0.25  # seconds before the first retry; each further pause is twice as long
_LONGEST_PAUSE: Final = 20.0
_QUOTED: Final = 200  # characters of what a server says that a message shows
_KEY_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]{0,127}")

Thing = TypeVar("Thing")
Result = TypeVar("Result")


class ServiceError(Exception):
    """A service gave no usable answer.

    ``reason`` is one of a few fixed lines, which are public. ``detail`` may quote the service.
    """

    def __init__(self, reason: str, detail: str, *, again: bool = False, pause: float = 0.0) -> None:
        super().__init__(detail)
        self.reason, self.detail, self.again, self.pause = reason, detail, again, pause
        self.status = 0


@dataclass(frozen=True)
class Endpoint:
    """A service: its address, its key, and how long and how often it is asked.

    ``key`` is what ``Authorization: Bearer`` carries. It is in no text that this object can become.
    """

    url: str
    key: str | None = field(default=None, repr=False)
    timeout: float = 30.0
    retries: int = 2
    usage: Usage = field(default_factory=Usage, compare=False)

    def post(self, path: str, body: bytes, *, most: int, until: float | None = None) -> bytes:
        """The answer to these bytes of JSON; ServiceError if there is none by ``until``, a monotonic time."""
        for attempt in range(self.retries + 1):
            end = time.monotonic() + self.timeout
            end = end if until is None else min(end, until)
            try:
                return self._once(path, body, most, end)
            except ServiceError as error:
                self.usage.add(failed=1)
                pause = min(max(error.pause, _PAUSE * 2**attempt), _LONGEST_PAUSE)
                late = until is not None and time.monotonic() + pause >= until
                if not error.again or attempt == self.retries or late:
                    raise
            time.sleep(pause)
        raise AssertionError("unreachable")

    def _once(self, path: str, body: bytes, most: int, end: float) -> bytes:
        parts = urlsplit(self.url)
        headers = {
            "Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity",
            "Connection": "close", "User-Agent": "folkmoot",
        }  # fmt: skip
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        if (left := end - time.monotonic()) <= 0:
            raise ServiceError(TOO_SLOW, "there was no time left to ask it")
        self.usage.add(requests=1)
        late = ServiceError(TOO_SLOW, f"{self.url} did not answer in time", again=True)
        host, secure = parts.hostname or "", parts.scheme == "https"
        connection = http.client.HTTPConnection(host, parts.port or (443 if secure else 80))
        try:
            plain = socket.create_connection((connection.host, connection.port), left)
            with _ended_at(plain, end):
                connection.sock = _tls().wrap_socket(plain, server_hostname=host) if secure else plain
                connection.request("POST", f"{parts.path.rstrip('/')}{path}", body, headers)
                with connection.getresponse() as response:
                    found = response.read(most + 1)
        except TimeoutError:
            raise late from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            if time.monotonic() >= end:
                raise late from None
            reason = UNREACHED if isinstance(error, OSError) else NONSENSE
            why = getattr(error, "strerror", None) or type(error).__name__
            raise ServiceError(reason, f"{self.url} could not be asked ({why})", again=True) from None
        finally:
            connection.close()
        if time.monotonic() >= end:  # it may have been cut short
            raise late
        if len(found) > most:
            raise ServiceError(NONSENSE, f"{self.url} answered with more than {most:,} bytes")
        if response.status != 200:
            raise self._refusal(response, found)
        return found

    def _refusal(self, response: http.client.HTTPResponse, body: bytes) -> ServiceError:
        status = response.status
        if 300 <= status < 400:
            detail = (
                f"{self.url} answered {status}, a redirect, which is not followed: give the final address"
            )
            return _with_status(ServiceError(REFUSED, detail), status)
        detail = f"{self.url} answered {status}"
        if status in (401, 403):  # a server may quote the key
            detail += ": the key is wrong or missing" if status == 401 else ": the key may not do this"
        else:
            detail += f": {self.quoted(body.decode(errors='replace'))}" if body else ""
        error = ServiceError(REFUSED, detail, again=status in _AGAIN, pause=_pause(response))
        return _with_status(error, status)

    def quoted(self, text: str) -> str:
        """A text of the service for a message: short, on one line, without the key."""
        if self.key:
            text = text.replace(self.key, "***")
        line = " ".join("".join(each if each.isprintable() else " " for each in text[: 4 * _QUOTED]).split())
        return line if len(line) <= _QUOTED else f"{line[:_QUOTED]}..."


def _with_status(error: ServiceError, status: int) -> ServiceError:
    error.status = status
    return error


def _pause(response: http.client.HTTPResponse) -> float:
    """Seconds that the server asks for before the next try; 0 if it says nothing that can be used."""
    said = response.getheader("Retry-After", "")
    return float(said) if re.fullmatch(r"\d{1,4}(\.\d{1,3})?", said) else 0.0


def check_url(url: object, name: str = "base_url") -> str:
    """The address of a service without a closing slash; ValueError if it is none."""
    wanted = f"{name} must be an address such as http://127.0.0.1:8000/v1"
    if not isinstance(url, str):
        raise ValueError(f"{wanted}: got {url!r:.200}")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError(f"{wanted}: got {url!r:.200}") from None
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ValueError(
            f"{wanted}, without user, password, ? and #; it is not shown, as it may hold a key, and "
            "api_key_env names the variable of one"
        )
    good = parts.scheme in ("http", "https") and parts.hostname and port != 0
    if not good or any(each <= " " or each > "~" for each in url):
        raise ValueError(f"{wanted}: got {url!r:.200}")
    return url.rstrip("/")


def key_from(variable: object) -> str | None:
    """The key in an environment variable; ValueError if there is none. It is never shown."""
    if variable is None:
        return None
    if not isinstance(variable, str) or not _KEY_NAME.fullmatch(variable):
        raise ValueError(
            "api_key_env must name an environment variable in capitals, such as OPENAI_API_KEY: what was "
            "given is not shown, as it may be a key"
        )
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ValueError(f"api_key_env names {variable}, which is not set: type export {variable}=...")
    if any(each <= " " or each > "~" for each in key):
        raise ValueError(f"{variable} must hold a key of ASCII characters without spaces; it is not shown")
    return key


def in_parallel(ask: Callable[[Thing], Result], things: Sequence[Thing], parallel: int) -> list[Result]:
    """Ask about each thing, with at most so many requests at once."""
    if len(things) <= 1 or parallel == 1:
        return [ask(each) for each in things]
    with ThreadPoolExecutor(min(parallel, len(things))) as pool:
        return list(pool.map(ask, things))


@contextmanager
def _ended_at(connected: socket.socket, end: float) -> Iterator[None]:
    """After ``end`` the socket is shut down: whoever waits for more bytes is told that there are none."""
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    same = connected.dup()  # TLS takes the other one over

    def hang_up() -> None:
        with suppress(OSError):  # the other side has gone already
            same.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(end - time.monotonic(), hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        same.close()


@functools.cache
def _tls() -> ssl.SSLContext:
    """Certificates of this system, read once."""
    return ssl.create_default_context()
