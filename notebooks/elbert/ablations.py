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
# # Ablations
#
# *One setting changed at a time: those the paper changed, and those it does not mention.*

# %% tags=["parameters", "remove-input"]
profile = "book"

# %% tags=["hide-input"]
from dataclasses import replace

import numpy as np
import pandas as pd

from longfair.agents.learning.flat import FlatParameters
from longfair.agents.ppo import RPPO, ElbertPO
from longfair.agents.ppo.loss import ppo_loss
from longfair.agents.ppo.separate_clipping import SeparateClipping
from longfair.figures import Words, folded, source_of
from longfair.metrics.benefit import soft_bias, soft_bias_gradient
from longfair.papers.elbert import ablations_results as ablations
from longfair.papers.elbert import infectious
from longfair.papers.elbert import world_results as worlds
from longfair.papers.elbert.ablations import (
    ABLATIONS,
    ALPHAS,
    ALPHAS_OF_FIGURE_5,
    BETAS_OF_FIGURE_8,
    PROBLEMS,
)
from longfair.papers.page import Page
from longfair.papers.styles import METHODS

page = Page(profile, *(experiment.id for experiment in ABLATIONS))
forms = {
    experiment.name: page.of(experiment.id, look=ablations.look_of_forms(experiment, profile))
    for experiment in ABLATIONS
}
authors_steps = forms["authors-steps-attention-harder"]
combined = "elbert-po-combined"
by_weight = forms["alpha-attention-harder"]
largest = f"elbert-po-alpha-{max(ALPHAS_OF_FIGURE_5)}"
shown = {"reward": ("reward", 3), "bias": ("bias", 3)}

# %% [markdown]
# ## In two minutes
#
# Which settings of ELBERT-PO matter: the weight $\alpha$ and the sharpness $\beta$, which
# {cite:t}`xu2024elbert` vary (Figures 5, 7 and 8), or four habits of the authors' code that the
# text does not dwell on?

# %% tags=["nbval-ignore-output", "hide-input"]
authors_steps.curves(
    "bias",
    "as_coded",
    "Bias during the first of five million steps of training with the authors' settings, in the "
    "harder of the paper's two attention environments: every advantage standardised on its own, as "
    "in the code, and raw advantages combined first. Thin lines are single runs, thick ones their "
    "medians.",
    beside=(),
)

# %% tags=["nbval-check-output", "remove-input"]
authors_steps.say(
    "With the authors' settings in harder attention, as coded, "
    f"{worlds.lost_in_words(authors_steps.results, 'elbert-po')} within the first of five million "
    "steps; where advantages are combined before they are standardised, "
    f"{worlds.lost_in_words(authors_steps.results, combined)}.",
    "With our settings a weight of 5000 buys less bias there than one of 1000, as the paper says; "
    "whether the paper's main one buys more cannot be told, because with it "
    f"{worlds.lost_in_words(by_weight.results, largest)}.",
    "Elsewhere ten times the paper's weight costs reward, in lending by lending to nearly "
    "everybody, and R-PPO with the sign of Equation 27 opens the gap that it is meant to close.",
)

# %% [markdown]
# **Why?** Standardising makes every advantage equally large, so a site that hardly matters gets as
# much of a say as all others; these runs make this likely, not certain.
#
# **What would change our mind?** The authors' raw results, or forms that come out otherwise with a
# weight tuned for each.
#
# *You need* what ELBERT-PO is, from [lending](lending.ipynb); this page builds on
# [infectious disease](infectious.ipynb) and [attention allocation](attention.ipynb), too. *Time:*
# 20 minutes to read, one minute on one core.

# %% [markdown]
# ## The problem
#
# The figures of the paper are known as pictures only, so the claims are judged by their direction.
# The values of alpha in Figure 7 are in neither the text nor the code: ours are the value of the
# main experiment, a tenth of it and ten times it.

