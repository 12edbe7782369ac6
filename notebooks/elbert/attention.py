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
# # Attention allocation
#
# *A few inspectors, five sites, and incidents that grow where nobody looks.*

# %% tags=["parameters", "remove-input"]
profile = "book"

# %% tags=["hide-input"]
from dataclasses import replace

import numpy as np
import pandas as pd

from longfair.agents.evaluation import acting, play_episodes
from longfair.agents.policies import ProportionalToIncidents
from longfair.agents.policies.constant_allocations import (
    best_allocation,
    constant_allocations,
    sites_under_constant_units,
)
from longfair.agents.ppo import ElbertPO, Strategy
from longfair.agents.ppo.elbert_po import advantage_weights
from longfair.envs.attention import AttentionParams, AttentionVectorEnv, largest_remainders
from longfair.figures import Words, folded, source_of
from longfair.metrics.benefit import soft_bias, soft_bias_gradient
from longfair.papers.elbert import world_results as worlds
from longfair.papers.elbert.attention import (
    ALPHA,
    BETA,
    HARDER,
    ORIGINAL,
    ROWS,
    STATIC,
    references,
)
from longfair.papers.elbert.measures import measured_with_extremes
from longfair.papers.page import Page
from longfair.papers.protocol import train_and_evaluate
from longfair.papers.styles import METHODS
from longfair.runs.tidy import middle, of_arm
from longfair.wording import numerals, plain

alpha_harder = ALPHA["elbert_harder"]
page = Page(profile, "elbert/attention-harder", "elbert/attention", look=worlds.ATTENTION)
harder = page.of("elbert/attention-harder", look=worlds.ATTENTION_HARDER)
original = page.of("elbert/attention")
authors = page.of("elbert/attention-harder", "paper", worlds.ATTENTION_HARDER)
stopped = page.of("elbert/authors-steps-attention-harder")
weighted, g_ppo = ("static-optimum", "reference"), ("g-ppo", "as_coded")
shown = {"reward": ("reward", 3), "bias": ("bias", 3)}
untrained = list(references("elbert_harder"))

# %% [markdown]
# ## In two minutes
#
# When inspectors discover incidents at five sites, does ELBERT-PO serve the sites most equally and,
# in the *harder* environment, miss the fewest, as {cite:t}`xu2024elbert` (Section 5, Figures 4 and
# 6) report, and does it beat a rule of fixed weights?

# %% tags=["nbval-ignore-output", "hide-input"]
harder.scatter(
    "as_coded",
    beside=untrained,
    caption="Reward against bias of the last policies in the harder environment, with the "
    "computations of the authors' code and our cheaper settings, after as many steps as the "
    "authors'. The best corner is the upper left. R-PPO and A-PPO are earlier fair methods: one "
    "changes the reward, the other the advantage. Small marks are single runs, large ones their "
    "medians, by reward and by bias. Some runs of ELBERT-PO lie far below: they have lost a site. "
    "Policies that need no training carry their names and stand at their means. Constant: the same "
    "units in every step. Weights: units in proportion to recent incidents, times a weight for "
    "each site. For reward, for both: chosen for the reward alone, or for reward and bias. Equal: "
    "as many units for every site. Oracle: knows the true rates. What to see: weights for both is "
    "above and to the left of every run.",
)

# %% tags=["nbval-check-output", "remove-input"]
reward_alone = {metric: middle(of_arm(harder.results, metric, *g_ppo)) for metric in shown}
harder.say(
    "With our settings, as coded, "
    f"{worlds.lost_in_words(harder.results, 'elbert-po')} under ELBERT-PO, and the others end "
    "with less bias than any run of the other methods and about as much reward as the best.",
    "With the authors' settings it has the least bias of the four methods and the most reward in "
    f"{worlds.best_in_words(authors)}; of those stopped after a fifth of the steps "
    f"{worlds.lost_in_words(stopped.results, 'elbert-po')}.",
    "The rule with weights, found without a gradient, has a reward of "
    f"{harder.mean('reward', 'static-optimum'):.3f} and a bias of "
    f"{harder.mean('bias', 'static-optimum'):.3f} on average, G-PPO, which looks at the reward "
    f"only, {reward_alone['reward']:.3f} and {reward_alone['bias']:.3f} with our settings "
    "(medians).",
)

