"""The page: self-contained, and safe with whatever names users have."""

from __future__ import annotations

from html.parser import HTMLParser

from matplotlib.figure import Figure

from folkmoot.report.page import Page


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.sources: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "img"):
            self.open.append(tag)
        self.sources += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.cells.append(data)


def test_page() -> None:
    figure = Figure()
    figure.subplots().plot([1, 2])
    page = Page("Löwen & <script>alert(1)</script>")
    page.heading("A < B")
    page.text("x & y")
    page.table(["who", "how"], [["<b>", "1.5"], ["consensus", "-"]], bold="consensus")
    page.figure(figure, 'a "caption"')
    html = page.html()
    reader = Reader()
    reader.feed(html)
    assert reader.open == []
    assert reader.cells == ["who", "how", "<b>", "1.5", "consensus", "-"]
    assert len(reader.sources) == 1
    assert reader.sources[0].startswith("data:image/svg+xml;base64,")
    assert "<script" not in html
    assert html.count('<tr class="bold">') == 1
    assert '<td class="text">&lt;b&gt;</td><td>1.5</td>' in html
