"""The process that loads a file of somebody else and answers for it: confined first, then everything else.

It gets an order (JSON), the file open for reading, and requests; it sends back what is in force, what the
file is, and answers. Nothing is imported before it is confined but what confines it.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from folkmoot.sandbox import frames
from folkmoot.sandbox.confinement import confine

_PR_SET_PDEATHSIG = 1
_OF_GPUS = ("cupy", "cuda", "numba_cuda")  # no GPU can be reached inside: these are not installed there


def main(requests: int, answers: int, file: int) -> None:
    """Serve until the parent is gone."""
    order = json.loads(frames.read(requests))
    _die_with(order["parent"])
    with suppress(OSError):  # libraries ask for its name when they are imported: it is found by writing there
        tempfile.gettempdir()
    ctypes.util.find_library = _find_library
    if order["confined"]:  # scikit-learn's discovery imports cupy where it is installed, which writes at home
        for name in _OF_GPUS:
            sys.modules[name] = None  # type: ignore[assignment]
    # Restrictions in force are sent before the file is read, so that nothing in it can change them.
    try:
        restrictions: object = None
        if order["confined"]:
            restrictions = confine(order["readable"], order["memory"], order["ports"])
    except (OSError, RuntimeError, ValueError) as error:
        frames.write(answers, json.dumps(str(error)).encode())
        return
    frames.write(answers, json.dumps(restrictions).encode())
    try:
        _serve(order, requests, answers, file)
    except EOFError:
        return


def _find_library(name: str, find: Callable[[str], str | None] = ctypes.util.find_library) -> str | None:
    """``ctypes.util.find_library``, which writes a file and starts a compiler: None where it may not."""
    with suppress(OSError):
        return find(name)
    return None


def _die_with(parent: int) -> None:
    """Be killed when the parent ends, however it ends."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    except AttributeError:  # no Linux: it ends when its pipe does
        return
    if os.getppid() != parent:
        os._exit(1)


def _serve(order: dict[str, Any], requests: int, answers: int, file: int) -> None:
    import importlib
    import warnings

    import msgspec

    from folkmoot.sandbox import messages

    encode = msgspec.msgpack.Encoder().encode
    try:
        module, _, name = order["served"].partition(":")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            served = getattr(importlib.import_module(module), name)
            with os.fdopen(file, "rb") as opened:
                facts, methods = served(opened.read(), *order["arguments"])
        said = [f"{each.message}"[:1000] for each in caught[:10]]
    except BaseException as error:  # a file may raise anything
        frames.write(answers, encode(messages.failed(error)))
        return
    frames.write(answers, encode(messages.Loaded(msgspec.Raw(encode(facts)), said)))
    while True:
        method, arguments = msgspec.msgpack.decode(
            frames.read(requests), type=tuple[str, list[messages.AnyArray]]
        )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answer = methods[method](*(each.array for each in arguments))
        except BaseException as error:
            answer = messages.failed(error)
        frames.write(answers, encode(answer))