# %% [markdown]
# **Why?** The rate of a site is its discovered incidents over all of them, and at a site that gets
# nothing incidents pile up until one more discovery changes nothing, so the objective does not pull
# the site back.
#
# **What would change our mind?** A learned policy above and to the left of the weighted rule by
# more than its interval.
#
# *You need* [lending](lending.ipynb), or: what ELBERT-PO is. *Time:* 20 minutes to read, two
# minutes on one core.

# %% [markdown]
# ## The problem
#
# Each of five sites has incidents at a rate of its own. A unit
# of attention at a site discovers one incident there, if there is one. Units also deter: each
# lowers the rate of its site. A site that gets none becomes worse. There are fewer units than
# incidents, so somebody's incidents stay undiscovered.
#
# A group is a site. Its **demand** is its incidents, its **supply** those that are discovered, and
# its long-term benefit rate is the chance that an incident there is discovered. In the *harder*
# environment there are five times the units, the sites differ in how they respond, and the reward
# counts only what was missed.

# %% tags=["nbval-check-output", "hide-input"]
params = AttentionParams.elbert_harder()
given = pd.DataFrame(
    [params.initial_rate, params.decrease, params.increase],
    index=["incidents per step at the start", "less per unit and step", "more if no unit is there"],
    columns=pd.Index(range(1, 6), name="site"),
)
numerals(given)

# %% [markdown]
# Site 1 is busy and hardly reacts. Site 5 is quiet and reacts at once, and two steps without a unit
# undo what a hundred units have done. A policy that forgets a site for a while may lose it: a site
# counts as *lost* if the last policy leaves it, on average over the evaluation episodes, more than
# thirty incidents per step. That is more than the busiest site has at the start.

# %% [markdown]
# ## The idea
#
# The policy draws one real number per site. They are clipped to $[-3, 3]$, and the units are
# divided in proportion to their softmax, rounded to whole units.

# %% tags=["nbval-check-output", "remove-input"]
source_of(
    AttentionVectorEnv._transition,
    largest_remainders,
    heading="A step of the environment and the rounding to whole units in code",
)

# %% [markdown]
# With more than two groups the largest gap between two rates has kinks. ELBERT-PO uses a smooth
# upper bound of it,
#
# $$
# b^{soft} = \frac1\beta \Big[ \log\sum_g e^{\beta z_g} + \log\sum_g e^{-\beta z_g} \Big],
# $$ (eq-attention-soft)
#
# whose slope pulls at the best and at the worst served site:
#
# $$
# \begin{aligned}
# \frac{\partial b^{soft}}{\partial z_g} &= \mathrm{softmax}(\beta z)_g \\
# &\quad {} - \mathrm{softmax}(-\beta z)_g .
# \end{aligned}
# $$ (eq-attention-slope)

# %% tags=["nbval-check-output", "remove-input"]
source_of(
    soft_bias,
    soft_bias_gradient,
    advantage_weights,
    heading="The soft bias, its slope and the weights of the advantages in code",
)

# %% [markdown]
# The soft bias is never zero. At equal rates of five sites it is $2 \log 5 / \beta$. Its slope
# there is zero, so equal rates are still a resting point. With a small $\beta$ every site takes
# part in the slope; with a large one only the best and the worst served. For rates of 0.5 to 0.1:

# %% tags=["nbval-check-output", "hide-input"]
rates = np.array([0.5, 0.4, 0.3, 0.2, 0.1])
slopes = pd.DataFrame(
    {
        f"beta {beta}": [soft_bias(rates, beta), *soft_bias_gradient(rates, beta)]
        for beta in (1, 20, 100)
    },
    index=["soft bias", *(f"slope, site {site}" for site in range(1, 6))],
)
slopes.round(3) + 0.0  # turns -0.0 into 0.0

# %% [markdown]
# ## Policies that need no training
#
# What does a constant allocation bring, the same units for every site in every step? The sites do
# not depend on each other then, and the rates follow a known path. So all allocations can be
# evaluated exactly, without drawing a number.

# %% tags=["nbval-check-output", "remove-input"]
source_of(sites_under_constant_units, heading="The exact evaluation of constant units in code")

