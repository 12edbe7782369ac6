"""Tables and figures of learners that do not know the loan problem."""

from __future__ import annotations

import pandas as pd

from longfair.papers.fairmdp import other_learners_results as tidy
from longfair.papers.fairmdp.memory_learner import MEMORY_LEARNER
from longfair.papers.fairmdp.other_learners import OTHER_LEARNERS
from longfair.papers.page import Runs

NUMBERS = {
    "optima": [
        {
            "notion": "dp",
            "rates": "discounted",
            "tolerance": tolerance,
            "profit": profit,
            "gap": gap,
        }
        for tolerance, profit, gap in ((0.1, 0.41, 0.1), (None, 0.43, 0.26))
    ]
}


def run(method: str, variant: str, seed: int, profit: float, suffix: str = "") -> pd.DataFrame:
    values = dict.fromkeys(tidy.QUANTITIES, 0.2) | {"profit": profit}
    frame = pd.DataFrame({"metric": [name + suffix for name in values], "value": values.values()})
    return frame.assign(method=method, variant=variant, seed=seed, phase="final", step=1, group=-1)


LEARNED = pd.concat([run("g-ppo", "as_coded", 0, 0.4), run("g-ppo", "as_coded", 1, -1e-6)])
IDLE = pd.concat([run("r-ppo", "as_coded", 0, 0.0), run("g-ppo", "as_published", 0, 1e-6)])
REMEMBERED = pd.concat(
    [
        run("fairqcm", "as_published", 0, 0.42, "_early"),
        run("fairqcm", "as_published", 0, 0.43),
        run("fairqcm", "as_coded", 0, 0.41, "_early"),
        run("min", "as_published", 0, 0.40, "_early"),
    ]
)


def others(results: pd.DataFrame) -> Runs:
    return Runs(OTHER_LEARNERS, "book", tidy.LOOK).showing(results)


def memory(results: pd.DataFrame) -> Runs:
    return Runs(MEMORY_LEARNER, "book", tidy.LOOK).showing(results)


def test_fairqcm_joins_with_the_experience_of_the_others() -> None:
    joined = tidy.with_memory(others(LEARNED), memory(REMEMBERED)).results
    added = joined[joined["method"] == "fairqcm"]
    assert set(joined["method"]) == {"g-ppo", "fairqcm"}
    assert added.loc[added["metric"] == "profit", "value"].tolist() == [0.42]


def test_learners_stand_beside_the_best_policies() -> None:
    figure = tidy.scatter(others(pd.concat([LEARNED, IDLE])), memory(REMEMBERED), NUMBERS)
    assert figure is not None
    # Who lends in no run is left out.
    assert (figure.data["method"] == "g-ppo").sum() == 2
    assert set(figure.data["method"]) == {"g-ppo", "fairqcm", "best", "best-free"}
    assert "Reference best within 0.1" in figure.alt_text
    assert tidy.scatter(others(LEARNED.iloc[:0]), memory(REMEMBERED), NUMBERS) is None


def test_means_are_over_runs_and_without_tiny_losses() -> None:
    table = tidy.means(others(LEARNED))
    assert isinstance(table, pd.DataFrame)
    assert table.loc[("G-PPO", "as coded"), "profit"] == 0.2
    lost = tidy.means(others(LEARNED[LEARNED["seed"] == 1]))
    assert isinstance(lost, pd.DataFrame)
    assert str(lost.loc[("G-PPO", "as coded"), "profit"]) == "0.0"
    assert "other-learners" in str(tidy.means(others(LEARNED.iloc[:0])))
