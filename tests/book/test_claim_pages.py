"""Every claim has its page, and the board leads to it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import claim_board
import claim_links
import claim_pages
from browser import Browser
from longfair.papers import registry
from longfair.papers.claim_sheet import EXACT
from longfair.wording import certainty
from repository import Repository

VERDICT = re.compile(
    r'<strong class="verdict[^>]*>(?:[^<:]*settings[^<:]*: )?([a-z ]+?)(?: \(fragile\))?</strong>'
)
SHOWN = "[...document.querySelectorAll('#claim-board tbody tr')].filter(row => !row.hidden)"
GROUPS = "[...document.querySelectorAll('.claim-group')]"
OPEN_ALL = f"{GROUPS}.forEach(group => {{ group.open = true }})"
STATUS = "document.querySelector('#claim-filter [role=status]').textContent"

ROW = {
    "id": "elbert-01", "paper": "elbert", "asked": "paper", "statement": "So & so.",
    "source": "Figure 4", "reported": 0.02, "estimate": 0.013, "measured": "bias, elbert-po",
    "interval": [0.01, 0.02], "seeds": 10, "instances": 0, "steps": 2000, "horizon": 2000,
    "profile": "paper", "settings": "authors", "whose": "the authors' settings", "measure": "",
    "variant": "as_coded", "verdict": "reproduced", "answer": "reproduced", "changed": [],
    "stale": 0, "fragile": False,
    "detail": "It is [low].", "parts": [], "conditions": [], "core_hours": 5.0,
}  # fmt: skip
SHEET: dict[str, Any] = {
    "id": "elbert-01", "asked": "paper", "statement": "So & so.", "place": "Figure 4",
    "paper": {"id": "elbert", "authors": "Xu et al.", "title": "Adapting", "doi": "10.1/2"},
    "environment": "Lending",
    "reported": {"value": 0.02, "how": "text", "error": 0.0, "measure": ""},
    "rule": {"words": {"": "it is low"}, "conditions": {"": []}, "text": "kind: value",
             "commits": [{"commit": "abcdef0123456789", "date": "2025-01-31"}]},
    "changed": [{"date": "2025-02-01", "was": "a mean", "now": "a share", "why": "Why."}],
    "note": "", "verdicts": [ROW], "made": ["2025-02-02", "2025-02-03"],
    "numbers": [{"settings": "authors", "variant": "as_coded", "measure": "", "number": "bias",
                 "method": "fair", "seed": seed, "value": 0.1 * seed} for seed in range(3)],
    "beside": [{"variant": "as_coded", "settings": "authors", "number": "reward", "method": "fair",
                "median": 0.25, "lowest": 0.125, "highest": 0.5, "runs": 3}],
    "runs": [{"profile": "paper", "method": "fair", "variant": "as_coded", "fresh": 3, "stale": 0,
              "missing": 0, "damaged": 0, "core_hours": 5.0}],
    "methods": {"fair": "shares alike"},
    "code": [{"name": "longfair.runs.rules.level.ValueRule",
              "file": "longfair/runs/rules/level.py", "first": 10, "last": 20}],
    "commands": ["longfair rerun elbert-01"],
}  # fmt: skip
PAPERS = {"elbert": "ELBERT"}
THERE = Repository("https://host/project", "0123abc")


# --- what is written ----------------------------------------------------------------------------


def test_a_page_says_everything_about_its_claim() -> None:
    text = claim_pages.page(SHEET, ["notebooks/elbert/lending"], ["Words."], THERE)
    line = "| reward | `fair` | as coded | the authors' settings | 0.25 | 0.125 to 0.5 | 3 |"
    assert line in text
    for part in (
        "orphan: true", "# elbert-01", "https://doi.org/10.1/2", "Figure 4", "reports 0.02",
        "It is reproduced if it is low.", "written 2025-01-31", "runs made 2025-02-02 to",
        "https://host/project/commit/abcdef0123456789", "was a mean, now a share", ":alt: Words.",
        "(/book/claims/elbert-01.csv)", "{doc}`/notebooks/elbert/lending`",
        ".venv/bin/longfair rerun elbert-01", "lines 10 to 20", "It is \\[low\\].",
        "- `fair`: shares alike",
        "https://host/project/blob/0123abc/src/longfair/runs/rules/level.py#L10-L20",
    ):  # fmt: skip
        assert part in text, part
    assert VERDICT.findall(text) == ["reproduced"]
    assert '<td data-column="steps">2,000</td>' in text


def test_a_page_says_of_how_many_steps_runs_ended_early() -> None:
    row = ROW | {"settings": "ours", "horizon": 5_000_000}
    text = claim_pages.page(SHEET | {"verdicts": [row]}, [], [], THERE)
    assert '<td data-column="steps">2,000 of 5,000,000</td>' in text


def test_a_page_says_how_sure_a_verdict_is_as_the_command_does() -> None:
    sure = {"answer_99": "inconclusive", "answer_999": "inconclusive", "better": [0.9, 0.5, 1.0]}
    sheet = SHEET | {"verdicts": [ROW | sure]}
    text = claim_pages.page(sheet, [], [], THERE)
    assert certainty(ROW | sure) == ["better in 9 of 10", "at 99 % inconclusive"]
    assert "It is \\[low\\]. How sure: better in 9 of 10; at 99 % inconclusive." in text


CONDITIONS = [
    "reproduced: bias of fair is 0.1; all 2",
    "direction only: bias of fair-2 is [0.3], better in 9 of 10",
]
OF_TWO = f"our settings: (1) {CONDITIONS[0]}; (2) {CONDITIONS[1]}"


def test_conditions_of_a_rule_are_a_list_that_explains_its_methods() -> None:
    detail = f"{OF_TWO}; at worst inconclusive, since [little] is known"
    row = ROW | {"detail": detail, "conditions": CONDITIONS, "answer_99": "inconclusive"}
    text = claim_pages.page(SHEET | {"verdicts": [row]}, [], [], THERE)
    told = """
