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
# # Constrained cross-entropy
#
# *A search that draws whole policies, keeps the fair ones that earn most, and draws again near
# them.*

# %% tags=["parameters", "remove-input"]
profile = "book"

# %% tags=["hide-input"]
import numpy as np
import pandas as pd

from longfair.agents.fair_mdp.cross_entropy import (
    CrossEntropy,
    ExponentialWeights,
    Gaussians,
    Scores,
    choose_elites,
    elite_weights,
    required_rollouts,
    required_steps,
    search,
)
from longfair.agents.fair_mdp.policy_network import PolicyNetwork, inputs_of
from longfair.agents.fair_mdp.softmax_network import softmax_of_two
from longfair.envs.loan_mdp.exact import evaluate
from longfair.figures import Words, folded, source_of
from longfair.papers.fairmdp import cross_entropy_results as searches
from longfair.papers.fairmdp import exact_results
from longfair.papers.fairmdp.cross_entropy import TOLERANCES
from longfair.papers.fairmdp.loans import loan_problem
from longfair.papers.fairmdp.searching import Sampling, Searching
from longfair.papers.page import Page

page = Page(
    profile,
    "fairmdp/figure1",
    "fairmdp/tolerances",
    "fairmdp/ingredients",
    look=searches.LOOK,
    claims=["fairmdp-20", "fairmdp-24", "fairmdp-24-tolerance", "fairmdp-without-the-step"],
)
runs, sweep, changed = (page.of(experiment.id) for experiment in page.experiments)
numbers = exact_results.stored(page.store)
problem = loan_problem()

# %% [markdown]
# ## In two minutes
#
# Can a search over neural networks, Algorithm 2 of {cite:t}`wen2021fairmdp` (Section 4, Figures 1,
# 2a and 2b), keep the gap between two groups within 0.1 at little cost, as they report, and does it
# find the [best fair policy](exact.ipynb)?

# %% tags=["nbval-ignore-output", "hide-input"]
runs.show(
    searches.scatter(runs, numbers, "dp", "as_coded"),
    "Demographic parity, as coded: profit against the gap between the groups. Large marks are "
    "means with 95 % intervals over searches, small ones single searches. Black is exact: the line "
    "is the best profit for every gap. Optimistic is a baseline that is fair in its first decision "
    "only.",
    "dp_as_coded",
)

# %% tags=["nbval-check-output", "remove-input"]
best = {
    variant: exact_results.cost_of_fairness(numbers, "dp", rates, searches.TOLERANCE)
    for variant, rates in searches.RATES_OF.items()
}
runs.say(
    "*As coded*, by the authors' scripts, the search earns a profit of "
    f"{runs.mean('profit', 'cce-dp', 'as_coded'):.3f} "
    f"({runs.mean('reward', 'cce-dp', 'as_coded'):.3f} with the constant of their code, where "
    f"{searches.PRINTED['cce-dp', 'reward']:.2f} is printed), and the policy returned keeps the "
    "tolerance, rounded as printed, in "
    f"{searches.kept(runs, 'cce-dp', 'as_coded', tolerance=0.105, returned=True)}.",
    "*As published*, by the text, it earns a profit of "
    f"{runs.number('profit', 'cce-dp', 'as_published')}, and the policy returned keeps it in "
    f"{searches.kept(runs, 'cce-dp', 'as_published', returned=True)}.",
    "It does not find the best fair policy: as coded, parity seems to cost "
    f"{searches.seeming_cost(runs, 'as_coded'):.1%} of the profit, when searches are compared with "
    f"searches (medians), and between the best policies it costs {best['as_coded']:.2%}; as "
    f"published these are {searches.seeming_cost(runs, 'as_published'):.1%} and "
    f"{best['as_published']:.1%}.",
)

# %% [markdown]
# **Why?** We have not tested it, but it is not because the networks do not see the step: as coded,
# a policy that sees only what they see reaches the best profit within 0.1
# (`fairmdp-without-the-step`).
#
# **What would change our mind?** A search that reaches the black line.
#
# *You need* the loan problem of [exact solutions](exact.ipynb). *Time:* 25 minutes to read, two
# minutes on one core.

