"""What is said at the asker's door, and over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec
import numpy as np

from folkmoot.network.service import control
from folkmoot.network.service.status import PeerStatus, Status
from folkmoot.network.storage.account import account_of
from folkmoot.network.wire import messages as m
from folkmoot.web.api import _truths_in
from folkmoot.web.putting import asked_in_json
from support.network.decoders.reader import INPUTS, Reader
from support.network.moot_in_memory import Moot


def doors() -> Iterator[Reader]:
    """What is said at the asker's door, and over HTTP."""
    put = control.Put(
        5.0, "slush", None, None, 1, 5, 0.0, False, False, ("a", "b"), 1, 1, "<f8", 1, (bytes(32),)
    )
    encode = msgspec.msgpack.Encoder().encode
    asked = [encode(each) for each in (put, control.Look("x"))]
    hall = Moot(np.ones((6, INPUTS), np.int8), 1)
    hall.put(0, rounds=2)
    hall.network.run(40.0)
    (stored,) = hall.storages[0].motions()
    account = account_of(stored, hall.storages[0].held(stored.name))
    peer = PeerStatus("b", True, False, 0.1, None, 3, 0, 0)
    now = Status("a", "0.2", "ab", 2, 2, 1.0, [peer], [], (0, 1), (0, 1), (0, 1), True)
    told = [control.Refused("why"), control.MotionProgress("ab", "talking", 1, 2), control.Over(account), now]
    replies = [encode(each) for each in told]

    def a_struct(_data: bytes, found: Any) -> None:
        assert isinstance(found, msgspec.Struct)

    yield Reader("requests at the door", partial(m.decoded, control._REQUEST), asked, a_struct,
                 ("service.control:_REQUEST",))  # fmt: skip
    yield Reader("replies at the door", partial(m.decoded, control._REPLY), replies, a_struct,
                 ("service.control:_REPLY",))  # fmt: skip
    question = b'{"rows": [[1.5, null], [2, 3]], "columns": ["a", {"name": "b", "low": 0}], "rounds": 5}'
    truths = b'{"truths": [{"input": 3, "label": "a"}, {"input": 0, "label": "b"}]}'

    def a_batch(_data: bytes, found: Any) -> None:
        batch, terms = found
        assert len(batch) > 0
        assert terms.answers in ("labels", "probabilities", "numbers")

    def some_truths(_data: bytes, found: dict[int, str]) -> None:
        assert all(0 <= i < INPUTS and label in ("a", "b") for i, label in found.items())

    yield Reader("questions over HTTP", asked_in_json, [question], a_batch, ("web.putting:_QUESTION",))
    yield Reader("truths over HTTP", lambda data: _truths_in("json", data, stored), [truths], some_truths,
                 ("web.api:_TRUTHS",))  # fmt: skip
