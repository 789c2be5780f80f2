"""The report is one file that needs no other."""

from html.parser import HTMLParser
from pathlib import Path

from lvc_jax.outputs import report


class Page(HTMLParser):
    """Collects images, rows and links, and checks that tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[str] = []
        self.sources: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list) -> None:
        if tag not in ("meta", "img"):
            self.open.append(tag)
        if tag == "tr":
            self.rows.append(dict(attrs).get("class", ""))
        self.sources += [value for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_report(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "report.html"
    report.write(
        path,
        title="A & <b>",
        kind="synthetic",
        tables=[
            report.Table("T", ["x", "y"], [["1", "<script>"], ["3", "4"]], frozenset([1]), {"x": "what x & y are"})
        ],
        pictures=[report.Picture("P", b"\x89PNG")],
        notes=["Δt is small"],
        provenance={"command": "python -m x --a='b c'", "versions": "1"},
    )
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    assert page.open == []
    assert page.rows == ["", "", "model"]
    assert page.sources == ["data:image/png;base64,iVBORw=="]
    for text in (
        "A & <b>",
        "captions: synthetic",
        "<script>",
        "Δt is small",
        "python -m x --a='b c'",
        "what x & y are",
    ):
        assert text in page.text


def test_an_empty_report_is_a_page(tmp_path: Path) -> None:
    report.write(tmp_path / "r.html", title="T", kind="human captions")
    page = Page()
    page.feed((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert page.open == []


def test_versions_name_the_program() -> None:
    assert {"lvc_jax", "python", "jax", "numpy"} <= set(report.versions())
