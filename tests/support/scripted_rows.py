"""A small real server of a model that takes rows, in the three forms that a node can ask, and of broken ones.

It is written from the protocols' pages and shares no code with what asks it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BROKEN = {
    "not-json": b"<html>502 Bad Gateway</html>",
    "short": b'{"labels": [0], "predictions": [0], "outputs": [{"shape": [1], "data": [0]}]}',
    "nan": b'{"labels": [NaN, NaN, NaN]}',
    "infinite": b'{"labels": [1e999, 1e999, 1e999]}',
    "deep": b"[" * 300_000,
    "list": b"[1, 2, 3]",
    "no-shape": b'{"outputs": [{"shape": [3, 9999999], "datatype": "INT64", "data": [0, 1, 2]}]}',
    "objects": b'{"labels": [{}, [], {"a": 1}], "predictions": [{}, {}, {}]}',
    "strange": b'{"labels": ["no such label", null, true], "predictions": ["x", null, true]}',
    "unlikely": b'{"probabilities": [[0.9, 0.9], [-1, 2], ["a", "b"]], "predictions": [[9, 9], [-1, 2], []]}',
}  # fmt: skip


@dataclass
class RowServer:
    """Where it is, and what it was asked."""

    url: str = ""
    asked: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    go_on: threading.Event = field(default_factory=threading.Event)


@contextmanager
def row_server(
    predict: Callable[[list[Any]], list[Any]], chances: Callable[[list[Any]], list[Any]]
) -> Iterator[RowServer]:
    """A server on loopback, for a block: ``predict`` and ``chances`` answer a list of rows."""
    script = RowServer()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_POST(self) -> None:
            told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            script.asked.append((self.path, dict(self.headers), told))
            form = self.path.strip("/").split("/")[-1]
            if form == "slow":
                script.go_on.wait(20)
                form = "labels"
            status, answer = 200, BROKEN.get(form)
            try:
                answer = json.dumps(made(form, told)).encode() if answer is None else answer
            except (KeyError, TypeError, ValueError) as error:
                status, answer = 400, json.dumps({"error": str(error)}).encode()
            with suppress(BrokenPipeError, ConnectionResetError):
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

    def made(form: str, told: dict[str, Any]) -> Any:
        if form in ("labels", "probabilities"):
            rows = told["inputs"]
            return {form: predict(rows) if form == "labels" else chances(rows)}
        if form == "both":
            return {"labels": predict(told["inputs"]), "probabilities": chances(told["inputs"])}
        if form in ("invocations", "invocations-proba"):
            if "dataframe_split" in told:
                frame = told["dataframe_split"]
                rows = [dict(zip(frame["columns"], row, strict=True)) for row in frame["data"]]
            else:
                rows = told["inputs"]
            return {"predictions": predict(rows) if form == "invocations" else chances(rows)}
        if form == "infer":
            return v2(told)
        raise ValueError(f"no such path: {form}")

    def v2(told: dict[str, Any]) -> Any:
        tensors = told["inputs"]
        for tensor in tensors:
            count, width = tensor["shape"]
            if len(tensor["data"]) != count * width or tensor["datatype"] not in (
                "FP64",
                "INT64",
                "BYTES",
                "BOOL",
            ):
                raise ValueError("a tensor must have its shape")
        if len(tensors) > 1 or tensors[0]["name"] != "input-0":
            rows = [
                dict(zip([t["name"] for t in tensors], row, strict=True))
                for row in zip(*(t["data"] for t in tensors), strict=True)
            ]
        elif tensors[0]["datatype"] == "BYTES":
            rows = tensors[0]["data"]
        else:
            (tensor,) = tensors
            width = tensor["shape"][1]
            rows = [tensor["data"][i : i + width] for i in range(0, len(tensor["data"]), width)]
        wanted = [each["name"] for each in told.get("outputs", [{"name": "predict"}])]
        outputs = []
        for name in wanted:
            if name == "predict":
                labels = predict(rows)
                kind = "BYTES" if isinstance(labels[0], str) else "INT64"
                outputs.append({"name": name, "shape": [len(rows), 1], "datatype": kind, "data": labels})
            else:
                likely = chances(rows)
                flat = [p for row in likely for p in row]
                outputs.append(
                    {"name": name, "shape": [len(rows), len(likely[0])], "datatype": "FP64", "data": flat}
                )
        return {"model_name": "m", "id": "1", "outputs": outputs}

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = False
    script.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield script
    finally:
        script.go_on.set()
        server.shutdown()
        server.server_close()
        thread.join()