# %% tags=["nbval-check-output", "hide-input"]
sites = sites_under_constant_units(
    params.initial_rate, params.decrease, params.increase, params.units, params.episode_length
)
allocations = constant_allocations(sites, params.discovered_weight, params.missed_weight)
rows = {}
for alpha in (0.0, 1000.0, 5000.0, alpha_harder, 1e5):
    best = best_allocation(allocations, alpha)
    rows[f"{alpha:,.0f}"] = {
        "units": " ".join(map(str, allocations.units[best])),
        "reward per step": round(allocations.reward[best] / params.episode_length, 3),
        "bias": round(allocations.bias[best], 3),
    }
print(f"The best of {len(allocations.units):,} allocations, by the weight of the bias:")
pd.DataFrame.from_dict(rows, orient="index").rename_axis("alpha")

# %% tags=["nbval-check-output", "remove-input"]
poster = worlds.POSTER["attention-harder"]
greedy = best_allocation(allocations, 0.0)
Words(
    "On the authors' poster G-PPO ends at reward "
    f"{poster['reward']['g-ppo']} with bias {poster['bias']['g-ppo']}, ELBERT-PO at "
    f"{poster['reward']['elbert-po']} with {poster['bias']['elbert-po']}. The best constant "
    f"allocation for the reward has {allocations.reward[greedy] / params.episode_length:.3f}."
)

# %% [markdown]
# A constant allocation cannot follow the rates as they fall. The next policy can. It divides the
# units in proportion to the incidents of the last eight steps, times a fixed **weight** of every
# site. It sees no more than the learned policies (these steps, and the rates so far), and it has
# five numbers, of which four count. They were searched for, once for the reward alone and once for
# ELBERT's own objective, on episodes that no result on this page uses.

# %% tags=["nbval-check-output", "remove-input"]
source_of(ProportionalToIncidents.choose, heading="The rule with weights in code")

# %% tags=["nbval-check-output", "hide-input"]
pd.DataFrame(
    {harder.look.names[policy]: np.exp(found) for policy, found in STATIC["elbert_harder"].items()},
    index=pd.Index(range(1, 6), name="site"),
).T.round(2)

# %% [markdown]
# In the table below, *oracle* divides the units in proportion to the true rates, which nobody sees.

# %% tags=["nbval-check-output", "hide-input"]
look = replace(HARDER.evaluating["book"], final_episodes=40)
rates = {f"rate_{site}": (f"rate {site + 1}", 3) for site in range(5)}
free = {
    name: HARDER.untrained(policy, look)
    for name, (policy, _) in references("elbert_harder").items()
}
harder.live_table(page.live({}, 2000, free), shown | rates)

# %% [markdown]
# *Weights for both* has more reward and less bias than any method on the poster.
#
# :::{dropdown} In the original environment the best rule favours one site
# The original environment is another matter. All sites respond alike there, there are far fewer
# units, and under good work the rates fall to nothing early in the episode. With the paper's weight
# the objective hardly sees the bias there, so *weights for the objective* is a policy for the
# reward, and it favours one site. It keeps the other four busy, because a discovered incident pays
# and a missed one costs little. The next table shows it.
# :::

# %% tags=["nbval-check-output", "remove-input"]
easy = {
    name: ORIGINAL.untrained(policy, look) for name, (policy, _) in references("elbert").items()
}
folded(
    original.live_table(page.live({}, 2000, easy), shown | rates),
    "Policies without training in the original environment",
)

# %% [markdown]
# ## Why the objective does not win a lost site back
#
# ELBERT-PO wants equal rates, so one expects it to come to the help of a site that gets nothing.
# Take the constant allocation that is best for its objective, and change only the units at site 5.
# Everything in this table is exact. The last two columns are the weights that the chain rule gives
# to the advantages of site 5. The weight of the reward's advantage is one.

# %% tags=["nbval-check-output", "hide-input"]
units = allocations.units[best_allocation(allocations, alpha_harder)].copy()
rows = {}
for at_site_5 in (6, 3, 2, 1, 0):
    units[4] = at_site_5
    supply, demand = (found[np.arange(5), units] for found in (sites.supply, sites.demand))
    weights = advantage_weights(supply, demand, alpha_harder, BETA)
    rows[at_site_5] = {
        "incidents in an episode": f"{demand[4]:,.0f}",
        "rate": round(supply[4] / demand[4], 3),
        "rates of the others": " ".join(f"{rate:.2f}" for rate in (supply / demand)[:4]),
        "weight of the supply": round(weights[5], 2) + 0.0,
        "weight of the demand": round(weights[10], 2) + 0.0,
    }
