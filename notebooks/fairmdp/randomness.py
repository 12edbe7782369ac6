# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # When fairness needs randomness
#
# *A rule that always decides alike in the same situation can be unable to be fair. A coin can help.
# Sometimes nothing can.*

# %% tags=["parameters", "remove-input"]
profile = "book"

# %% tags=["hide-input"]
import textwrap

import numpy as np
import pandas as pd

from longfair.agents import fair_mdp
from longfair.agents.fair_mdp import batch_problem, demographic_parity, evaluate
from longfair.agents.fair_mdp.batch_decisions import joint_actions
from longfair.agents.fair_mdp.examples import (
    cannot_be_fair,
    deterministic_policies,
    needs_randomness,
)
from longfair.agents.finite.lagrangian import frontier
from longfair.agents.finite.problem import deterministic, value_of
from longfair.figures import Words, show, source_of
from longfair.papers.fairmdp import exact_results as exact
from longfair.papers.fairmdp.checks import random_problem
from longfair.papers.page import Page

page = Page(profile, claims=["fairmdp-01", "fairmdp-22"])

# %% [markdown]
# ## In two minutes
#
# May a bank that wants two groups to receive about the same follow a rule that always decides alike
# in the same situation, or is sometimes only a coin fair, and sometimes nothing, as
# {cite:t}`wen2021fairmdp` (Theorem 2.5) say?

# %% tags=["nbval-ignore-output", "hide-input"]
drawn = demographic_parity(random_problem(np.random.default_rng(11)))
show(
    exact.coins_figure(drawn),
    "Best reward within a tolerance, that is, with at most so large a gap between the groups. "
    "Without coins the reward moves in jumps, and begins where some policy keeps the tolerance.",
    name="coins",
)

# %% tags=["nbval-check-output", "remove-input"]
with_coins, without_coins = exact.smallest_gaps(drawn)
smallest = exact.deterministic_table(demographic_parity(needs_randomness()))
Words(
    f"- The problem of the figure was drawn at random, and none of its "
    f"{drawn.actions**drawn.states} policies without coins has a gap below {without_coins:.3f}; "
    f"with coins the smallest gap is {with_coins:.3f}, and at nearly every tolerance they earn "
    "more.\n"
    "- Both halves of the theorem hold: in the smallest example below no rule without coins has a "
    f"gap below {smallest['gap'].min():g} and a single coin closes it, and in the one after it "
    "no policy is fair."
)

# %% [markdown]
# **Why?** Where one action gives a group too much and the other too little, fairness asks for
# something between the two, and between two actions there is only a coin.
#
# **What would change our mind?** About the theorem nothing, because one example proves it.
#
# *You need* what a Markov decision process and a discount are. *Time:* 15 minutes to read, a few
# seconds on one core; nothing is trained.

# %% [markdown]
# ## The problem
#
# A bank earns something when it grants a loan. The applicant gets something, too, and it need not
# be the same. So let every decision have *two* payments: the decision maker's reward $R$ and the
# **individual reward** $\rho$, which says what the decision is worth to the person concerned.
#
# People belong to groups, and nobody changes the group. The **value of a group** is what its
# members can expect to receive, discounted over time. **Demographic parity** asks that groups have
# about the same value: the largest difference, the **gap**, is at most a **tolerance** $\epsilon$.
# It does not ask that every single person receive the same.
#
# Ordinarily the best policy of a decision problem need not toss coins: in every situation one
# action is as good as any other or better. With a fairness constraint this changes.

# %% [markdown]
# ## The idea
#
# How often is a policy $\pi$ in state $s$ and takes action $a$? Discounted and normalised, this is
# its **occupancy**:
#
# $$
# \Lambda^{(\pi)}_{s,a} = (1-\gamma) \sum_t \gamma^t \Pr[s_t = s, a_t = a],
# \qquad \sum_{s,a} \Lambda^{(\pi)}_{s,a} = 1 .
# $$ (eq-fm-occupancy)
#
# Both payments are sums over it. States are pairs $(z, \tilde s)$ of a group and everything else,
# and $p_z$ is the share of group $z$:
#
# $$
# R^{(\pi)} = \sum_{s,a} \Lambda^{(\pi)}_{s,a} R_{s,a}, \qquad
# \rho^{(\pi)}_z = \frac{1}{p_z} \sum_{\tilde s,a}
#     \Lambda^{(\pi)}_{(z,\tilde s),a}\, \rho_{(z,\tilde s),a}, \qquad
# \max_{z,z'} \big(\rho^{(\pi)}_z - \rho^{(\pi)}_{z'}\big) \le \epsilon .
# $$ (eq-fm-values)
#
# Dividing by $p_z$ makes the value one *per member*. This form is possible because the groups never
# mix; the paper calls such a problem *separable*.

