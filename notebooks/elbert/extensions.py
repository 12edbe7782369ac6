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
# # Extensions
#
# *What the paper describes in its appendices and does not run: other notions of fairness, and
# demand that must not shrink.*

# %% tags=["parameters", "remove-input"]
profile = "book"

# %% tags=["hide-input"]
from dataclasses import replace

import pandas as pd

from longfair.agents.ppo.demand_regularised import DemandRegularisedPO
from longfair.agents.ppo.equalised_odds import SeveralNotionsPO
from longfair.figures import source_of
from longfair.metrics.supply_demand import (
    accuracy_parity,
    demographic_parity,
    discovery_probability,
    equalised_odds,
)
from longfair.papers.elbert import notions
from longfair.papers.elbert import notions_results as shown
from longfair.papers.elbert.notions import DEMAND_WEIGHTS, EXTENSIONS
from longfair.papers.page import Page

page = Page(profile, *(one.id for one in EXTENSIONS), claims=["elbert-22"])
fair = page.of("elbert/notions-lending", look=shown.NOTIONS_LOOK)
lasting = shown.with_demand(page.of("elbert/demand-lending", look=shown.DEMAND_LOOK))
lenders = shown.with_demand(page.of("elbert/lending"))
compared = ["g-ppo", *(f"elbert-po-{aspiration}" for aspiration in notions.ASPIRATIONS)]

# %% [markdown]
# ## In two minutes
#
# In lending, does ELBERT-PO close the gaps of other notions of fairness than equal opportunity, and
# what does it cost to keep the demand of a group from shrinking, two ideas of
# {cite:t}`xu2024elbert` (Appendices A and E) without experiments?

# %% tags=["nbval-ignore-output", "hide-input"]
fair.show(
    fair.scatter_figure("as_coded", methods=compared, across=("reward", "true_positive_bias")),
    "Reward against the gap in the true positive rate, by the notion that each method was trained "
    "towards, with our settings. Large marks are means with 95 % intervals, small ones runs.",
    "true_positive_bias",
)

# %% tags=["nbval-check-output", "remove-input"]
lasting.say(
    "With our settings the gaps of equal opportunity, equalised odds and demographic parity are "
    "smaller than PPO's; that of accuracy is not, but in lending there is hardly one to close.",
    "Equalised odds costs nearly all of the profit, "
    f"{fair.number('reward', 'elbert-po-equalised-odds', 'as_coded')} after "
    f"{fair.number('reward', 'g-ppo', 'as_coded')} under PPO.",
    "Only with a weight of a hundred is the demand clearly higher, by "
    f"{lasting.less('demand_1', *shown.demand_pair(100), 4)}, and the reward is lower by "
    f"{lasting.less('reward', *reversed(shown.demand_pair(100)))}.",
)

# %% [markdown]
# **Why?** Equal rates and more demand can be had together, by lending to nobody or to nearly
# everybody, which earns no profit.
#
# **What would change our mind?** Policies that see the running rates of the notion they are trained
# towards, and hold on long episodes what they reach on short ones.
#
# *You need* what ELBERT-PO is, from [lending](lending.ipynb). *Time:* 15 minutes to read, one
# minute on one core.

# %% [markdown]
# ## The problem
#
# A notion of group fairness compares a ratio across groups, and every such ratio has a numerator,
# the supply, and a denominator, the demand. So ELBERT's benefit rate is a form into which many
# notions fit:

# %% tags=["nbval-check-output", "hide-input"]
pd.DataFrame(
    [
        ["equal opportunity", "accepted and would repay", "would repay"],
        ["equalised odds", "the same, and: accepted and would not", "the same, and: would not"],
        ["demographic parity", "accepted", "everybody"],
        ["accuracy parity", "decided as the outcome shows", "everybody"],
        ["discovery probability", "discovered incidents", "incidents"],
    ],
    columns=["notion", "supply counts", "demand counts"],
).set_index("notion")

# %% tags=["nbval-check-output", "remove-input"]
source_of(equalised_odds, demographic_parity, accuracy_parity, discovery_probability)

# %% [markdown]
# The last one is equal opportunity with incidents in the place of people: every incident is worth
# finding. It is the notion of [attention allocation](attention.ipynb), which has its own page. The
# others are learned below, in lending.