pd.DataFrame.from_dict(rows, orient="index").rename_axis("units at site 5")

# %% [markdown]
# In the first line site 5 is served better than others, and the objective pushes its
# supply down. As units are taken away the push becomes a pull, and the pull stays weak. In the last
# line, where the site gets nothing and the bias is as large as it can be, there is no pull at all.
# The rate is supply over demand, and its slope in the supply is one over the demand. A site that
# gets nothing has so many incidents that discovering one more changes nothing.
#
# So the objective pushes a quiet site towards a cliff and does not pull it back from below. What
# can keep a learner on top is a reward that counts every missed incident.

# %% [markdown]
# ## Train it yourself
#
# Two short runs in the harder environment: G-PPO, and ELBERT-PO with the paper's weight. They take
# much larger steps than the stored runs, so that something happens within a minute. Change the
# numbers and run the cell again.

# %% tags=["nbval-ignore-output"]
quick = replace(
    HARDER.learning["book"], minibatch=1024, epochs=4, learning_rate=4e-4, total_steps=80_000
)
seen = replace(HARDER.evaluating["book"], every=4, final_episodes=20)
learners = {"g-ppo": Strategy(), "elbert-po": ElbertPO.as_coded(alpha_harder, BETA)}
live = page.live(
    {
        method: replace(HARDER.learned(strategy, "book"), learning=quick, evaluating=seen)
        for method, strategy in learners.items()
    },
    1000,
    {policy: free[policy] for policy in ("constant-reward", "static-optimum")},
)
harder.live_table(live, shown | rates)

# %% tags=["nbval-ignore-output", "hide-input"]
harder.live_curves(
    live,
    "reward",
    "The live runs: reward per step on evaluation episodes during training. One run each.",
)

# %% tags=["nbval-ignore-output", "hide-input"]
harder.live_curves(
    live, "bias", "The live runs: bias on evaluation episodes during training. One run each."
)

# %% [markdown]
# ## What came out
#
# These are runs with our settings; those with the authors' stand further down. Thin lines are
# single runs, and nothing is smoothed. Runs that lose a site fall far below all others, and no run
# ends where the mean over both kinds stands. So in the harder environment the thick lines are
# medians, without a band, and the axis of the reward is logarithmic below -3. In the original one
# they are means with 95 % intervals.

# %% [markdown]
# ### Harder environment, as coded

# %% tags=["nbval-ignore-output", "hide-input"]
harder.curves(
    "bias",
    "as_coded",
    "Bias during training, harder environment, as coded. Horizontal lines: policies "
    "without training.",
)

# %% tags=["nbval-ignore-output", "hide-input"]
harder.curves(
    "reward",
    "as_coded",
    "Reward per step during training, harder environment, as coded. Horizontal lines: policies "
    "without training.",
)

# %% [markdown]
# ELBERT-PO's runs are of two kinds. Some lose a site, and the reward of these is many times as
# negative as that of any other run. Those that end with all sites end about where the poster has
# ELBERT-PO, with less bias than all others and about as much reward as the best. The next table
# keeps the two kinds apart; the interval of the share is an exact one of 95 %. To compare only the
# runs that went well with all runs of the others would be to select on the result. So the claims
# count all runs, and ask in how many of them ELBERT-PO is the best.

# %% tags=["nbval-check-output", "hide-input"]
worlds.lost_table(harder)

# %% [markdown]
# ### Harder environment, as published

# %% tags=["nbval-ignore-output", "hide-cell"]
harder.curves(
    "bias",
    "as_published",
    "Bias during training, harder environment, as published. Horizontal lines: policies "
    "without training.",
)

# %% tags=["nbval-ignore-output", "hide-cell"]
harder.curves(
    "reward",
    "as_published",
    "Reward per step during training, harder environment, as published. Horizontal lines: policies "
    "without training.",
)

# %% tags=["nbval-ignore-output", "hide-cell"]
harder.scatter(
    "as_published",
    beside=untrained,
    caption="Reward against bias of the last policies, harder environment, as published.",
)

