"""What executable checks found is stored for the code as it is, so a fresh clone runs none."""

from __future__ import annotations

import json

from longfair.papers import registry
from longfair.runs import check_memory
from longfair.runs.store import Store


def test_no_stored_check_is_of_other_code() -> None:
    store = Store()
    entries = json.loads((store.root / check_memory.FILE).read_text(encoding="utf-8"))
    codes = check_memory.codes_of(registry.checks(), store)
    stale = [name for name, code in codes.items() if entries.get(name, {}).get("code") != code]
    assert not stale, "run scripts/write_checks.py"
    assert set(entries) == set(codes)
