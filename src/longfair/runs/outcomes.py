"""What an experiment's runs gave, ordered once so that every number is found at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from longfair.errors import UsageError, near_misses
from longfair.runs.evidence import REFERENCE, Settings, farthest
from longfair.runs.smoothing import PREFIX, Smoothing

if TYPE_CHECKING:
    from longfair.runs.rules.rule import Quantity

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class _Column:
    """A column with few distinct entries: their numbers row by row, and the entries as text."""

    codes: Array
    entries: dict[str, int]

    @classmethod
    def of(cls, column: pd.Series[Any]) -> _Column:
        codes, entries = pd.factorize(column)
        return cls(codes, {str(entry): code for code, entry in enumerate(entries)})


class Outcomes:
    """The rows of one experiment, by arm, from runs that may stand beside each other.

    Parameters
    ----------
    table
        As from `longfair.runs.evidence.Evidence.results`. Without its columns ``settings`` and
        ``stale``, as from `longfair.runs.store.Store.load`, nothing is known about them.
    """

    def __init__(self, table: pd.DataFrame) -> None:
        self._arms = table.groupby(["method", "variant"], sort=False).indices
        self._columns = {name: _Column.of(table[name]) for name in ("metric", "group", "phase")}
        known = [name for name in ("profile", "settings", "stale") if name in table]
        self._numbers = {name: table[name].to_numpy() for name in ("seed", "step", "value", *known)}
        self._found: dict[tuple[str, str], Arm] = {}
        self.kept: dict[tuple[Any, ...], Any] = {}
        """What rules computed from these rows; see `longfair.runs.rules.case.Case.once`."""

    def arm(self, name: str, variant: str) -> Arm | None:
        """Return a method's rows: in the pinned variant, or the given one, or as a reference.

        Parameters
        ----------
        name
            ``method``, or ``method:variant`` which pins the variant.
        variant
            Variant that is judged.
        """
        method, _, pinned = name.partition(":")
        for chosen in (pinned,) if pinned else (variant, REFERENCE):
            which = (method, chosen)
            if which in self._arms and which not in self._found:
                self._found[which] = self._taken(method, self._arms[which])
            if which in self._found:
                return self._found[which]
        return None

    def _taken(self, method: str, rows: Any) -> Arm:
        columns = {
            name: _Column(column.codes[rows], column.entries)
            for name, column in self._columns.items()
        }
        return Arm(method, columns, {n: column[rows] for n, column in self._numbers.items()})


@dataclass(frozen=True)
class Arm:
    """The rows of one method in one variant, and what was already computed from them."""

    method: str
    columns: dict[str, _Column]
    numbers: dict[str, Array]
    _known: dict[tuple[Any, ...], pd.Series[float]] = field(default_factory=dict, repr=False)

    @cached_property
    def steps(self) -> int:
        """Training steps of its runs. Curves may go over other things, such as evaluation steps."""
        phase, steps = self.columns["phase"], self.numbers["step"]
        final = phase.codes == phase.entries.get("final", -1)
        return int(steps[final].max() if final.any() else steps.max())

    @cached_property
    def _phases(self) -> set[str]:
        """Phases that its runs have."""
        phase = self.columns["phase"]
        return {entry for entry, code in phase.entries.items() if (phase.codes == code).any()}

    @cached_property
    def profiles(self) -> list[str]:
        """Profiles that its runs belong to."""
        return sorted(set(self.numbers.get("profile", ())))

    @cached_property
    def settings(self) -> Settings | Literal[""]:
        """Whose settings all of its runs have; empty if that is not known."""
        return farthest(self.numbers.get("settings", ()))

    @cached_property
    def stale(self) -> int:
        """How many of its runs are stale."""
        stale = self.numbers.get("stale")
        return 0 if stale is None else len(set(self.numbers["seed"][stale.astype(bool)]))

    @cached_property
    def nothing_random(self) -> bool:
        """Whether its method learns nothing and all of its runs gave the same numbers."""
        if self.steps or len(set(self.numbers["seed"])) < 2:
            return False
        which = [column.codes for column in self.columns.values()]
        values = pd.Series(self.numbers["value"]).groupby([*which, self.numbers["step"]])
        lowest, highest = values.min(), values.max()
        return bool((lowest.eq(highest) | (lowest.isna() & highest.isna())).all())

    def by_seed(self, quantity: Quantity, metric: str) -> pd.Series[float]:
        """Return one number per seed, in ascending order of the seeds.

        Parameters
        ----------
        quantity
            Which number.
        metric
            Name of its metric, perhaps with the quantity's optional prefix. If the quantity says
            how curves are smoothed and the name begins with ``smoothed_``, it is the end of the
            smoothed curve; a method without a curve is not trained, and has its final number.

        Raises
        ------
        UsageError
            If the runs have no such metric, group, phase or evaluation.
        """
        if quantity.smoothing is not None and metric.startswith(PREFIX):
            return self._smoothed(quantity, metric.removeprefix(PREFIX), quantity.smoothing)
        metric = self._named(metric, quantity.optional_prefix)
        asked = metric, quantity.group, quantity.phase, quantity.window
        if asked not in self._known:
            rows = self._rows(quantity, metric)
            values = pd.Series(self.numbers["value"][rows])
            self._known[asked] = values.groupby(self.numbers["seed"][rows]).mean()
        return self._known[asked]

    def _smoothed(self, quantity: Quantity, metric: str, smoothing: Smoothing) -> pd.Series[float]:
        """Return the end of every seed's smoothed curve."""
        plain = replace(quantity, smoothing=None)
        if "curve" not in self._phases:
            return self.by_seed(plain, metric)
        asked = ("smoothed", metric, quantity.group, smoothing)
        if asked not in self._known:
            curves = self.curves(replace(plain, phase="curve"), metric)
            self._known[asked] = curves.apply(lambda curve: smoothing.end(curve.to_numpy()))
        found: pd.Series[float] = self._known[asked]
        return found

    def curves(self, quantity: Quantity, metric: str) -> pd.DataFrame:
        """Return one number per step (index) and seed (columns), at the steps of all seeds.

        Parameters
        ----------
        quantity, metric
            As for `by_seed`.
        """
        metric = self._named(metric, quantity.optional_prefix)
        rows = self._rows(quantity, metric)
        table = pd.DataFrame({n: self.numbers[n][rows] for n in ("step", "seed", "value")})
        return table.pivot_table(index="step", columns="seed", values="value").dropna()

    def _named(self, metric: str, optional_prefix: str) -> str:
        """Leave out a prefix of a metric that the runs do not have."""
        if not optional_prefix or not metric.startswith(optional_prefix):
            return metric
        column = self.columns["metric"]
        known = (column.codes == column.entries.get(metric, -1)).any()
        return metric if known else metric.removeprefix(optional_prefix)

    def _rows(self, quantity: Quantity, metric: str) -> Array:
        rows = np.arange(len(self.numbers["step"]))
        for name, entry in (
            ("metric", metric),
            ("group", str(quantity.group)),
            ("phase", quantity.phase),
        ):
            rows = self._with(rows, name, entry)
        return rows if quantity.window is None else self._inside(rows, quantity.window)

    def _with(self, rows: Array, name: str, entry: str) -> Array:
        """Keep the rows with one entry of a column."""
        codes, entries = self.columns[name].codes[rows], self.columns[name].entries
        found: Array = rows[codes == entries.get(entry, -1)]
        if not found.size:
            allowed = [other for other, code in entries.items() if code in codes]
            raise UsageError(
                f"results of {self.method} have no {name} {entry!r}: {near_misses(entry, allowed)}"
            )
        return found

    def _inside(self, rows: Array, window: tuple[float, float]) -> Array:
        """Keep the rows whose moment, as a fraction of the run's last step, is in a window."""
        first, end = window
        steps = self.numbers["step"][rows]
        _, run = np.unique(self.numbers["seed"][rows], return_inverse=True)
        last = np.zeros(run.max() + 1)
        np.maximum.at(last, run, steps)
        found: Array = rows[(steps >= first * last[run]) & (steps <= end * last[run])]
        if not found.size:
            raise UsageError(
                f"no evaluation of {self.method} falls into the window [{first:g}, {end:g}]: "
                "widen it"
            )
        return found
