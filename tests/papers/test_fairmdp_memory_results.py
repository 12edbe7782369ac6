"""Tables of what a bank with a memory learns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from longfair.agents.fair_mdp.memory_q_learning import Books, MemoryQLearning
from longfair.envs.loan_mdp import LoanMDPParams, LoanModel
from longfair.envs.loan_mdp.exact import LoanProblem
from longfair.papers.fairmdp import memory_results as tidy
from longfair.papers.fairmdp.loans import step_weights
from longfair.papers.fairmdp.memory_learner import MEMORY_LEARNER
from longfair.papers.page import NOT_STORED, Runs

NUMBERS = {
    "optima": [
        {"notion": notion, "rates": rates, "tolerance": tolerance, "profit": profit, "gap": gap,
         "price": 0.2}
        for notion, rates, tolerance, profit, gap in [
            ("dp", "as_coded", 0.1, 0.43, 0.1),
            ("dp", "discounted", 0.1, 0.41, 0.1),
            ("dp", "discounted", None, 0.44, 0.3),
            ("eo", "discounted", 0.1, 0.42, 0.1),
        ]
    ]
}  # fmt: skip


def run(method: str, seed: int, gap: float) -> pd.DataFrame:
    late = {"profit": 0.4, "gap_dp": 0.3, "gap_dp_discounted": gap, "price": 0.2}
    early = {f"{metric}_early": value / 2 for metric, value in late.items()}
    frame = pd.DataFrame({"metric": [*late, *early], "value": [*late.values(), *early.values()]})
    return frame.assign(
        paper="fairmdp", experiment="fairmdp/memory-learner", profile="book", method=method,
        variant="as_published", seed=seed, phase="final", step=400, group=-1,
    )  # fmt: skip


def test_summary_has_early_and_late_rows_above_the_best_policy() -> None:
    results = pd.concat(
        [run("fairqcm", 0, 0.08), run("fairqcm", 1, 0.1), run("memoryless", 0, 0.2)],
        ignore_index=True,
    )
    table = tidy.summary(results, "as_published", 50, NUMBERS)
    late = table.loc[("FairQCM", "400")]
    assert late["gap"].startswith("0.0900 [")
    assert late["range of the gap"] == "0.080 to 0.100"
    assert late["price"] == "0.2000"
    assert table.loc[("FairQCM", "50"), "profit"] == "0.2000 [0.2000, 0.2000]"
    # Nobody reads the balance of a bank that does not see it.
    assert table.loc[("no memory", "400"), "price"] == ""
    assert table.loc[("best policy within 0.1", ""), "profit"] == "0.4100"


def banks(results: pd.DataFrame) -> Runs:
    return Runs(MEMORY_LEARNER, "book", tidy.LOOK).showing(results)


def test_banks_are_counted_and_compared_with_the_best_policy() -> None:
    runs = banks(pd.concat([run("fairqcm", 0, 0.08), run("fairqcm", 1, 0.11)], ignore_index=True))
    assert tidy.kept(runs, "fairqcm", "as_published") == "1 of 2 banks"
    assert tidy.kept(runs, "min", "as_published") == NOT_STORED
    late = tidy.shortfall(runs, "fairqcm", "as_published", NUMBERS)
    early = tidy.shortfall(runs, "fairqcm", "as_published", NUMBERS, early=True)
    assert (late, early) == (pytest.approx(0.01), pytest.approx(0.21))
    assert tidy.early_decisions(runs) == 20_480 * 51
    table = tidy.table(runs, "as_published", NUMBERS)
    assert isinstance(table, pd.DataFrame)
    assert ("FairQCM", "1,044,480") in table.index
    assert "memory-learner" in str(tidy.table(banks(runs.results.iloc[:0]), "as_coded", NUMBERS))


def test_experience_is_drawn_beside_the_best_policy() -> None:
    rows = [
        {"step": step, "seed": seed, "value": value}
        for seed in (0, 1)
        for step, value in ((100, 0.3), (1000, 0.4))
    ]
    curve = pd.DataFrame(rows).assign(
        method="fairqcm", variant="as_published", phase="curve", metric="profit", group=-1
    )
    figure = tidy.against_experience(banks(curve), "profit", NUMBERS)
    assert figure is not None
    assert "FairQCM goes from 0.3 to 0.4" in figure.alt_text
    assert "best policy within the tolerance: 0.410" in figure.alt_text
    assert figure.figure.axes[0].get_xscale() == "log"
    assert tidy.against_experience(banks(curve.iloc[:0]), "profit", NUMBERS) is None


def test_best_policy_is_that_of_the_variants_gap() -> None:
    assert tidy.best(NUMBERS, "as_coded")["profit"] == 0.43
    assert tidy.best(NUMBERS, "as_published")["profit"] == 0.41


def test_levels_that_are_read_are_laid_out_with_their_gaps() -> None:
    params = LoanMDPParams.fico()
    agent = MemoryQLearning(
        LoanProblem.of(LoanModel(params)),
        step_weights(params, "discounted"),
        Books(0.1, steepest=0.5, levels=3),
        seed=0,
    )
    agent.learn(2000)
    readings = np.array([0.0, 0.75, 0.25])
    table = tidy.levels(agent, readings, discounted=True)
    assert table.index.tolist() == [0.0, 500.0]
    assert table["price"].tolist() == [0.0, 0.5]
    assert table["read by"].tolist() == [0.75, 0.25]
    # Where loans to the majority are expensive, the minority gets more than where they are free.
    assert table["gap"].iloc[1] < table["gap"].iloc[0]
    mixed = agent.outcome(readings)
    assert mixed.profit[0] == pytest.approx(float(table["profit"] @ table["read by"]))
    rates = mixed.rates(discounted=True)[0]
    assert rates[1] - rates[0] == pytest.approx(float(table["gap"] @ table["read by"]))