- *as coded.* Our settings:
  1. Reproduced: bias of <abbr title="shares alike">fair</abbr> is 0.1; all 2.
  1. Direction only: bias of fair-2 is \\[0.3\\], better in 9 of 10.

  At worst inconclusive, since \\[little\\] is known. How sure: at 99 % inconclusive.
"""
    assert told in text


def test_what_is_said_once_for_all_conditions_is_no_list() -> None:
    row = ROW | {"detail": "no results of fair"}
    assert claim_pages.parted(row) == ("no results of fair", [], "")


def test_conditions_that_a_rule_asks_for_are_a_list_that_explains_its_methods() -> None:
    rule = SHEET["rule"] | {
        "words": {"": "(1) bias of fair is low; (2) it earns (if so: checked at best)"},
        "conditions": {"": ["bias of fair is low", "it earns"]},
        "beyond": {"": "if so: checked at best"},
    }
    told = """It is reproduced if all of these hold:

1. bias of <abbr title="shares alike">fair</abbr> is low.
1. it earns.

If so: checked at best.

A number"""
    assert told in claim_pages.page(SHEET | {"rule": rule}, [], [], THERE)


def test_no_rule_with_several_conditions_is_one_paragraph() -> None:
    rules = [sheet["rule"] for sheet in claim_pages.all_sheets()]
    both = [(rule, measure) for rule in rules for measure in rule["words"]]
    several = [one for one in both if "(2) " in one[0]["words"][one[1]]]
    assert len(several) > 50
    for rule, measure in several:
        conditions, beyond = rule["conditions"][measure], rule["beyond"][measure]
        assert len(conditions) > 1
        listed = "; ".join(f"({n}) {words}" for n, words in enumerate(conditions, start=1))
        before, found, rest = rule["words"][measure].partition(listed)
        assert (before, found) == ("", listed)
        assert bool(rest) == bool(beyond)
        assert all(part in rest for part in beyond.split("; "))


def test_all_conditions_of_all_claims_are_listed() -> None:
    rows = [row for sheet in claim_pages.all_sheets() for row in sheet["verdicts"]]
    several = [row for row in rows if row["parts"] and not row["detail"].startswith("no results")]
    listed = [claim_pages.parted(row)[1] for row in several]
    assert max(map(len, listed)) > 10
    assert [len(conditions) for conditions in listed] == [len(row["parts"]) for row in several]


def test_the_figure_comes_before_the_reasons_and_measures_are_explained() -> None:
    sheet = {**SHEET, "verdicts": [{**ROW, "measure": "text"}]}
    text = claim_pages.page(sheet, [], ["Words."], THERE)
    places = [
        text.index(part)
        for part in ("</table>", "*by the text's formula*: as the", ":alt:", "It is \\[low")
    ]
    assert places == sorted(places)
    assert '<span class="number">0.013 [0.01, 0.02]</span>' in text


def test_what_is_not_of_the_first_verdict_is_folded() -> None:
    text = claim_pages.page(SHEET, [], ["First.", "Others."], THERE)
    seen, fold, rest = text.partition(f"::::{{dropdown}} {claim_pages.THE_REST}\n")
    assert fold
    assert "/book/claims/elbert-01.svg\n:alt: First." in seen
    assert rest.startswith("```{image} /book/claims/elbert-01.rest.svg\n:alt: Others.")
    assert claim_pages.THE_REST not in claim_pages.page(SHEET, [], ["First."], THERE)


def test_every_measure_of_a_claim_is_explained() -> None:
    measures = {row["measure"] for sheet in claim_pages.all_sheets() for row in sheet["verdicts"]}
    assert measures - {""} == set(claim_pages.MEASURES)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"runs": [], "environment": EXACT}, "Nothing to draw: computed exactly."),
        ({"runs": []}, "Nothing to draw: no runs yet"),
        ({}, "Nothing to draw: no runs yet"),
    ],
)
def test_a_page_without_a_figure_says_why(changes: dict[str, Any], told: str) -> None:
    assert told in claim_pages.page({**SHEET, "numbers": [], **changes}, [], [], THERE)


@pytest.mark.parametrize("commit", ["", "0123abc"])
def test_no_address_of_the_repository_no_link_to_it(commit: str) -> None:
    text = claim_pages.page(SHEET, [], [], Repository("", commit))
    assert "in the repository" not in text
    assert "by commit `abcdef012345`" in text
    assert "`src/longfair/runs/rules/level.py`, lines 10 to 20\n" in text
    assert re.findall(r"https?://[^)]*", text) == ["https://doi.org/10.1/2"]


def test_claims_that_a_note_names_are_links() -> None:
    assert claim_pages.naming("see elbert-static, not well-known") == (
        "see `elbert-static`, not well-known"
    )


def test_ids_in_tables_and_lists_become_links() -> None:
    text = "<td><code>elbert-01</code></td><li>elbert-01 (as coded): low</li><code>elbert-0</code>"
    assert claim_links.link_html(text, "c/{}.html") == (
        '<td><a href="c/elbert-01.html"><code>elbert-01</code></a></td>'
        '<li><a href="c/elbert-01.html">elbert-01</a> (as coded): low</li><code>elbert-0</code>'
    )


def test_generated_pages_are_read_although_no_table_of_contents_names_them() -> None:
    config = SimpleNamespace(exclude_patterns=["tests", "book/claims/a.md", "book/other.md"])
    claim_pages.include(None, config)  # type: ignore[arg-type]  # what it reads of them
    assert config.exclude_patterns == ["tests", "book/other.md"]


def test_a_row_of_the_board_knows_what_it_is_filtered_by() -> None:
    rows = [ROW, {**ROW, "settings": "ours", "whose": "our settings", "answer": "inconclusive"},
            {**ROW, "variant": "as_published", "answer": "contradicted"}]  # fmt: skip
    board = claim_board.board(rows, PAPERS, {"elbert-01": "Lending"})
    assert board.count("<tr id=") == 1
    assert 'data-verdict="reproduced|contradicted"' in board
    assert 'data-environment="Lending"' in board
    assert 'data-settings="the authors&#x27;|ours"' in board
    summary, rest = board.split("<tr id=")[1].split("<summary>")[1].split("</summary>")
    assert VERDICT.findall(summary) == ["reproduced", "contradicted"]
    assert VERDICT.findall(rest) == ["reproduced", "inconclusive", "contradicted"]
    assert "So &amp; so." in board


def test_a_row_of_the_board_is_short_and_has_every_word_with_what_it_is_about() -> None:
    rows = [
        {**ROW, "measure": "code"},
        {**ROW, "measure": "text", "answer": "inconclusive", "fragile": True},
        {**ROW, "variant": "as_published", "settings": "ours", "whose": "our settings"},
    ]
    board = claim_board.board(rows, PAPERS, {"elbert-01": "Lending"})
    line = board.partition("<tr id=")[2]
    short = re.sub("<[^>]*>", "", re.sub("(?s)</summary>.*?</details>", "", line))
    assert "reproduced as coded, by the code&#x27;s formula" in short
    assert "our settings: reproduced as published" in short
    assert "inconclusive (fragile) as coded, by the text&#x27;s formula" in short
    assert "0.013" not in short
    assert "0.013 [0.01, 0.02]" in board
    assert "The paper reports 0.02." in board


def test_a_row_of_the_board_tells_what_stands_beside_its_numbers() -> None:
    number = {"number": "reward", "method": "a-ppo", "median": 0.17, "lowest": 0.1, "highest": 0.2}
    rows = [
        {**ROW, "beside": [{**number, "settings": "authors"}, {**number, "settings": "ours"}]},
        {**ROW, "measure": "text", "beside": [{**number, "settings": "authors"}]},
    ]
    board = claim_board.board(rows, PAPERS, {"elbert-01": "Lending"})
    told = "reward of a-ppo 0.17 (0.1 to 0.2)"
    assert f"all runs: {told}; {told}, our settings.</p>" in board
    plain = claim_board.board([{**ROW, "beside": []}], PAPERS, {"elbert-01": "Lending"})
    assert "not judged" not in plain


def test_a_paper_is_a_folded_table_whose_head_counts_its_words() -> None:
    rows = [
        ROW,
        {**ROW, "variant": "as_published", "answer": "contradicted"},
        {**ROW, "settings": "ours", "answer": "inconclusive"},
        {**ROW, "id": "x", "asked": "here", "answer": "yes"},
        {**ROW, "id": "y", "paper": "fppo"},
    ]
    environments = dict.fromkeys(["elbert-01", "x", "y"], "Lending")
    papers = {"fppo": "F-PPO", "elbert": "ELBERT", "ucbfair": "L-UCBFair"}
    groups = claim_board.board(rows, papers, environments).split("<details class=")[1:]
    assert [re.findall("<b>(.*?)</b>", group) for group in groups] == [["F-PPO"], ["ELBERT"]]
    assert [re.findall('<tr id="(.*?)"', group) for group in groups] == [["y"], ["elbert-01", "x"]]
    head = groups[1].partition("</summary>")[0]
    assert "1 claims of the paper, 2 verdicts: 1 reproduced, 1 contradicted<" in head
    assert "1 questions of ours, 1 answers: 1 yes<" in head
    assert "0 questions of ours<" in groups[0]


def test_a_choice_on_the_board_has_an_address() -> None:
    choice = claim_board.chosen({"paper": "ELBERT", "verdict": "not reproduced"})
    assert choice == "#paper=ELBERT&verdict=not+reproduced"


def test_the_board_counts_claims_and_our_questions_apart() -> None:
    change = {"date": "2025-01-31", "was": "a mean", "now": "a share", "why": "Why."}
    rows = [ROW, {**ROW, "variant": "b"}, {**ROW, "id": "x", "asked": "here", "changed": [change]}]
    assert claim_board.summary(rows) == (
        "1 claims of the papers and 1 questions of ours are judged. The rule of 0 of the claims "
        "and of 1 of the questions was written or changed after its runs."
    )


# --- the built book -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Counter[str]]:
    """Claim to its words, by the command that a reader can use."""
    answer = subprocess.run(
        [sys.executable, "-m", "longfair", "claims", "--json"],
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, Counter[str]] = {}
    for row in json.loads(answer.stdout):
        found.setdefault(row["id"], Counter())[row["answer"]] += 1
    return found


def test_every_claim_has_a_page_with_its_verdicts(
    book: Path, verdicts: dict[str, Counter[str]]
) -> None:
    assert len(verdicts) == len(registry.claims())
    for name, words in verdicts.items():
        page = (book / f"book/claims/{name}.html").read_text(encoding="utf-8")
        assert Counter(VERDICT.findall(page)) == words, name
        assert f"longfair rerun {name}" in re.sub("<[^>]*>", "", page), name


def test_every_page_that_shows_a_claim_links_it(book: Path) -> None:
    names = claim_links.names()
    for path in [*book.glob("book/*.html"), *book.glob("notebooks/*/*.html")]:
        text = path.read_text(encoding="utf-8")
        bare = [name for name in re.findall(r"(?<!html\">)<code>([a-z0-9-]+)</code>", text)
                if name in names]  # fmt: skip
        assert bare == [], path.name
    lending = (book / "notebooks/elbert/lending.html").read_text(encoding="utf-8")
    assert 'href="../../book/claims/elbert-01.html"' in lending


# --- in a browser -------------------------------------------------------------------------------


@pytest.fixture
def board(browser: Browser, book: Path) -> Browser:
    browser.look()
    browser.open("about:blank")
    browser.open((book / "book/claims.html").as_uri())
    return browser


def test_the_board_filters_and_says_how_many_are_left(board: Browser) -> None:
    everything = len(registry.claims())
    assert board.evaluate(STATUS) == f"{everything} of {everything} claims"
    board.page.select_option("select[name=verdict]", "no")
    board.page.select_option("select[name=paper]", "ELBERT")
    shown = board.evaluate(f"{SHOWN}.map(row => [row.dataset.paper, row.dataset.verdict])")
    assert 0 < len(shown) < everything
    assert all(paper == "ELBERT" and "no" in words.split("|") for paper, words in shown)
    assert board.evaluate(STATUS) == f"{len(shown)} of {everything} claims"


def natural(name: str) -> list[str | int]:
    """Sort numbers within names as numbers, so that c2 comes before c10."""
    return [int(part) if part.isdigit() else part for part in re.findall(r"\d+|\D+", name)]


@pytest.mark.parametrize("name", ["elbert-01", "fppo-1a-ppo"])
def test_the_table_of_a_claim_is_seen_whole_on_a_laptop(
    browser: Browser, book: Path, name: str
) -> None:
    browser.look(width=1280)
    browser.open((book / f"book/claims/{name}.html").as_uri())
    table = "document.querySelector('table.longfair-verdicts')"
    assert browser.evaluate(f"{table}.rows.length") > 1
    assert browser.evaluate(f"{table}.scrollWidth <= {table}.clientWidth + 1")
    lines = "[...document.querySelectorAll('article section > p')]"
    assert browser.evaluate(f"Math.max(...{lines}.map(part => part.clientWidth))") <= 800


def test_the_board_is_short_and_no_wider_than_its_place(board: Browser) -> None:
    board.look(width=1280)
    claims = board.evaluate(f"{SHOWN}.length")
    assert board.evaluate("document.documentElement.scrollHeight") < 3 * 900
    board.evaluate(OPEN_ALL)
    assert board.evaluate("document.documentElement.scrollHeight") < 100 * claims
    place = "document.getElementById('claim-board')"
    assert board.evaluate(f"{place}.scrollWidth <= {place}.clientWidth")
    assert board.evaluate(f"{place}.getBoundingClientRect().right") > 1200


def test_a_claim_opens_by_a_click_and_by_its_address(board: Browser) -> None:
    opened = "document.querySelector('#elbert-07 details').open"
    assert not board.evaluate(opened)
    board.page.click(".claim-group:has(#elbert-07) > summary")
    board.page.click("#elbert-07 summary")
    assert board.evaluate(opened)
    address = board.evaluate("location.href").partition("#")[0]
    board.open("about:blank")
    board.open(f"{address}#elbert-07")
    assert board.evaluate(opened)
    assert board.page.locator("#elbert-07").is_visible()
    assert board.evaluate(f"{GROUPS}.filter(group => group.open).length") == 1


def test_a_choice_opens_the_papers_with_claims_that_fit(board: Browser) -> None:
    opened = f"{GROUPS}.map(group => group.open)"
    name = "group => group.querySelector('b').textContent"
    papers = f"{GROUPS}.map({name})"
    left = f"{GROUPS}.filter(group => !group.hidden).map({name})"
    everything = board.evaluate(papers)
    assert not any(board.evaluate(opened))
    board.page.fill("#claim-filter input[name=q]", "threshold")
    fitting = board.evaluate(f"[...new Set({SHOWN}.map(row => row.dataset.paper))]")
    assert board.evaluate(left) == [paper for paper in everything if paper in fitting]
    assert board.evaluate(f"{GROUPS}.every(group => group.open || group.hidden)")
    assert " of " in board.page.locator(".claim-count:visible").first.inner_text()
    board.page.click("text=Show all")
    assert board.evaluate(left) == everything
    assert not any(board.evaluate(opened))


def test_without_scripts_papers_and_claims_open_all_the_same(chromium: Any, book: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((book / "book/claims.html").as_uri())
    row = page.locator("#elbert-07")
    assert not row.is_visible()
    page.click(".claim-group:has(#elbert-07) > summary")
    assert row.is_visible()
    row.locator("summary").first.click()
    assert row.locator("details > span.aside").first.is_visible()
    context.close()


def test_the_board_searches_and_sorts_by_keyboard(board: Browser) -> None:
    board.page.focus("input[name=q]")
    board.page.keyboard.type("elbert-0")
    board.page.select_option("select[name=sort]", "id")
    names = board.evaluate(
        f"{SHOWN}.filter(row => row.dataset.paper === 'ELBERT').map(row => row.id)"
    )
    assert "elbert-01" in names
    assert names == sorted(names, key=natural)
    board.page.focus("text=Show all")
    board.page.keyboard.press("Enter")
    assert len(board.evaluate(f"{SHOWN}.map(row => row.id)")) == len(registry.claims())


def test_the_address_keeps_the_choice(board: Browser) -> None:
    board.page.select_option("select[name=environment]", "Doughnut")
    address, before = board.evaluate("location.href"), board.evaluate(STATUS)
    assert address.endswith("#environment=Doughnut")
    board.open("about:blank")
    board.open(address)
    assert board.evaluate(STATUS) == before
    assert board.evaluate("document.querySelector('select[name=environment]').value") == "Doughnut"


def test_a_choice_that_does_not_exist_shows_all(browser: Browser, book: Path) -> None:
    browser.open("about:blank")
    browser.open((book / "book/claims.html").as_uri() + "#verdict=nonsense&other=1")
    everything = len(registry.claims())
    assert browser.evaluate(STATUS) == f"{everything} of {everything} claims"


def test_a_phone_shows_the_verdict_of_every_claim(board: Browser) -> None:
    board.look(width=390, height=844)
    assert board.evaluate("document.documentElement.scrollHeight") < 5 * 844
    board.evaluate(OPEN_ALL)
    outside: Any = board.evaluate(
        f"{SHOWN}.filter(row => {{const box = row.querySelector('.verdict')"
        ".getBoundingClientRect(); return box.left < 0 || box.right > 390 || !box.height})"
        ".map(row => row.id)"
    )
    assert outside == []
    assert board.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("screen", ["light", "phone"])
@pytest.mark.parametrize("name", ["elbert-01", "fppo-t", "code/longfair.runs.rules.gain"])
def test_generated_pages_can_be_read(browser: Browser, book: Path, name: str, screen: str) -> None:
    browser.look(width=390 if screen == "phone" else 1440, dark=screen == "phone")
    browser.open((book / f"book/claims/{name}.html").as_uri())
    assert browser.complaints() == []
    assert browser.evaluate("document.documentElement.scrollWidth") <= browser.evaluate(
        "innerWidth"
    )
    assert browser.barriers() == []


def test_three_clicks_lead_from_the_landing_page_to_everything(
    browser: Browser, book: Path
) -> None:
    """Board, claim; there are figure, rule and command. One more: data and code."""
    browser.look()
    browser.open((book / "book/index.html").as_uri())
    clicks = 0

    def click(selector: str) -> None:
        nonlocal clicks
        browser.page.locator(selector).first.click()
        browser.page.wait_for_load_state()
        clicks += 1

    click("article table.longfair-counts a[href*='paper=ELBERT&verdict=reproduced']:visible")
    click("#claim-board a[href='claims/elbert-01.html']")
    assert clicks == 2
    text = browser.evaluate("document.querySelector('article').innerText")
    assert "It is reproduced" in text
    assert "longfair rerun elbert-01" in text
    assert browser.evaluate("document.querySelector('article img').naturalWidth") > 0
    with browser.page.expect_download() as data:
        browser.page.locator("article a[href$='elbert-01.csv']").click()
    assert Path(data.value.path()).read_text("utf-8").startswith("settings,variant,measure,number")
    click("article a[href*='elbert_po.html#']")
    assert clicks == 3
    assert "class ElbertPO" in browser.evaluate("document.querySelector('article').innerText")
