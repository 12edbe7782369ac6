"""Settings that hold for every test."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

# Before numpy and torch are imported: one thread is faster here and gives the same bits each time.
# A package with parallel code of Numba, as quantecon is, else hands Numba's threads to torch.
for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "agg")

# A deadline fails on a busy machine; random examples fail on somebody else's.
hypothesis.settings.register_profile("longfair", deadline=None, derandomize=True)
hypothesis.settings.load_profile("longfair")

TESTS = Path(__file__).parent
LONGEST = (
    "book/test_browser.py",
    "readme/test_readme.py",
    "book/test_live_worlds.py",
    "runs/test_runner.py",
    "test_cli.py",
    "papers/test_outside_package.py",
    "agents/cpo/test_cpo.py",
    "papers/test_fppo.py",
    "papers/test_ucbfair.py",
    "papers/test_fairqcm_tabular.py",
    "figures/test_figures.py",
    "papers/test_card.py",
    "papers/test_fairmdp_exact.py",
)
"""Files that take longest. They come first, so that processes that share the tests end together."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the longest files first; nothing else moves."""
    places = {TESTS / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


@pytest.fixture(autouse=True)
def full_precision() -> Iterator[None]:
    """Undo what training switches on for its process: small numbers flushed to zero."""
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].set_flush_denormal(False)
