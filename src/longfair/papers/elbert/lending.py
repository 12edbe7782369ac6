"""ELBERT's lending experiment: what is run, and with which settings."""

from __future__ import annotations

from longfair.agents.ppo.a_ppo import APPO
from longfair.agents.ppo.elbert_po import ElbertPO
from longfair.agents.ppo.r_ppo import RPPO
from longfair.papers.four_methods import four_methods
from longfair.papers.setting import (
    PPO,
    Evaluating,
    Methods,
    Problem,
    References,
    Untrained,
    World,
    Wrapper,
)

WORLD = World("longfair/Lending-v0", {"preset": "elbert"}, wrappers=(Wrapper("running-rates"),))
"""Agents see score, group, and the running true positive rate of each group."""

STATIC_OPTIMUM = Untrained("real-thresholds", {"limits": (1.99, 1.58)})
"""The best real thresholds for ELBERT's objective, one per group.

Found by `longfair.papers.elbert.static_search` on episodes that no result uses.
"""

REFERENCES: References = {
    "reject-all": (Untrained("accept-with-chance", {"chance": 0.0}), "refuses everybody"),
    "accept-all": (Untrained("accept-with-chance", {"chance": 1.0}), "accepts everybody"),
    "accept-half": (
        Untrained("accept-with-chance", {"chance": 0.5}),
        "accepts everybody with probability one half",
    ),
    "threshold-3-3": (
        Untrained("thresholds", {"limits": (3, 3)}),
        "myopic: accepts whoever brings an expected profit now",
    ),
    "threshold-2-2": (
        Untrained("thresholds", {"limits": (2, 2)}),
        "accepts from score 2 on",
    ),
    "threshold-1-1": (
        Untrained("thresholds", {"limits": (1, 1)}),
        "accepts from score 1 on",
    ),
    "threshold-2-1": (
        Untrained("thresholds", {"limits": (2, 1)}),
        "accepts group 0 from score 2 on, group 1 from score 1 on",
    ),
    "static-optimum": (
        STATIC_OPTIMUM,
        "accepts from a real score on, one per group, the best ones for ELBERT's objective",
    ),
    "equal-opportunity": (
        Untrained("equal-opportunity"),
        "best profit now under equal true positive rates, knowing the scores",
    ),
}
"""Policies that need no training."""

ALPHA = 2e5
"""ELBERT-PO's weight of the squared bias, in paper and code."""

LIGHTER_ALPHAS = (1_000, 10_000, 30_000, 100_000)
"""Weights for discounted totals, under which the paper's own is about twenty times as heavy."""

METHODS: Methods = {
    **four_methods(
        ElbertPO.as_coded(ALPHA),
        ElbertPO.as_published(ALPHA),
        RPPO(penalty=2.0, tolerance=0.005),
        APPO(tolerance=0.005),
    ),
    **{
        (f"elbert-po-discounted-{alpha}", "ablation"): (
            ElbertPO.as_published(float(alpha)).discounted(),
            f"the same with alpha {alpha:,}",
        )
        for alpha in LIGHTER_ALPHAS
    },
}
"""The four methods of the paper in both variants, with the lending hyperparameters.

With discounted totals ELBERT-PO has smaller weights too.
"""

PROBLEM = Problem(
    WORLD,
    learning={
        "paper": PPO(),
        "book": PPO(copies=4, minibatch=1024, epochs=4, learning_rate=3e-4, hidden=(64, 64)),
        "smoke": PPO(
            copies=4, minibatch=500, epochs=2, learning_rate=1e-3, hidden=(32,), total_steps=8_000
        ),
    },
    evaluating={
        "paper": Evaluating(),
        "book": Evaluating(every=4),
        "smoke": Evaluating(every=1, final_episodes=8, episode_length=1000),
    },
    episode_length={"paper": 2048, "book": 2048, "smoke": 500},
)
"""Settings by profile: the authors' own; ours; a few seconds.

The settings of `book` were chosen on run numbers from 1000 on, which no profile uses. They keep
what an update does to the policy near the authors': the learning rate times the gradient steps
of a rollout is 0.0096 here, 0.0064 there. Larger steps make ELBERT-PO overshoot: the side that
the bias pulls to flips from rollout to rollout.
"""

LENDING = PROBLEM.experiment(
    "elbert/lending",
    "Lending with scores that move: four methods beside policies that need no training",
    METHODS,
    REFERENCES,
    {"smoke": 2, "book": 20, "paper": 10},
)
