"""The built book and a browser to look at it with."""

from __future__ import annotations

import functools
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import filelock
import pytest
from playwright.sync_api import sync_playwright

from browser import Browser, executable

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "_build" / "html"
SOURCES = (
    "_config.yml",
    "_toc.yml",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "book",
    "notebooks",
    "results",
    "src",
)
MADE = ("_generated", "api", "claims", "__pycache__")


def changed(source: Path) -> float:
    """Latest time at which a file, or any file of a folder, changed; hidden files do not count."""
    times = []
    for folder, inner, names in os.walk(source):
        inner[:] = [name for name in inner if name[0] != "." and name not in MADE]
        times += [os.stat(os.path.join(folder, name)).st_mtime for name in names if name[0] != "."]
    return max(times, default=source.stat().st_mtime)


@pytest.fixture(scope="session")
def book() -> Path:
    """Folder of the built book, built first when it is missing or older than its sources."""
    PAGES.parent.mkdir(exist_ok=True)
    # Several test processes may want the book at the same time; one of them builds it.
    with filelock.FileLock(PAGES.parent / "book.lock"):
        index = PAGES / "index.html"
        if not index.exists() or index.stat().st_mtime < max(changed(ROOT / s) for s in SOURCES):
            built = subprocess.run(
                [sys.executable, "scripts/build_book.py"],
                cwd=ROOT,
                check=False,
                capture_output=True,
                text=True,
            )
            assert built.returncode == 0, built.stdout + built.stderr
    return PAGES


@pytest.fixture(scope="module")
def chromium(book: Path) -> Iterator[Any]:
    """The system's browser."""
    program = executable()
    with sync_playwright() as driver:
        # The tests may run as root, where the sandbox refuses to start.
        found = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def browser(chromium: Any) -> Iterator[Browser]:
    """A browser with an empty tab."""
    found = Browser(chromium)
    yield found
    found.close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without writing a line for each."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def address(book: Path) -> Iterator[str]:
    """Address of a server on this machine that serves the book; search needs one."""
    handler = functools.partial(Quiet, directory=str(book))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