# %% [markdown]
# ## The idea
#
# ELBERT-PO follows the gradient of
#
# $$
# J = \eta - \alpha\, h(z), \qquad h = b^2 \ \text{or} \ (b^{soft}_\beta)^2 .
# $$ (eq-ablations-objective)
#
# The paper varies the weight $\alpha$ of the bias and the sharpness $\beta$ of its smooth form. Its
# code contains further decisions that could matter as much:
#
# 1. every advantage is standardised on its own before the chain rule combines them,
# 2. one norm of the gradient is clipped for all networks together,
# 3. lending is trained on short episodes and evaluated on long ones,
# 4. R-PPO subtracts what Equation 27 of the appendix adds; the main text subtracts, too.
#
# The first is one line of the advantage, and the paper does not mention it:

# %% tags=["nbval-check-output", "remove-input"]
source_of(ElbertPO.advantage)

# %% [markdown]
# The weights of the chain rule, which the proposition derives with care, then multiply quantities
# whose sizes have been forgotten.
#
# The second is about the length of a step. The critics $V_k$ learn what came after a state, $R_k$,
# and their errors are one part of the loss:
#
# $$
# L_V = \frac{1}{2} \sum_k \mathbb E \big[ (V_k(s) - R_k)^2 \big] .
# $$ (eq-ablations-critics)
#
# One factor shortens the gradient $g$ of the whole loss if its norm is above $c$:
#
# $$
# g \leftarrow \min\Big(1, \frac{c}{\lVert g \rVert}\Big)\, g .
# $$ (eq-ablations-norm)

# %% tags=["nbval-check-output", "remove-input"]
source_of(ppo_loss, heading="The loss in code, with the errors of all critics")

# %% tags=["nbval-check-output", "remove-input"]
source_of(
    FlatParameters.clipping,
    SeparateClipping.clip_gradient,
    heading="The clip of the authors' code, and one that looks at each network",
)

# %% [markdown]
# ## Train it yourself
#
# Three short runs in the harder infectious disease environment, with three weights to change.

# %% tags=["nbval-ignore-output"]
problem = infectious.HARDER
quick = replace(
    problem,
    learning={"live": replace(problem.learning["book"], total_steps=150_000)},
    evaluating={"live": replace(problem.evaluating["book"], every=5, final_episodes=1000)},
    episode_length={"live": problem.episode_length["book"]},
)
weights = forms["alpha-infectious-harder"]
live = page.live(
    {
        f"elbert-po-alpha-{alpha}": quick.learned(ElbertPO.as_coded(alpha), "live")
        for alpha in ALPHAS["infectious-harder"]
    },
    1000,
)
measured = shown | {"wasted": ("wasted", 3)}
weights.live_table(live, measured)

# %% tags=["nbval-ignore-output", "hide-input"]
weights.live_curves(
    live,
    "bias",
    "The live runs: bias during training with three weights of the bias. One run each.",
)

# %% [markdown]
# ## What came out
#
# ### Alpha in the harder attention environment
#
# The paper's Figure 5. Beside our values, those read off the authors' poster, at the end of five
# million steps. These are the last point of a smoothed curve, about twelve evaluations; ours are
# the last policy alone, and claims are judged by both. Our runs end after two million, because each
# takes minutes. On the poster the biases are in the same order already after one.

# %% tags=["nbval-check-output", "hide-input"]
forms["alpha-attention-harder"].ranges(shown)

# %% tags=["nbval-check-output", "hide-input"]
pd.DataFrame.from_dict(
    worlds.FIGURE_5, orient="index", columns=["reward on the poster", "bias on the poster"]
).rename_axis("alpha")

# %% tags=["nbval-ignore-output", "hide-input"]
forms["alpha-attention-harder"].curves(
    "bias",
    "as_coded",
    "In harder attention a larger weight leaves less bias in most runs, and with the two largest "
    "some runs end high. Thin lines are single runs, thick ones their medians.",
    beside=(),
)

# %% tags=["nbval-ignore-output", "hide-cell"]
forms["alpha-attention-harder"].curves(
    "reward",
    "as_coded",
    "In harder attention the reward of some runs falls far with the two largest weights. Thin "
    "lines are single runs, thick ones their medians.",
    beside=(),
)

