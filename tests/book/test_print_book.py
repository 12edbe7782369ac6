"""The whole book as one page: every chapter is there, and links lead to the same places."""

from __future__ import annotations

from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from check_book import read_toc
from print_book import chapter, mark, moved, whole

NAMES = frozenset({"book/index", "notebooks/a/b"})
PAGE = """<html><head><link rel="stylesheet" href="../_static/a.css"></head><body><nav>side</nav>
<article><h1 id="top">Title<a class="headerlink" href="#top">#</a></h1>
<details><summary>more</summary>folded</details>
<div class="tag_hide-input"><details class="hide above-input"><summary>code</summary>figure()
</details></div>
<div class="tag_hide-cell"><details class="hide above-input"><summary>Figure</summary>
<div class="cell_input">figure()</div>drawn</details></div>
<a id="out" href="../notebooks/a/b.html#fig">there</a> <a href="#top">up</a>
<a href="data:text/csv;base64,AA==">data</a>
<img src="../_images/x.png" alt="x"></article></body>"""


@pytest.mark.parametrize(
    ("link", "place"),
    [
        ("b.html", "notebooks/a/b.html"),
        ("../notebooks/a/b.html", "#notebooks-a-b"),
        ("../notebooks/a/b.html#fig", "#notebooks-a-b--fig"),
        ("#here", "#book-index--here"),
        ("index.html#paper=ELBERT&verdict=checked", "#book-index"),
        ("../_images/x.png", "_images/x.png"),
        ("https://example.org/a", "https://example.org/a"),
    ],
)
def test_links_lead_to_the_same_place(link: str, place: str) -> None:
    page = "notebooks/a/c" if link == "b.html" else "book/index"
    names = frozenset() if link == "b.html" else NAMES
    assert moved(link, page, names) == place


def test_a_chapter_is_unfolded_and_its_places_are_its_own() -> None:
    article = chapter(PAGE, "book/index", NAMES)
    assert article["id"] == mark("book/index") == "book-index"
    assert article.select_one("h1")["id"] == "book-index--top"
    assert [part.has_attr("open") for part in article.select("details")] == [True] * 2
    assert "figure()" not in article.get_text()
    assert "drawn" in article.get_text()
    assert not article.select(".headerlink")
    assert [link["href"] for link in article.select("a")] == [
        "#notebooks-a-b--fig", "#book-index--top", "data:text/csv;base64,AA==",
    ]  # fmt: skip
    assert article.select_one("img")["src"] == "_images/x.png"


def test_a_page_without_an_article_is_refused() -> None:
    with pytest.raises(ValueError, match="has no article"):
        chapter("<p>nothing</p>", "book/index", NAMES)


def test_the_whole_holds_every_page_once_and_no_link_is_dead(book: Path) -> None:
    names = read_toc(Path(__file__).resolve().parents[2] / "_toc.yml")
    page = BeautifulSoup(whole(book, names), "html.parser")
    assert [article["id"] for article in page.select("body > article")] == [*map(mark, names)]
    places = {part["id"] for part in page.find_all(attrs={"id": True})}
    links = [part["href"] for part in page.select("article a[href^='#']")]
    assert len(links) > 500
    assert set(links) - {f"#{place}" for place in places} == set()
    assert all((book / image["src"]).exists() for image in page.select("article img"))
    assert all((book / sheet["href"]).exists() for sheet in page.select("link[rel=stylesheet]"))
