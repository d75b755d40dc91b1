"""``folkmoot motions --certificate`` and ``folkmoot verify``, from the shell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support.command import assert_refused, run, run_json
from support.network.moot_in_memory import Moot
from support.network.stored_motion import folder_of


@pytest.fixture(scope="module")
def moot(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folder of a node that is not running, and the roster; one of seven signed two closes."""
    folder = tmp_path_factory.mktemp("certificates")
    hall = Moot(np.tile(np.arange(4, dtype=np.int8) % 2, (7, 1)), 1, two_faced=[2])
    hall.put(0, k=4, alpha=3, rounds=5)
    hall.network.run(60.0)
    name = hall.storages[0].names()[0]
    place = next(place for place in range(7) if hall.storages[place].evidence(name))
    hall.roster.write(folder / "roster.toml")
    return folder_of(hall, place, folder / "north"), folder / "roster.toml"


def test_a_certificate_is_written_and_verified(moot: tuple[Path, Path], tmp_path: Path) -> None:
    node, roster = moot
    file = tmp_path / "motion.certificate"
    written = run("motions", "last", "--via", node, "--certificate", file)
    assert f"wrote {file}" in written.stderr
    mine = run_json("motions", "last", "--via", node)
    told = run_json("verify", file, "--roster", roster)
    assert told["holds"] is True
    assert "cannot show that no evidence exists" in told["caveat"]
    for key in ("motion", "asker", "decisions", "first_votes", "majority", "took_part", "evidence", "silent"):
        assert told[key] == mine[key]
    assert not {"state", "late", "refused", "trust", "queries", "seconds", "bytes_sent"} & told.keys()
    shown = run("verify", file, "--roster", roster, "--out", tmp_path / "answers.csv").stdout
    assert "the certificate holds: the asker's signature, 7 closes and 1 piece of evidence" in shown
    assert "a certificate cannot show that no evidence exists" in shown
    assert "EVIDENCE against p002: two closes" in shown
    assert "queries" not in shown
    lines = (tmp_path / "answers.csv").read_text().splitlines()
    assert [line.split(",")[1] for line in lines[1:]] == [label or "" for label in mine["decisions"]]


def test_what_was_changed_is_refused_in_one_line(moot: tuple[Path, Path], tmp_path: Path) -> None:
    node, roster = moot
    file = tmp_path / "motion.certificate"
    run("motions", "last", "--via", node, "--certificate", file)
    data = file.read_bytes()
    for place in [*range(0, len(data), 150), len(data) - 1]:
        file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        assert_refused(f"{file} does not hold: ", "verify", file, "--roster", roster)
    for wrong in (b"", b"\xff\xfe", b"{}\n", b"[" * 100_000, data[:-1], data + b"\n"):
        file.write_bytes(wrong)
        assert_refused(f"{file} does not hold: ", "verify", file, "--roster", roster)


def test_what_cannot_be_written_or_read(moot: tuple[Path, Path], tmp_path: Path) -> None:
    node, roster = moot
    file = tmp_path / "motion.certificate"
    assert_refused(
        "--certificate must be given with a motion", "motions", "--via", node, "--certificate", file
    )
    command = ["motions", "last", "--via", node, "--certificate"]
    assert_refused(
        "--certificate must name a file in a folder that exists", *command, tmp_path / "no" / "file"
    )
    assert_refused("", *command, tmp_path)
    assert_refused("", "verify", file, "--roster", roster)
    assert_refused("", "verify", tmp_path, "--roster", roster)
    run(*command, file)
    assert_refused("", "verify", file, "--roster", tmp_path / "none.toml")
    assert_refused("", "verify", file)
    few = tmp_path / "few.toml"
    few.write_text("\n".join(line for line in roster.read_text().splitlines() if '"p006"' not in line))
    assert_refused("it is of another moot, with the digest", "verify", file, "--roster", few)
