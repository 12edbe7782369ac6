"""Live worlds in a real browser: the same numbers as Python, and usable without a mouse."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser import LOUD, SETTLED
from longfair.agents.finite import lagrangian
from longfair.papers.elbert import live_histories, live_lending
from longfair.papers.elbert.histories import three_notions
from longfair.papers.fairmdp import live_price
from longfair.papers.fairmdp.exact import discounted_steps, finite_problem
from longfair.papers.fairqcm import live_doughnuts
from longfair.papers.ucbfair import live_population

CLOSE = 1e-9
"""By how much the script may differ from Python."""
PLACES = {
    "lending": "book/index",
    "histories": "notebooks/elbert/temporal_discrimination",
    "doughnuts": "book/papers/fairqcm",
    "population": "notebooks/ucbfair/population",
    "price": "notebooks/fairmdp/exact",
}
NAMES = list(PLACES)
Numbers = Callable[[str, list[Any]], list[Any]]
VISIBLE = 3.0
"""The ratio that WCAG asks of lines and marks."""
WIDTHS = {"desktop": (1440, 900), "phone": (390, 844)}


def opened(chromium: Any, book: Path, name: str, **options: Any) -> Any:
    """A tab with the page of a world as it is when it is opened, read from the disk."""
    page = chromium.new_page(**options)
    page.goto((book / f"{PLACES[name]}.html").as_uri())
    return page


@dataclass(frozen=True)
class Visit:
    """A tab, and what its page asked for and complained about since it was opened."""

    page: Any
    requests: list[str]
    complaints: list[str]


@pytest.fixture(scope="module")
def visit(chromium: Any, book: Path) -> Iterator[Callable[[str], Visit]]:
    """The page of a world, for tests that hold wherever its controls stand; opened once."""
    visits: dict[str, Visit] = {}

    def visited(name: str) -> Visit:
        if name not in visits:
            found = visits[name] = Visit(chromium.new_page(), [], [])
            found.page.on("request", lambda request: found.requests.append(request.url))
            found.page.on(
                "console", lambda said: said.type in LOUD and found.complaints.append(said.text)
            )
            found.page.on("pageerror", lambda error: found.complaints.append(str(error)))
            found.page.goto((book / f"{PLACES[name]}.html").as_uri())
        return visits[name]

    yield visited
    for found in visits.values():
        found.page.close()


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    """Every world in turn."""
    return str(request.param)


@pytest.fixture
def page(visit: Callable[[str], Visit], name: str) -> Any:
    """The page of a world."""
    return visit(name).page


@pytest.fixture(scope="module")
def numbers(visit: Callable[[str], Visit]) -> Numbers:
    """What the script computes for many states; as text, which comes over much faster."""
    script = """([name, states]) => {
      const world = document.querySelector(`longfair-world[name=${name}]`);
      const {numbers} = customElements.get("longfair-world").worlds[name];
      return JSON.stringify(states.map(state => numbers(world.data, state)));
    }"""
    return lambda name, states: json.loads(visit(name).page.evaluate(script, [name, states]))


def light(colour: str) -> float:
    """Relative luminance of `rgb(...)`, as WCAG defines it."""
    parts = np.array([float(part) for part in re.findall(r"[\d.]+", colour)[:3]]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def same(script: Any, python: Any) -> None:
    np.testing.assert_allclose(np.array(script, dtype=float), python, rtol=0.0, atol=CLOSE)


def test_lending_is_that_of_the_environment(numbers: Numbers) -> None:
    thresholds = list(product(range(8), repeat=2))
    course = live_lending.follow(thresholds)
    for copy, found in enumerate(numbers("lending", thresholds)):
        same(found["profit"], course.profit[:, copy])
        same(found["rates"], course.rates[:, copy])
        same(found["bias"], course.bias[:, copy])
        same(found["scores"], course.scores[:, copy])


def test_histories_are_judged_as_the_metrics_do(numbers: Numbers) -> None:
    generator = np.random.default_rng(0)
    demand = generator.integers(1, live_histories.MOST // 2, size=(2000, 2, 2), endpoint=True)
    supply = generator.integers(0, demand, endpoint=True)
    judged = three_notions(supply, demand)
    states = [
        {"supply": row.tolist(), "demand": of.tolist()}
        for row, of in zip(supply, demand, strict=True)
    ]
    found = numbers("histories", states)
    same([one["signed"] for one in found], judged["signed sum"])
    same([one["squared"] for one in found], judged["squared sum"])
    same([one["bias"] for one in found], judged["ELBERT bias"])


def test_price_is_that_of_the_solver(numbers: Numbers) -> None:
    problem = finite_problem("dp")
    corners = [float(gap) for gap in live_price.frontier().gap]
    tolerances = [0.0, *np.linspace(0.0005, 0.3, 25).tolist(), *corners[1::20]]
    for tolerance, found in zip(tolerances, numbers("price", tolerances), strict=True):
        best = lagrangian.solve(problem, tolerance)
        same(found["profit"], best.value.reward * discounted_steps())
        same(found["gap"], best.value.gap)
        same(found["rates"], best.value.group_values)
        visited = best.occupancy.sum(axis=1) > 0.0
        chance = np.array(found["lends"], dtype=float)
        assert (visited == (chance >= 0.0)).all()
        same(chance[visited], best.policy[visited, 1])
        assert sorted(found["coins"]) == best.randomised_states.tolist()


def test_population_is_that_of_the_model(numbers: Numbers) -> None:
    axis = [0.01, 0.2, 0.5, 0.77, 0.99]
    starts = list(product(axis, axis))
    positions = [*product(range(0, live_population.STEPS + 1, 8), repeat=2), live_population.STRICT]
    states = [{"rates": start, "positions": pair} for pair in positions for start in starts]
    found = iter(numbers("population", states))
    for pair in positions:
        path = live_population.follow(starts, pair)
        for copy in range(len(starts)):
            one = next(found)
            same(one["rates"], path.rates[:, copy])
            same(one["loss"], path.loss[:, copy])
            same(one["gap"], path.gap[:, copy])


def test_doughnuts_are_those_of_the_environment(numbers: Numbers) -> None:
    places = range(len(live_doughnuts.SPANS))
    states = [{"place": place, "coin": coin} for place, coin in product(places, (True, False))]
    for state, found in zip(states, numbers("doughnuts", states), strict=True):
        course = live_doughnuts.follow(live_doughnuts.SPANS[state["place"]], bool(state["coin"]))
        same(found["counts"], course.counts)
        same(found["returns"], course.returns)
        same(found["lead"], course.lead)


def test_a_button_chooses_what_decides_ties(chromium: Any, book: Path) -> None:
    course = live_doughnuts.follow(live_doughnuts.SPANS[live_doughnuts.START], coin=False)
    page = opened(chromium, book, "doughnuts")
    pressed = "longfair-world button[aria-pressed=true]"
    assert page.locator(pressed).all_inner_texts() == ["A coin decides ties"]
    page.get_by_role("button", name="A fixed order decides ties").click()
    assert page.locator(pressed).all_inner_texts() == ["A fixed order decides ties"]
    said = page.locator("longfair-world [role=status]").inner_text()
    assert f"mean return is {course.returns.mean():,.0f};" in said
    assert f"is {course.lead[-1]:.1f} doughnuts ahead" in said
    rows = page.locator("longfair-world tbody tr").all_inner_texts()
    found = [float(row.split("\t")[1]) for row in rows]
    np.testing.assert_allclose(found, course.counts.mean(axis=0), rtol=0.0, atol=0.05 + CLOSE)
    page.close()


def test_the_start_of_the_population_is_moved(chromium: Any, book: Path) -> None:
    page = opened(chromium, book, "population", viewport={"width": 1440, "height": 900})
    spot = page.get_by_role("slider", name="start of the population")
    assert spot.get_attribute("aria-valuetext") == "0.30 (group 0) and 0.70 (group 1)"
    spot.press("ArrowRight")
    assert spot.get_attribute("aria-valuetext") == "0.32 (group 0) and 0.70 (group 1)"
    before = page.locator(
        "longfair-world svg:not(.legend svg) path.line.group-0"
    ).first.get_attribute("d")
    spot.scroll_into_view_if_needed()
    box = spot.bounding_box()
    x, y = (box[at] + box[size] / 2 for at, size in (("x", "width"), ("y", "height")))
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 60, steps=5)
    page.mouse.up()
    group_0, group_1 = map(float, re.findall(r"0\.\d+", spot.get_attribute("aria-valuetext")))
    assert group_0 > 0.4
    assert group_1 < 0.6
    assert (
        page.locator("longfair-world svg:not(.legend svg) path.line.group-0").first.get_attribute(
            "d"
        )
        != before
    )
    page.close()


def test_still_figure_stands_where_scripts_are_off(chromium: Any, book: Path, name: str) -> None:
    page = opened(chromium, book, name, java_script_enabled=False)
    still = page.locator("longfair-world img")
    assert still.is_visible()
    assert len(still.get_attribute("alt") or "") > 60
    assert page.locator("longfair-world").inner_text().strip() == ""
    page.close()


def test_live_world_takes_the_place_of_the_figure(page: Any) -> None:
    assert page.locator("longfair-world img").count() == 1
    assert not page.locator("longfair-world img").is_visible()
    assert page.locator("longfair-world svg[role]").count() > 0


def test_everything_is_reached_by_tab_and_can_be_seen_there(page: Any) -> None:
    """From the first control on, the tab key goes through all, each with a name and an outline."""
    controls = "longfair-world :is(button, input, [tabindex])"
    count = page.locator(controls).count()
    page.locator(controls).first.focus()
    reached = []
    for _ in range(count):
        page.keyboard.press("Tab")
        page.keyboard.press("Shift+Tab")  # so that the focus is one of the keyboard's
        reached.append(
            page.evaluate("""() => {
              const found = document.activeElement;
              const name = found.getAttribute("aria-label") ?? found.labels?.[0]?.textContent
                ?? found.textContent;
              const style = getComputedStyle(found);
              return [found.closest("longfair-world") !== null, name.trim() !== "",
                style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2];
            }""")
        )
        page.keyboard.press("Tab")
    assert reached == [[True, True, True]] * count
    assert not page.evaluate("document.activeElement.closest('longfair-world') !== null")


def test_arrow_keys_move_it_and_the_words_follow(page: Any) -> None:
    words = page.locator("longfair-world [role=status]")
    control = page.locator("longfair-world :is(input, [role=slider])").first
    before = words.inner_text(), control.get_attribute("aria-valuetext")
    control.press("ArrowUp")
    assert words.get_attribute("aria-live") == "polite"
    assert words.inner_text() != before[0]
    assert control.get_attribute("aria-valuetext") != before[1]
    assert page.evaluate("document.activeElement.closest('longfair-world') !== null")


def test_words_and_table_of_lending_are_its_numbers(chromium: Any, book: Path) -> None:
    course = live_lending.follow([(2, 3)])
    page = opened(chromium, book, "lending")
    page.locator("longfair-world input").first.press("ArrowLeft")
    said = page.locator("longfair-world [role=status]").inner_text()
    rates = course.rates[-1, 0]
    assert f"earned the amount of {course.profit[-1, 0]:,.0f} loans" in said
    for rate, group in zip(rates, live_lending.GROUPS, strict=True):
        assert f"{rate:.2f} ({group})" in said
    assert f"bias {course.bias[-1, 0]:.2f}" in said
    rows = page.locator("longfair-world tbody tr").all_inner_texts()
    for row, rate, score in zip(rows, rates, course.scores[-1, 0], strict=True):
        assert row.split("\t")[2:] == [f"{rate:.2f}", f"{score:.2f}"]
    page.close()


def test_a_point_is_dragged(chromium: Any, book: Path) -> None:
    """Red's first loan moves to the first day: day by day unfair, and over both days as before."""
    page = opened(chromium, book, "histories", viewport={"width": 1440, "height": 900})
    page.locator("longfair-world").scroll_into_view_if_needed()
    rows = page.locator("longfair-world tbody tr")
    before = [text.split("\t")[1:] for text in rows.all_inner_texts()]
    point = page.get_by_role("slider", name="red, after the first day")
    assert point.get_attribute("aria-valuetext") == "0 of 5 applications granted"
    above = page.get_by_role("slider", name="red, after both days").bounding_box()
    box = point.bounding_box()
    x, y = (box[at] + box[size] / 2 for at, size in (("x", "width"), ("y", "height")))
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, above["y"] + above["height"] / 2, steps=5)
    page.mouse.up()
    assert point.get_attribute("aria-valuetext") == "1 of 5 applications granted"
    after = [text.split("\t")[1:] for text in rows.all_inner_texts()]
    assert [verdict for _, verdict in before] == ["fair", "fair", "unfair"]
    assert [verdict for _, verdict in after] == ["unfair", "unfair", "unfair"]
    assert after[2] == before[2]
    page.close()