# %% [markdown]
# ## The problem
#
# A linear program needs a finite problem with known transitions. Algorithm 2 needs only a simulator
# and a family of policies, here small networks. Four methods search:
#
# - **Algorithm 2**, the constrained cross-entropy method of {cite:t}`wen2018constrained`, compares
#   the groups' lending rates over the whole episode.
# - **Race-blind** has no constraint and does not see the group.
# - **Optimistic** compares the rates of the first decision only.
# - **Conservative** gives everybody the same chance of a loan, always.
#
# *As coded* means the computations of the authors' scripts: exact evaluation, loans counted without
# discount, exponential weights. *As published* means those of the text: sampled episodes,
# discounted rates, weights linear in the profit, and, by our choice, for Algorithm 2 alone a
# tightened tolerance; the paper's baseline is a modification of Algorithm 2, so it may have one,
# too. *Profit* is the reward without the constant of 2 per step that the code adds.

# %% [markdown]
# ## The idea
#
# The search treats the weights of a network as one long vector and does not differentiate anything.
# It draws many vectors at random, looks at how each policy does, and moves the distribution it
# draws from towards the best of them, the **elites**. What is best? As long as too few policies are
# fair, the fairest ones. Once enough are fair, those of them that earn most. That order is the
# whole treatment of the constraint.
#
# So nothing has to be smooth. But there is a danger. A policy that never lends is perfectly fair.
# If fair policies are rare in the first draws, those that hardly lend are the fairest, the
# distribution moves towards them, and shrinks while it moves.
#
# With independent Gaussians $f_v$ over the weights $\theta$, the moments are
# $\eta = (\mathbb E[\theta], \mathbb E[\theta^2])$. With $n'$ elites of $n$ draws, weights $w_i$
# and a step $\alpha$, one iteration moves them to
#
# $$
# \eta \leftarrow \alpha\, \frac{\sum_{i \le n'} w_i\, \Gamma(\theta_i)}{\sum_{i \le n'} w_i}
# + (1 - \alpha)\, \eta, \qquad \Gamma(\theta) = (\theta, \theta^2) .
# $$ (eq-cce-moments)

# %% tags=["nbval-check-output", "remove-input"]
source_of(search, choose_elites, Gaussians.moved)

# %% [markdown]
# In the paper an elite weighs as much as its reward, $w_i = \hat R_i$. Rewards that are not
# positive need some rule, which the text does not give; here their elites weigh a thousandth. In
# the code $w_i = \exp\big((\hat R_i - \hat R_{min}) / \kappa\big)$ with $\kappa$ a fifth of the
# range of the elites' rewards, or 1 where that is below $10^{-5}$.

# %% tags=["nbval-check-output", "remove-input"]
source_of(elite_weights, ExponentialWeights.of)

# %% [markdown]
# There is a trap between the two. The code adds 2 to the reward of every step, so all its rewards
# lie near 10. Exponential weights do not feel a constant. Linear ones do. Five elites, from a
# policy that never lends to a very good one:

# %% tags=["nbval-check-output", "hide-input"]
profits = np.array([0.0, 0.1, 0.2, 0.3, 0.4])
weights = pd.DataFrame(
    {
        "linear, of the profit": elite_weights(profits, "linear with floor"),
        "linear, with the constant": elite_weights(profits + problem.offset_total, "linear"),
        "exponential": elite_weights(profits, "exponential"),
    },
    index=pd.Index(profits, name="profit"),
)
(weights / weights.sum()).round(3)

# %% [markdown]
# With linear weights of a reward of ten the best elite counts hardly more than the one that never
# lends, and the choice of the elites is all that drives the search. Nobody proposed that: the
# paper's text has no constant, and the code has no linear weights. We ran it to see what the
# constant does; it is called *with the code's constant* below.

# %% [markdown]
# ## What a policy is worth
#
# A policy is a network of 802 numbers that reads the mean of the belief, $\alpha - \beta$ and the
# group. It does not see the step. Its second input reaches tens, so networks with random weights
# are almost deterministic from the start.