# %% tags=["nbval-check-output", "hide-input"]
worlds.lost_table(harder, "as_published")

# %% tags=["nbval-check-output", "hide-input"]
worlds.lost_table(harder, "ablation")

# %% tags=["nbval-check-output", "remove-input"]
fairest = worlds.fairest_run(harder, "elbert-po", "as_published")
harder.say(
    "As published, ELBERT-PO combines the raw advantages of Proposition 3.2. Every run ends with "
    "less bias than any run of the other three, "
    f"{harder.spread('bias_exact', 'elbert-po', 'as_published')}, where G-PPO has "
    f"{harder.spread('bias_exact', 'g-ppo', 'as_published')} and R-PPO "
    f"{harder.spread('bias_exact', 'r-ppo', 'as_published')} (middle run, lowest, highest). "
    f"{worlds.lost_in_words(harder.results, 'elbert-po', 'as_published')}.",
    *(
        []
        if fairest is None
        else [
            f"The run with the least bias of all, {fairest['bias']:.3f}, has a reward of "
            f"{fairest['reward']:.0f}: it has lost every site, and where it discovers most it "
            f"discovers {fairest['best_rate']:.1%} of the incidents. All sites are served equally "
            "because none is served. By the bias alone it is the fairest run."
        ]
    ),
)

# %% [markdown]
# The second table is of an ablation that neither text nor code has: discounted totals, and raw
# advantages that are combined and then standardised once. No run of it loses a site. But no run
# ends where those end that went well as coded. It earns less than any other method here, and has
# more bias than R-PPO. Whether it is fairer than G-PPO cannot be told. What it has more than each
# of them, over the same seeds:

# %% tags=["nbval-check-output", "hide-input"]
ours = ("elbert-po-discounted", "ablation")
others = ("g-ppo", "r-ppo", "a-ppo")
harder.differences(
    {f"less {METHODS[other].label}": (ours, (other, "as_published")) for other in others},
    {"reward": ("reward", 3), "bias_exact": ("exact bias", 3)},
)

# %% [markdown]
# It is the discount or the weight, which is about ten times as heavy. We did not try which. The
# [ablations](ablations.ipynb) have the same form with plain sums. It earns as much as
# G-PPO after as many steps, none of its ten runs loses a site, and it has a small part of G-PPO's
# bias. Discounted totals look at the first hundred steps of an episode, when all sites are still
# nearly as busy as at the start; the bias is judged over a thousand.

# %% [markdown]
# ### Original environment

# %% tags=["nbval-check-output", "remove-input"]
share = original.experiment.horizon["book"] / original.experiment.horizon["paper"]
original.say(
    f"No run has the authors' settings here. All have ours and stop after {share:.0%} of the "
    "authors' steps."
)

# %% tags=["nbval-ignore-output", "hide-cell"]
original.curves(
    "bias",
    "as_coded",
    "Bias during training, original environment, as coded. Horizontal lines: policies "
    "without training.",
)

# %% tags=["nbval-ignore-output", "hide-cell"]
original.curves(
    "reward",
    "as_coded",
    "Reward per step during training, original environment, as coded. Horizontal lines: policies "
    "without training.",
)

# %% tags=["nbval-ignore-output", "hide-input"]
original.scatter(
    "as_coded",
    beside=untrained,
    caption="Reward against bias of the last policies, original environment, as coded.",
)

# %% tags=["nbval-ignore-output", "hide-cell"]
original.scatter(
    "as_published",
    beside=untrained,
    caption="Reward against bias of the last policies, original environment, as published.",
)

# %% [markdown]
# What do these policies do? The next table counts incidents, found or not, at all sites together.

# %% tags=["nbval-check-output", "remove-input"]
original.missing if original.results.empty else folded(
    original.labelled(worlds.summed_over_groups(original.results, "demand").to_frame("incidents")),
    "Incidents per step at all sites together",
)

# %% [markdown]
# The same number of units everywhere leaves fewest, and every learned policy several
# times as many. The reward of the original environment pays one for an incident that is discovered
# and takes a quarter for one that is missed. Where more than one in five is discovered, an incident
# is a profit. So the learners let most sites stay busy, and the rule with weights does the same at
# all sites but one. The benefit rate says nothing about how much there is to suffer.
#
# That may be why their bias is small: busy sites that are treated alike have the same rate. G-PPO,
# which does not look at the bias, arrives there too, as the paper says. As coded A-PPO has a little
# less bias than G-PPO and ELBERT-PO a little more; as published neither can be told from it. R-PPO
# earns less than the others and has more bias.

