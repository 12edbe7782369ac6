"""Write what the executable checks find into the store, so that a fresh clone need not run them.

Checks whose code is that of the entry in the file are not run again.
"""

from __future__ import annotations

from longfair.papers import registry
from longfair.runs import check_memory
from longfair.runs.store import Store

if __name__ == "__main__":
    store = Store()
    print(
        f"{check_memory.write(registry.checks(), store)} checks in {store.root / check_memory.FILE}"
    )
