"""ELBERT's appendices on lending: other notions of fairness, and demand that must not shrink.

The paper describes both and runs neither. What the notions count stands in `notion_wrappers`.
Equal opportunity asks for equal true positive rates, equalised odds for equal false positive rates
as well, demographic parity for equal acceptance rates. Discovery probability in attention
allocation is equal opportunity, where every incident is a positive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from longfair.agents.ppo.demand_regularised import DemandRegularisedPO
from longfair.agents.ppo.elbert_po import ElbertPO
from longfair.agents.ppo.equalised_odds import SeveralNotionsPO
from longfair.agents.ppo.strategy import Strategy
from longfair.papers.elbert import lending
from longfair.papers.elbert.ablations import (
    LENDING,
    SEEDS,
    evaluated_on_training_length,
    experiment,
)
from longfair.papers.setting import Setting, Wrapper

ASPIRATIONS: Mapping[str, tuple[str, ...]] = {
    "equal-opportunity": ("true-positive",),
    "equalised-odds": ("true-positive", "false-positive"),
    "demographic-parity": ("acceptance",),
    "accuracy-parity": ("accuracy",),
}
"""Notions of the paper's Appendix A, and the rates that they want to be equal."""


PROBLEM = replace(
    LENDING,
    world=replace(LENDING.world, wrappers=(*LENDING.world.wrappers, Wrapper("all-notions"))),
    evaluating={
        profile: replace(evaluating, measure="rates-by-notion")
        for profile, evaluating in LENDING.evaluating.items()
    },
)
"""Lending, evaluated under all notions."""


def towards(notions: tuple[str, ...], strategy: Strategy, profile: str) -> Setting:
    """Return the settings of a method that learns towards some notions."""
    seen = Wrapper("some-notions", {"notions": notions})
    return replace(PROBLEM.learned(strategy, profile), training=(seen,))


DEMAND_WEIGHTS = (0, 1, 10, 100)
"""Weights of the disadvantaged group's demand; the paper gives none."""


def over_notions(profile: str) -> dict[str, tuple[Setting, str]]:
    """Return plain PPO, and ELBERT-PO towards each of the paper's notions.

    Each is evaluated on long episodes as in the main experiment, and with `-short` behind its name
    on episodes as short as those of its training.
    """
    plain = towards(("true-positive",), Strategy(), profile)
    found = {"g-ppo": (plain, "PPO on the reward")}
    for aspiration, notions in ASPIRATIONS.items():
        strategy = SeveralNotionsPO(
            alpha=lending.ALPHA, standardise="signals", notions=len(notions)
        )
        found[f"elbert-po-{aspiration}"] = (
            towards(notions, strategy, profile),
            f"ELBERT-PO towards {aspiration.replace('-', ' ')}",
        )
    short = {
        f"{method}-short": (
            evaluated_on_training_length(config),
            description,
        )
        for method, (config, description) in found.items()
    }
    return found | short


def over_demand_weight(profile: str) -> dict[str, tuple[Setting, str]]:
    """Return ELBERT-PO with several weights of the disadvantaged group's demand."""
    coded = ElbertPO.as_coded(lending.ALPHA)
    return {
        f"elbert-po-demand-{weight}": (
            LENDING.learned(
                DemandRegularisedPO(
                    alpha=coded.alpha,
                    standardise=coded.standardise,
                    discounted_totals=coded.discounted_totals,
                    demand_weight=float(weight),
                ),
                profile,
            ),
            f"ELBERT-PO that values the demand of group 1 by {weight}",
        )
        for weight in DEMAND_WEIGHTS
    }


EXTENSIONS = (
    experiment(
        "notions-lending",
        "Lending under four notions of fairness, each learned and all evaluated",
        over_notions,
        SEEDS,
    ),
    experiment(
        "demand-lending",
        "Lending where the demand of the disadvantaged group is worth something",
        over_demand_weight,
        SEEDS,
    ),
)
"""What the paper describes in its Appendices A and E."""
