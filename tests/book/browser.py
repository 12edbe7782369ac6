"""The system's Chromium, driven by Playwright, with what the book's tests ask of a page."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from print_book import BROWSERS

PATIENCE = 30.0
"""Seconds to wait for anything the browser should do."""
LOUD = frozenset({"error", "warning", "assert"})
"""Kinds of console messages that say that something is wrong."""
AXE = Path(__file__).parent / "axe" / "axe.min.js"

SETTLED = """async () => {
  if (window.MathJax && MathJax.startup) await MathJax.startup.promise;
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  // Asked again and again: the promise of a change of colour can stay open where nothing is drawn.
  const coming = () => [...document.images].some(one => !one.complete && one.loading !== "lazy")
    || document.getAnimations().some(one => one.playState === "running"
      && one.effect.getComputedTiming().endTime < Infinity)
    // The theme looks anew what scrolls a moment after the window has changed its size.
    || [...document.querySelectorAll('.output[tabindex="-1"]')].some(part =>
      part.scrollWidth > part.clientWidth);
  for (let waited = 0; waited < 200 && coming(); waited++)
    await new Promise(done => setTimeout(done, 50));
}"""
"""A page is laid out when its mathematics and its images are there and no colour is changing."""
FOUND_BY_AXE = """async (only) => {
  // Slow rules whose findings are never serious: left out below, so they need not be applied.
  const rules = Object.fromEntries(["hidden-content", "region", "heading-order"]
    .map(name => [name, { enabled: false }]));
  const runOnly = only.length ? { runOnly: only } : { rules };
  const options = { resultTypes: ["violations"], preload: false, ...runOnly };
  const { violations } = await axe.run(document, options);
  return violations.filter(found => ["serious", "critical"].includes(found.impact))
    .flatMap(found => found.nodes.map(node => [found.id, node.html.slice(0, 160)]));
}"""


def executable() -> str:
    """Path of a Chromium-like browser; without one the test is skipped, or fails if told to."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is not None:
        return found
    if os.environ.get("LONGFAIR_REQUIRE_BROWSER") == "1":
        pytest.fail("no Chromium or Chrome on the PATH, and LONGFAIR_REQUIRE_BROWSER is 1")
    pytest.skip("no Chromium or Chrome on the PATH: install one to test the pages in it")


class Browser:
    """One tab that keeps what its page asked for and what it complained about.

    Parameters
    ----------
    chromium
        A browser of Playwright.
    """

    def __init__(self, chromium: Any) -> None:
        self.page = chromium.new_page()
        self.page.set_default_timeout(PATIENCE * 1000)
        self._requests: list[str] = []
        self._complaints: list[str] = []
        self.page.on("request", lambda request: self._requests.append(request.url))
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self._complaints.append(str(error)))
        self.page.on("requestfailed", self._failed)
        self.look()

    def _heard(self, message: Any) -> None:
        if message.type in LOUD:
            self._complaints.append(message.text)

    def _failed(self, request: Any) -> None:
        # Of two drawings of a figure a browser may begin with one and drop it for the other.
        if (request.failure, request.resource_type) != ("net::ERR_ABORTED", "image"):
            self._complaints.append(str(request.failure))

    def close(self) -> None:
        """Close the tab."""
        self.page.close()

    def leave(self) -> None:
        """Show nothing, so that no page is laid out again for the window of the next."""
        if self.page.url != "about:blank":
            self.page.goto("about:blank")

    def open(self, address: str) -> None:
        """Load a page and wait until it and its mathematics are laid out."""
        # What the page before still loads, for another size of window, is no complaint of this one.
        self.leave()
        self._requests.clear()
        self._complaints.clear()
        self.page.goto(address)
        self.page.evaluate(SETTLED)

    def turn_to(self, address: str, *, dark: bool, width: int, height: int) -> None:
        """Show a page as a reader has it; one that is there already is not loaded again.

        What it asked for and complained about since it was loaded is kept.
        """
        if self.page.url != address:
            self.leave()
            self.look(dark=dark, width=width, height=height)
            self.open(address)
        else:
            self.look(dark=dark, width=width, height=height)
            self.page.evaluate(SETTLED)

    def evaluate(self, expression: str) -> Any:
        """Value of a JavaScript expression; promises are awaited."""
        return self.page.evaluate(expression)

    def wait_for(self, expression: str) -> Any:
        """Evaluate an expression until it is true."""
        return self.page.wait_for_function(expression).json_value()

    def look(self, *, dark: bool = False, width: int = 1200, height: int = 900) -> None:
        """Choose the colour scheme the reader prefers and the size of the window."""
        self.page.emulate_media(color_scheme="dark" if dark else "light")
        self.page.set_viewport_size({"width": width, "height": height})

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """Save what the page looks like."""
        self.page.screenshot(path=path, full_page=whole)

    def requests(self) -> list[str]:
        """Addresses the page asked for since it was opened, embedded data left out."""
        return [url for url in self._requests if not url.startswith(("data:", "blob:"))]

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, exceptions and failed requests."""
        return list(self._complaints)

    def barriers(self, *only: str) -> list[list[str]]:
        """Serious and critical findings of axe-core, or of some of its rules: rule and element."""
        if not self.page.evaluate("Boolean(window.axe)"):
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found: list[list[str]] = self.page.evaluate(FOUND_BY_AXE, list(only))
        return found