# %% [markdown]
# ## The idea
#
# Equalised odds compares two ratios, so the objective has two biases,
#
# $$
# J = \eta - \alpha\,(b^T)^2 - \alpha\,(b^F)^2 ,
# $$ (eq-extensions-odds)
#
# and the advantage gets one chain-rule term for each. Every supply and every demand has its critic:
# with $M$ groups, $4M + 1$ of them.

# %% tags=["nbval-check-output", "remove-input"]
source_of(SeveralNotionsPO.plan)

# %% [markdown]
# Demand can be protected by adding it to the objective with a weight $\zeta$,
#
# $$
# J^{reg} = J + \zeta\, \eta^D_g, \qquad A^{reg}_t = A^{fair}_t + \zeta A^D_{g,t} .
# $$ (eq-extensions-demand)

# %% tags=["nbval-check-output", "remove-input"]
source_of(DemandRegularisedPO.plan)

# %% [markdown]
# ## Train it yourself
#
# Two short runs, one towards equal opportunity and one towards equalised odds, both evaluated under
# all notions.

# %% tags=["nbval-ignore-output"]
few = {"every": 100, "episodes": 2, "final_episodes": 50, "episode_length": 2048}
live = {}
for aspiration in ("equal-opportunity", "equalised-odds"):
    settings = notions.over_notions("book")[f"elbert-po-{aspiration}"][0]
    short = replace(settings.learning, total_steps=150_000)
    seen = replace(settings.evaluating, **few)
    live[f"elbert-po-{aspiration}"] = replace(settings, learning=short, evaluating=seen)
fair.live_table(page.live(live, 1000), shown.NOTIONS_SHOWN)

# %% [markdown]
# ## What came out
#
# ### Notions
#
# Each row is trained towards its own notion, and all are evaluated under all.

# %% tags=["nbval-check-output", "hide-input"]
on_long, on_short = shown.by_length(fair)
on_long.table(shown.NOTIONS_SHOWN)

# %% tags=["nbval-ignore-output", "hide-input"]
fair.show(
    fair.scatter_figure("as_coded", methods=compared, across=("reward", "acceptance_bias")),
    "Reward against the gap in the acceptance rate, by the notion that each method was trained "
    "towards.",
    "acceptance_bias",
)

# %% tags=["nbval-ignore-output", "hide-input"]
fair.show(
    fair.scatter_figure("as_coded", methods=compared, across=("reward", "accuracy_bias")),
    "Reward against the gap in the accuracy rate, by the notion that each method was trained "
    "towards.",
    "accuracy_bias",
)

# %% [markdown]
# The same, evaluated on episodes as short as those of the training:

# %% tags=["nbval-check-output", "hide-input"]
on_short.table(shown.NOTIONS_SHOWN)

# %% [markdown]
# Towards three of the four notions ELBERT-PO makes the gaps that it is trained to close smaller
# than PPO leaves them, on both lengths. Each notion leaves gaps in the others, so they are not
# interchangeable. Equal opportunity is the cheap one here, it even earns more than PPO. Equalised
# odds closes both of its gaps, and that in acceptance with them, but one can hardly say that it
# serves anybody: it costs nearly all of the profit, some of its runs accept nearly everybody, and
# none earns what PPO does.
#
# Accuracy parity is not served, and it is why the two claims about all four notions fail. PPO on
# the reward has hardly a gap in accuracy, because a bank that earns by deciding rightly does so in
# both groups. There is nothing to close, and a method that pays much for the gap only adds its own
# unrest.
#
# On short episodes what it leaves is small. On long ones it is several times as large, because the
# scores of the groups go on changing after the training length. A policy could react to a gap that
# opens, if it saw it. But what it observes are the running true positive rates, whatever it is
# trained towards. Demographic parity suffers from the same, equal opportunity less. So the length
# of the training episodes, which did no harm to the paper's own notion in the
# [ablations](ablations.ipynb), matters more for those that the policy does not observe.
#
# That the observation is the reason is our guess. What the tables show is the loss from short to
# long episodes.

# %% [markdown]
# ### Demand
#
# The disadvantaged group is group 1. Its demand is the share of applicants who are its members and
# would repay.

# %% tags=["nbval-check-output", "hide-input"]
lasting.table(shown.DEMAND_SHOWN)

# %% tags=["nbval-check-output", "hide-input"]
lasting.differences(
    {f"weight {weight} less 0": shown.demand_pair(weight) for weight in DEMAND_WEIGHTS[1:]},
    shown.DEMAND_SHOWN,
)