# %% [markdown]
# In this environment tables show, column by column, the run in the middle (of two the lower one),
# the lowest and the highest. With the two largest weights some runs lose a site, and their reward
# is many times as negative. A site counts as lost if it has more than thirty incidents per step in
# the end, more than any site has at the start ([why](attention.ipynb)). The next table keeps the
# two kinds apart, with exact 95 % intervals of the share.

# %% tags=["nbval-check-output", "hide-input"]
worlds.lost_table(forms["alpha-attention-harder"])

# %% [markdown]
# Among the runs that keep all sites, the bias falls from one weight to the next, to about what
# the poster shows, and from 5000 to 20,000 there is little left to gain. That selects on the
# result. Over all runs it cannot be told whether 20,000 leaves less bias than 50 (`elbert-11`),
# and of the single steps only that 5000 leaves less than 1000 (`elbert-11-every-step`). A larger
# weight starts more slowly, too, from 1000 on. After two of the paper's five million steps it
# does not earn more yet. Up to 5000 all weights earn about the same, and 20,000 earns less; at
# the poster's end it earns more than 50 and 200 do. These claims look at the bias alone.
#
# What neither paper nor poster shows is what the large weights risk. Only with 5000 and 20,000 is a
# site lost, and the second is the authors' own. Whether 5000 is safer than 20,000 ten runs cannot
# tell.

# %% [markdown]
# ### Alpha elsewhere
#
# The paper's Figure 7, in numbers:

# %% tags=["nbval-check-output", "remove-input"]
folded(forms["alpha-lending"].table(shown), "Final values, lending")

# %% tags=["nbval-check-output", "remove-input"]
folded(forms["alpha-infectious"].table(shown), "Final values, infectious")

# %% tags=["nbval-check-output", "remove-input"]
folded(forms["alpha-infectious-harder"].table(shown), "Final values, infectious, harder")

# %% tags=["nbval-check-output", "remove-input"]
folded(forms["alpha-attention"].table(shown), "Final values, attention")

# %% tags=["nbval-ignore-output", "hide-cell"]
forms["alpha-lending"].curves(
    "bias",
    "as_coded",
    "In lending a larger weight leaves less bias, and the largest next to none in the end. Bands "
    "are 95 % intervals of the mean.",
    thin_lines=False,
    beside=(),
)

# %% tags=["nbval-ignore-output", "hide-input"]
forms["alpha-lending"].curves(
    "reward",
    "as_coded",
    "In lending the largest weight loses money, and of the other two the larger one earns a "
    "little more. Bands are 95 % intervals of the mean.",
    thin_lines=False,
    beside=(),
)

# %% tags=["nbval-ignore-output", "hide-cell"]
forms["alpha-infectious"].curves(
    "bias",
    "as_coded",
    "In the original epidemic the bias falls at once with every weight, and then swings. Thin "
    "lines are single runs, thick ones their medians.",
    apart=True,
    beside=(),
)

# %% tags=["nbval-ignore-output", "hide-cell"]
forms["alpha-infectious"].curves(
    "reward",
    "as_coded",
    "In the original epidemic the largest weight learns more slowly and ends with less reward. "
    "Thin lines are single runs, thick ones their medians.",
    apart=True,
    beside=(),
)

# %% tags=["nbval-ignore-output", "hide-cell"]
forms["alpha-infectious-harder"].curves(
    "bias",
    "as_coded",
    "In the harder epidemic the bias falls at once with every weight, and then swings. Thin "
    "lines are single runs, thick ones their medians.",
    apart=True,
    beside=(),
)

# %% tags=["nbval-ignore-output", "hide-cell"]
forms["alpha-infectious-harder"].curves(
    "reward",
    "as_coded",
    "In the harder epidemic the largest weight learns more slowly and ends with less reward. "
    "Thin lines are single runs, thick ones their medians.",
    apart=True,
    beside=(),
)