# %% tags=["nbval-check-output", "remove-input"]
source_of(
    inputs_of,
    PolicyNetwork.last_layers,
    PolicyNetwork._chances_of_group,
    softmax_of_two,
    heading="What the networks see and say, in Python",
)

# %% [markdown]
# The authors' code evaluates a policy exactly, by a recursion over everything that
# can happen to an applicant. So do we, for a whole population at once: each distinct belief goes
# through each network once, and impossible ones never. As coded it takes both outputs of a network,
# each rounded. Whoever lends with one chance whatever happens has no gap, and whoever never lends
# has the reward of 10.00 that Figure 1 shows for the conservative baseline. That is the added
# constant and nothing else: the profit is zero.

# %% tags=["nbval-check-output", "hide-input"]
constant = searches.constant_lenders((0.0, 0.1, 0.25, 0.5, 0.75, 1.0))
named = constant.rename(columns=searches.QUANTITIES).round(4) + 0.0  # turns -0.0 into 0.0
named[["reward", "profit", "parity gap", "opportunity gap"]]

# %% [markdown]
# In the paper policies are estimated from sampled episodes. Theorem 4.2 says how many, and how
# long, so that a policy whose *estimated* gap is at most $(1 - \sigma)\epsilon$ has a *true* gap of
# at most $\epsilon$ with probability $1 - \delta$. The printed constants are lost; ours are in the
# code.

# %% tags=["nbval-check-output", "remove-input"]
source_of(
    required_rollouts,
    required_steps,
    heading="How many episodes, and how long ones, in Python",
)

# %% tags=["nbval-check-output", "remove-input"]
sampling = Sampling()
rollouts, steps = sampling.size(searches.TOLERANCE)
Words(
    f"For a tolerance of {searches.TOLERANCE}, of which {sampling.tightening:.0%} are kept back, "
    f"and a risk of {sampling.risk:.0%} these are {rollouts:,} episodes of {steps} steps for each "
    "group and each of the fifty policies of an iteration."
)

# %% [markdown]
# :::{dropdown} How so many episodes are played
# Playing them one by one would be hopeless. But episodes that are in the same situation can be
# moved on together, with binomial draws for how many of them get a loan and repay it. The estimate
# has the same distribution, and its cost hardly depends on the number of episodes.
# :::

# %% [markdown]
# ## Search yourself
#
# Two searches with the authors' settings, from the same first population: race-blind and Algorithm
# 2. They stop after 25 of the authors' 80 iterations. Change the methods or the run number and run
# it again.

# %% tags=["nbval-ignore-output"]
live = searches.live(run=1000, iterations=25, methods=["race-blind", "cce-dp"])
runs.live_curves(
    live,
    "profit",
    "The live searches: mean profit of the five elites. One run each, so this proves nothing.",
    across="iteration",
)

# %% tags=["nbval-ignore-output", "hide-input"]
runs.live_curves(
    live, "gap_dp", "The live searches: mean gap of the elites, as coded.", across="iteration"
)

# %% [markdown]
# Algorithm 2 finds policies within the tolerance almost at once. Its profit climbs while the gap
# stays below the tolerance, and a single iteration can throw it back.

# %% [markdown]
# ## What came out
#
# ### Demographic parity
#
# The figure at the top has the searches as coded. The conservative baseline is not drawn, because
# it has no profit and no gap. A search counts as the mean of its last five elites.

# %% tags=["nbval-check-output", "remove-input"]
apart = [searches.largest_disagreement(runs, variant) for variant in searches.GAP_OF]
runs.say(
    "The paper does not say whether it shows the elites, all samples or the last one. At the end "
    f"of a search these differ by up to {apart[0]:.3f} in the gap as coded, and by up to "
    f"{apart[1]:.3f} as published."
)

# %% tags=["nbval-ignore-output", "hide-input"]
runs.show(
    searches.scatter(runs, numbers, "dp", "as_published"),
    "Demographic parity, as published. The gap compares discounted rates.",
    "dp_as_published",
)

