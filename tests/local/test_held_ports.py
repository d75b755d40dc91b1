"""Ports that stay ours: whoever asks for any is not given them, and servers can listen on them."""

from __future__ import annotations

import socket
import sys

import pytest

from folkmoot.local.held_ports import HeldPorts

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot share a held port")


def listening_on(port: int) -> socket.socket:
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as nodes do
    server.bind(("127.0.0.1", port))
    server.listen()
    return server


def test_servers_come_and_go_on_a_held_port() -> None:
    held = HeldPorts(2)
    try:
        assert len(set(held.numbers)) == 2
        port, _ = held.numbers
        for _ in range(2):  # a node that is killed is started again
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port), timeout=5)
            with (
                listening_on(port) as server,
                socket.create_connection(("127.0.0.1", port), timeout=5) as one,
            ):
                other, _ = server.accept()
                with other:
                    one.sendall(b"hello")
                    assert other.recv(5) == b"hello"
    finally:
        held.close()


def test_nobody_else_is_given_a_held_port() -> None:
    held = HeldPorts(1)
    try:
        (port,) = held.numbers
        with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
            stranger.bind(("127.0.0.1", port))
        others = HeldPorts(500)
        assert port not in others.numbers
        others.close()
    finally:
        held.close()
    with socket.socket() as stranger:  # let go
        stranger.bind(("127.0.0.1", port))
