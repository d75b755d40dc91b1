"""``folkmoot theory`` says what the library says, and bad input is one line."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from scipy.stats import binom

import folkmoot
from folkmoot import Others
from folkmoot.theory import LocalSlushChain, SlushChain, accuracy_gap, majority_accuracy, threshold_accuracy
from support.command import assert_refused, run, run_json
from support.oracles import exact as oracle
from support.process import assert_control_c_says_interrupted, run_process, start


def test_version() -> None:
    assert run("--version").stdout == f"folkmoot {folkmoot.__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["theory"], ["theory", "threshold", "--help"]])
def test_help(arguments: list[str]) -> None:
    result = run(*arguments)
    assert "Usage: folkmoot" in result.stdout
    assert result.stderr == ""


def test_threshold_json_is_the_example_of_the_readme() -> None:
    result = run_json("theory", "threshold", "--n", "101", "--k", "20", "--alpha", "14", "--delta", "4")
    assert result["p_th"] == threshold_accuracy(101, 20, 14, delta=4)
    assert result["delta"] == 4


def test_threshold_with_q_and_byzantine() -> None:
    result = run_json("theory", "threshold", "--n", "101", "--alpha", "7", "--q", "0.55", "--malicious", "3")
    assert result["p_th"] == threshold_accuracy(101, 10, 7, q=0.55, byzantine=3)
    table = run("theory", "threshold", "--n", "101", "--alpha", "7", "--q", "0.55", "--malicious", "3")
    assert f"{result['p_th']:.10f}" in table.stdout


def test_absorption_json_holds_every_b() -> None:
    chain = SlushChain(61, 10, 7, byzantine=2, sampling=Others())
    result = run_json(
        "theory", "absorption", "--n", "61", "--alpha", "7", "--malicious", "2", "--sampling", "others"
    )
    assert result["b"] == list(range(60))
    assert result["blue"] == chain.blue.tolist()
    assert result["red"] == chain.red.tolist()
    logs = [-np.inf if x is None else x for x in result["log_blue"]]
    assert logs == chain.log_blue.tolist()
    assert result["self_sampling"] is False


def test_absorption_table_shows_numbers_below_the_smallest_double() -> None:
    result = run("theory", "absorption", "--n", "501", "--k", "20", "--alpha", "14")
    line = next(line for line in result.stdout.splitlines() if line.split()[:1] == ["14"])
    mantissa, _, exponent = line.split()[1].partition("e")
    log10 = SlushChain(501, 20, 14).log_blue[14] / np.log(10)
    assert np.log10(float(mantissa)) + int(exponent) == pytest.approx(log10, abs=1e-3)
    assert int(exponent) < -320
    assert "more rows with --all" in result.stdout
    full = run("theory", "absorption", "--n", "501", "--k", "20", "--alpha", "14", "--all")
    rows = [
        line.split()[0] for line in full.stdout.splitlines() if line.split()[:1] and line.split()[0].isdigit()
    ]
    assert rows == [str(b) for b in range(502)]


def test_accuracy_json() -> None:
    result = run_json(
        "theory", "accuracy", "--n", "101", "--p", "0.6", "--delta", "1", "--steps", "50", "--per-node"
    )
    chain = SlushChain(101, 10, 6)
    assert result["slush"] == chain.accuracy(0.6)
    assert result["rounds"] == 5050
    assert result["slush_after_rounds"] == chain.accuracy(0.6, steps=5050)
    assert result["majority"] == majority_accuracy(101, 0.6, delta=1)
    assert result["mean_participant"] == result["best_participant"] == 0.6
    gap = accuracy_gap(chain, 0.6, delta=1)
    assert result["gap"] == {"sign": gap.sign, "log10_magnitude": gap.log_magnitude / np.log(10)}


def test_accuracy_of_groups_and_lists() -> None:
    p = [0.7] * 3 + [0.6] * 2 + [0.9] * 6
    groups = run_json("theory", "accuracy", "--n", "11", "--k", "5", "--p", "3x0.7,2x0.6,6x0.9")
    listed = run_json("theory", "accuracy", "--n", "11", "--k", "5", "--p", ",".join(map(str, p)))
    assert groups["slush"] == listed["slush"] == SlushChain(11, 5, 3).accuracy(p)
    assert groups["best_participant"] == 0.9


def test_accuracy_with_local_thresholds() -> None:
    p = [0.9] * 5 + [0.6] * 6
    result = run_json(
        "theory", "accuracy", "--n", "12", "--p", "5x0.9,6x0.6", "--alpha", "local", "--malicious", "1"
    )
    assert result["alpha"] == [9] * 5 + [6] * 6
    assert result["slush"] == LocalSlushChain([9] * 5 + [6] * 6, 10, byzantine=1).accuracy(p)
    assert result["residual"] < 1e-9
    # Twelve can tie, six of the eleven honest right and one liar wrong among six: that counts half.
    law = oracle.poisson_binomial([Fraction(9, 10)] * 5 + [Fraction(6, 10)] * 6)
    assert result["majority"] == pytest.approx(float(sum(law[7:]) + law[6] / 2))


def test_an_even_number_has_a_majority() -> None:
    result = run_json("theory", "accuracy", "--n", "40", "--p", "0.6")
    tie = binom.pmf(20, 40, 0.6)
    assert result["majority"] == pytest.approx(binom.sf(20, 40, 0.6) + tie / 2)
    ahead = result["gap"]["sign"] * 10 ** result["gap"]["log10_magnitude"]
    assert ahead == pytest.approx(result["majority"] - result["slush"])
    assert run_json("theory", "threshold", "--n", "40")["p_th"] == 0.5
    shown = run("theory", "accuracy", "--n", "40", "--p", "0.6").stdout
    assert "0.897941" in shown


def test_rounds_json() -> None:
    result = run_json("theory", "rounds", "--n", "31", "--alpha", "8", "--p", "0.6", "--steps", "500")
    chain = SlushChain(31, 10, 8)
    assert result["expected_rounds"] == chain.expected_steps().tolist()
    assert result["still_open"] == chain.open_after(500).tolist()
    law = [math.comb(31, b) * 0.6**b * 0.4 ** (31 - b) for b in range(32)]
    assert result["mean_rounds"] == pytest.approx(float(np.dot(law, chain.expected_steps())))


@pytest.mark.parametrize(
    "arguments",
    [
        ["absorption", "--n", "31"],
        ["accuracy", "--n", "31", "--p", "0.6"],
        ["threshold", "--n", "31", "--delta", "1"],
        ["rounds", "--n", "31", "--steps", "600"],
    ],
)
@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_plots_are_pictures(arguments: list[str], suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"picture.{suffix}"
    result = run("theory", *arguments, "--plot", str(path))
    assert result.returncode == 0, result.stderr
    assert f"wrote {path}" in result.stderr
    if suffix == "svg":
        assert "</svg>" in path.read_text()
        return
    picture = matplotlib.image.imread(path)
    assert picture.shape[0] > 400
    assert picture.std() > 0.05


def test_byzantine_warning_is_one_line_and_in_the_json() -> None:
    result = run("theory", "absorption", "--n", "31", "--malicious", "7", "--json")
    assert result.returncode == 0
    (line,) = result.stderr.splitlines()
    assert line.startswith("folkmoot: warning: 7 Byzantine participants reach alpha = 6")
    assert json.loads(result.stdout)["warnings"] == [line.removeprefix("folkmoot: warning: ")]


def test_byzantine_warning_comes_once_with_a_plot_too(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    result = run("theory", "threshold", "--n", "31", "--malicious", "20", "--plot", str(path))
    warning, wrote = result.stderr.splitlines()
    assert warning.startswith("folkmoot: warning: ")
    assert wrote == f"wrote {path}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("theory absorption", "Missing option '--n'. Try 'folkmoot theory absorption --help'."),
        ("theory nothing", "No such command 'nothing'. Try 'folkmoot theory --help'."),
        ("nothing", "No such command 'nothing'"),
        ("--nothing", "No such option"),
        ("theory absorption --n eleven", "'--n': expected a whole number, got 'eleven'"),
        ("theory absorption --n 10 --k 11", "--k must satisfy 1 <= k <= n: got --k 11, --n 10"),
        (
            "theory absorption --n 20 --alpha 5",
            "--alpha must satisfy k/2 < alpha <= k: got --alpha 5, --k 10",
        ),
        ("theory absorption --n 20 --malicious 20", "0 <= malicious < n: got --malicious 20, --n 20"),
        (
            "theory absorption --n 20 --sampling self",
            "must be one of everyone, others: got 'self'",
        ),
        ("theory accuracy --n 11 --k 5", "--p is missing"),
        ("theory accuracy --n 11 --k 5 --p 1.5", "0 <= p <= 1: got --p 1.5"),
        ("theory accuracy --n 11 --k 5 --p nan", "got --p nan"),
        ("theory accuracy --n 11 --k 5 --p 0.5,0.6", "(n - byzantine = 11): got 2 values"),
        ("theory accuracy --n 11 --k 5 --p 0x0.5", "groups of 1 to 10,000,000 participants: got '0x0.5'"),
        ("theory accuracy --n 11 --k 5 --p=-1x0.5,12x0.5", "got '-1x0.5'"),
        ("theory accuracy --n 11 --k 5 --p 99999999999999x0.5", "groups of 1 to 10,000,000"),
        ("theory accuracy --n 2 --k 1 --p inf,-inf", "got p[0]=inf"),
        (
            "theory accuracy --n 100 --p 0.6 --delta 50",
            "floor(n/2) + 1 + delta <= n: got --delta 50, --n 100",
        ),
        ("theory absorption --n 10000001", "--n must satisfy n <= 10,000,000: got --n 10000001"),
        ("theory accuracy --n 10000000000000 --p 0.6 --alpha local", "n <= 10,000,000: got"),
        ("theory accuracy --n 11 --k 5 --p half", "--p must be a number, a list"),
        ("theory accuracy --n 11 --k 5 --p 0.5 --alpha many", "--alpha must be a whole number or 'local'"),
        ("theory accuracy --n 11 --k 5 --p 3x0.5 --alpha local", "n - byzantine = 11"),
        ("theory accuracy --n 11 --k 5 --p 0.5 --alpha local --steps 5", "leave out --steps"),
        ("theory accuracy --n 11 --k 5 --p 0.5 --steps -5", "steps >= 0: got --steps -5"),
        ("theory accuracy --n 11 --k 5 --p 0.5 --per-node", "--per-node says how --steps is counted"),
        ("theory rounds --n 11 --k 5 --per-node", "give --steps too"),
        ("theory threshold --n 100 --delta 50", "floor(n/2) + 1 + delta <= n"),
        ("theory threshold --n 101 --delta 1 --q 0.6", "give --delta or --q, not both"),
        ("theory threshold --n 101 --q 0.4", "1/2 < q <= 1: got --q 0.4"),
        ("theory threshold --n 101 --q much", "'--q': expected a number, got 'much'"),
        ("theory threshold --n 101 --plot picture.txt", "--plot must name a file ending in .png, .svg, .pdf"),
        ("theory threshold --n 101 --plot nowhere/picture.png", "there is no nowhere"),
    ],
)
def test_bad_input_is_one_line_and_a_nonzero_exit(arguments: str, message: str) -> None:
    assert_refused(message, *arguments.split())


SHORT_OF_MEMORY = """
import resource
from pathlib import Path

