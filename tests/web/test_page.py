"""The page of a node in a real browser: what it shows is what the API says, live, of a moot with a liar."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from folkmoot.network.storage.chronicle import Chronicle, Proposal
from folkmoot.network.storage.storage import DATABASE, Storage
from folkmoot.network.wire.succession import Succession
from folkmoot.node.membership import identity
from support.browser import opened
from support.command import run
from support.live_page import LIVE, column, dropped, ready, table
from support.network.paged import Paged
from support.network.real_moot import until

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from folkmoot.runs.processes import Nodes

LIAR = "node005"
ROWS = [[float(i)] for i in range(30)]


def test_a_motion_is_followed_until_the_liar_is_accused(
    browser: Browser, address: str, paged: Paged, nodes: Nodes, tmp_path: Path
) -> None:
    from playwright.sync_api import expect

    with opened(browser, address) as page:
        ready(page)
        assert page.url == f"{paged.url}/"  # the token has left the address, and the history
        assert page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]
        assert {row[0] for row in table(page, "#peers")} == {f"node00{i}" for i in range(6)}
        assert page.locator("#ring .dot").count() == 6

        name = paged.ask(ROWS, rounds=400, pace=0.05, seconds=10.0)
        expect(page.locator("#motion-title")).to_have_text(f"Motion {name[:8]} is under way", timeout=LIVE)
        expect(page.locator(".phases .now b")).to_have_text("talking", timeout=LIVE)
        page.wait_for_selector("#motion .line.wide")
        assert "A node sees no more than this" in page.inner_text("#motion .limits")
        shares = [
            float(each.rstrip("%")) for each in page.locator("#motion .line.wide .many").all_inner_texts()
        ]
        assert sum(shares) == pytest.approx(100.0, abs=0.2)
        rounds = page.locator("#motion .meter .many").first
        first = rounds.inner_text()
        page.locator("#motions .pick").first.focus()
        expect(rounds).not_to_have_text(first, timeout=LIVE)  # it goes on by itself
        assert page.locator(".wire.asked").count() > 0
        assert page.evaluate("document.activeElement.dataset.key") == name  # who uses a keyboard stays there

        expect(page.locator("#motion-title")).to_have_text(f"Motion {name[:8]} is over", timeout=LIVE)
        expect(page.locator(f"#accused [data-who={LIAR}]")).to_be_visible(timeout=LIVE)
        assert page.locator("#ring .dot.liar").get_attribute("data-name") == LIAR
        assert "accused" in next(row[1] for row in table(page, "#peers") if row[0] == LIAR)
        page.wait_for_selector(".decisions tbody tr")
        told = paged.get(f"/v1/motions/{name}/inputs")["inputs"]
        for row, line in zip(table(page, ".decisions"), told[:25], strict=True):
            # By hand: even numbers are even; the page says so, with the first votes that the API has.
            assert row[:2] == [str(line["input"]), "odd" if line["input"] % 2 else "even"]
            votes = sorted(line["first_votes"].items(), key=lambda each: -each[1])
            assert row[3].split() == [str(word) for vote in votes for word in vote]
        page.get_by_role("button", name="Show 5 more").click()
        expect(page.locator(".decisions tbody tr")).to_have_count(30)

        page.locator(f"#accused [data-who={LIAR}] summary").click()
        proof = saved(page, "#accused [data-who=node005] button >> nth=0", tmp_path)
        checked = run("evidence", proof, "--roster", nodes.settings[0].roster)
        assert (checked.returncode, LIAR in checked.stdout) == (0, True), checked.stderr
        certificate = saved(page, "#motion button:has-text('Certificate')", tmp_path)
        assert run("verify", certificate, "--roster", nodes.settings[0].roster).returncode == 0
        answers = saved(page, "#motion button:has-text('Answers as CSV')", tmp_path)
        run("motions", name, "--via", paged.folder, "--out", tmp_path / "answers.csv")
        assert answers.read_bytes() == (tmp_path / "answers.csv").read_bytes()


def saved(page: Page, button: str, folder: Path) -> Path:
    """The file that a button has the browser save."""
    with page.expect_download() as waiting:
        page.click(button)
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def test_the_page_says_when_the_node_is_gone_and_goes_on_when_it_is_back(
    browser: Browser, address: str, nodes: Nodes
) -> None:
    from playwright.sync_api import expect

    context = browser.new_context()
    page = context.new_page()
    page.goto(address)
    ready(page)
    resumed: list[str | None] = []
    page.on(
        "request",
        lambda each: resumed.append(each.headers.get("last-event-id")) if "events" in each.url else None,
    )
    nodes.kill(0)
    expect(page.locator("#link")).to_contain_text("the node is gone; trying again in", timeout=LIVE)
    nodes.start(0)
    nodes.wait([0], 60.0)
    expect(page.locator("#link")).to_have_text("live", timeout=LIVE)
    assert resumed[-1]  # it said which event it had last
    ready(page)
    new = Paged(nodes.settings[0].folder)
    until(lambda: all(peer["connected"] for peer in new.get("/v1/moot")["peers"]), "all are back")
    context.close()


def test_a_table_is_dropped_checked_put_and_answered(browser: Browser, address: str, paged: Paged) -> None:
    from playwright.sync_api import expect

    if not paged.get("/v1/motions")["count"]:
        paged.over(paged.ask(ROWS[:2], rounds=5, seconds=6.0))
    with opened(browser, address) as page:
        ready(page)
        put = page.get_by_role("button", name="to the moot")
        before = paged.get("/v1/motions")["count"]
        dropped(page, "numbers.csv", "number\n12\n7\n33\n")
        expect(page.locator("#ask .preview tbody tr")).to_have_count(3)
        assert [row[0] for row in table(page, "#ask .preview")] == ["12", "7", "33"]
        assert "number" in page.inner_text("#ask .preview thead")
        assert paged.get("/v1/motions")["count"] == before  # nobody was told
        page.fill("[data-term=seconds]", "8")
        page.fill("[data-term=rounds]", "20")
        page.keyboard.press("Tab")
        expect(put).to_have_text("Put 3 inputs to the moot")
        expect(put).to_be_enabled()
        put.press("Enter")
        expect(page.locator(".decisions tbody tr")).to_have_count(3, timeout=LIVE)
        assert [row[1] for row in table(page, ".decisions")] == ["even", "odd", "odd"]
        newest = paged.get("/v1/motions/last")
        assert (newest["inputs"], newest["columns"], newest["rounds"]) == (3, ["number"], 20)

        page.click(".truths summary")
        page.fill(".truths input[type=number]", "1")
        page.select_option(".truths select", "odd")
        with page.expect_response(lambda answer: answer.url.endswith("/truth")):
            page.get_by_role("button", name="Tell", exact=True).click()
        records = paged.get("/v1/records")["records"]
        first = records["node001"]  # others may have been told before
        told = f"{first['right']} of {first['voted']} right"
        expect(page.locator("#peers tbody tr", has_text="node001")).to_contain_text(told)
        right = column(page, "#peers", "record")
        assert {who: f"{each['right']} of {each['voted']} right" for who, each in records.items()} == {
            who: said for who, said in right.items() if said
        }
        assert right["node001"].endswith("right")

        page.locator("#motions .pick").last.press("Enter")  # an older one: what is new does not push it away
        expect(page.locator("#motion-title")).not_to_have_text(f"Motion {newest['motion'][:8]} is over")
        page.get_by_role("button", name="Follow what is new").press("Enter")
        expect(page.locator("#motion-title")).to_have_text(f"Motion {newest['motion'][:8]} is over")


def test_what_is_offered_is_there(
    browser: Browser, address: str, paged: Paged, nodes: Nodes, tmp_path: Path
) -> None:
    """A motion with trust has no certificate; and evidence about rosters is evidence like any other."""
    from playwright.sync_api import expect

    name = paged.ask(ROWS[:3], trust=True, rounds=5, seconds=6.0)
    assert paged.over(name)["certificate"] is None
    assert paged.send("GET", f"/v1/motions/{name}/certificate").status == 409
    signs_two_rosters(nodes, 5, paged.folder)

    def about_rosters() -> list[dict[str, object]]:
        return [each for each in paged.get("/v1/evidence")["evidence"] if each["roster"]]

    until(lambda: bool(about_rosters()), "the node sees what was stored")
    (found,) = about_rosters()
    assert (found["participant"], found["what"], found["epoch"]) == (LIAR, "two successors", 0)
    assert found["roster"] == nodes.roster.digest
    assert paged.send("GET", f"/v1/rosters/{nodes.roster.digest}/evidence/node001").status == 404
    assert paged.send("GET", f"/v1/rosters/{'0' * 64}/evidence/{LIAR}").status == 404
    with opened(browser, address) as page:
        ready(page)
        expect(page.locator("#motion-title")).to_have_text(f"Motion {name[:8]} is over", timeout=LIVE)
        page.wait_for_selector("#motion button:has-text('Answers as CSV')")
        assert page.get_by_role("button", name="Certificate").count() == 0
        accused = page.locator(f"#accused [data-who={LIAR}]")
        accused.locator("summary").click()
        proposals = page.locator("#roster .proposal")
        expect(proposals).to_have_count(
            2
        )  # what it signed twice: one without the first, one without the second
        expect(proposals.filter(has_text="node001 leaves")).to_contain_text(
            f"signed\n{LIAR}", use_inner_text=True
        )
        assert page.inner_text("#roster .digest >> nth=0") == nodes.roster.digest
        line = accused.locator("li", has_text="two successors of the roster of epoch 0")
        expect(line).to_have_count(1)
        proof = saved(page, f"#accused [data-who={LIAR}] li:has-text('two successors') button", tmp_path)
    checked = run("evidence", proof, "--roster", nodes.settings[0].roster)
    assert (checked.returncode, "two successors" in checked.stdout) == (0, True), checked.stderr


def signs_two_rosters(nodes: Nodes, liar: int, folder: Path) -> None:
    """A member signs two successors of the roster, and the node in a folder comes to know of it."""
    me, old = identity.load(nodes.settings[liar].folder), nodes.roster
    storage = Storage(folder / DATABASE)
    chronicle = Chronicle(storage, old, time.time())
    for gone in (1, 2):
        made = Succession.after(old, [each for each in old if each != old[gone]])
        signed = {liar: made.signed_by(me.key, liar)}
        assert chronicle.learn(Proposal(old, made, signed), time.time())
    storage.close()