# %% tags=["nbval-ignore-output", "hide-cell"]
forms["alpha-attention"].curves(
    "bias",
    "as_coded",
    "In original attention the bias falls alike with every weight. Bands are 95 % intervals of "
    "the mean.",
    thin_lines=False,
    beside=(),
)

# %% tags=["nbval-ignore-output", "hide-cell"]
forms["alpha-attention"].curves(
    "reward",
    "as_coded",
    "In original attention the largest weight earns less, and its reward still rises at the end. "
    "Bands are 95 % intervals of the mean.",
    thin_lines=False,
    beside=(),
)

# %% [markdown]
# In both infectious disease environments the largest weight costs reward, as the paper says.
# Between the two smaller ones no difference can be told, so the claims stay inconclusive. The
# largest costs reward in the original attention environment, too, where the paper sees no
# difference. But its curves still rise at the end, so part of what it costs is time.
#
# What ten times the main weight buys in bias in these three environments is hard to find: none is
# clearly lower with it. Whether too large a weight raises the bias again, as the paper says that it
# might, we ask apart. The first runs in harder infectious disease seemed to show it by the text's
# formula; with all runs it cannot be told in any of the three
# (`elbert-17-infectious-harder-too-large`).
#
# :::{dropdown} What the claims ask, and what a tenth of the weight does
# The paper says as well that a larger weight takes more time: the claims `elbert-16-slower` ask for
# it, and were written after the runs. How much of the cost would be left after more steps these
# runs cannot tell. The claims `elbert-17` look at the bias alone. A tenth of the weight leaves more
# bias in both epidemics on smoothed curves. For last policies that is clear in the original one,
# and in the harder one no longer, after ten more runs. In attention no difference can be told.
# :::
#
# Lending is another matter. From a tenth of the main weight to the main weight the reward rises and
# the bias falls, as the paper says. Ten times the main weight makes the bank accept nearly
# everybody, which has no bias and loses money. So the bias does not rise with it.

# %% [markdown]
# ### Beta
#
# The paper's Figure 8. The soft bias of equal rates is its floor, and the factor $2 b^{soft}$ of
# its square's slope never falls below twice that:

# %% tags=["nbval-check-output", "hide-input"]
floor = {beta: soft_bias(np.full(5, 0.5), beta) for beta in BETAS_OF_FIGURE_8}
pd.Series(floor, name="soft bias of equal rates").rename_axis("beta").round(3).to_frame()

# %% tags=["nbval-check-output", "hide-input"]
forms["beta-attention-harder"].ranges(shown)

# %% tags=["nbval-ignore-output", "hide-input"]
forms["beta-attention-harder"].curves(
    "bias",
    "as_coded",
    "In harder attention at least half of the runs come to rest at a low bias with every beta, and "
    "with every beta some do not; those of the smallest beta are spread widest. Thin lines are "
    "single runs, thick ones their medians.",
    apart=True,
    beside=(),
)

# %% tags=["nbval-ignore-output", "hide-cell"]
forms["beta-attention-harder"].curves(
    "reward",
    "as_coded",
    "In harder attention the reward of some runs falls far with every beta, and with the "
    "smallest beta that of the median run. Thin lines are single runs, thick ones their medians.",
    apart=True,
    beside=(),
)

# %% tags=["nbval-check-output", "hide-input"]
worlds.lost_table(forms["beta-attention-harder"])

# %% [markdown]
# Sites are lost with every $\beta$, and the shares cannot be told apart. Among the runs that keep
# all sites, the biases of $\beta = 1$ are spread the widest, but most of them are as low as the
# others, although its floor is the highest by far. There is no sign that the bias falls more slowly
# with $\beta = 100$. These runs earn about the same with every $\beta$; `elbert-18` looks at the
# bias alone.

# %% [markdown]
# ## Text against code
#
# ### Standardising, clipping, and a sign
#
# In every table the first line of a method is what the code does. In the harder attention
# environment, where runs are long, only the clipping is varied, and one form of standardising.

