"""The learners of the ELBERT paper on the loan problem of the fair MDP paper.

They know the problem only from episodes, and know fairness only from the `supply` and `demand` that
the environment reports. What they learn is evaluated exactly, beside the exact optimum.
"""

from __future__ import annotations

from dataclasses import replace

from longfair.agents.ppo.a_ppo import APPO
from longfair.agents.ppo.elbert_po import ElbertPO
from longfair.agents.ppo.r_ppo import RPPO
from longfair.envs.loan_mdp import LoanMDPParams
from longfair.papers.fairmdp.exactly import Exactly
from longfair.papers.four_methods import four_methods
from longfair.papers.setting import PPO, Methods, Problem, World, Wrapper

TOLERANCE = 0.1
"""Disparity that R-PPO and A-PPO leave alone: the tolerance of the problem."""

ALPHA = 1.2
"""Weight of the squared bias: at a gap of 0.1 its slope is the price of fairness there."""

METHODS: Methods = {
    **four_methods(
        ElbertPO.as_coded(ALPHA),
        ElbertPO.as_published(ALPHA),
        RPPO(tolerance=TOLERANCE),
        APPO(tolerance=TOLERANCE),
    ),
    ("elbert-po-discounted-strong", "ablation"): (
        ElbertPO.as_published(10 * ALPHA).discounted(),
        "the same with ten times the weight of fairness",
    ),
}
"""The four methods in both variants, ELBERT-PO also with a larger weight of fairness.

Disparities are those within an episode.
"""


_LEARNING = PPO(
    copies=256,
    minibatch=1632,
    epochs=4,
    learning_rate=3e-3,
    hidden=(32, 32),
    total_steps=1_044_480,
    discount=LoanMDPParams.fico().discount,
)
"""The same for all methods, 80 rollouts; chosen on run numbers from 1000 on."""

PROFILES = ("paper", "book", "smoke")

PROBLEM = Problem(
    World("longfair/LoanMDP-v0", wrappers=(Wrapper("belief-features"),)),
    learning={
        "paper": _LEARNING,
        "book": _LEARNING,
        "smoke": replace(_LEARNING, copies=32, minibatch=408, epochs=1, total_steps=6_528),
    },
    evaluating={"paper": Exactly(every=8), "book": Exactly(every=8), "smoke": Exactly(every=2)},
    episode_length=dict.fromkeys(PROFILES, LoanMDPParams.fico().episode_length),
)

OTHER_LEARNERS = PROBLEM.experiment(
    "fairmdp/other-learners",
    "The learners of the ELBERT paper on the individual loan problem",
    METHODS,
    {},
    {"smoke": 2, "book": 20, "paper": 20},
)

EXPERIMENTS = (OTHER_LEARNERS,)
