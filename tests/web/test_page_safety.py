"""The page lets nobody in without a token, shows others' words as text, and can be read by everybody."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest

from folkmoot.web.files import FILES, POLICY
from support.browser import listen, opened, violations
from support.hostile_words import HOSTILE
from support.live_page import LIVE, dropped, ready, table
from support.network.paged import Paged

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route


def test_the_files_of_the_page_need_no_token_and_hold_nothing_inline(paged: Paged) -> None:
    for path, name in FILES.items():
        reply = paged.send("GET", path, token="")
        assert (reply.status, reply.headers["Content-Security-Policy"]) == (200, POLICY), path
        assert (reply.headers["Cache-Control"], reply.headers["X-Content-Type-Options"]) == (
            "no-store",
            "nosniff",
        )
        assert paged.send("GET", path, token="", Host="evil.example").status == 421
        text = reply.body.decode()
        assert "innerHTML" not in text
        assert "http://" not in text.replace("http://www.w3.org", "")
        if name.endswith(".html"):
            assert " style=" not in text
            assert "<style" not in text
            assert text.count("<script") == text.count("<script defer src=")
    assert "unsafe" not in POLICY
    assert {"connect-src 'self'", "frame-ancestors 'none'"} <= set(POLICY.split("; "))
    static = files("folkmoot.web") / "static"
    assert {each.name for each in static.iterdir()} <= set(FILES.values())


def test_a_page_without_a_token_asks_for_one(browser: Browser, paged: Paged) -> None:
    from playwright.sync_api import expect

    context = browser.new_context()
    page = context.new_page()
    heard: list[str] = []
    listen(page, heard)
    page.goto(paged.url)
    expect(page.locator("#token")).to_be_focused()
    assert page.locator("#peers tr").count() == 0
    page.keyboard.type("guess")
    page.keyboard.press("Enter")
    expect(page.locator("#door-why")).to_have_text(
        "A token has 48 digits and letters a to f: copy all of it."
    )
    assert heard == []
    page.keyboard.type("0" * 48)
    page.keyboard.press("Enter")
    expect(page.locator("#door-why")).to_contain_text("the token is wrong", timeout=LIVE)
    assert [line for line in heard if "401" not in line] == []
    assert page.locator("#one").is_hidden()
    page.keyboard.type(f"{paged.url}/#token={paged.token}")  # the whole address will do, too
    page.keyboard.press("Enter")
    ready(page)
    assert page.input_value("#token") == "" or page.locator("#door").is_hidden()
    context.close()


def test_a_token_that_may_only_read_says_so(browser: Browser, paged: Paged) -> None:
    with opened(browser, f"{paged.url}/#token={paged.read_token}") as page:
        ready(page)
        assert page.url == f"{paged.url}/"
        assert "This token may only read, so nothing can be asked here." in page.inner_text("#ask")
        assert page.locator("input[type=file]").count() == 0
    assert paged.send("POST", "/v1/check", {"rows": [[1.0]]}, token=paged.read_token).status == 403
    assert paged.get("/v1/access")["may"] == "ask"
    assert paged.send("GET", "/v1/access", token=paged.read_token).json["may"] == "read"


def test_a_name_that_leads_here_gets_nothing(browser: Browser, paged: Paged) -> None:
    """As after DNS rebinding: the browser believes that evil.example is this machine."""
    context = browser.new_context()
    page = context.new_page()
    answer = page.goto(f"http://evil.example:{paged.port}/#token={paged.token}")
    assert answer is not None
    assert (answer.status, answer.headers["content-type"]) == (421, "application/problem+json")
    assert "is not called" in page.inner_text("body")
    assert page.locator("script").count() == 0
    page.goto("about:blank")
    framed = f"<iframe src='{paged.url}/'></iframe>"
    page.set_content(framed)
    assert page.frames[1].locator("#title").count() == 0  # nobody may put it into a frame
    context.close()


def test_what_others_wrote_stays_text(browser: Browser, address: str, paged: Paged) -> None:
    from playwright.sync_api import expect

    labels = [*HOSTILE[:5], "even", "odd"]
    name = paged.ask([[2.0], [3.0]], labels=labels, columns=[HOSTILE[0]], rounds=10, seconds=6.0)
    paged.over(name)
    moot, evidence = paged.get("/v1/moot"), paged.get("/v1/evidence")
    for peer, word in zip(moot["peers"], HOSTILE, strict=False):
        peer["name"] = word
    accused = {"motion": name, "participant": HOSTILE[1], "what": HOSTILE[2]}
    moot["invitations"] = [
        {
            "inputs": 2,
            "remaining": 1,
            "sent": {HOSTILE[0]: 3},
            "refused": {HOSTILE[1]: HOSTILE[2]},
            "owing": [],
        }
    ]
    lists = {key: [HOSTILE[1]] for key in ("left", "rotated", "replaced", "owed")}
    proposal = {"proposal": HOSTILE[5], "counted": 1, "needed": 4, "joined": [HOSTILE[0]], **lists}
    moot["proposals"] = [proposal | {"signed": [HOSTILE[2]]}]

    def answer(route: Route, told: Any) -> None:
        route.fulfill(body=json.dumps(told), content_type="application/json")

    with opened(browser, address) as page:
        page.route("**/v1/moot", lambda route: answer(route, moot))
        page.route(
            "**/v1/evidence", lambda route: answer(route, {"evidence": [*evidence["evidence"], accused]})
        )
        page.goto(address)  # the address changes behind the # alone: the open page takes the token
        ready(page)
        expect(page.locator("#peers")).to_contain_text(HOSTILE[0], timeout=LIVE)
        names = [row[0] for row in table(page, "#peers")]
        assert HOSTILE[1] in names
        assert "·gnol··" in names  # marks that reorder are seen
        assert page.locator("#accused summary", has_text=HOSTILE[1]).count() == 1
        expect(page.locator("#invited")).to_contain_text(f"{HOSTILE[1]}: {HOSTILE[2]}", timeout=LIVE)
        expect(page.locator("#roster .proposal")).to_contain_text(f"{HOSTILE[0]} joins, {HOSTILE[1]} leaves")
        assert f"{HOSTILE[2]}; 1 of 4 that count" in page.inner_text("#roster .proposal")
        page.get_by_role("button", name=f"look at motion {name[:8]}").click()
        expect(page.locator(".decisions tbody tr")).to_have_count(2, timeout=LIVE)
        assert HOSTILE[0] in page.inner_text("#motion .facts")  # a column
        shown = page.locator(".truths select option").all_text_contents()
        assert shown[:3] == HOSTILE[:3]
        header = ",".join(HOSTILE[:3])
        dropped(page, HOSTILE[1], f"{header}\n1,2,3\n")
        expect(page.locator("#ask .found")).to_contain_text("This node cannot take it", timeout=LIVE)
        assert HOSTILE[1] in page.inner_text("#ask .found h3")
        assert HOSTILE[0] in page.inner_text("#ask .preview thead")
        assert page.get_by_role("button", name="to the moot").is_disabled()
        assert page.locator("img, iframe, main script").count() == 0


@pytest.mark.parametrize("width", [1400, 500])
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing(browser: Browser, address: str, paged: Paged, dark: bool, width: int) -> None:
    if not paged.get("/v1/evidence")["evidence"]:
        paged.over(paged.ask([[float(i)] for i in range(6)], rounds=20, seconds=6.0))
    with opened(browser, address, width=width, dark=dark, reduced_motion="reduce") as page:
        ready(page)
        page.wait_for_selector(".decisions tbody tr")
        dropped(page, "numbers.csv", "number\n1\n2\n")
        page.wait_for_selector("#ask .preview")
        page.locator("#accused summary").first.click()
        page.click(".truths summary")
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert one_column(page) == (width < 900)


def one_column(page: Page) -> bool:
    boxes = [page.locator(f".card:has({each})").bounding_box() for each in ("#peers", "#motion")]
    assert boxes[0] is not None
    assert boxes[1] is not None
    return boxes[0]["x"] == boxes[1]["x"]


def test_the_first_word_of_the_stream_may_come_last(browser: Browser, address: str) -> None:
    """Everything else is known by then; what is drawn needs both."""
    streams: list[str] = []

    def cut(route: Route) -> None:
        streams.append(route.request.url)
        if len(streams) == 1:  # it ends before a word
            route.fulfill(body=":\n\n", content_type="text/event-stream")
        else:
            route.continue_()

    with opened(browser, address) as page:
        ready(page)
        page.route("**/v1/events*", cut)
        page.goto(address)  # the open page takes the token, and begins again
        page.wait_for_selector("#link.gone")
        ready(page)
    assert len(streams) == 2