# %% tags=["nbval-check-output", "remove-input"]
varied = [runs for name, runs in forms.items() if not name.startswith(("alpha", "beta"))]
folded(ablations.meanings(*varied), "What the names of the forms mean")

# %% tags=["nbval-check-output", "remove-input"]
folded(forms["details-lending"].table(shown), "Final values, lending")

# %% tags=["nbval-check-output", "remove-input"]
folded(forms["details-infectious-harder"].table(shown), "Final values, infectious, harder")

# %% tags=["nbval-check-output", "remove-input"]
folded(
    forms["details-attention-harder"].ranges(shown),
    "Final values, attention, harder: the middle run, the lowest and the highest",
)

# %% [markdown]
# In the harder attention environment some runs lose a site once more:

# %% tags=["nbval-check-output", "hide-input"]
worlds.lost_table(forms["details-attention-harder"])

# %% tags=["nbval-ignore-output", "hide-input"]
forms["details-attention-harder"].curves(
    "bias",
    "as_coded",
    "In harder attention the form that combines advantages first has a low bias in every run; "
    "clipping every network on its own leaves most runs of ELBERT-PO high. Thin lines are single "
    "runs, thick ones their medians.",
    beside=(),
)

# %% [markdown]
# The form *combined* answers a question of [attention allocation](attention.ipynb). It combines raw
# advantages, as Proposition 3.2 has them, and then standardises once, which the text does not
# mention. Its totals are plain sums over the episode, as in Section 5.1 and in the code. The same
# with discounted totals earns clearly less than G-PPO there.

# %% tags=["nbval-check-output", "remove-input"]
details = forms["details-attention-harder"]
details.say(
    f"With plain totals it earns as much over these {details.experiment.horizon[profile]:,} steps, "
    "has the lowest bias of all from early on, and "
    f"{worlds.lost_in_words(details.results, combined)}. So the discount, or the about ten times "
    "heavier weight that it brings, is what costs that form its reward, and standardising every "
    "signal is perhaps why the coded one is a gamble. Without both, the method has a low bias, and "
    "no price in reward shows within these steps."
)

# %% [markdown]
# What each change does, over the same seeds:

# %% tags=["nbval-check-output", "remove-input"]
folded(
    ablations.changes_of_forms(forms["details-lending"], shown),
    "Changed less as coded, lending",
)

# %% tags=["nbval-check-output", "remove-input"]
folded(
    ablations.changes_of_forms(forms["details-infectious-harder"], shown),
    "Changed less as coded, infectious, harder",
)

# %% tags=["nbval-check-output", "remove-input"]
folded(
    ablations.ranges_of_changes(forms["details-attention-harder"], shown),
    "Changed less as coded, attention, harder: the middle difference, the lowest and the highest",
)

# %% tags=["nbval-check-output", "remove-input"]
clipped = [(method, "as_coded") for method in ("g-ppo-separate", "g-ppo")]
forms["details-attention-harder"].aside(
    "Clipping every network on its own lets G-PPO earn more in harder attention",
    "Attention, harder, G-PPO with every network clipped on its own less as coded: reward "
    f"{forms['details-attention-harder'].less('reward', *clipped)}. The critics that it trains "
    "without using them fill the shared norm, so sharing costs it speed.",
)

# %% [markdown]
# In lending the sign matters most. With the printed one R-PPO is paid for the gap, and opens it
# nearly as far as it can be opened. Standardising is a matter of degree there. From *raw*
# advantages, the form as published, ELBERT-PO becomes as fair as coded and earns a little less.
# Combined first and then standardised, it keeps more bias in some runs. So the form that does best
# in harder attention is not the better one everywhere. Clipping every network on its own leaves
# ELBERT-PO with a little more bias, and changes nothing that can be told for G-PPO.
#
# In harder infectious disease the printed sign does the same damage, and the clipping makes no
# difference. How the advantages are combined does: the bias stays where it is, and the reward is
# lower without the code's habit, most of all from raw advantages. The form which does best in
# harder attention earns no more here than the best lottery between the groups, and the form as
# published less. The next figure shows when.

