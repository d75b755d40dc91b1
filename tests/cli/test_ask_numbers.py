"""``folkmoot ask --regression`` and ``--voting probabilities`` from the shell, with all that can be wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from folkmoot.runs.processes import Nodes, prepare
from folkmoot.web.client import Client
from support.browser import browser, opened
from support.command import assert_refused, run, run_json
from support.live_page import LIVE, dropped, ready, table
from support.network.paged import Paged

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]

MODELS = """
import numpy
def warm(X): return X[:, 0] * 2.0
def warmer(X): return X[:, 0] * 2.0 + 0.25
def absurd(X): return X[:, 0] * 0.0 + 1e7
def odd(X): return numpy.where(X[:, 0].astype(int) % 2, "odd", "even")
odd.labels = ["even", "odd"]
"""
QUICK = ("--rounds", 12, "--pace", "5ms", "--deadline", "12s")


@pytest.fixture(scope="module")
def moot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Six processes: four that are nearly of one mind, an absurd one, and a classifier."""
    folder = tmp_path_factory.mktemp("numbers")
    (folder / "number_models.py").write_text(MODELS)
    np.save(folder / "rows.npy", np.arange(5.0)[:, None])
    patch = pytest.MonkeyPatch()
    patch.syspath_prepend(folder)
    names = ["warm", "warmer", "warm", "warmer", "absurd", "odd"]
    nodes = prepare(folder, [f"number_models:{name}" for name in names], {})
    nodes.pages[0] = "127.0.0.1:0"
    try:
        for place in range(6):
            nodes.start(place)
        nodes.wait(range(6), 60.0)
        yield nodes
    finally:
        nodes.stop()
        patch.undo()