# %% [markdown]
# And beside them lenders that need no training, from [lending](lending.ipynb):

# %% tags=["nbval-check-output", "hide-input"]
chosen = ["reject-all", "threshold-3-3", "threshold-2-1", "accept-all"]
lenders.only(*chosen).table(shown.DEMAND_SHOWN, "reference")

# %% [markdown]
# The same as a picture. Across is what a policy takes away from the demand, against refusing
# everybody; the best corner is the upper left.

# %% tags=["nbval-ignore-output", "hide-input"]
lasting.show(
    shown.demand_lost(lasting, lenders, chosen),
    "Reward against the loss of demand of group 1, by the weight of this demand. Small marks are "
    "single runs, large ones medians, by reward and by demand: with a weight of ten there are two "
    "kinds of runs.",
    "demand_lost",
)

# %% [markdown]
# A weight of one changes nothing that can be told. A weight of ten makes two kinds of runs. Most
# lend about as before and keep no more demand. Some accept nearly everybody. Only with a weight of
# a hundred is the demand clearly higher, as the claim has it. But its runs, too, are on the way to
# the lender who accepts all. The bank's profit cannot be told from zero, and the gain in demand is
# small beside what other lenders keep.
#
# Those lenders show what it costs. The myopic one, threshold 3 / 3, keeps much more of the demand
# and earns well. But it is the unfair one. Equal rates are had by lending to members of group 1
# with low scores. More of them default than repay, so their scores fall, and the group's demand
# with them; this is the trap in [lending](lending.ipynb). Refusing everybody keeps most of all, and
# has equal rates, too. So what the term is paid for with here is the profit, not the equal rates.

# %% [markdown]
# ## Text against code
#
# There is no code of the authors for this page. Our runs follow the habits of their code for
# ELBERT-PO: every advantage is standardised on its own, totals are not discounted, and all networks
# share one clip of the gradient norm. Appendix A's inline definitions mix up the superscripts of
# the two notions; its Equation 8 is the one implemented. The agents observe the running true
# positive rates whatever they are trained towards, as in the main experiment.

# %% [markdown]
# ## What it means
#
# One method serves several notions, and which of them is cheap depends on the world. Protecting a
# demand is another goal than equal rates. What would change our mind:
#
# - **A problem where the notions collide harder.** In lending all but accuracy parity can be had by
#   lending to nearly everybody. Where acceptance is scarce they exclude each other.
# - **Weights of their own.** All notions share the weight of the main experiment. It was chosen by
#   the authors for equal opportunity.
# - **Observed rates of their own.** Policies that see the running rates of the notion they are
#   trained towards. If these held on long episodes what they reach on short ones, our guess would
#   be right.

# %% [markdown]
# ## Exercises
#
# ```{exercise} Count the critics
# :label: exercise-extensions-critics
#
# How many critics does equalised odds need for two groups, and for five? And how many would one
# need for all four notions at once, if signals that are the same are shared?
# ```

# %% [markdown]
# ```{solution-start} exercise-extensions-critics
# :class: dropdown
# ```

# %% tags=["nbval-check-output"]
for groups in (2, 5):
    pairs = 2 * groups
    print(groups, "groups:", 1 + SeveralNotionsPO(notions=2).num_signals(pairs), "critics")

# %% [markdown]
# For all four it takes no more. Per group there are those who would repay and those who would not,
# and the accepted of both. Everybody is the sum of the first two, acceptance that of the last two.
# Accuracy is the accepted who would repay, and those who would not less the accepted of them. The
# value of a sum is the sum of the values, so four critics per group and one for the reward do.
#
# ```{solution-end}
# ```

# %% [markdown]
# ## The verdicts
#
# The paper makes four claims nearby, all in Appendix E. One, `elbert-22`, says that demand needs no
# protection in lending, because fair methods lower it only mildly. It is judged on the runs of
# [lending](lending.ipynb), and its rule was written after these runs. The others stand on the pages
# of their environments. The other claims are ours. They ask whether
# the methods of the appendices do what they are made for, and were written before the runs that
# judge them; rules that were changed later say what they were before.

# %% tags=["nbval-check-output", "remove-input"]
page.claims()

# %% tags=["nbval-ignore-output", "remove-input"]
page.gaps()

# %% [markdown]
# ## Where this came from

# %% tags=["nbval-ignore-output", "remove-input"]
page.origin(["numpy", "scipy", "torch", "stable-baselines3"])
