"""Settings that hold for every test."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import hypothesis
import pytest

# Before numpy and torch are imported: one thread is faster here and gives the same bits each time.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("MPLBACKEND", "agg")

# A deadline fails on a busy machine; random examples fail on somebody else's.
hypothesis.settings.register_profile("longfair", deadline=None, derandomize=True)
hypothesis.settings.load_profile("longfair")


@pytest.fixture(autouse=True)
def full_precision() -> Iterator[None]:
    """Undo what training switches on for its process: small numbers flushed to zero."""
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].set_flush_denormal(False)
