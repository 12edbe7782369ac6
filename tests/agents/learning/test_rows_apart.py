"""Where the vectors of an optimiser lie in memory."""

from __future__ import annotations

import numpy as np
import pytest

from longfair.agents.learning.memory import rows_apart


@pytest.mark.parametrize("size", [1, 1023, 1024, 5000])
def test_rows_start_in_one_quarter_of_a_page_after_the_other(size: int) -> None:
    rows = rows_apart(2, size, first_quarter=2)
    assert rows.shape == (2, size)
    assert not rows.any()
    assert [row.ctypes.data % 4096 for row in rows] == [2048, 3072]
    rows[0] = 1.0
    np.testing.assert_array_equal(rows[1], 0.0)