# %% tags=["nbval-ignore-output", "hide-input"]
forms["details-infectious-harder"].curves(
    "reward",
    "as_coded",
    "In the harder epidemic the two forms that combine raw advantages begin slowly and still "
    "rise at the end. Thin lines are single runs, thick ones their medians.",
    methods=ablations.forms_of(forms["details-infectious-harder"], "elbert-po"),
    beside=(),
)

# %% [markdown]
# The two forms that combine raw advantages begin slowly. Both still rise at the end of our one and
# a half million steps, so part of what they cost is time. *Raw* is the form as published, which
# [the page of this environment](infectious.ipynb) holds against the coded one.
#
# Why they are slow can be watched. The next run remembers how far every advantage spreads and by
# which weight the chain rule multiplies it.

# %% tags=["nbval-ignore-output", "hide-input"]
alpha = infectious.ALPHA["elbert_harder"]["as_coded"]
watched = ablations.WatchedPO(alpha=alpha, standardise="combined")
ablations.spread_of_advantages(quick.learned(watched, "live"), 1000)

# %% [markdown]
# The reward is a share of people and moves little. Supply and demand are counts and move a lot. So
# the raw advantage of the reward is the smallest term of the sum in this one short run, and
# probably the policy learns about the reward when the bias has become small enough for the weights
# to fall. Standardising every advantage takes the sizes away, and the reward has a say from the
# first step on. That helps here. In harder attention the same habit seems to harm, because a site
# that hardly matters gets as much of a say as the others.
#
# In harder attention there is no sign that the shared norm loses the sites: with every network
# clipped on its own ELBERT-PO loses some, too. Ten runs cannot tell which loses fewer.

# %% [markdown]
# ### Steps that are too large
#
# In the harder attention environment our settings follow the authors' closely, because ELBERT-PO
# bears no shortcut there: see [attention allocation](attention.ipynb). These runs take one, larger
# rollouts with larger steps.

# %% tags=["nbval-check-output", "remove-input"]
worst = {"disadvantaged_demand": ("incidents at the worst served site", 1)}
folded(
    forms["larger-steps-attention-harder"].ranges(shown | worst),
    "Final values with larger steps: the middle run, the lowest and the highest",
)

# %% tags=["nbval-check-output", "hide-input"]
worlds.lost_table(forms["larger-steps-attention-harder"])

# %% [markdown]
# A tuning run had made us expect that such steps lose a site. They do not, in most runs. But they
# do ELBERT-PO no good: as coded, every run of it earns less than the lowest of G-PPO.
#
# :::{dropdown} With every network clipped on its own half of the runs lose a site
# There are two kinds of runs once more. Half of them lose a site. Most of the others have the
# smallest biases of the table and earn about as much as G-PPO. Whether more runs are lost without a
# shared norm, ten cannot tell.
# :::

# %% [markdown]
# ### The authors' own steps
#
# Do the authors' settings protect a site? These runs follow them for a million steps, a fifth of
# the way. One form is as coded. The other differs from it in one thing: the raw advantages are
# combined by the chain rule, and the sum is standardised.

# %% tags=["nbval-check-output", "remove-input"]
folded(
    authors_steps.ranges(shown | worst),
    "Final values with the authors' steps: the middle run, the lowest and the highest",
)

# %% tags=["nbval-check-output", "hide-input"]
worlds.lost_table(authors_steps)

# %% [markdown]
# As coded, the authors' settings do not protect a site within this million. No average over seeds
# survives a lost site, so the claims count runs.
#
# Combined before they are standardised, the advantages lead no run of ten astray: all end near the
# best of those as coded, in reward and in bias. The two shares alone could differ by chance, as
# their intervals show. But the reward of every run as coded first falls, and that of no other run
# does. So we suspect the standardising of every signal, a habit of the code that the paper does not
# mention. The trap of the objective is still there.
#
# ### Where our curves and the poster's part
#
# Here are the same runs beside the poster's curves, smoothed as those are, and the runs of G-PPO
# with the authors' settings. G-PPO begins as on the poster. ELBERT-PO as coded does not, and we
# have not found why.