def _said(*arguments: object) -> str:
    result = run(*arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_numbers_are_claimed_and_who_cannot_answer_says_so(moot: Nodes, tmp_path: Path) -> None:
    rows, via = moot.folder / "rows.npy", moot.settings[0].folder
    out = tmp_path / "numbers.csv"
    told = _said("ask", rows, "--via", via, "--regression", "--tol", 0.5, *QUICK, "--out", out)
    assert "trimmed-mean, k=5, tol=0.5" in told
    assert "5 of 5 inputs decided (a quorum of 4 of 6 signed numbers within 0.5" in told
    assert "refused: node005: its model gives labels, not numbers" in told
    found = run_json("motions", "last", "--via", via)
    assert found["answers"] == "numbers"
    for i, claim in enumerate(found["claims"]):
        assert 2 * i - 0.25 <= claim <= 2 * i + 0.5  # within tol/2 of what the four say
        assert found["first_numbers"][i][0] == 2 * i
        low, high = found["windows"][i]
        assert claim == pytest.approx((low + high) / 2)
        assert 2 * i <= low <= high <= low + 0.5  # nobody said less at first
    assert "a quorum signed" in told
    shown = {words[0]: words for words in map(str.split, told.splitlines()) if words and words[0].isdecimal()}
    for i, (low, high) in enumerate(found["windows"]):
        assert shown[str(i)][2:5] == [f"{low:.6g}", "to", f"{high:.6g}"]
    lines = out.read_text().splitlines()
    assert lines[0] == "input,label,agreement"
    assert [float(line.split(",")[1]) for line in lines[1:]] == found["claims"]
    assert_refused("about numbers", "motions", "last", "--via", via, "--why", 0)
    assert_refused("about numbers", "motions", "last", "--via", via, "--play", tmp_path / "x.html")
    truth = tmp_path / "truth.csv"
    truth.write_text("input,label\n0,1.0\n")
    assert_refused("about numbers", "truth", "last", truth, "--via", via)
    certificate = tmp_path / "motion.certificate"
    _said("motions", "last", "--via", via, "--certificate", certificate)
    told = _said("verify", certificate, "--roster", moot.folder / "roster.toml")
    assert "the certificate holds" in told


def test_the_same_over_http(moot: Nodes) -> None:
    client = Client.of(moot.settings[0].folder)
    answer = client.ask([[3.0], [4.0]], regression=True, tol=0.5, seconds=12.0, rounds=12, pace=0.005)
    assert answer.undecided == 0
    claims = answer.details["claims"]
    assert [float(each or "nan") for each in answer.decisions] == claims
    assert claims[0] == pytest.approx(6.1, abs=0.4)
    assert answer.details["first_numbers"][0][0] == 6.0
    shown = run_json("motions", "last", "--via", moot.settings[0].folder)
    assert answer.details == shown
    told = client._json("GET", "/v1/motions/last/rounds?input=0")
    heard = [float(said) for each in told["rounds"] for said in each["answers"].values()]
    assert heard
    assert min(heard) >= 6.0, "nobody says less, at first or later"
    assert all(each["shares"] == {} for each in told["rounds"])


def test_the_page_puts_a_motion_of_numbers_and_shows_value_and_window(browser: Browser, moot: Nodes) -> None:
    from playwright.sync_api import expect

    paged = Paged(moot.settings[0].folder)
    before = paged.get("/v1/motions")["count"]
    with opened(browser, f"{paged.url}/#token={paged.token}") as page:
        ready(page)
        kinds = page.locator("[data-kinds]")
        assert kinds.locator("option").all_inner_texts() == ["numbers", "labels"]
        assert kinds.input_value() == "numbers"  # the model says no labels
        kinds.select_option("labels")
        assert page.locator("[data-term=tol]").is_hidden()
        assert page.locator("[data-term=trust]").is_visible()
        kinds.select_option("numbers")
        assert page.locator("[data-term=trust]").is_hidden()
        page.fill("[data-term=tol]", "2")
        page.fill("[data-term=rounds]", "12")
        page.fill("[data-term=seconds]", "12")
        dropped(page, "rows.csv", "3\n4\n5\n")
        put = page.get_by_role("button", name="to the moot")
        expect(page.locator("#ask .found")).to_contain_text("within 2 of each other", timeout=LIVE)
        expect(put).to_be_enabled()
        page.fill("[data-term=tol]", "0.5")
        put.click()  # straight from a field that was changed: what it says now is put
        expect(page.locator(".decisions tbody tr")).to_have_count(3, timeout=LIVE)
        shown = table(page, ".decisions")
        assert "a quorum of 4 within 0.5" in page.inner_text("#motion .facts")
        assert page.get_by_role("button", name="Certificate").count() == 1
    told = paged.get("/v1/motions/last/inputs")["inputs"]
    assert paged.get("/v1/motions")["count"] == before + 1
    for row, line in zip(shown, told, strict=True):
        low, high = (float(each) for each in row[2].split(" to "))
        assert float(row[1]) == pytest.approx(line["claim"], rel=1e-5)
        assert [low, high] == pytest.approx(line["window"], rel=1e-5)
        assert low <= float(row[1]) <= high <= low + 0.5 + 1e-5


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--regression"], "--regression needs --tol"),
        (["--regression", "--tol", "0"], "--tol must be a number above 0: got 0.0"),
        (["--regression", "--tol", "-2"], "--tol must be a number above 0: got -2.0"),
        (["--regression", "--tol", "nan"], "--tol must be a number above 0: got nan"),
        (["--regression", "--tol", "wide"], "'--tol': expected a number, got 'wide'"),
        (["--tol", "0.5"], "--tol must be given with"),
        (["--voting", "ranks"], "--voting must be 'labels' or 'probabilities': got 'ranks'"),
        (["--regression", "--tol", "1", "--trust"], "trust must not be given for numbers"),
        (["--regression", "--tol", "1", "--labels", "a,b"], "--labels must not be given with --regression"),
        (["--regression", "--tol", "1", "--k", "2"], "k must be at least 3 for numbers in a moot of 6"),
        (["--voting", "probabilities", "--labels", "a,b"], "gives no probabilities"),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(moot: Nodes, options: list[str], why: str) -> None:
    rows, via = moot.folder / "rows.npy", moot.settings[0].folder
    assert_refused(why, "ask", rows, "--via", via, *options)


def test_a_classifier_asked_for_numbers_says_so(moot: Nodes) -> None:
    rows, via = moot.folder / "rows.npy", moot.settings[5].folder
    assert_refused(
        "gives labels, not numbers: even, odd", "ask", rows, "--via", via, "--regression", "--tol", 1
    )


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--tol", "1"], "--tol must be given with --regression"),
        (["--regression", "--trust"], "--trust must not be given with --regression"),
        (["--regression", "--tol", "0"], "--tol must be a number above 0"),
        (
            ["--regression", "--attack", "malicious"],
            "--attack must be one that a node can play with --regression",
        ),
        (["--regression", "--nodes", "60"], "--nodes must satisfy 3 <= nodes <= 50"),
        (["--regression", "--inputs", "143"], "--inputs must satisfy 1 <= inputs <= 142"),
        (["--regression", "--nodes", "5", "--byzantine", "4"], "must leave two honest nodes"),
    ],
)
def test_local_refuses_in_one_line(options: list[str], why: str) -> None:
    assert_refused(why, "local", *options)