from folkmoot.cli.main import main
from folkmoot.theory import SlushChain

SlushChain(11, k=5, alpha=3).blue  # all of its imports
mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
most = mapped + (256 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
main()
"""


def test_too_little_memory_is_one_line() -> None:
    """The process may have 256 MB beside its imports; each array of ten million participants takes 80 MB."""
    command = ["theory", "absorption", "--n", "10000000"]
    result = subprocess.run(
        [sys.executable, "-c", SHORT_OF_MEMORY, *command], capture_output=True, text=True, timeout=120
    )
    assert (result.returncode, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("folkmoot: not enough memory: Unable to allocate 76.3 MiB")


def test_a_plot_that_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "taken.png"
    folder.mkdir()
    result = run("theory", "absorption", "--n", "31", "--plot", str(folder))
    assert result.returncode == 2
    assert f"--plot must name a file: {folder} is a folder" in result.stderr
    assert "Traceback" not in result.stderr


def test_debug_shows_the_traceback() -> None:
    result = run_process("theory", "absorption", "--n", "5", env={"FOLKMOOT_DEBUG": "1"})
    assert result.returncode == 1
    assert "Traceback" in result.stderr


def test_control_c_exits_130_and_says_so() -> None:
    # A horizon that takes minutes: too many participants to square, too many steps to take.
    assert_control_c_says_interrupted(
        "theory", "rounds", "--n", 20001, "--steps", 10**8, inside="theory/chain.py"
    )


def test_a_closed_pipe_is_quiet() -> None:
    with start("theory", "absorption", "--n", 5001, "--all") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=60) == 1
        assert process.stderr.read() == ""