# %% [markdown]
# So the trade-off of Figure 1 is, as coded, one of the search and not of the problem. There is a
# policy that is as fair by this measure and earns almost what the best of all earns. It evens out
# at the very end, and by the paper's own measure it is as unfair as no constraint, which the
# searches are not. As published, fairness has a real price, and the search loses nearly half as
# much again, a part of it by the tightening that we chose.

# %% [markdown]
# ### Equal opportunity
#
# The same for those who start qualified.

# %% tags=["nbval-ignore-output", "hide-input"]
runs.show(
    searches.scatter(runs, numbers, "eo", "as_coded"),
    "Equal opportunity, as coded.",
    "eo_as_coded",
)

# %% tags=["nbval-ignore-output", "hide-input"]
runs.show(
    searches.scatter(runs, numbers, "eo", "as_published"),
    "Equal opportunity, as published.",
    "eo_as_published",
)

# %% [markdown]
# ### Beside the printed numbers
#
# As coded, rewards and gaps under parity agree with print; the verdict on the gap without a
# constraint is *inconclusive* for one search that ends far from the others. The gaps under equal
# opportunity depend on the search: the ranges of the optimistic baseline and of Algorithm 2
# overlap, so the printed order, which the paper calls fairly close, is unstable.

# %% tags=["nbval-check-output", "hide-input"]
searches.beside_the_paper(runs)

# %% tags=["nbval-check-output", "remove-input"]
folded(searches.beside_the_paper(runs, ranges=True), "The range over searches")

# %% [markdown]
# ### Other tolerances
#
# The tighter the tolerance, the fewer policies of the first population are fair (Figures 2a and
# 2b). Some searches then end with a policy that *hardly lends*: it is fair because nobody gets a
# loan, and its profit is near zero. Few searches end between. So the broad lines are
# medians, without an interval, and thin lines are single searches.

# %% tags=["nbval-ignore-output", "hide-input"]
runs.show(
    searches.against_tolerance(runs, sweep, numbers, "gap", "as_coded"),
    "Gap against tolerance, as coded.",
    "gap_by_tolerance_as_coded",
)

# %% tags=["nbval-ignore-output", "hide-input"]
runs.show(
    searches.against_tolerance(runs, sweep, numbers, "profit", "as_coded"),
    "Profit against tolerance, as coded, and the exact frontier.",
    "profit_by_tolerance_as_coded",
)

# %% tags=["nbval-ignore-output", "hide-cell"]
runs.show(
    searches.against_tolerance(runs, sweep, numbers, "gap", "as_published"),
    "Gap against tolerance, as published.",
    "gap_by_tolerance_as_published",
)

# %% tags=["nbval-ignore-output", "hide-cell"]
runs.show(
    searches.against_tolerance(runs, sweep, numbers, "profit", "as_published"),
    "Profit against tolerance, as published, and the exact frontier.",
    "profit_by_tolerance_as_published",
)

# %% tags=["nbval-check-output", "remove-input"]
baselines = ["optimistic-dp-0025", "optimistic-dp-0050"]
optimistic = [sweep.number("gap_dp", name, "as_coded") for name in baselines]
ranges = [searches.range_of_gaps(sweep, name, "as_coded") for name in baselines]
mixed = [searches.median_gap_as_coded(sweep, name) for name in baselines]
tight, returned = (
    {
        variant: searches.kept(
            sweep, "cce-dp-0025", variant, tolerance=TOLERANCES["0025"], returned=of_returned
        )
        for variant in searches.GAP_OF
    }
    for of_returned in (False, True)
)
sweep.say(
    "The elites of Algorithm 2 keep a tolerance of 0.025 in "
    f"{tight['as_coded']} as coded and in {tight['as_published']} as published, the policies "
    f"returned in {returned['as_coded']} and {returned['as_published']}. For tolerances of 0.05 "
    f"and less some searches hardly lend, with a profit below {searches.NEVER_LENDS}: "
    f"{searches.tight_searches_that_hardly_lend(sweep)}. The tables count by the same number; the "
    f"rules ask for a profit of {searches.HALF_OF_PRINTED}, half of what is printed.",
    "The paper prints gaps of 0.052 and 0.079 for the optimistic baseline at tolerances of 0.025 "
    f"and 0.05. As coded the means are {optimistic[0]} and {optimistic[1]}, and single searches "
    f"end at {ranges[0]} and at {ranges[1]}. Trained as published but measured as the code does, "
    f"the medians are {mixed[0]} and {mixed[1]}; whether the printed gaps come out so cannot be "
    "told.",
)

