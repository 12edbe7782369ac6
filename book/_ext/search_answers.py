"""Tell the search page what readers ask for, and whose a title is that several pages share.

`book/search.yml` holds the questions. The search page gets them as data, and `search.js` puts the
answers first. No other page loads either.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml
from sphinx.application import Sphinx

from generated import PAPERS
from glossary_links import GLOSSARY, UNLINKED


def answers(asked: Mapping[str, Collection[str]], pages: Collection[str]) -> dict[str, str]:
    """Turn pages with their questions into questions with their page.

    Raises
    ------
    ValueError
        If a page does not exist, or two pages answer one question.
    """
    if missing := [page for page in asked if page not in pages]:
        raise ValueError(f"search.yml names pages that do not exist: {', '.join(missing)}")
    found = Counter(question for questions in asked.values() for question in questions)
    if twice := [question for question, count in found.items() if count > 1]:
        raise ValueError(f"search.yml answers twice: {', '.join(twice)}")
    return {question: page for page, questions in asked.items() for question in questions}


def owner(page: str) -> str:
    """Say to what a page belongs."""
    _, room, *_ = page.split("/")
    return {
        **PAPERS,
        "environments": "environment",
        "papers": "chapter",
        "api": "reference",
        "claims": "code",
    }.get(room, "book")


def full_titles(titles: Mapping[str, str]) -> dict[str, str]:
    """Titles of pages, with their owner where another page has the same one."""
    counts = Counter(titles.values())
    return {page: f"{title} ({owner(page)})" for page, title in titles.items() if counts[title] > 1}


def terms(app: Sphinx) -> dict[str, str]:
    """Anchor of every term of the glossary to the term as it is written there."""
    found = app.env.get_domain("std").get_objects()
    return {f"#{anchor}": name for name, _, kind, _, anchor, _ in found if kind == "term"}


def defined(names: Mapping[str, str]) -> dict[str, str]:
    """Turn terms of the glossary, by anchor, into questions; one entry may have several names."""
    return {
        name.lower(): f"{GLOSSARY}{anchor}"
        for anchor, entry in names.items()
        for name in entry.split(", ")
    }


def inform(app: Sphinx, page: str, _template: str, _context: object, _tree: object) -> None:
    """Add data and script to the search page."""
    if page != "search":
        return
    asked = yaml.safe_load((Path(app.srcdir) / "book" / "search.yml").read_text(encoding="utf-8"))
    titles = {name: title.astext() for name, title in app.env.titles.items()}
    names = terms(app)
    twins = full_titles(titles)
    data = {
        "answers": defined(names)
        | {title.lower(): page for page, title in twins.items()}
        | answers(asked, titles),
        "titles": twins,
        "terms": names,
        "lists": sorted(UNLINKED - {GLOSSARY}),
        "glossary": GLOSSARY,
        "claims": "book/claims",
    }
    app.add_js_file(None, body=f"const SEARCH_DATA = {json.dumps(data)};")
    app.add_js_file("search.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("html-page-context", inform)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
