"""The book is read by several processes at once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import build_book
from parallel_reading import SILENT, declare_safe


def test_extensions_that_do_not_say_so_are_declared_safe_where_they_are_loaded() -> None:
    silent, other = (SimpleNamespace(parallel_read_safe=None) for _ in range(2))
    app: Any = SimpleNamespace(extensions={SILENT[0]: silent, "other": other})
    declare_safe(app)
    assert silent.parallel_read_safe is True
    assert other.parallel_read_safe is None


def test_the_build_asks_for_every_core(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {}
    monkeypatch.setattr(build_book, "build_sphinx", lambda *_, **how: asked.update(how))
    monkeypatch.setattr(build_book.shutil, "rmtree", lambda *_, **__: None)
    monkeypatch.setattr(build_book.os, "cpu_count", lambda: 3)
    assert build_book.build()
    assert asked["jobs"] == 3
    assert asked["warningiserror"]
