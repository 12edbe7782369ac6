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

import filelock
import pytest

from browser import Browser, find_browser

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "_build" / "html"
SOURCES = ("_config.yml", "_toc.yml", "CHANGELOG.md", "book", "notebooks", "results", "src")


def changed(source: Path) -> float:
    """Latest time at which a file, or any file of a folder, changed."""
    files = source.rglob("*") if source.is_dir() else [source]
    times = [
        path.stat().st_mtime
        for path in files
        if path.is_file() and not {"_generated", "__pycache__", ".locks"} & set(path.parts)
    ]
    return max(times, default=0.0)


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
def browser(book: Path) -> Iterator[Browser]:
    """A browser with an empty tab."""
    executable = find_browser()
    if executable is None:
        if os.environ.get("LONGFAIR_REQUIRE_BROWSER") == "1":
            pytest.fail("no Chromium or Chrome on the PATH, and LONGFAIR_REQUIRE_BROWSER is 1")
        pytest.skip("no Chromium or Chrome on the PATH: install one to test the pages in it")
    found = Browser(executable)
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