# %% tags=["nbval-check-output", "remove-input"]
main = page.of("elbert/attention-harder", "paper")
beginnings = pd.concat(
    [main.results[main.results["method"] == "g-ppo"], authors_steps.results], ignore_index=True
)
begun = {metric: worlds.start_beside_poster(beginnings, metric) for metric in worlds.POSTER_START}
authors_steps.missing if beginnings.empty else folded(
    authors_steps.labelled(pd.concat(begun).round(2)),
    "The first million steps: our runs, median, lowest and highest, beside the poster",
)

# %% [markdown]
# :::{dropdown} What was tried to find the difference
# Over the first half million steps the poster, a mean of three runs, is above the best of our ten
# in reward, and below the lowest or at it in bias. That is hardly chance, so something differs at
# the start of the training. It is not the environment, the networks or what they see, because G-PPO
# would show it. It is not the chain rule for two groups, because in [lending](lending.ipynb) and in
# the harder [infectious disease](infectious.ipynb) environment ELBERT-PO follows the poster's curve
# from the start. Single short trials, with run numbers that are not used here, did not begin like
# the poster either: one deviation for the signals of all groups, the scale of the demand for both
# signals of a group, the sum standardised once more, the signals left raw beside a standardised
# reward, and a quarter of alpha.
#
# Why ours begin badly is easier to see. The quietest site has few incidents, so the chain rule
# gives it the largest weight, and raw advantages that are small in return. Standardising makes them
# as large as those of the busiest site. The policy then keeps the quiet site from having any
# incidents that could be served, at the expense of the busy one. The reward falls, and in some runs
# the bias rises. Combined first, the same weights lead the right way at once, and these runs are
# above the poster all along. The poster lies between the two forms.
#
# So two questions stay open: what the authors' runs did at their beginning, and whether they could
# have lost a site.
# :::

# %% [markdown]
# ### How long an episode is
#
# Lending is trained on short episodes and evaluated on long ones. The later part of a long episode,
# when many people have fallen into the trap of [lending](lending.ipynb), is never seen in training.
# Does that matter? Trained on long episodes less trained on short ones, both evaluated on long
# ones:

# %% tags=["nbval-check-output", "hide-input"]
lengths = {"long-long": "as many episodes per rollout", "long-long-one": "one episode per rollout"}
forms["episodes-lending"].differences(
    {
        f"{METHODS[method].label}, {what}": (
            (f"{method}-{length}", "as_coded"),
            (f"{method}-short-long", "as_coded"),
        )
        for method in ("g-ppo", "elbert-po")
        for length, what in lengths.items()
    },
    shown,
)

# %% [markdown]
# G-PPO hardly cares. With one long episode per rollout, which is then about as long as coded, the
# length makes little difference to ELBERT-PO, too: the long one buys no reward. So the authors'
# short cut does no harm. A discount of 0.99 looks ahead about one hundred applicants in any case.
#
# :::{dropdown} As many long episodes per rollout make updates that ELBERT-PO does not bear
# With as many episodes per rollout, a rollout of long ones has about five times as many applicants,
# and its updates move the policy about five times as far. That is what ELBERT-PO does not bear, as
# [lending](lending.ipynb) says of our settings, and these runs are the worst of the table of final
# values. There, rows that were evaluated on different lengths cannot be compared, because every
# policy earns less on long episodes.
# :::

# %% tags=["nbval-check-output", "remove-input"]
folded(forms["episodes-lending"].table(shown), "Final values, lengths of episodes in lending")

# %% [markdown]
# ### The one that is added
#
# The code's evaluation adds one per episode to the demand. What that changes needs no run of its
# own: every result holds both biases. This is the *exact bias*, by the text's formula, less the
# bias by the code's, averaged over the runs of each method as coded:

