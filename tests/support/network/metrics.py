"""What a node's ``/metrics`` says, read as Prometheus reads it."""

from __future__ import annotations

import http.client
import re
import socket


def metrics(port: int) -> dict[str, float]:
    """What /metrics says, read as Prometheus reads it."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10.0)
    connection.request("GET", "/metrics")
    response = connection.getresponse()
    text = response.read().decode()
    assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    connection.close()
    types: dict[str, str] = {}
    samples: dict[str, float] = {}
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("#"):
            word, name, rest = line[2:].split(" ", 2)
            assert word in ("HELP", "TYPE")
            if word == "TYPE":
                assert name not in types
                assert rest in ("counter", "gauge")
                types[name] = rest
            continue
        match = re.fullmatch(r'([a-z_]+)(\{[a-z]+="[^"\\\n]*"\})? (\S+)', line)
        assert match, line
        assert match[1] in types
        assert (types[match[1]] == "counter") == match[1].endswith("_total")
        assert match[1] + (match[2] or "") not in samples
        samples[match[1] + (match[2] or "")] = float(match[3])
    return samples


def request(port: int, text: str) -> str:
    with socket.create_connection(("127.0.0.1", port), timeout=10.0) as connection:
        connection.sendall(text.encode())
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode()