# %% tags=["nbval-check-output", "remove-input"]
original.aside(
    "Why R-PPO may earn less",
    "R-PPO learns slowly, and its reward still rises at the end. Its penalty looks at the rates of "
    "the episode so far, which are noisy while it is young; whether this is the reason we have not "
    "tested.",
)

# %% tags=["nbval-check-output", "remove-input"]
folded(
    original.differences(
        {
            f"{METHODS[method].label}, {plain(variant)}": ((method, variant), ("g-ppo", variant))
            for variant in ("as_coded", "as_published")
            for method in ("r-ppo", "a-ppo", "elbert-po")
        },
        shown,
    ),
    "What every method has more than G-PPO, over the same runs",
)

# %% [markdown]
# ### The numbers

# %% tags=["nbval-check-output", "remove-input"]
final = shown | {"bias_exact": ("exact bias", 3)}
folded(harder.table(final), "Final values, harder environment")

# %% tags=["nbval-check-output", "remove-input"]
folded(original.table(final), "Final values, original environment")

# %% [markdown]
# ### Beside the authors' numbers
#
# The poster's numbers were read off its plot, at the end of five million steps. They are the last
# point of a smoothed curve, about twelve evaluations; ours are the last policy alone. Claims use
# both.

# %% tags=["nbval-check-output", "remove-input"]
beside_poster = worlds.both_beside_poster(harder, authors)
harder.missing if beside_poster.empty else folded(
    beside_poster,
    "Both profiles and the poster. Two kinds: runs end far apart; the middle, lowest and highest",
)

# %% [markdown]
# ## How the rates move
#
# The paper's Figure 9 shows supply and demand of the *advantaged* and the *disadvantaged* site: the
# ones with the highest and the lowest rate in the evaluation at hand. The paper reads from it that
# the bias is reduced largely by increasing the demand of the advantaged group and decreasing the
# demand of the disadvantaged one. Which sites these are can change from one evaluation to the next,
# so a line can jump without anything happening at any site.

# %% tags=["nbval-ignore-output", "hide-input"]
harder.show(
    worlds.supply_and_demand(harder.results, logarithmic_beyond=10.0),
    "Supply and demand of the best and the worst served site during training, as coded, one panel "
    "per method. Median of the runs. Logarithmic above 10.",
    "supply_demand",
)

# %% [markdown]
# In the panels of R-PPO and A-PPO the demand of the best served site rises and that of the worst
# served falls, as the paper says of ELBERT-PO, whose own first line rises little. But site by site
# no demand rises like these lines. What changes is who is best served: at first the quietest site,
# later the busiest. So the lines jump from one site to another.
#
# :::{dropdown} Site by site, incidents before training and after it
# The lines above and the next table are medians of the runs, which those that have lost a site do
# not move. The table has the incidents per step at every site before training (*at random*) and
# after it. The busiest site, the first, has half as many incidents as before, under every method.
# The next one has fewer, too, and the others have about as many or about one more in two steps.
# :::

# %% tags=["nbval-check-output", "remove-input"]
by_site = worlds.demand_by_site(harder)
folded(by_site, "Incidents per step at every site")

# %% [markdown]
# ## Text against code
#
# - The main text writes the harder reward as the number of missed incidents. The appendix, the code
#   and the figures have a quarter of it.
# - The observation is not scaled. Where a site is neglected, incident counts in the hundreds enter
#   the network.
# - One norm of the gradient is clipped for all twelve networks together. The critics of the demand
#   have to learn sums in the thousands, and while they do, the policy hardly moves. The
#   [ablations](ablations.ipynb) have runs with a norm for each network.
# - The evaluation adds one per episode to the demand. In the harder environment that is nothing; in
#   the original one site 5 has few incidents in an episode, and the table of final values shows it.

# %% [markdown]
# ## What our settings change

# %% tags=["nbval-check-output", "remove-input"]
folded(
    worlds.settings_table({"harder": harder.experiment, "original": original.experiment}),
    "All settings of training",
)

