"""What pages show of the population: portraits, courses of episodes, and the 16 starts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from longfair.envs.population import PopulationModel, PopulationParams, start_grid
from longfair.errors import UsageError
from longfair.papers.page import Runs
from longfair.papers.registry import experiment
from longfair.papers.ucbfair.results import (
    POPULATION,
    along_episodes,
    from_starts,
    portraits,
)


def made_up(method: str, metric: str, values: list[float]) -> pd.DataFrame:
    """Return two runs that are the same."""
    steps = range(len(values))
    rows = pd.concat([pd.DataFrame({"step": steps, "value": values, "seed": s}) for s in (0, 1)])
    return rows.assign(
        method=method, variant="reference", metric=metric, phase="curve", group=-1, profile="smoke"
    )


@pytest.fixture
def runs() -> Runs:
    results = pd.concat(
        [
            made_up("myopic", "at_loss", [0.5, 0.8, 0.9]),
            made_up("constant", "at_loss", [0.6, 0.4, 0.1]),
            made_up("constant", "from_loss", [0.2, 0.3, 0.7]),
            made_up("myopic", "from_loss", [1.0, 1.0, 0.7]),
        ],
        ignore_index=True,
    )
    return Runs(experiment("ucbfair/synthetic"), "smoke", POPULATION).showing(results)


def test_a_portrait_is_what_a_policy_does_in_one_step(runs: Runs) -> None:
    found = portraits(runs, {"constant": "strict", "myopic": "greedy"}, size=5)
    assert list(dict.fromkeys(found["panel"])) == ["strict", "greedy"]
    strict = found[found["panel"] == "strict"]
    states = start_grid(5)
    model = PopulationModel(PopulationParams.synthetic())
    action = (0.3 + 4) / 8  # the threshold 0.3 between -4 and 4
    outcome = model.outcome(states, np.full(2, action))
    moved = strict[["change_0", "change_1"]].to_numpy()
    np.testing.assert_allclose(moved, outcome.next_rates - states, atol=1e-12)
    np.testing.assert_allclose(strict["shade"], 1 - model.reward(outcome))


def test_the_shade_of_a_portrait_is_named(runs: Runs) -> None:
    gaps = portraits(runs, {"constant": "strict"}, shade="qualification", size=3)
    np.testing.assert_allclose(gaps["shade"], (gaps["rate_0"] - gaps["rate_1"]) ** 2)
    with pytest.raises(UsageError, match="shade='reward'"):
        portraits(runs, {"constant": "strict"}, shade="reward")
    with pytest.raises(UsageError, match="method 'l-ucbfair' is none without training"):
        portraits(runs, {"l-ucbfair": "learned"})


def test_courses_stand_under_the_names_of_figures(runs: Runs) -> None:
    found = along_episodes(runs, "at_loss", "constant", "myopic", "optimum")
    assert list(found) == ["one threshold for all", "Myopic"]
    assert found["Myopic"].tolist() == [0.5, 0.8, 0.9]


def test_the_best_and_the_worst_start_are_told(runs: Runs) -> None:
    found = from_starts(runs, "myopic", "constant").set_index("name")
    assert found.loc["Myopic", ["value", "low", "high"]].tolist() == [pytest.approx(0.9), 0.7, 1.0]
    assert found.loc["one threshold for all", "low"] == 0.2


def test_every_method_of_the_paper_has_a_style() -> None:
    for name in ("synthetic", "adult"):
        methods = experiment(f"ucbfair/{name}").methods("book")
        assert set(methods) <= set(POPULATION.all_styles)
    drawn = [(s.colour, s.marker) for s in POPULATION.styles.values()]
    assert len(set(drawn)) == len(drawn)
