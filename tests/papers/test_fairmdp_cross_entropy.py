"""Figures 1, 2a and 2b: what is run, and whether small runs mean what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from longfair.agents.fair_mdp.baselines import ConstantPolicy
from longfair.agents.fair_mdp.cross_entropy import Generation, search
from longfair.envs.loan_mdp.exact import evaluate
from longfair.papers.fairmdp import cross_entropy as deciding
from longfair.papers.fairmdp.cross_entropy import (
    EXPERIMENTS,
    FIGURE1,
    INGREDIENTS,
    METHODS,
    SWEEP,
    Sampling,
    Scorer,
    config_of,
    final_rows,
    loan_problem,
    search_and_measure,
)
from longfair.runs.tables import checked


def final(table: pd.DataFrame) -> dict[str, float]:
    rows = table[(table["phase"] == "final") & (table["group"] < 0)]
    return dict(zip(rows["metric"], rows["value"], strict=True))


def short(method: str, variant: str, **settings: float):  # type: ignore[no-untyped-def]
    config = config_of(method, variant, "smoke")
    return replace(config, settings=replace(config.settings, **settings))


@pytest.mark.parametrize("arm", FIGURE1.arms["smoke"], ids=lambda arm: arm.name)
def test_every_method_gives_a_table_that_its_seed_decides(arm) -> None:  # type: ignore[no-untyped-def]
    settings = replace(arm.config.settings, population=5, elites=2, iterations=1)
    config = replace(arm.config, settings=settings)
    table = checked(search_and_measure(config, 1), arm.name)
    pd.testing.assert_frame_equal(table, checked(search_and_measure(config, 1), arm.name))
    assert final(table)["reward"] != final(search_and_measure(config, 2))["reward"]
    assert set(table.loc[table["phase"] == "curve", "step"]) == {1}
    assert final(table)["profit"] == pytest.approx(final(table)["reward"] - 9.999886, abs=1e-6)


def test_variants_differ_as_documented() -> None:
    coded, published, offset = (
        config_of("cce-dp", variant, "book") for variant in deciding.VARIANTS
    )
    assert coded.sampling is None
    assert not coded.constraint.discounted
    assert (coded.settings.weights, coded.settings.tightening) == ("exponential", 0.0)
    assert (coded.settings.population, coded.settings.elites) == (50, 5)
    assert (coded.settings.iterations, coded.settings.smoothing) == (80, 0.5)
    assert published.sampling == Sampling(0.1, 0.05)
    assert published.constraint.discounted
    assert published.settings.weights == "linear with floor"
    assert published.settings.tightening == offset.settings.tightening == 0.1
    assert offset.settings.weights == "linear"
    # Only Algorithm 2 keeps something of its tolerance; the baselines do not.
    for method in ("race-blind", "optimistic-dp", "conservative"):
        assert config_of(method, "as_published", "book").settings.tightening == 0.0
    assert config_of("conservative", "as_coded", "book").settings.iterations == 50
    assert isinstance(config_of("conservative", "as_coded", "book").policy, ConstantPolicy)


def test_experiments_hold_what_the_figures_need() -> None:
    assert [experiment.id for experiment in EXPERIMENTS] == [
        "fairmdp/figure1",
        "fairmdp/tolerances",
        "fairmdp/ingredients",
    ]
    assert FIGURE1.methods("book") == tuple(METHODS)
    tolerances = {arm.method: arm.config.tolerance for arm in SWEEP.arms["book"]}
    assert tolerances["cce-dp-0025"] == 0.025
    assert tolerances["optimistic-dp-0050"] == 0.05
    assert tolerances["cce-dp-0200"] == 0.2
    # Every ingredient changes one thing of the code's settings, the last one of the paper's.
    coded = config_of("cce-dp", "as_coded", "book")
    configs = {arm.method.removeprefix("cce-dp-"): arm.config for arm in INGREDIENTS.arms["book"]}
    fields = ("constraint", "settings", "sampling")
    changed = {
        name: [field for field in fields if getattr(config, field) != getattr(coded, field)]
        for name, config in configs.items()
    }
    assert changed == {
        "linear-weights": ["settings"],
        "linear-profit": ["settings"],
        "discounted-gap": ["constraint"],
        "tightened": ["settings"],
        "sampled": ["sampling"],
        "exponential-weights": ["constraint", "settings", "sampling"],
    }
    published = config_of("cce-dp", "with_offset", "book")
    almost = configs["exponential-weights"]
    assert replace(almost.settings, weights="linear") == published.settings
    assert replace(almost, settings=published.settings) == published


def test_as_published_the_search_sees_no_constant() -> None:
    parameters = (
        config_of("cce-dp", "as_coded", "smoke").policy.start().sample(5, np.random.default_rng(1))
    )
    for variant, constant in (("as_coded", True), ("with_offset", True), ("as_published", False)):
        scorer = Scorer(config_of("cce-dp", variant, "smoke"), np.random.default_rng(0))
        rewards = scorer(parameters).reward
        assert rewards == pytest.approx(9.999886 if constant else 0.0, abs=1.0)
    ingredient = {arm.method: arm.config for arm in INGREDIENTS.arms["smoke"]}
    exact = Scorer(ingredient["cce-dp-linear-profit"], np.random.default_rng(0))
    assert exact(parameters).reward == pytest.approx(exact.exact(parameters).profit)


def last_generation(config, seed: int) -> Generation:  # type: ignore[no-untyped-def]
    training = int(np.random.SeedSequence(seed).generate_state(2)[0])
    scorer = Scorer(config, np.random.default_rng((training, 1)))
    generator = np.random.default_rng((training, 0))
    start = config.policy.start()
    *_, last = search(scorer, start, config.tolerance, config.settings, generator)
    return last


def test_final_numbers_are_those_of_elites_population_and_last_sample() -> None:
    config = short("cce-dp", "as_coded", iterations=2)
    last = last_generation(config, 3)
    outcome = evaluate(loan_problem(), config.policy.chances(loan_problem(), last.parameters))
    found = final(search_and_measure(config, 3))
    assert found["reward"] == pytest.approx(outcome.reward[last.elites].mean())
    assert found["gap_dp"] == pytest.approx(outcome.gap()[last.elites].mean())
    assert found["gap_dp_population"] == pytest.approx(outcome.gap().mean())
    assert found["reward_returned"] == pytest.approx(outcome.reward[-1])
    assert found["share_fair"] == pytest.approx((outcome.gap() <= 0.1).mean())


def test_optimistic_is_judged_by_the_truth_and_not_by_what_it_looks_at() -> None:
    config = short("optimistic-dp", "as_coded", iterations=3, population=20)
    last = last_generation(config, 4)
    outcome = evaluate(loan_problem(), config.policy.chances(loan_problem(), last.parameters))
    assert last.scores.violation == pytest.approx(outcome.first_gap())
    found = final(search_and_measure(config, 4))
    assert found["share_fair"] == pytest.approx((outcome.gap() <= 0.1).mean())
    assert found["share_fair"] != pytest.approx((outcome.first_gap() <= 0.1).mean())


def test_the_tightened_check_passes_no_unfair_policy() -> None:
    """Theorem 4.2: with as many episodes as it asks for, estimates are within the margin."""
    config = config_of("cce-dp", "as_published", "smoke")
    scorer = Scorer(config, np.random.default_rng(0))
    parameters = config.policy.start().sample(40, np.random.default_rng(1))
    estimated, exact = scorer(parameters), scorer.exact(parameters)
    margin = 0.1 * config.tolerance
    assert np.abs(estimated.violation - exact.gap(discounted=True)).max() < margin
    assert np.abs(estimated.reward - exact.profit).max() < 0.1
    last = Generation(1, parameters, estimated, np.arange(5), config.policy.start())
    found = final(final_rows(scorer, last, parameters[:1]))
    limit = 0.09
    assert found["share_passing"] == pytest.approx((estimated.violation <= limit).mean())
    assert 0 < found["share_passing"] < 1
    assert found["share_passing_unfair"] == 0.0


def test_equal_opportunity_is_estimated_among_the_qualified() -> None:
    config = config_of("cce-eo", "as_published", "smoke")
    scorer = Scorer(config, np.random.default_rng(0))
    parameters = config.policy.start().sample(20, np.random.default_rng(1))
    exact = scorer.exact(parameters)
    wanted = exact.gap(1, discounted=True)
    assert np.abs(scorer(parameters).violation - wanted).max() < 0.01
    assert np.abs(wanted - exact.gap(discounted=True)).max() > 0.05


def test_conservative_search_ends_with_never_lending() -> None:
    config = config_of("conservative", "as_coded", "book")
    found = final(
        search_and_measure(
            replace(config, settings=replace(config.settings, population=20, iterations=30)), 0
        )
    )
    assert found["reward"] == pytest.approx(9.99989, abs=1e-3)
    assert found["gap_dp"] == pytest.approx(0.0, abs=1e-9)