# %% [markdown]
# Environment, episodes, rewards, discount and the weights of all methods are the authors'. Our
# settings were chosen on run numbers from 1000 on, which no result uses.
#
# :::{dropdown} How these settings were chosen, and what they risk
# In the original environment ours take fewer and larger steps, and R-PPO's reward still rises where
# they end. In the harder one they follow the authors' closely, because every shortcut that we tried
# made ELBERT-PO lose a site in some runs: larger rollouts, larger minibatches, steps half as large
# again, hidden layers of half the width. A lost site fills the observation with counts that no
# network has seen, and the objective does not pull it back. One of the shortcuts is among the
# [ablations](ablations.ipynb).
#
# The authors' own settings do not prevent it. Ten runs of ELBERT-PO with these settings, stopped
# after the first million steps, are among the ablations, and about as many of them have lost a site
# as of ours. The poster shows no lost site, which is no contradiction: it shows three runs, and
# with such a share three in a row that keep all sites are no rarity. But its curve is above all of
# ours over the first half million steps, although that of G-PPO agrees, so something at the
# beginning of the training differs that [we have not found](ablations.ipynb). What may lose the
# sites is there, too: a habit of the code, to standardise every advantage on its own before they
# are combined.
# :::

# %% [markdown]
# ### Our settings beside the authors'
#
# The profile `paper` trains as the authors' scripts do. If our settings do no harm, the
# intervals of both meet.

# %% tags=["nbval-check-output", "remove-input"]
folded(
    harder.beside(authors, shown),
    "Final values with our settings and with the authors', and whether intervals meet",
)

# %% tags=["nbval-check-output", "hide-input"]
worlds.lost_table(authors)

# %% tags=["nbval-ignore-output", "hide-cell"]
authors.curves(
    "reward",
    "as_coded",
    "Reward per step during training with the authors' settings, harder environment, as coded. "
    "Logarithmic below -3.",
    beside=(),
)

# %% [markdown]
# G-PPO, R-PPO and A-PPO end as with our settings.

# %% tags=["nbval-check-output", "remove-input"]
authors.say(
    f"There are {worlds.how_many(authors, 'elbert-po')} of ELBERT-PO so far, of "
    f"{authors.experiment.seeds['paper']}. In {worlds.best_in_words(authors)} ELBERT-PO has the "
    "least bias and the most reward of the four methods. "
    f"{worlds.lost_in_words(authors.results, 'elbert-po')}. Its rewards are "
    f"{authors.spread('reward', 'elbert-po', 'as_coded')} (middle run, lowest, highest)."
)

# %% [markdown]
# That is even more than on the poster. With our settings the runs that end with all sites do about
# so, too.
#
# So few runs do not make the authors' settings safe. Deep dips of the curve are sites that are
# lost by our measure, and won back. And among [the runs that were stopped](ablations.ipynb) after
# a million of the same steps some had lost a site. So had our first run of all five million,
# since replaced.
#
# :::{dropdown} Whether the stopped runs would have won their sites back, nobody knows
# Early in the training a site can be won back, as the dips show. Whether the stopped runs that had
# lost one would have won it back in the steps that were left, nobody knows. They have later run
# numbers than the runs that went on.
# :::

# %% [markdown]
# ## What it means
#
# The benefit rate asks whether an incident is discovered, not how many there are. An objective made
# of such rates neither sees suffering that was provoked and then served, nor pulls back a site that
# is lost. Nor does the bias tell a run that serves all sites well from one that serves none. A rule
# that follows the recent past, with one weight per site, has more reward than any learned run, and
# less bias than all but one, which has lost every site. What would change our mind:
#
# - **Runs with the authors' settings** that end elsewhere. The profile `paper` makes them.
# - **A learned policy above and to the left of the weighted rule** by more than its interval. The
#   answer to `elbert-static-attention` would then be *yes*.
# - **A problem where incidents are hard to predict.** Here the recent past tells nearly everything,
#   which is kind to a rule that looks at nothing else.

# %% [markdown]
# ## Exercises
#
# ```{exercise} Five numbers by hand
# :label: exercise-attention-weights
#
# Find weights by hand that reach a bias below 0.05 in the harder environment. Start with equal
# weights and look at the rates. `ProportionalToIncidents(weights, slice(5, 10), ROWS)` is the rule,
# and `play_episodes(acting(rule), HARDER.world.make(16, 1024), seed)` plays it.
# ```