# %% tags=["nbval-check-output", "remove-input"]
folded(searches.ends(sweep), "What searches for other tolerances end with")

# %% [markdown]
# ### From the code to the paper, one change at a time
#
# What makes searches fail? *As coded* and *as published* are the two ends. Each row between them
# changes one thing of the code, but for *with the code's constant*, which changes one thing of the
# paper. The last one is the paper's version with only the weights of the code. Numbers are medians
# over searches.

# %% tags=["nbval-check-output", "hide-input"]
both = pd.concat([runs.only("cce-dp").results, changed.results])
searches.ends(changed.showing(both), "profit", "range", "gap", "discounted gap", "hardly lend")

# %% [markdown]
# **At 0.1 some searches fail with the constant, and none without it.** *As published* and *with the
# code's constant* differ in nothing else. With the constant, the search hardly tells a policy that
# earns four tenths from one that earns nothing, and some searches end near nothing. Without it, the
# linear weights of the paper do as well at this tolerance as the exponential ones of the code.
#
# :::{dropdown} What the other changes do
# Neither the discount nor the tightened tolerance changes much. Sampling does, when it is the only
# change, probably because Theorem 4.2 cuts episodes off where discounted loans no longer count. The
# code's gap counts late loans in full. Together with the discounted gap, as in the last row,
# sampling does no harm.
# :::

# %% [markdown]
# ### Does the tightened check protect?
#
# Theorem 4.2 is about policies that pass the check. For the populations at the end of the searches
# as published, each policy was checked with fresh episodes, and its true gap is known exactly.

# %% tags=["nbval-check-output", "hide-input"]
searches.checked(runs)

# %% [markdown]
# For Algorithm 2 no policy passes and is unfair: our constants are generous. The optimistic
# baseline checks something else, and under parity most of its policies that pass are unfair. But
# the theorem does not say that the policy returned passes.

# %% tags=["nbval-check-output", "remove-input"]
runs.say(
    "That the returned policy passes is not guaranteed: of Algorithm 2 it does in "
    f"{searches.passing(runs, 'cce-dp')} under parity and in "
    f"{searches.passing(runs, 'cce-eo')} under equal opportunity."
)

# %% [markdown]
# ## Text against code
#
# - **Several settings.** The code has more than one history and discount. We take those under which
#   its race-blind reward is 10.43, so that number is no independent test.
# - **Equal opportunity.** The scripts do not run as shipped. Ours repair them and take the
#   threshold 0.82, beside which the code has 0.852.
# - **Exact evaluation.** A number of rollouts is passed around and never used. Figure 1 does not
#   exercise Theorem 4.2.
# - **Exponential weights** in place of linear ones. They do not feel the constant below.
# - **Undiscounted gaps.** 51 decisions are counted, divided by 50 and not discounted, while the
#   profit is discounted by 0.8 per step. Late loans are then almost free in reward, and exact
#   parity is almost free, too.
# - **A constant of 2 per step**, which the paper's text does not mention and its figures contain.
#   It makes a loss of profit look like hardly any loss of reward, and with linear weights some
#   searches then end near nothing.
#
# :::{dropdown} Three smaller ones
# - **What is returned** is the last network that was drawn, neither an elite nor the mean.
# - **Two outputs** of a network that can sum to more than one, which decides among policies that
#   hardly lend.
# - **A floor** under the second moments by accident, and a repair of negative variances with the
#   wrong sign.
# :::

