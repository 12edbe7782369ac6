"""The script that makes the survival table of the Adult scores, on made-up people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import make_adult_tables as script

RAW = b"""25, Private, 1, 11th, 7, Unmarried, Sales, Own-child, Black, Male, 0, 0, 40, Cuba, <=50K
38, Private, 2, HS-grad, 9, Divorced, Sales, Husband, White, Female, 0, 0, 50, Cuba, >50K
28, Local-gov, 3, 11th, 12, Divorced, Sales, Husband, White, Male, 0, 0, 40, Cuba, >50K
44, Private, 4, 11th, 10, Divorced, Sales, Husband, Black, Female, 768, 0, 40, Cuba, <=50K

"""
RAW_TEST = b"""|1x3 Cross validator
34, Private, 5, 10th, 6, Divorced, Sales, Husband, White, Male, 0, 0, 30, Cuba, <=50K.
29, ?, 6, HS-grad, 9, Divorced, ?, Unmarried, Black, Male, 0, 0, 40, Cuba, <=50K.
63, Private, 7, Prof, 15, Divorced, Tech, Husband, White, Female, 310, 99, 32, Cuba, >50K.
"""


def test_raw_files_are_parsed() -> None:
    rows = script.complete(script.rows_of_files([RAW, RAW_TEST]))
    assert len(rows) == 6, "the row with a question mark is left out"
    assert rows["income"].tolist() == ["<=50K", ">50K", "<=50K", ">50K", "<=50K", ">50K"]
    assert rows["age"].tolist() == [25, 28, 34, 38, 44, 63]


def test_only_the_known_data_are_accepted(tmp_path: Path, capsys: Any) -> None:
    assert script.main([str(tmp_path)]) == 2
    assert "adult.data" in capsys.readouterr().err
    (tmp_path / "adult.data").write_bytes(RAW)
    (tmp_path / "adult.test").write_bytes(RAW_TEST)
    assert script.main([str(tmp_path)]) == 2
    message = capsys.readouterr().err
    assert "SHA-256" in message
    assert message.count("\n") == 1


def test_the_table_is_made_as_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On made-up people whose income depends on education, in the same form as the real rows."""
    rng = np.random.default_rng(0)
    rows = script.complete(script.rows_of_files([RAW, RAW_TEST]))
    rows = rows.sample(400, replace=True, random_state=0)
    rows["education-num"] = rng.integers(1, 17, 400)
    rows["sex"] = rng.choice(["Male", "Female"], 400)
    chance = 1 / (1 + np.exp(8 - rows["education-num"]))
    rows["income"] = np.where(rng.random(400) < chance, ">50K", "<=50K")
    rows = script.complete(rows)
    monkeypatch.setattr(script, "raw_rows", lambda _: rows)
    output = tmp_path / "table.npz"
    assert script.main(["--knots", "3", "--output", str(output)]) == 0
    with np.load(output) as table:
        knots, survival = table["knots"], table["survival"]
    np.testing.assert_allclose(knots, [0.01, 0.5, 0.99])
    assert survival.shape == (3, 3, 2, 2, 33)
    assert (np.diff(survival, axis=-1) <= 0).all()
    # The weights give the data the rate asked for, so mean scores rise with it.
    assert (np.diff(survival[:, 1, 0, :, 16], axis=0) > 0).all()
    cells = script.group_label_cells((rows["sex"] == "Female").to_numpy(), rows["income"] == ">50K")
    weights = script.row_weights(cells, (0.3, 0.8))
    assert weights.sum() == pytest.approx(1.0)
    assert weights[cells[0][1]].sum() == pytest.approx(0.5 * 0.3)
    assert weights[cells[1][1]].sum() == pytest.approx(0.5 * 0.8)