# %% [markdown]
# ```{solution-start} exercise-attention-weights
# :class: dropdown
# ```
#
# Raise the weight of a site whose rate is below the average, in proportion to what it lacks, and
# repeat.

# %% tags=["nbval-check-output"]
weights = np.ones(5)
rows = []
for attempt in range(5):
    agent = ProportionalToIncidents(tuple(weights), slice(5, 10), ROWS)
    env = HARDER.world.make(16, 1024)
    totals = play_episodes(acting(agent), env, seed=100 + attempt)
    found = measured_with_extremes(totals, "final", 0).set_index(["metric", "group"])["value"]
    rows.append(
        {
            "weights": " ".join(f"{weight:.2f}" for weight in weights / weights[0]),
            "reward": round(found["reward", -1], 3),
            "bias": round(found["bias", -1], 3),
        }
    )
    weights = weights * np.exp(3.0 * (found["rate"].mean() - found["rate"].to_numpy()))
pd.DataFrame(rows)

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} What a missed site costs
# :label: exercise-attention-neglect
#
# Let a constant allocation give nothing to site 5. How many incidents happen there in an episode,
# and what does that do to the reward?
# ```

# %% [markdown]
# ```{solution-start} exercise-attention-neglect
# :class: dropdown
# ```

# %% tags=["nbval-check-output"]
without = allocations.units[:, 4] == 0
best = np.flatnonzero(without)[allocations.reward[without].argmax()]
print(f"incidents at site 5: {sites.demand[4, 0]:,.0f} instead of {sites.demand[4, 2]:,.0f}")
print(f"reward per step: {allocations.reward[best] / params.episode_length:.0f}")

# %% [markdown]
# This is what a learner falls into when it loses a site.
#
# ```{solution-end}
# ```
#
# ```{exercise} The softer objective
# :label: exercise-attention-soft
#
# With more than two groups the objective is $\eta - \alpha\,(b^{soft})^2$ (the paper's Equation 5).
# Choose supplies and demands of five sites. By how much does one more discovered incident at each
# site change the second term? Hold the answer against `advantage_weights`.
# ```

# %% [markdown]
# ```{solution-start} exercise-attention-soft
# :class: dropdown
# ```

# %% tags=["nbval-check-output"]
supply, demand = np.array([30.0, 20.0, 12.0, 8.0, 2.0]), np.array([60.0, 50.0, 40.0, 20.0, 20.0])
small, rows = 1e-4, {}
for beta in (1, 20, 100):
    above, below = (
        -100.0 * soft_bias((supply + sign * small * np.eye(5)) / demand, beta) ** 2
        for sign in (1, -1)
    )
    weights = advantage_weights(supply, demand, alpha=100.0, beta=beta)
    rows[f"beta {beta}", "by differences"] = (above - below) / (2 * small)
    rows[f"beta {beta}", "advantage_weights"] = weights[1:6]
pd.DataFrame(rows, index=[f"rate {rate:.1f}" for rate in supply / demand]).round(3).T + 0.0

# %% [markdown]
# One more discovered incident helps where the rate is low and harms where it is high. With a small
# $\beta$ the sites in between have a say; with a large one hardly. Among sites of equal rate it
# counts more where the demand is smaller, because it moves the rate further.
#
# ```{solution-end}
# ```

# %% [markdown]
# ## The verdicts
#
# Claims that are *asked here* are not the paper's. They ask whether the learned policy beats a rule
# of five numbers, and how often it loses a site.

# %% tags=["nbval-check-output", "remove-input"]
page.claims()

# %% tags=["nbval-ignore-output", "remove-input"]
page.gaps()

# %% [markdown]
# ## Where this came from

# %% tags=["nbval-check-output", "remove-input"]
folded(harder.cost(), "What the runs in the harder environment cost")

# %% tags=["nbval-check-output", "remove-input"]
folded(original.cost(), "What the runs in the original environment cost")

# %% tags=["nbval-ignore-output", "remove-input"]
page.origin(["numpy", "scipy", "torch", "stable-baselines3"], [train_and_evaluate])
