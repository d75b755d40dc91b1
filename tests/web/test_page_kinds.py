"""In the page one can do what ``folkmoot ask`` can, of all kinds of motions; in a browser.

What it shows is compared with what commands say of the same node, beside it.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING

import pytest

from folkmoot.network import Terms
from folkmoot.runs.processes import name_of
from support.browser import listen, opened
from support.command import run, run_json
from support.live_page import LIVE, column, dropped, ready, table
from support.network.all_kinds import N, all_kinds, table_of
from support.network.paged import Paged
from support.network.real_moot import until

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from folkmoot.runs.processes import Nodes

NAMES = [name_of(place) for place in range(N)]
PUT = "to the moot"
LATE, NONE = N - 2, N - 1  # who answers an invitation late, and who shows no rows
NO_DECISION = "\u2013"


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with all_kinds(tmp_path_factory.mktemp("kinds")) as nodes:
        yield nodes


@pytest.fixture
def own(kinds: Nodes) -> Paged:
    return Paged(kinds.settings[0].folder)


def address(paged: Paged, token: str | None = None) -> str:
    return f"{paged.url}/#token={paged.token if token is None else token}"


def facts(page: Page, where: str) -> dict[str, str]:
    """What a list of facts says, by name."""
    found: dict[str, str] = page.locator(f"{where} .facts").first.evaluate(
        "list => Object.fromEntries([...list.querySelectorAll('dt')]"
        ".map(name => [name.innerText, name.nextElementSibling.innerText]))"
    )
    return found


def over(page: Page, paged: Paged, before: int) -> str:
    """The motion that was put in the page, when it is over there."""
    from playwright.sync_api import expect

    until(lambda: bool(paged.get("/v1/motions")["count"] > before), "it is put")
    name: str = paged.get("/v1/motions/last")["motion"]
    expect(page.locator("#motion-title")).to_have_text(f"Motion {name[:8]} is over", timeout=LIVE)
    page.wait_for_selector(".decisions tbody tr")
    return name


def test_peer_review_is_asked_for_followed_and_refused_in_words(
    browser: Browser, kinds: Nodes, own: Paged, tmp_path: Path
) -> None:
    """Somebody is late: the page shows who has sent rows, who sends none and why, who has not answered."""
    from playwright.sync_api import expect

    rows = tmp_path / "rows.csv"
    rows.write_text(table_of(0, 20))
    heard: list[str] = []
    context = browser.new_context()
    page = context.new_page()
    listen(page, heard)
    page.goto(address(own))
    try:
        ready(page)
        what_does_not_go_together_is_said(page, own, rows)
        # A browser notes in its console that a request was refused; it notes nothing else.
        assert all("status of 400" in line for line in heard), heard
        heard.clear()
        page.check("[data-term=peer_review]")
        before = own.get("/v1/motions")["count"]
        page.fill("[data-term=seconds]", "20")
        page.fill("[data-term=rounds]", "12")
        kinds.signal(LATE, signal.SIGSTOP)
        stream = own.stream()
        assert stream.until("moot")[-1][2]["invitations"] == []
        page.get_by_role("button", name=PUT).click()  # by mouse: what is found again does not move the button
        expect(page.locator("#invited h3")).to_have_text("Check rows for 20 inputs: 3 of 4 have answered")
        (invited,) = stream.until("moot")[-1][2]["invitations"]
        assert (invited["inputs"], NAMES[LATE] in invited["owing"]) == (20, True)
        stream.close()
        told = facts(page, "#invited")
        assert told["sent rows"] == ", ".join(f"{name} 20" for name in NAMES[:LATE])
        assert told["sent none"] == f"{NAMES[NONE]}: it shows no check rows ([policy] check_rows is 0)"
        assert told["not yet answered"] == NAMES[LATE]
        shown = run("node", "status", own.folder).stdout
        assert "check rows for 20 inputs: 2 sent some, 1 none, 1 have not answered" in shown
        kinds.signal(LATE, signal.SIGCONT)
        name = over(page, own, before)
        assert page.locator("#invited h3").count() == 0

        account = run_json("motions", name, "--via", own.folder)
        assert account["check_rows"] == dict.fromkeys(NAMES[:3], 20)
        assert account["without_rows"] == {NAMES[NONE]: "it shows no check rows ([policy] check_rows is 0)"}
        told = facts(page, "#motion")
        assert told["check rows"] == ", ".join(f"{each} 20" for each in NAMES[:3])
        assert told["sent none"].startswith(f"{NAMES[NONE]}: it shows no check rows")
        assert told["peer review"].startswith(account["why"])
        weights = column(page, "#peers", "weight")
        assert weights == {each: f"{account['trust'][each]:.2f}" for each in NAMES}
        assert "Weights are by peer review" in page.inner_text("#peers-note")
        assert [row[1].split()[0] for row in table(page, ".decisions")] == said(account)
        # Others know nothing of who sent none: the asker was told.
        assert run_json("motions", name, "--via", kinds.settings[1].folder)["without_rows"] == {}
        prompt = run("motions", name, "--via", own.folder).stdout
        assert f"no check rows: {NAMES[NONE]}: it shows no check rows" in prompt
        assert heard == []
    finally:
        context.close()


def what_does_not_go_together_is_said(page: Page, own: Paged, rows: Path) -> None:
    """Terms that the prompt refuses are refused in the page, in its words, before anything is put."""
    from playwright.sync_api import expect

    page.set_input_files("#file", rows)
    expect(page.locator("#ask .found")).to_contain_text("It can be put: 20 inputs of 64 columns")
    offered = page.locator("[data-term]").evaluate_all("all => all.map(each => each.dataset.term)")
    # What is asked for is one choice in the page, of labels, probabilities and numbers.
    assert {*offered, "voting", "regression"} == {field.name for field in fields(Terms)}
    put, complaint = page.get_by_role("button", name=PUT), page.locator("#ask .found .bad")
    expect(put).to_be_enabled()
    page.check("[data-term=peer_review]")
    page.check("[data-term=trust]")
    typed = run("ask", rows, "--via", own.folder, "--peer-review", "--trust").stderr
    expect(complaint).to_have_text(typed.removeprefix("folkmoot: ").strip())
    expect(put).to_be_disabled()
    page.uncheck("[data-term=trust]")
    expect(put).to_be_enabled()
    tol, protocol = page.locator("[data-term=tol]"), page.locator("[data-term=protocol]")
    for kind, reviewed, talks in (("probabilities", True, True), ("probabilities", False, False)):
        page.select_option("[data-kinds]", kind)
        page.set_checked("[data-term=peer_review]", reviewed)
        expect(put).to_be_enabled()
        assert (tol.is_visible(), protocol.is_visible()) == (not talks, talks)
    page.select_option("[data-kinds]", "labels")
    page.click(".more-terms summary")
    page.fill("[data-term=k]", "9")
    page.keyboard.press("Tab")
    expect(complaint).to_have_text("k must satisfy 1 <= k <= 3, the number of others: got k=9")
    page.fill("[data-term=k]", "")
    page.keyboard.press("Tab")
    expect(put).to_be_enabled()


def test_probabilities_in_the_page_of_a_phone_in_the_dark(
    browser: Browser, kinds: Nodes, own: Paged, tmp_path: Path
) -> None:
    """Nothing is wider than the screen."""
    from playwright.sync_api import expect

    with opened(browser, address(own)) as page:
        ready(page)
        before = own.get("/v1/motions")["count"]
        roster = kinds.settings[0].roster
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size({"width": 400, "height": 900})
        dropped(page, "rows.csv", table_of(0, 12))
        page.select_option("[data-kinds]", "probabilities")
        expect(page.locator("[data-term=protocol]")).to_be_hidden()
        page.fill("[data-term=tol]", "0.2")
        page.fill("[data-term=rounds]", "12")
        expect(page.locator("#ask .found")).to_contain_text("answers are how likely each of")
        page.get_by_role("button", name=PUT).click()
        name = over(page, own, before)
        account, cells = run_json("motions", name, "--via", own.folder), table(page, ".decisions")
        assert (account["answers"], account["tol"]) == ("probabilities", 0.2)
        assert [row[1].split()[0] for row in cells] == said(account)
        for row, claim, label in zip(cells, account["claims"], account["decisions"], strict=True):
            if label is not None:
                share = claim[account["labels"].index(label)] / sum(claim)
                assert row[1].split()[1] == f"{share:.3f}"
        held = run_json("verify", certificate(page, tmp_path), "--roster", roster)
        assert (held["holds"], held["decisions"]) == (True, account["decisions"])
        assert page.evaluate("document.documentElement.scrollWidth") == 400


def certificate(page: Page, folder: Path) -> Path:
    """The certificate that a button has the browser save."""
    with page.expect_download() as waiting:
        page.click("#motion button:has-text('Certificate')")
    waiting.value.save_as(folder / "the.certificate")
    return folder / "the.certificate"


def said(account: dict[str, list[str | None]]) -> list[str]:
    """Decisions as the page has them."""
    return [label or NO_DECISION for label in account["decisions"]]
