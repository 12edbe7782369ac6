"""The book as built passes its checks, and the checks see what they are there for."""

from __future__ import annotations

import re
from pathlib import Path

import jupyter_book
import pytest
import yaml

from check_book import check, read_toc

ROOT = Path(__file__).resolve().parents[2]
GOOD = '<html><body><h1 id="top">Title</h1><img src="a.png" alt="A line."></body></html>'


def test_jupyter_book_is_the_one_that_reads_our_configuration() -> None:
    assert jupyter_book.__version__.startswith("1.")


def test_built_book_has_every_page_and_no_problem(book: Path) -> None:
    pages, problems = check(ROOT / "_toc.yml", book)
    assert problems == []
    assert pages == len(read_toc(ROOT / "_toc.yml"))


def test_no_page_is_missing_from_the_contents() -> None:
    """A page that nobody lists would silently not be built."""
    listed = set(read_toc(ROOT / "_toc.yml"))
    made = {ROOT / "book" / "_generated", ROOT / "book" / "claims"}  # by the build, not by us
    pages = {path for path in (ROOT / "book").rglob("*.md") if not made & set(path.parents)}
    pages |= set((ROOT / "notebooks").rglob("*.py"))
    names = {path.relative_to(ROOT).with_suffix("").as_posix() for path in pages}
    assert names == listed


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A book of one good page."""
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: page\n")
    folder = tmp_path / "html"
    folder.mkdir()
    (folder / "page.html").write_text(GOOD)
    return folder


def problems_with(site: Path, page: str) -> list[str]:
    (site / "page.html").write_text(page)
    return check(site.parent / "_toc.yml", site)[1]


def test_good_page_passes(site: Path) -> None:
    assert problems_with(site, GOOD) == []


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ('<script src="https://example.org/a.js"></script>', "from outside"),
        ("<p>&lt;a.Range object at 0x7f3a&gt;</p>", "shows a.Range object at 0x7f3a"),
        ('<script src="//example.org/a.js"></script>', "from outside"),
        ('<link rel="stylesheet" href="https://example.org/a.css">', "from outside"),
        ('<link rel="preconnect" href="https://example.org">', "from outside"),
        ('<img src="http://example.org/a.png" alt="A line.">', "from outside"),
        ('<iframe src="https://example.org"></iframe>', "from outside"),
        ('<img src="a.png">', "no alternative text"),
        ('<img src="a.png" alt=" ">', "no alternative text"),
        ('<img src="a.png" alt="_images/a.png">', "no alternative text"),
        ('<a href="missing.html">there</a>', "does not exist"),
        ('<a href="#missing">there</a>', "anchor does not exist"),
        ('<a href="page.html#missing">there</a>', "anchor does not exist"),
    ],
)
def test_bad_page_is_named(site: Path, page: str, complaint: str) -> None:
    (problem,) = problems_with(site, page)
    assert problem.startswith("page.html: ")
    assert complaint in problem


def test_a_choice_on_the_board_is_no_anchor(site: Path) -> None:
    link = '<a href="#paper=ELBERT&amp;verdict=not+reproduced">two</a>'
    assert problems_with(site, f'<div id="claim-board">{link}</div>') == []
    (problem,) = problems_with(site, link)
    assert "anchor does not exist" in problem


def test_links_that_leave_on_a_click_are_no_problem(site: Path) -> None:
    page = '<a id="x" href="https://example.org">out</a><a href="#x">in</a>'
    assert problems_with(site, page) == []


def test_missing_page_is_named(site: Path) -> None:
    (site.parent / "_toc.yml").write_text(
        "format: jb-book\nroot: page\nparts:\n- chapters:\n  - file: other\n"
        "    sections: [{file: third}]\n"
    )
    pages, problems = check(site.parent / "_toc.yml", site)
    assert pages == 1
    assert [problem.split(":")[0] for problem in problems] == ["other.html", "third.html"]


def test_style_sheet_that_loads_from_outside_is_named(site: Path) -> None:
    (site / "a.css").write_text("body { background: url(https://example.org/a.png) }")
    (problem,) = problems_with(site, GOOD)
    assert problem.startswith("a.css")


def test_launch_buttons_lead_to_notebooks_that_exist(book: Path) -> None:
    """Colab and Binder open the file at this path of the repository."""
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    owner = (settings["repository"]["url"] or "").removeprefix("https://github.com/")
    branch = settings["repository"]["branch"]
    notebooks = [name for name in read_toc(ROOT / "_toc.yml") if name.startswith("notebooks/")]
    assert notebooks
    for name in notebooks:
        page = (book / f"{name}.html").read_text(encoding="utf-8")
        colab, binder = (
            "".join(set(re.findall(rf'https://{place}/([^"]+)', page)))
            for place in (r"colab\.research\.google\.com/github", r"mybinder\.org/v2/gh")
        )
        if not owner:
            assert colab == binder == ""
            continue
        assert colab == f"{owner}/blob/{branch}/{name}.ipynb"
        assert binder == f"{owner}/{branch}?urlpath=tree/{name}.ipynb"
        assert (ROOT / f"{name}.ipynb").exists()
        assert f"{Path(name).name}.ipynb" in page.replace(colab, "").replace(binder, "")
