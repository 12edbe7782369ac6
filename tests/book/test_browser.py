"""The built pages in a real browser: nothing breaks, nothing leaves, everything can be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from browser import AXE, Browser
from check_book import read_toc

TOC = Path(__file__).resolve().parents[2] / "_toc.yml"
OF_THE_LIBRARY = (
    "book/api/longfair.metrics.bias",
    "book/api/longfair.metrics.benefit",
    "book/api/longfair.agents.ppo.FairPPO",
    "book/api/longfair.runs.store",
)
"""Pages of the library of every kind: a function, a module, a class, a module with its objects."""
EVERY_PAGE = [*read_toc(TOC), *OF_THE_LIBRARY, "search", "genindex", "genindex-F", "py-modindex"]
PHONE = 390
LAPTOP = 1280
"""Here the text has less room than on wider screens: the columns beside it stay."""

MATHEMATICS = """
[...document.querySelectorAll('.math')].filter(part => !part.querySelector('mjx-container')).length
  + document.querySelectorAll('mjx-merror').length
"""
RAW_TEX = r"""
(() => {
  const copy = document.querySelector('main').cloneNode(true);
  copy.querySelectorAll('pre, code, script, mjx-container').forEach(part => part.remove());
  return /\\\(|\\\[|\$\$|\\frac|\\mathbb/.test(copy.textContent);
})()
"""
IMAGES = """
[...document.querySelectorAll('img')].filter(image => !image.alt.trim() || image.checkVisibility()
  && (image.naturalWidth === 0 || image.getBoundingClientRect().width === 0))
  .map(image => image.src)
"""
BESIDE_THE_SCREEN = """
[...document.querySelectorAll('main img')].filter(image => image.checkVisibility()
  && image.getBoundingClientRect().right > document.documentElement.clientWidth)
  .map(image => image.currentSrc)
"""
CODE = "article div:not(.text_plain, .stream) > .highlight pre"
"""Code that somebody wrote; what code printed may be wide and scroll."""
CUT_EQUATIONS = """
[...document.querySelectorAll('div.math:has(> .eqno)')].filter(part => {
  const formula = part.querySelector('mjx-container');
  const number = part.querySelector('.eqno').getBoundingClientRect();
  return formula.scrollWidth > formula.clientWidth + 1
    || formula.getBoundingClientRect().right > number.left + 1;
}).map(part => part.id)
"""
"""Numbered equations that end under their number, or that one has to scroll to see."""
SCROLLING_EQUATIONS = """
[...document.querySelectorAll('div.math')].filter(part => {
  const formula = part.querySelector('mjx-container');
  return formula?.checkVisibility() && Math.max(formula.scrollWidth - formula.clientWidth,
    part.scrollWidth - part.clientWidth) > 1;
}).map(part => part.id)
"""
"""Displayed equations that are wider than their place."""
CUT_CODE = """
(() => {
  document.querySelectorAll('article details').forEach(part => { part.open = true });
  return [...document.querySelectorAll('CODE')]
    .filter(part => part.scrollWidth > part.clientWidth + 1)
    .map(part => part.textContent.split('\\n').sort((a, b) => b.length - a.length)[0]);
})()
""".replace("CODE", CODE)
"""Longest lines of code boxes, folded ones too, that end beyond the box."""
OUT_OF_REACH = """
async () => {
  document.querySelectorAll('article details').forEach(part => { part.open = true });
  document.querySelectorAll('.toggle-hidden').forEach(part =>
    part.classList.remove('toggle-hidden'));
  const found = () => [...document.querySelectorAll('article *')].filter(part => part.tabIndex < 0
    && part.clientWidth && part.scrollWidth > part.clientWidth + 1
    && ['auto', 'scroll'].includes(getComputedStyle(part).overflowX))
    .map(part => part.outerHTML.slice(0, 160));
  // The page hears of the folds when it has time.
  for (let wait = 0; wait < 60 && found().length; wait++)
    await new Promise(done => setTimeout(done, 50));
  return found();
}
"""
"""What scrolls sideways once every fold is open, and cannot be reached with the tab key.

The browser lets the key reach what scrolls; a theme that forbids it is not seen by axe-core."""
BESIDE_THE_EDGE = """
[...document.querySelectorAll('.prev-next-area *')].filter(part => {
  const place = part.getBoundingClientRect();
  return place.left < -1 || place.right > document.documentElement.clientWidth + 1;
}).map(part => part.textContent)
"""
"""Titles and arrows of the pages before and after that end outside the screen."""
COVERED_EQUATIONS = """
[...document.querySelectorAll('div.math:has(> .eqno)')].filter(part => {
  const formula = part.querySelector('mjx-container').getBoundingClientRect();
  const number = part.querySelector('.eqno').getBoundingClientRect();
  return formula.right > number.left + 1 && formula.bottom > number.top + 1
    && number.bottom > formula.top + 1;
}).map(part => part.id)
"""
"""Equations that run into their number; on a phone the number has a line of its own."""
PLACES = """
(() => {
  const place = part => part ? part.getBoundingClientRect().top + window.scrollY : Infinity;
  const box = document.querySelector('#in-two-minutes');
  const bold = [...box.querySelectorAll('strong')];
  const change = bold.find(part => part.textContent.startsWith('What would change our mind'));
  return {
    question: place(box.querySelector('p')),
    figure: place(box.querySelector('img')),
    answer: place(change),
  };
})()
"""
"""Where the box of a page says what is asked, shows the figure that answers, and ends."""
PLACES_IN_A_CHAPTER = """
(() => {
  const box = document.querySelector('#in-two-minutes');
  const findings = [...box.querySelectorAll('li')];
  const top = part => part ? part.getBoundingClientRect().top + window.scrollY : Infinity;
  return {
    question: top(box.querySelector('p')),
    figure: top(box.querySelector('img')),
    answer: findings.length && findings.length <= 3
      ? findings.at(-1).getBoundingClientRect().bottom + window.scrollY : Infinity,
  };
})()
"""
"""The same of a chapter, whose box ends with at most three findings."""
SCREENS = {
    "wide-light": {"width": 1440, "height": 900, "dark": False},
    "phone-dark": {"width": PHONE, "height": 844, "dark": True},
}
"""How pages are looked at. Of what axe-core asks, only whether colours stand apart hangs on both
mode and width; in the other two pairs it is asked for that."""
COLOURS = "color-contrast"
FIRST_ON_A_PHONE = (
    "book/index",
    "book/claims",
    "book/papers/fppo",
    "book/use/first_policy",
    "book/environments/lending",
    "notebooks/fppo/lending",
    *OF_THE_LIBRARY,
    "search",
)
"""Pages of every kind that are loaded on a phone, and not only shown on one. What a script finds
when it begins hangs on the screen, and all pages of a kind have the same scripts."""


def comes_early(places: dict[str, float], screen: int, later: int = 0) -> bool:
    """Whether question and figure begin on the first screen and the answer on one of two.

    In a chapter, whose figure is larger, everything may come a screen `later`.
    """
    begins = max(places["question"], places["figure"])
    return begins < (1 + later) * screen and places["answer"] < (2 + later) * screen


@pytest.fixture
def daylight(browser: Browser) -> None:
    """Let the browser show nothing yet, on a wide screen by day."""
    browser.leave()
    browser.look()


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", EVERY_PAGE)
def test_page_works_for_everybody(browser: Browser, book: Path, name: str, screen: str) -> None:
    """It works from disk, axe-core finds nothing serious, and it is no wider than its screen.

    Evening comes over a page that was light, its window becomes narrow, and it is morning again;
    those of `FIRST_ON_A_PHONE` are loaded anew.
    """
    options = SCREENS[screen]
    if name in FIRST_ON_A_PHONE:
        browser.leave()
    browser.turn_to((book / f"{name}.html").as_uri(), **options)
    outside = [request for request in browser.requests() if not request.startswith("file://")]
    assert browser.complaints() == []
    assert outside == []
    assert browser.evaluate(MATHEMATICS) == 0, "mathematics that was not typeset"
    assert not browser.evaluate(RAW_TEX), "TeX that the reader sees as TeX"
    assert browser.evaluate(IMAGES) == [], "images that do not show or have no words"
    assert browser.evaluate(BESIDE_THE_SCREEN) == [], "figures that one has to scroll to see"
    theme = browser.evaluate("document.documentElement.dataset.theme")
    assert theme == ("dark" if "dark" in screen else "light")
    assert browser.evaluate("document.documentElement.scrollWidth") <= options["width"]
    assert browser.barriers() == []
    if screen == "phone-dark":
        assert browser.evaluate(COVERED_EQUATIONS) == [], "equations that run into their number"
        assert browser.evaluate(SCROLLING_EQUATIONS) == [], "equations wider than a phone"
        assert browser.evaluate(BESIDE_THE_EDGE) == [], "titles of other pages that are cut off"
    if screen == "wide-light":
        if name.startswith("notebooks/"):
            places = browser.evaluate(PLACES)
            assert comes_early(places, options["height"]), places
        browser.look(width=LAPTOP)
        assert browser.evaluate("document.documentElement.scrollWidth") <= LAPTOP
        assert browser.evaluate(CUT_EQUATIONS) == [], "equations cut off at their number"
        if name.startswith("book/papers/"):
            places = browser.evaluate(PLACES_IN_A_CHAPTER)
            assert comes_early(places, options["height"], later=1), places
        assert browser.evaluate(CUT_CODE) == [], "code cut off at the edge of its box"
    assert browser.evaluate(OUT_OF_REACH) == [], "what scrolls, but not with the keyboard"
    browser.turn_to((book / f"{name}.html").as_uri(), **{**options, "dark": not options["dark"]})
    assert browser.barriers(COLOURS) == [], "colours that hardly stand apart in the other mode"


def test_a_page_of_every_kind_is_loaded_on_a_phone() -> None:
    kinds = {name.rpartition("/")[0] for name in EVERY_PAGE if not name.startswith("notebooks/")}
    assert set(FIRST_ON_A_PHONE) <= set(EVERY_PAGE)
    assert kinds <= {name.rpartition("/")[0] for name in FIRST_ON_A_PHONE}


@pytest.mark.parametrize("late", [{"question": 900}, {"figure": float("inf")}, {"answer": 1800}])
def test_what_comes_late_is_seen(late: dict[str, float]) -> None:
    early = {"question": 100, "figure": 899, "answer": 1799}
    assert comes_early(early, 900)
    assert not comes_early({**early, **late}, 900)
    assert comes_early({place: 900 + top for place, top in early.items()}, 900, later=1)
    assert not comes_early(
        {place: 900 + top for place, top in (early | late).items()}, 900, later=1
    )


@pytest.mark.usefixtures("daylight")
def test_some_page_has_mathematics_and_a_figure(browser: Browser, book: Path) -> None:
    """The checks above would also pass on pages where there is nothing to check."""
    browser.open((book / "notebooks/elbert/lending.html").as_uri())
    assert browser.evaluate("document.querySelectorAll('mjx-container').length") > 0
    assert browser.evaluate("document.querySelectorAll('article img').length") > 0


@pytest.mark.usefixtures("daylight")
def test_paper_has_neither_folded_code_nor_a_list_of_contents(browser: Browser, book: Path) -> None:
    browser.open((book / "notebooks/elbert/lending.html").as_uri())
    browser.page.emulate_media(media="print")
    seen = "[...document.querySelectorAll('{}')].filter(part => part.checkVisibility()).length"
    assert browser.evaluate(seen.format("details.hide .cell_input, #jb-print-toc")) == 0
    assert browser.evaluate(seen.format("details:not(.hide) p")) > 0
    browser.page.emulate_media(media="screen")


@pytest.mark.usefixtures("daylight")
def test_search_finds_a_term(browser: Browser, address: str) -> None:
    browser.open(f"{address}/search.html?q=supply")
    browser.wait_for("document.querySelectorAll('#search-results li a').length > 0")
    links = browser.evaluate(
        "[...document.querySelectorAll('#search-results li a')].map(link => link.pathname)"
    )
    assert "/book/glossary.html" in links
    assert browser.complaints() == []
    assert all(request.startswith(address) for request in browser.requests())


@pytest.mark.usefixtures("daylight")
def test_search_says_when_there_is_nothing(browser: Browser, address: str) -> None:
    browser.open(f"{address}/search.html?q=zyzzyva")
    browser.wait_for("/did not match/.test(document.querySelector('#search-results').textContent)")


@pytest.mark.usefixtures("daylight")
@pytest.mark.parametrize("name", ["book/index", "book/claims/elbert-01", OF_THE_LIBRARY[0]])
def test_everything_stands_in_a_landmark(browser: Browser, book: Path, name: str) -> None:
    browser.open((book / f"{name}.html").as_uri())
    browser.evaluate(AXE.read_text(encoding="utf-8"))
    found = browser.evaluate("axe.run(document, { runOnly: ['region', 'landmark-unique'] })")
    assert [node["html"] for rule in found["violations"] for node in rule["nodes"]] == []


@pytest.mark.usefixtures("daylight")
def test_the_button_switches_to_dark(browser: Browser, book: Path) -> None:
    browser.open((book / "book/index.html").as_uri())
    press = "document.querySelector('.theme-switch-button').click()"
    seen = set()
    for _ in range(3):
        browser.evaluate(press)
        seen.add(browser.evaluate("document.documentElement.dataset.theme"))
    assert seen == {"light", "dark"}


@pytest.mark.usefixtures("daylight")
def test_the_checks_see_what_they_look_for(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text(
        """<!doctype html><title>Bad</title><html lang="en"><main><article>
        <div class="prev-next-area">
        <p style="margin-left: 370px; width: 90px">Hyperparameters</p></div>
        <details><div style="overflow: auto; width: 90px" tabindex="-1"><p style="width: 300px">
        folded and far to the right</p></div></details>
        <div style="overflow: auto; width: 90px"><p style="width: 300px">far to the right</p></div>
        <input>
        <p style="color: #999">faint</p><p style="color: #555">dark enough</p>
        <span class="math">\\(x\\)</span>
        <div class="math" id="under"><mjx-container style="display: inline-block; width: 200px">
        wide</mjx-container><span class="eqno" style="margin-left: -20px">(1)</span></div>
        <div class="math" id="beside"><mjx-container>x</mjx-container>
        <span class="eqno">(2)</span></div>
        <div class="math" id="scrolls"><mjx-container style="display: inline-block; overflow: auto;
        width: 50px" tabindex="0"><div style="width: 90px">far</div></mjx-container>
        <span class="eqno">(3)</span></div> <img alt="missing" src="missing.png">
        <img alt="missing too" src="missing.png" style="margin-left: 400px">
        <div><div class="highlight"><pre style="overflow: auto; width: 90px" tabindex="0">short
a line that is long enough to be cut</pre></div><div class="highlight"><pre>short</pre></div></div>
        <img alt="outside" src="http://127.0.0.1:9/a.png"><div style="width: 900px">wide</div>
        <script>console.error("broken"); undefinedFunction()</script></article></main>"""
    )
    browser.look(width=PHONE, height=844)
    browser.open(page.as_uri())
    said = " ".join(browser.complaints())
    assert "broken" in said
    assert "undefinedFunction is not defined" in said
    assert "ERR_FILE_NOT_FOUND" in said
    assert "http://127.0.0.1:9/a.png" in browser.requests()
    assert browser.evaluate(MATHEMATICS) == 1
    assert browser.evaluate(RAW_TEX)
    assert len(browser.evaluate(IMAGES)) == 3
    assert len(browser.evaluate(BESIDE_THE_SCREEN)) == 1
    assert browser.evaluate(CUT_EQUATIONS) == ["under", "scrolls"]
    assert browser.evaluate(COVERED_EQUATIONS) == ["under"]
    assert browser.evaluate(SCROLLING_EQUATIONS) == ["scrolls"]
    assert browser.evaluate(BESIDE_THE_EDGE) == ["Hyperparameters"]
    assert 'tabindex="-1"' in browser.evaluate(OUT_OF_REACH)[0]
    assert browser.evaluate(CUT_CODE) == ["a line that is long enough to be cut"]
    found = browser.barriers()
    assert {rule for rule, _ in found} == {"color-contrast", "scrollable-region-focusable", "label"}
    assert [html for rule, html in found if rule == "color-contrast"] == [
        '<p style="color: #999">faint</p>'
    ]
    assert browser.evaluate("document.documentElement.scrollWidth") > PHONE