# %% tags=["nbval-check-output", "remove-input"]
source_of(demographic_parity, value_of)

# %% [markdown]
# ## The smallest example
#
# Two groups of equal size, one state each, never left. The decision maker earns one for action 1.
# Group 0 receives one half whatever is done. Group 1 receives what the action says, nothing or one.
# These are all deterministic policies:

# %% tags=["nbval-check-output"]
problem = demographic_parity(needs_randomness())
exact.deterministic_table(problem).round(3)

# %% [markdown]
# No row has a gap below one half. Now let a coin decide about group 1:

# %% tags=["nbval-check-output"]
coin = np.array([[0.0, 1.0], [0.5, 0.5]])  # probability of each action, one row per state
pd.DataFrame([exact.worth(evaluate(problem, coin))], index=["with a coin"])

# %% [markdown]
# The gap is gone. The linear program of the [next page](exact.ipynb) finds the best policy for
# every tolerance. It tosses the coin no more often than it must. The price of fairness is what a
# little more tolerance would earn:

# %% tags=["nbval-check-output"]
exact.best_by_tolerance(problem, (0.0, 0.1, 0.25, 0.49, 0.5)).round(4)

# %% [markdown]
# ### Out of reach
#
# The second half of the theorem needs one change. Let group 0 receive nothing and group 1 one,
# whatever is done. Then no policy changes anything, and a solver should say so instead of returning
# something:

# %% tags=["nbval-check-output"]
impossible = demographic_parity(cannot_be_fair())
try:
    fair_mdp.solve(impossible, 0.9)
except fair_mdp.NoFairPolicyError as error:
    print(textwrap.fill(str(error), 76))

# %% [markdown]
# ## Draw a problem yourself
#
# Is the example contrived? The problem of the first figure was drawn at random, with three states
# per group and three actions. Here is another one. Change the seed and run the cell again.

# %% tags=["nbval-ignore-output"]
seed = 3

yours = demographic_parity(random_problem(np.random.default_rng(seed)))
show(
    exact.coins_figure(yours),
    "Best reward within a tolerance with and without coins, on the problem that you have drawn.",
    name="coins_drawn",
)

# %% [markdown]
# Where both lines begin at the same tolerance, no coin helps below it. One line is a staircase: as
# the tolerance grows, one more policy becomes admissible now and then.
# The other bends but never jumps. Where it bends, a deterministic policy is best. Between two bends
# the best policy mixes the two. Such a mixture needs a coin in a **single state** only, because
# neighbouring policies on the edge differ in one state. Here is the first problem, at a tolerance
# in the middle of each piece:

# %% tags=["nbval-check-output"]
gaps = frontier(drawn).gap
exact.best_by_tolerance(drawn, ((gaps[:-1] + gaps[1:]) / 2).round(4)).round(4)

# %% [markdown]
# ## Several people at once
#
# Is a coin acceptable? Two people of one group in the same situation are treated differently, by
# chance. Appendix A of the paper suggests another look. If several people are decided on together,
# the value of a group is averaged over the $k$ places in the batch:
#
# $$
# \rho_z^{(\pi)} = \frac{1}{k} \sum_{i=1}^{k} \frac{1}{p_{z,i}}
#     \sum_{s : z_i = z} \sum_a \Lambda^{(\pi)}_{s,a}\, \rho^i_{s_i, a_i} .
# $$ (eq-fm-batch)

# %% tags=["nbval-check-output", "remove-input"]
source_of(batch_problem)

# %% [markdown]
# Take the smallest example, and two people. Is there a *deterministic* policy without a gap now?

# %% tags=["nbval-check-output"]
pair = batch_problem(needs_randomness(), people=2)
fair = [(a, v) for a, v in deterministic_policies(pair) if v.gap < 1e-9]
chosen, value = max(fair, key=lambda found: found[1].reward)
print(f"{pair.actions**pair.states} deterministic policies, {len(fair)} of them without a gap;")
print(f"the best of these has a reward of {value.reward:g}:")
decided = joint_actions(2, 2)[list(chosen)]
pd.DataFrame(
    [[f"group {z}" for z in pair_of_groups] for pair_of_groups in joint_actions(2, 2)],
    columns=["first person", "second person"],
).assign(**{"action for the first": decided[:, 0], "action for the second": decided[:, 1]})

