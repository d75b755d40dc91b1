from __future__ import annotations

from folkmoot.comparing.printing import size


def test_sizes_for_people() -> None:
    assert [size(n) for n in (0, 999, 1000, 1_500_000, 2 * 10**15)] == [
        "0 bytes", "999 bytes", "1.0 kB", "1.5 MB", "2000.0 TB",
    ]  # fmt: skip