# %% [markdown]
# ## What it means
#
# At a tolerance of 0.1 the printed numbers can be had again but for some gaps, and most of the
# policies that the searches return keep the tolerance, as coded up to the rounding of the printed
# gap. What Figure 1 shows of the price of fairness is, as coded, nearly all the price of this
# search. At tighter tolerances a search can end with a policy that keeps the tolerance because it
# hardly lends. What would change our mind:
#
# - **A search that reaches the exact frontier.** Scaled inputs or more elites might; neither was
#   tried. As coded the step is not needed for it (`fairmdp-without-the-step`). Then the trade-off
#   of Figure 1 would shrink to the price that the problem has.
# - **Another rule for rewards that are not positive.** Linear weights need one, and the paper gives
#   none. Ours gives such elites next to no weight.

# %% [markdown]
# ## Exercises
#
# ```{exercise} A fair population
# :label: exercise-cce-first
#
# How many policies of the very first population are fair, for tolerances of 0.025 and 0.1? And how
# much do those lend?
# ```

# %% [markdown]
# ```{solution-start} exercise-cce-first
# :class: dropdown
# ```

# %% tags=["nbval-check-output"]
network = PolicyNetwork()
draws = network.start().sample(500, np.random.default_rng(1))
outcome = evaluate(problem, network.chances(problem, draws))
first = {}
for tolerance in (0.025, 0.1):
    fair = outcome.gap() <= tolerance
    first[tolerance] = {
        "fair": f"{fair.mean():.0%}",
        "of these hardly lend": f"{(outcome.rates()[fair].max(axis=1) < 0.05).mean():.0%}",
        "of these lend almost always": f"{(outcome.rates()[fair].min(axis=1) > 0.95).mean():.0%}",
    }
pd.DataFrame.from_dict(first, orient="index").rename_axis("tolerance")

# %% [markdown]
# Most fair policies of the first draw are fair because they do not distinguish anybody.
#
# ```{solution-end}
# ```
#
# ```{exercise} A constant too much
# :label: exercise-cce-weights
#
# Run the code's search with linear weights, once of the reward with its constant and once of the
# profit. Does the constant change where it ends?
# ```

# %% [markdown]
# ```{solution-start} exercise-cce-weights
# :class: dropdown
# ```
#
# The reward that is handed to the search is shifted; everything else stays. Twenty iterations are
# enough to see where it goes. As a comparison, the same with the constant left in.

# %% tags=["nbval-ignore-output"]
settings = CrossEntropy(iterations=20, weights="linear")


def shifted(shift):
    """Search with linear weights of the reward less a shift; return what the elites reach."""

    def score(parameters):
        outcome = evaluate(problem, network.chances(problem, parameters))
        return Scores(np.maximum(outcome.reward - shift, 1e-3), outcome.gap())

    generator = np.random.default_rng(1)
    *_, last = search(score, network.start(), 0.1, settings, generator)
    elites = evaluate(problem, network.chances(problem, last.parameters[last.elites]))
    return {"profit": elites.profit.mean(), "gap": elites.gap().mean()}


rows = {
    f"constant {problem.offset_total - shift:.1f}": shifted(shift)
    for shift in (0.0, problem.offset_total)
}
pd.DataFrame.from_dict(rows, orient="index").round(3)

# %% [markdown]
# One seed proves nothing; the table of single changes above has more of each. Try constants between
# the two.
#
# ```{solution-end}
# ```

# %% [markdown]
# ## The verdicts
#
# A tolerance counts as kept if more than half of the searches keep it, with the whole interval of
# that share, and earn at least half of the profit that the paper prints. Judged is the policy that
# a search returns, as coded up to the rounding that is printed; the elites are asked about beside
# it. Claims that are *asked here* are not the paper's. They ask whether the search finds the best
# fair policy, and whether it needs the weights of the code. The steps of a verdict are iterations
# of a search.

# %% tags=["nbval-check-output", "remove-input"]
page.claims()

# %% tags=["nbval-ignore-output", "remove-input"]
page.gaps()

# %% [markdown]
# ## Where this came from

# %% tags=["nbval-check-output", "remove-input"]
searches.cost_of_runs(runs, sweep, changed)

# %% tags=["nbval-ignore-output", "remove-input"]
page.origin(["numpy", "scipy"], [Searching])