# %% [markdown]
# There is, and it is as good as the coin. The rule looks at *whom a person came with*. That is a
# coin, too, only one that the world has tossed. It is fair to groups on average, and whether it is
# fairer to a person than a coin is not a question of mathematics.
#
# People who are decided on together can also compete. Suppose there is money for one loan only:

# %% tags=["nbval-check-output"]
one_loan = joint_actions(2, 2).sum(axis=1) <= 1
limited = batch_problem(needs_randomness(), people=2, allowed=one_loan)
exact.best_by_tolerance(limited, (0.0, 0.1, None))[["reward", "price of fairness"]].round(4)

# %% [markdown]
# With one loan for two people, the bank earns half of what it could. Fairness costs nothing here:
# the loans can be spread so that the gap is zero, and the reward only counts loans.

# %% [markdown]
# ## Text against code
#
# The published code has no example for this theorem, and the numbers of the paper's own example are
# lost in the text that we have. Ours has the structure that its proof describes. The policies that
# the code learns are stochastic because a softmax chooses between the two actions. They end up
# almost deterministic, see [cross-entropy](cross_entropy.ipynb).

# %% [markdown]
# ## What it means
#
# A fair policy may have to treat equal people differently, by a coin or by whom they came with. It
# does so rarely: with two groups and one constraint, one situation is enough, as in the loan
# problem of the [next page](exact.ipynb). Whether *large* problems need coins in a way that matters
# is not settled by the theorem. What would change our mind: a large problem in which the best
# policy without coins earns much less than the best one.

# %% [markdown]
# ## Exercises
#
# ```{exercise} How many coins?
# :label: exercise-fm-coins
#
# With two groups there is one pair of values to be brought together, and one coin is enough. How
# many states can need a coin with three groups? Build a problem like the smallest example in which
# they do. `fair_mdp.SeparableMDP` holds one, and `fair_mdp.solve` names the states with a coin as
# `randomised_states`.
# ```

# %% [markdown]
# ```{solution-start} exercise-fm-coins
# :class: dropdown
# ```
#
# Every binding fairness row can force one more state to mix. With three groups, two of them can
# bind. Let group 0 receive one half whatever is done, and groups 1 and 2 what the action says.

# %% tags=["nbval-check-output"]
three = fair_mdp.SeparableMDP(
    transition=np.repeat(np.eye(3), 2, axis=0),
    reward=np.tile([0.0, 1.0], (3, 1)),
    individual_reward=np.array([[0.5, 0.5], [0.0, 1.0], [0.0, 1.0]]),
    group=np.arange(3),
    initial_distribution=np.full(3, 1 / 3),
    discount=0.5,
)
found = fair_mdp.solve(demographic_parity(three), 0.1)
print("states with a coin:", found.randomised_states.tolist())
print("chance of action 1:", found.policy[:, 1].round(3).tolist())

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} A gap that no tolerance hides
# :label: exercise-fm-reach
#
# In the second example the smallest gap is one. Change the individual rewards of group 0 so that
# the smallest gap becomes 0.25, and let the solver confirm it.
# ```

# %% [markdown]
# ```{solution-start} exercise-fm-reach
# :class: dropdown
# ```
#
# If group 0 can receive up to 0.75 and group 1 always receives one, the gap is at least 0.25.

# %% tags=["nbval-check-output"]
from dataclasses import replace

from longfair.agents.finite.linear_program import smallest_tolerance

rewards = np.array([[0.0, 0.75], [1.0, 1.0]])
changed = demographic_parity(replace(cannot_be_fair(), individual_reward=rewards))
print(f"smallest tolerance: {smallest_tolerance(changed):.4f}")
print("gap when group 0 gets action 1:", evaluate(changed, deterministic(changed, [1, 0])).gap)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## The verdicts
#
# These are statements of existence and of exactness. They are checked by computing, so there are no
# seeds and no interval.

# %% tags=["nbval-check-output", "remove-input"]
page.claims()

# %% [markdown]
# ## Where this came from

# %% tags=["nbval-ignore-output", "remove-input"]
page.origin(["numpy", "scipy"], [fair_mdp.solve, frontier, batch_problem])
