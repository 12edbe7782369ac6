"""The four methods that the ELBERT paper compares, in both variants, and a mixture of the two."""

from __future__ import annotations

from dataclasses import replace

from longfair.agents.ppo.a_ppo import APPO
from longfair.agents.ppo.elbert_po import ElbertPO
from longfair.agents.ppo.r_ppo import RPPO
from longfair.agents.ppo.strategy import Strategy
from longfair.papers.setting import Methods


def four_methods(coded: ElbertPO, published: ElbertPO, r_ppo: RPPO, a_ppo: APPO) -> Methods:
    """Return the four methods in both variants; as coded all train the fairness critics.

    Besides there is ELBERT-PO with discounted totals, which neither paper nor code has.

    Parameters
    ----------
    coded, published
        ELBERT-PO with its weights.
    r_ppo
        R-PPO as coded. As published it penalises only what exceeds the tolerance.
    a_ppo
        A-PPO.
    """
    penalised = (
        "penalises what exceeds the tolerance, training critics it does not use"
        if r_ppo.excess_only
        else "penalises the whole disparity once it exceeds the tolerance"
    )
    return {
        ("g-ppo", "as_coded"): (
            Strategy(train_unused_critics=True),
            "PPO on the reward, training the fairness critics it does not use",
        ),
        ("g-ppo", "as_published"): (Strategy(), "PPO on the reward"),
        ("r-ppo", "as_coded"): (replace(r_ppo, train_unused_critics=True), penalised),
        ("r-ppo", "as_published"): (
            replace(r_ppo, excess_only=True),
            "penalises what exceeds the tolerance",
        ),
        ("a-ppo", "as_coded"): (
            replace(a_ppo, train_unused_critics=True),
            "fairness terms in the advantage, scaled to [0, 1] per minibatch",
        ),
        ("a-ppo", "as_published"): (
            replace(a_ppo, as_coded=False),
            "raw fairness terms in the advantage, at the state before the step",
        ),
        ("elbert-po", "as_coded"): (
            coded,
            "every advantage standardised before the chain rule combines them",
        ),
        ("elbert-po", "as_published"): (
            published,
            "raw advantages combined by the chain rule, plain totals",
        ),
        ("elbert-po-discounted", "ablation"): (
            published.discounted(),
            "raw advantages combined, then standardised once; discounted totals",
        ),
    }
