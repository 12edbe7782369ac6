"""The script that makes the survival table of the Adult scores, on made-up people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import make_adult_tables as script
from longfair.envs.population.params import SCORES

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


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Made-up people whose income depends on education, in the same form as the real rows."""
    rng = np.random.default_rng(0)
    rows = script.complete(script.rows_of_files([RAW, RAW_TEST]))
    rows = rows.sample(400, replace=True, random_state=0)
    rows["education-num"] = rng.integers(1, 17, 400)
    rows["sex"] = rng.choice(["Male", "Female"], 400)
    chance = 1 / (1 + np.exp(8 - rows["education-num"]))
    rows["income"] = np.where(rng.random(400) < chance, ">50K", "<=50K")
    rows["race"] = rng.choice(["White", "Black", "Other"], 400)
    rows = script.complete(rows)
    monkeypatch.setattr(script, "raw_rows", lambda _: rows)
    return rows


def test_the_table_is_made_as_described(tmp_path: Path, rows: pd.DataFrame) -> None:
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


@pytest.mark.parametrize("groups", ["sex", "race"])
@pytest.mark.parametrize("ridge", [1e-1, 1e-3])
@pytest.mark.parametrize("bins", [8, 20])
def test_other_groups_penalties_and_bins(
    tmp_path: Path, rows: pd.DataFrame, groups: str, ridge: float, bins: int
) -> None:
    """Against a general optimiser on the penalised loss, at one pair of rates."""
    output = tmp_path / "table.npz"
    told = ["--groups", groups, "--ridge", str(ridge), "--bins", str(bins), "--knots", "2"]
    assert script.main([*told, "--output", str(output)]) == 0
    with np.load(output) as table:
        found = table["survival"][0, 1]  # at the rates 0.01 and 0.99
    assert found.shape == (2, 2, bins + 1)

    attributes = script.attribute_matrix(rows)
    qualified = (rows["income"] == ">50K").to_numpy()
    first = (rows[groups] == {"sex": "Male", "race": "White"}[groups]).to_numpy()
    weights = np.empty(len(rows))
    for group, rate in ((first, 0.01), (~first, 0.99)):
        for label, share in ((~qualified, 1 - rate), (qualified, rate)):
            weights[group & label] = 0.5 * share / (group & label).sum()

    def cost(coefficients: Any) -> Any:
        towards = np.where(qualified, 1, -1) * (attributes @ coefficients)
        penalty = 0.5 * ridge * (coefficients**2).sum()
        return (weights * np.logaddexp(0, -towards)).sum() + penalty

    best = minimize(cost, np.zeros(attributes.shape[1]), options={"gtol": 1e-9})
    scores = 1 / (1 + np.exp(-attributes @ best.x))
    for number, group in enumerate((first, ~first)):
        for label, kind in enumerate((~qualified, qualified)):
            own = scores[group & kind]
            expected = [(own >= edge / bins).mean() for edge in range(bins + 1)]
            # A score that stands within the optimiser's error of an edge may be on its other side.
            near = [(abs(own - edge / bins) < 1e-3).mean() for edge in range(bins + 1)]
            assert (abs(found[number, label] - expected) <= np.array(near) + 1e-6).all()


def test_the_same_rows_give_the_same_bytes(tmp_path: Path, rows: pd.DataFrame) -> None:
    del rows  # the script has them
    files = [tmp_path / name for name in ("first.npz", "second.npz", "other.npz")]
    for file, groups in zip(files, ("race", "race", "sex"), strict=True):
        told = ["--knots", "2", "--groups", groups, "--output", str(file)]
        assert script.main(told) == 0
    first, second, other = (file.read_bytes() for file in files)
    assert first == second != other


def test_all_tables_are_made_without_settings(
    tmp_path: Path, rows: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One for each of the environment's features that are scores; each changes one setting."""
    del rows
    assert tuple(sorted(script.TABLES)) == tuple(sorted(SCORES))
    known = vars(script.Table())
    for name, table in script.TABLES.items():
        assert sum(vars(table)[key] != value for key, value in known.items()) == (name != "adult")
    made = {
        name: script.Table(one.groups, one.ridge, one.bins, 2)
        for name, one in script.TABLES.items()
    }
    monkeypatch.setattr(script, "TABLES", made)
    monkeypatch.setattr(script, "FOLDER", tmp_path)
    assert script.main([]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}_survival.npz" for name in SCORES}


@pytest.mark.parametrize(
    ("told", "line"),
    [
        (["--bins", "1", "--output", "x.npz"], "--bins 1: give at least 2"),
        (["--knots", "1", "--output", "x.npz"], "--knots 1: give at least 2"),
        (["--ridge", "0", "--output", "x.npz"], "--ridge 0.0: give a positive number"),
        (["--ridge", "nan", "--output", "x.npz"], "--ridge nan: give a positive number"),
        (["--groups", "age", "--output", "x.npz"], "invalid choice: 'age'"),
        (["--bins", "16"], "give --output"),
    ],
)
def test_settings_that_make_no_table_are_refused(told: list[str], line: str, capsys: Any) -> None:
    with pytest.raises(SystemExit) as refused:
        script.main(told)
    assert refused.value.code == 2
    assert line in capsys.readouterr().err.splitlines()[-1]
