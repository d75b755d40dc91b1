"""The weather of the memory transport: its law, and that nobody's frames change what becomes of another's."""

from __future__ import annotations

import math

import numpy as np

from folkmoot.testing.memory import Network, Weather


class Ear:
    """Notes what arrives, and when."""

    def __init__(self, network: Network[int]) -> None:
        self.network = network
        self.heard: list[tuple[float, int, bytes]] = []

    def received(self, peer: int, frame: bytes) -> None:
        self.heard.append((self.network.time, peer, frame))

    def reached(self, peer: int) -> None:
        """It is not asked about that."""

    def unreachable(self, peer: int) -> None:
        """Nor about that."""


def arrived(
    weather: Weather, frames: list[bytes], *, seed: int = 3, chatter: int = 0
) -> list[tuple[float, bytes]]:
    """What of these frames of node 0 comes to node 1, while node 2 says something as well."""
    network = Network(range(3), seed, weather)
    ears = [Ear(network) for _ in range(3)]
    worlds = [network.world(place) for place in range(3)]
    for world, ear in zip(worlds, ears, strict=True):
        world.attach(ear)
    for number, frame in enumerate(frames):
        for _ in range(chatter):
            worlds[2].send(number % 2, frame)
        worlds[0].send(1, frame)
    network.run(1e6)
    return [(when, frame) for when, peer, frame in ears[1].heard if peer == 0]


def test_what_others_send_does_not_change_which_frames_are_lost_and_how_late_the_others_are() -> None:
    weather = Weather(delay=0.1, drop=0.3)
    frames = [number.to_bytes(2, "big") for number in range(300)] * 2
    alone = arrived(weather, frames)
    assert 0 < len(alone) < len(frames)
    assert arrived(weather, frames, chatter=3) == alone
    assert arrived(weather, frames, seed=4) != alone


def test_frames_are_lost_and_late_by_the_law_they_should_be() -> None:
    """Shares and means of 20,000 frames, half of them the same one, within five standard errors."""
    count, drop, delay = 20_000, 0.15, 0.02
    for frames in ([number.to_bytes(4, "big") for number in range(count)], [b"the same"] * count):
        found = arrived(Weather(delay, drop), frames)
        lost = 1.0 - len(found) / count
        assert abs(lost - drop) < 5 * math.sqrt(drop * (1 - drop) / count)
        times = np.array([when for when, _ in found])
        assert abs(times.mean() - delay) < 5 * delay / math.sqrt(len(found))
        for share in (0.1, 0.5, 0.9, 0.99):  # exponential: the quantiles are known
            error = math.sqrt(share * (1 - share) / len(found))
            assert abs((times < -delay * math.log(1 - share)).mean() - share) < 5 * error


def test_without_weather_everything_arrives_at_once() -> None:
    frames = [b"a", b"b", b"a"]
    assert arrived(Weather(), frames, chatter=2) == [(0.0, frame) for frame in frames]