# %% tags=["nbval-check-output", "hide-input"]
added = ablations.added_one(page.of(f"elbert/{name}") for name in PROBLEMS)
Words("No run of these experiments is stored yet.") if added.empty else added

# %% [markdown]
# The added one hardly counts where a group's demand is large. In infectious disease, where it is a
# few people per episode, it lowers the bias of G-PPO and R-PPO, hardly moves A-PPO's, and raises
# that of ELBERT-PO, whose rates are equal without it: the group with the smaller demand loses more
# of its rate. So with our settings, whose learning rate falls to zero, ELBERT-PO's last policies
# have the text's 0.01 in the harder environment by the one formula and about the poster's 0.05 by
# the other. Averaged over the last evaluations, as on the poster, the formulas [are not told
# apart](infectious.ipynb), in our runs and in the one with the authors' settings, which swings from
# evaluation to evaluation.

# %% tags=["nbval-check-output", "remove-input"]
epidemic = page.of("elbert/infectious-harder", "paper")
ours = page.of("elbert/infectious-harder")
epidemic.aside(
    "ELBERT-PO's bias averaged over the last evaluations, by both formulas",
    f"Over the last {worlds.LAST} evaluations, by the code's formula and by the text's: "
    f"{worlds.late_in_words(epidemic, 'bias')} and {worlds.late_in_words(epidemic, 'bias_exact')} "
    f"with the authors' settings, {worlds.late_in_words(ours, 'bias')} and "
    f"{worlds.late_in_words(ours, 'bias_exact')} with ours.",
)

# %% [markdown]
# ## What it means
#
# In harder attention a habit that the paper does not mention may decide whether a site is lost; ten
# runs of each form cannot tell. How large the bias is depends on alpha. No form is the best
# everywhere. What would change our mind:
#
# - **The profile `paper`.** Alpha and beta in the harder attention environment can be run with the
#   authors' settings, and a verdict there weighs more than one here.
# - **The grids of Figure 7.** If the authors' values of alpha became known, ours should be
#   replaced.
# - **The authors' raw results.** None are published. The first hundred thousand steps of their runs
#   in harder attention would tell where ours part from them, and whether theirs can lose a site.
# - **A weight tuned apart.** Changing how advantages are standardised changes what a weight means.
#   The tables keep the weight, which is how the code's habit is isolated. They do not show how good
#   each form could be with a weight of its own.

# %% [markdown]
# ## Exercises
#
# ```{exercise} Where the slope of the soft bias looks
# :label: exercise-ablations-beta
#
# From which $\beta$ on do the best and the worst of five sites have 99 % of the slope, if
# neighbouring rates differ by 0.05?
# ```

# %% [markdown]
# ```{solution-start} exercise-ablations-beta
# :class: dropdown
# ```

# %% tags=["nbval-check-output"]
rates = 0.5 - 0.05 * np.arange(5)
for beta in (1, 5, 20, 50, 100, 200):
    slope = np.abs(soft_bias_gradient(rates, beta))
    print(f"beta {beta:3d}: {(slope[0] + slope[-1]) / slope.sum():.3f}")

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} The printed sign
# :label: exercise-ablations-sign
#
# Train R-PPO briefly in the harder infectious disease environment with the printed sign.
# ```

# %% [markdown]
# ```{solution-start} exercise-ablations-sign
# :class: dropdown
# ```

# %% tags=["nbval-ignore-output"]
pair = page.live(
    {
        f"sign {sign:+d}": quick.learned(
            RPPO(penalty=0.1, tolerance=0.05, offset=1.0, sign=sign), "live"
        )
        for sign in (-1, 1)
    },
    1000,
)
weights.live_table(pair, measured)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## The verdicts

# %% tags=["nbval-check-output", "remove-input"]
page.claims()

# %% tags=["nbval-ignore-output", "remove-input"]
page.gaps()

# %% [markdown]
# ## Where this came from

# %% tags=["nbval-ignore-output", "remove-input"]
page.origin(["numpy", "scipy", "torch", "stable-baselines3"])