def test_points_stay_where_they_mean_something(visit: Callable[[str], Visit]) -> None:
    """However points are moved, nobody gets a loan who did not apply, and every day has demand."""
    states = visit("histories").page.evaluate(
        """most => {
          const world = document.querySelector("longfair-world");
          const {start, moved} = customElements.get("longfair-world").worlds.histories;
          let [state, found, seed] = [start(world.data), [], 1];
          const draw = size => (seed = seed * 16807 % 2147483647) % size;
          for (let n = 0; n < 2000; n++) {
            const to = [draw(most + 6) - 3, draw(most + 6) - 3];
            state = moved(world.data, state, draw(2), draw(2), to);
            found.push([state.supply, state.demand]);
          }
          return found;
        }""",
        live_histories.MOST,
    )
    supply, demand = np.array(states).transpose(1, 0, 2, 3)
    assert (demand >= 1).all()
    assert ((supply >= 0) & (supply <= demand)).all()
    assert demand.sum(axis=1).max() == live_histories.MOST
    assert len({str(state) for state in states}) > 500


@pytest.mark.parametrize("size", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_the_screen_and_its_lines_stand_out(page: Any, scheme: str, size: str) -> None:
    width, height = WIDTHS[size]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)
    page.evaluate(SETTLED)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("html").get_attribute("data-theme") == scheme
    world = page.locator("longfair-world").bounding_box()
    for chart in page.locator("longfair-world svg").all():
        box = chart.bounding_box()
        assert box["x"] >= world["x"]
        assert box["x"] + box["width"] <= world["x"] + world["width"]
    ground = light(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    for kind in ("group-0", "group-1", "plain", "bias", "situation-lends", "situation-loses"):
        for mark in page.locator(f"longfair-world .{kind}").all()[:1]:
            colours = mark.evaluate("e => [getComputedStyle(e).stroke, getComputedStyle(e).fill]")
            found = light(next(colour for colour in colours if colour != "none"))
            low, high = sorted([ground, found])
            assert (high + 0.05) / (low + 0.05) >= VISIBLE, kind


def test_nothing_breaks_and_nothing_leaves(visit: Callable[[str], Visit], name: str) -> None:
    """Neither when the page opens nor in any test above."""
    found = visit(name)
    control = "longfair-world [role=slider], longfair-world input"
    found.page.locator(control).first.press("ArrowRight")
    found.page.set_viewport_size({"width": 700, "height": 900})
    found.page.wait_for_timeout(200)
    assert found.complaints == []
    assert f"{PLACES[name]}.html" in found.requests[0]
    assert [one for one in found.requests if not one.startswith(("file:", "data:", "blob:"))] == []
