# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Attention allocation with F-PPO
#
# *Six inspectors, five sites, and a reward for every incident that is found.*

# %% tags=["parameters", "remove-input"]
profile = "book"

# %% tags=["hide-input"]
from dataclasses import replace

import numpy as np
import pandas as pd

from longfair.agents.policies import ProportionalToExcess
from longfair.agents.ppo.massaging.attention import AttentionFPPO
from longfair.agents.ppo.massaging.attention_moves import massaged, unevenness
from longfair.envs.attention import AttentionParams
from longfair.figures import folded, source_of
from longfair.papers.fppo.attention import CASE
from longfair.papers.fppo.results import (
    APART,
    ATTENTION,
    EPISODE,
    FIGURE_3,
    beside_figure,
    better_without_training,
    by_verdict,
    kinds_told,
    massaging_in_training,
    middle_run,
    most_of_the_trained,
    noise_of_ten_episodes,
    sites_at_start,
    stored_runs,
    with_massaging_in_use,
)
from longfair.papers.page import Page
from longfair.papers.protocol import train_and_evaluate
from longfair.wording import numerals

page = Page(profile, "fppo/attention", look=ATTENTION)
sites = page.of("fppo/attention")
apart = page.of("fppo/attention", look=APART)
in_use = with_massaging_in_use(apart)
plotted = ("ppo", "a-ppo", "f-ppo", "cpo", "above-target")
plotted_in_use = ("ppo", "a-ppo", "f-ppo-in-use", "above-target")
coded = ("as_coded", "reference")
all_three = {
    "end_short_term_gap": "lower",
    "late_long_term_gap": "lower",
    "late_reward": "higher",
}
shown = {
    "end_short_term_gap": ("short-term gap", 3),
    "late_long_term_gap": ("long-term gap, figure", 2),
    "late_distance": ("long-term gap, text", 3),
    "late_rates": ("incidents per site", 2),
    "late_reward": ("reward per step", 2),
}

# %% [markdown]
# ## In two minutes
#
# Units are sent to sites, and a site that gets none becomes worse: does F-PPO bring the sites'
# rates of incidents closer than any other method and earn as much as PPO, which seeks the reward
# alone, as {cite:t}`hu2024fppo` report?

# %% tags=["nbval-ignore-output", "hide-input"]
untrained = ("equal", "discovery", "static-reward", "above-target")
sites.only("ppo", "a-ppo", "f-ppo", *untrained).scatter(
    "as_coded",
    beside=untrained,
    caption="Reward per step against the long-term gap of the paper's figure, both after step 200 "
    "of 1000. The best corner is the upper left. PPO seeks the reward alone, A-PPO equal shares of "
    "units as well, F-PPO equal rates besides. Policies that are not trained carry their names. "
    f"Runs of each: {stored_runs(sites, 'ppo', 'a-ppo', 'f-ppo')}. "
    "CPO is left to the tables: its runs lie so far apart that the others would look like one.",
)

# %% tags=["nbval-check-output", "remove-input"]
paper = FIGURE_3
ends = {
    metric: [sites.mean(metric, method, "as_coded") for method in ("f-ppo", "ppo")]
    for metric in ("late_reward", "late_long_term_gap")
}
reward, gap = ends.values()
earns = by_verdict(
    page,
    ("fppo-3c", "as_coded", "figure"),
    "F-PPO earns about as much as PPO, and more than the others",
    "F-PPO does not earn as much as the paper says",
    "whether F-PPO earns as much as the paper says cannot be told",
)
by_text = by_verdict(
    page,
    ("fppo-3b-best", "as_coded", "text"),
    "the sites end most alike under F-PPO",
    "the sites do not end most alike under F-PPO",
    "whether the sites end most alike under F-PPO cannot be told",
)
by_figure = by_verdict(
    page, ("fppo-3b-best", "as_coded", "figure"), "they do", "they do not", "that cannot be told"
)
sites.say(
    f"As coded, {earns}: {reward[0]:.2f} per step on average, beside {reward[1]:.2f} with PPO (the "
    f"paper's figure: {paper['late_reward']['f-ppo']} and {paper['late_reward']['ppo']}).",
    f"By the text's distance {by_text}; by the figure's gap {by_figure}, with {gap[0]:.2f} beside "
    f"PPO's {gap[1]:.2f} (the paper's figure: {paper['late_long_term_gap']['f-ppo']} and "
    f"{paper['late_long_term_gap']['ppo']}).",
    "A rule of one number, searched and not trained, earns "
    f"{sites.mean('late_reward', 'above-target'):.2f} with a gap of "
    f"{sites.mean('late_long_term_gap', 'above-target'):.2f}.",
)

# %% [markdown]
# **Why?** A likely reason, not tested: the reward is highest where incidents go on at a level that
# six units can just keep up with, and PPO and F-PPO both end near it on average.
#
# **What would change our mind?** Ten runs of each, with settings that the authors tell us in
# place of the code's, in which F-PPO's gap in the figure is below PPO's by more than its interval.
#
# *You need* [what the distance measures](distance.ipynb), or: that the figures' distance is not the
# text's. *Time:* 20 minutes to read, a minute on one core.

# %% [markdown]
# ## The problem
#
# Five sites, and in every step six units to share out. Incidents at a site are drawn from a Poisson
# distribution with the site's rate. A unit finds one incident, if there is one. Then the rates
# move. A site that got no unit becomes worse by its own amount, and one that got some becomes
# better by a tenth for each:

# %% tags=["nbval-check-output", "hide-input"]
params = AttentionParams.fppo()
given = pd.DataFrame(
    [params.initial_rate, params.increase],
    index=["rate at the start", "increase without a unit"],
    columns=pd.RangeIndex(5, name="site"),
)
numerals(given)

# %% [markdown]
# The reward of a step is the number of incidents found, less a quarter of those that were missed.
# Agents see the last eight steps: incidents found, all incidents, units, and the share of
# incidents found of late. They see *all* incidents, also those that nobody found.
#
# - The **short-term gap** $\Delta_s$ is the largest difference between a site's share of the units
#   and a fifth. In training it is over the last 300 steps, in the paper's figure since the start.
# - The **long-term gap** $\Delta_l$ of the paper's figure is the largest difference between a
#   site's rate and the mean of all rates. In training it is the same of the incidents of 300 steps,
#   over the most incidents of a site. The text's is a 1-Wasserstein distance; we take it between
#   the sites' shares of all rates and equal shares.
#
# An agent that leaves one site alone therefore has a growing long-term gap, and one that serves
# five sites with six units has equal shares but for the sixth unit.

# %% [markdown]
# ## The idea
#
# PPO draws five numbers, and their softmax shares out the units. A-PPO looks at the short-term gap
# beside the reward. F-PPO changes its advantage as in [bank loans](lending.ipynb). **Between choice
# and execution**, *massaging* moves one unit from one site to another where that makes the shares
# of the last 300 steps more equal, if the policy is changed by little:
#
# $$
# l'_r = \log Z + \log(p_r - \sigma), \qquad l'_k = \log Z + \log(p_k + \sigma), \qquad
# \sigma = \min(p_r - 0.005, \tfrac16) ,
# $$ (eq-fpattention-move)
#
# where $p$ is the softmax of the numbers $l$, $Z$ its denominator, and a unit goes from $r$ to $k$.
# The threshold does not change in training; as coded massaging begins with rollout 16 of 977. What
# has to become more equal are the units of the window:

# %% tags=["nbval-check-output", "remove-input"]
source_of(unevenness, AttentionFPPO.intervene)

# %% [markdown]
# `massaged` tries every move of one unit and keeps the fairest one that is allowed:

# %% tags=["nbval-check-output", "hide-cell"] mystnb={"code_prompt_show": "The whole search"}
source_of(massaged)

# %% [markdown]
# Beside it stand rules that are not trained. *Recent incidents* shares out units in proportion to
# the incidents of the last eight steps. *Weighted incidents* has a weight for each of the five
# sites besides, found by search for the reward, on other episodes. The *oracle* knows the true
# rates and shares out units in proportion to them. *Incidents above a target* counts only what a
# site's recent incidents exceed a target by; the target was found by search as well:

# %% tags=["nbval-check-output", "remove-input"]
source_of(ProportionalToExcess.choose)

# %% [markdown]
# ## Train it yourself
#
# Two short runs, PPO and F-PPO as coded, with steps ten times as large as those of the stored runs.
# A minute is enough to leave the random policy behind, not to reach the stored ones.

# %% tags=["nbval-ignore-output"]
quick = replace(CASE.learning["book"], total_steps=40_960, learning_rate=1e-4)
seen = replace(CASE.evaluating["book"], final_episodes=10)
methods = CASE.methods(as_coded=True)
strategies = {"ppo": methods["ppo"][0], "f-ppo": replace(methods["f-ppo"][0], first=5)}
live = page.live(
    {
        name: replace(
            CASE.setting(strategy, "book", "as_coded"), learning=quick, evaluating=seen
        )
        for name, strategy in strategies.items()
    },
    1000,
)
sites.live_table(live, shown)

# %% [markdown]
# ## What came out
#
# The stored runs have the settings of the authors' code and their two million steps; Section VI-B
# names none of learning. The figures below are the paper's Figure 3: the last policy, played for
# 1,000 steps in a hundred episodes per run. Verdicts ask for ten runs of each method; where fewer
# are stored they say so.

# %% tags=["nbval-check-output", "remove-input"]
start = sites_at_start(sites)
fewer = 1 - sites.mean("late_rates", "ppo", "as_coded") / start["rate"]
closer = 1 - sites.mean("late_distance", "ppo", "as_coded") / start["distance"]
sites.say(
    f"Stored runs as coded: {stored_runs(sites, 'ppo', 'a-ppo', 'f-ppo', 'cpo')}. Of several "
    "runs the middle one is given, with the lowest and the highest. The short-term gap is "
    f"{sites.spread('end_short_term_gap', 'ppo', 'as_coded')} with PPO, "
    f"{sites.spread('end_short_term_gap', 'a-ppo', 'as_coded')} with A-PPO and "
    f"{sites.spread('end_short_term_gap', 'f-ppo', 'as_coded')} with F-PPO; in the paper's figure "
    f"{paper['end_short_term_gap']['ppo']}, {paper['end_short_term_gap']['a-ppo']} and "
    f"{paper['end_short_term_gap']['f-ppo']}.",
    "The long-term gap of A-PPO is "
    f"{sites.spread('late_long_term_gap', 'a-ppo', 'as_coded', 2)}, its reward "
    f"{sites.spread('late_reward', 'a-ppo', 'as_coded', 2)}; in the paper's figure "
    f"{paper['late_long_term_gap']['a-ppo']} and {paper['late_reward']['a-ppo']}.",
    "Trained CPO ends in more than one place: its long-term gap is "
    f"{sites.spread('late_long_term_gap', 'cpo', 'as_coded', 2)} beside F-PPO's "
    f"{sites.spread('late_long_term_gap', 'f-ppo', 'as_coded', 2)}, its reward "
    f"{sites.spread('late_reward', 'cpo', 'as_coded', 2)} beside "
    f"{sites.spread('late_reward', 'f-ppo', 'as_coded', 2)}. So what the paper says of A-PPO "
    "beside all others hangs on which run of CPO one looks at; every run of CPO has less reward.",
    "Before the first step the largest deviation of a site is "
    f"{start['deviation']:.2f}, at a mean rate of {start['rate']:.2f}. With PPO it is "
    f"{sites.mean('late_long_term_gap', 'ppo', 'as_coded'):.2f} late in the episode, where the "
    f"mean rate is lower by {fewer:.0%} and the text's distance by {closer:.0%}.",
    "The rule of one number sends units in proportion to recent incidents above a target. Its "
    f"short-term gap is {sites.mean('end_short_term_gap', 'above-target'):.3f}. The number was "
    "searched for the reward, on other episodes.",
    "Does anything that learns earn more than rules that were searched? In reward per step "
    + most_of_the_trained(sites, "late_reward", ("above-target", "static-reward"), 2),
    "What is better than F-PPO in short-term gap, long-term gap (the figure's) and reward at once? "
    f"As coded {better_without_training(sites, all_three)}. As published "
    f"{better_without_training(sites, all_three, 'as_published')}.",
)

# %% tags=["nbval-ignore-output", "hide-input"]
sites.show(
    sites.curve_figure("at_short_term_gap", *coded, methods=plotted, across=EPISODE),
    "Figure 3a: the largest difference of a site's share of units from a fifth, as coded. "
    "CPO's line is its median."
    + kinds_told(sites, "at_short_term_gap", "as_coded", "cpo"),
    "figure_3a",
)

# %% tags=["nbval-ignore-output", "hide-input"]
sites.show(
    sites.curve_figure("at_long_term_gap", *coded, methods=plotted, across=EPISODE),
    "Figure 3b: the largest difference of a site's rate from the mean, as coded. "
    "CPO's line is its median."
    + kinds_told(sites, "at_long_term_gap", "as_coded", "cpo"),
    "figure_3b",
)

# %% tags=["nbval-ignore-output", "hide-input"]
sites.show(
    sites.curve_figure("at_distance", *coded, methods=plotted, across=EPISODE),
    "The same runs by the distance of the text: how unequally incidents are spread over sites. "
    "CPO's line is its median."
    + kinds_told(sites, "at_distance", "as_coded", "cpo"),
    "figure_3b_text",
)

# %% tags=["nbval-ignore-output", "hide-input"]
sites.show(
    sites.curve_figure("at_reward", *coded, methods=plotted, across=EPISODE),
    "Figure 3c: reward per step, smoothed over time as in the paper, as coded. "
    "CPO's line is its median."
    + kinds_told(sites, "at_reward", "as_coded", "cpo"),
    "figure_3c",
)

# %% tags=["nbval-check-output", "remove-input"]
folded(
    beside_figure(
        sites, FIGURE_3, {"end_short_term_gap": 3, "late_long_term_gap": 2, "late_reward": 2}
    ),
    "Our runs beside the numbers read off the paper's figure; outside: beyond our runs' range by "
    "more than the error of reading, which alone is no test, since the paper averages fewer "
    "episodes",
)

# %% tags=["nbval-check-output", "remove-input"]
folded(sites.ranges(shown), "All methods and policies: median run, lowest and highest")

# %% [markdown]
# ### What a figure of one run can tell
#
# In the paper's Figure 3b F-PPO is below CPO and PPO. Its curve is the mean of ten episodes of one
# training run, so two kinds of noise are in it. Other *episodes* would give another curve. Another
# *training run* would give another policy. The first kind can be measured here with few runs:

# %% tags=["nbval-check-output", "remove-input"]
gaps = paper["late_long_term_gap"]
both = (("ppo", "as_coded"), ("f-ppo", "as_coded"))
sites.say(
    f"In the paper's figure F-PPO is {gaps['cpo'] - gaps['f-ppo']:.2f} below CPO and "
    f"{gaps['ppo'] - gaps['f-ppo']:.2f} below PPO, each a mean over 800 steps; our reading of such "
    "a mean is good to 0.1.",
    "*Noise of episodes, at one step.* The mean of ten episodes of F-PPO swings around its mean "
    "over 800 steps with a standard deviation of "
    f"{sites.number('swing', 'f-ppo', 'as_coded', 2)}. The claim `fppo-swing` asks whether that is "
    "more than the margin to CPO. It says how far a single point of the curve can be trusted.",
    "*Noise of episodes, over 800 steps.* The margin is one of means over 800 steps, which are "
    "known much better. For the rule with a target, whose swing is "
    f"{sites.mean('swing', 'above-target'):.2f}, such means have a standard deviation of "
    f"{noise_of_ten_episodes(sites, 'above-target'):.3f}.",
    "*Noise of training.* In our runs as coded "
    f"({stored_runs(sites, 'ppo', 'f-ppo')}) PPO's gap less F-PPO's, pair by pair, is "
    f"{sites.less('late_long_term_gap', *both, 2)} by the figure and "
    f"{sites.less('late_distance', *both)} by the text's distance.",
)

# %% [markdown]
# So noise of episodes does not explain margins of such means, as far as we can read them, even if
# the swing at a step is larger than the one to CPO. Noise of training might: the paper shows one
# run of each method. The spread of the runs stored here is what one run of each leaves out.

# %% [markdown]
# ### What the reward asks for
#
# Here are the policies that are not trained, by the level at which they leave the sites.

# %% tags=["nbval-check-output", "remove-input"]
folded(
    sites.only(
        "equal", "discovery", "greedy", "static-reward", "above-target", "gaussian"
    ).ranges(shown),
    "Policies that are not trained",
)

# %% [markdown]
# Two of them end with no incident at all, and the reward of a step is then 0. Random units miss so
# many that the reward is far below. The best level lies between: enough incidents that every unit
# finds one, few enough that few are missed. The exercise below works it out for one site.
#
# In the text constrained policy optimisation is made by hand, to seek incidents; the code trains
# it. *Greedy discoveries* is made by hand and seeks them: one unit after the other goes where one
# more find is most likely, if a site is as busy as it was lately.
#
# Whoever takes an incident for a harm will find that this reward asks for the wrong thing: without
# incidents the paper's long-term gap is 0, and so is its reward.

# %% [markdown]
# ### In training
#
# Figure 2b of the paper: does massaging keep the shares of the training equal? It begins after a
# sixtieth of the training.

# %% tags=["nbval-ignore-output", "hide-input"]
sites.show(
    sites.curve_figure("training_gap", "as_coded", methods=("f-ppo", "f-ppo-l"), every=10),
    "Mean short-term gap after the steps of ten rollouts each, as coded.",
    "figure_2b",
)

# %% tags=["nbval-ignore-output", "hide-cell"]
sites.show(
    sites.curve_figure(
        "training_gap_deviation", "as_coded", methods=("f-ppo", "f-ppo-l"), every=10
    ),
    "The standard deviation of that gap within a rollout, averaged over ten rollouts each; the "
    "paper shows it, too.",
    "figure_2b_deviation",
)

# %% tags=["nbval-check-output", "remove-input"]
sites.say(massaging_in_training(sites, 16 * 2048))

# %% tags=["nbval-check-output", "remove-input"]
published = ("f-ppo", "as_published")
lost = int((sites.last_of(*published)["late_reward"] < 0).sum())
sites.aside(
    "As published: F-PPO with massaging in use, and without",
    "As published the middle run of F-PPO ends with a short-term gap of "
    f"{middle_run(sites, 'end_short_term_gap', *published)} where its policy acts alone, and of "
    f"{middle_run(sites, 'massaged_end_short_term_gap', *published)} with massaging in use; that "
    f"of PPO ends with {middle_run(sites, 'end_short_term_gap', 'ppo', 'as_published')}.",
    "So in use massaging leaves shares less equal, although each of its moves makes the shares of "
    "the moment more equal. It leaves more incidents (`fppo-massaged-incidents`). With massaging "
    "in use there are "
    f"{middle_run(sites, 'massaged_late_rates', *published, 2)} incidents per site and step, "
    f"without {middle_run(sites, 'late_rates', *published, 2)}, with PPO "
    f"{middle_run(sites, 'late_rates', 'ppo', 'as_published', 2)}. A possible reason, not "
    "tested: the policy learned in a world where its choices are massaged. There its reward is "
    f"{middle_run(sites, 'massaged_late_reward', *published, 2)} per step; alone it leaves "
    f"fewer incidents, and earns {middle_run(sites, 'late_reward', *published, 2)} (middle runs). "
    "Where few incidents are left, little calls for unequal shares.",
    f"{lost} of {sites.count(*published)} runs end with a reward below 0: hardly more than one "
    "site is served. So a mean over all runs says little.",
    "In training, as published: "
    + massaging_in_training(sites, 16 * 2048, variant="as_published"),
)

# %% tags=["nbval-ignore-output", "hide-cell"]
in_text = ("as_published", "reference")
apart.show(
    apart.curve_figure("at_short_term_gap", *in_text, methods=plotted, across=EPISODE),
    "Figure 3a as published, not massaged in use: how far a site's share of units is from a fifth."
    + kinds_told(apart, "at_short_term_gap", "as_published", "f-ppo"),
    "figure_3a_as_published",
)

# %% tags=["nbval-ignore-output", "hide-cell"]
in_use.show(
    in_use.curve_figure("at_short_term_gap", *in_text, methods=plotted_in_use, across=EPISODE),
    "Figure 3a as published, F-PPO massaged in use. The others never massage."
    + kinds_told(in_use, "at_short_term_gap", "as_published", "f-ppo-in-use"),
    "figure_3a_massaged",
)

# %% tags=["nbval-ignore-output", "hide-cell"]
apart.show(
    apart.curve_figure("at_distance", *in_text, methods=plotted, across=EPISODE),
    "Figure 3b as published, not massaged in use: how unequally incidents are spread over sites."
    + kinds_told(apart, "at_distance", "as_published", "f-ppo"),
    "figure_3b_as_published",
)

# %% tags=["nbval-ignore-output", "hide-cell"]
in_use.show(
    in_use.curve_figure("at_distance", *in_text, methods=plotted_in_use, across=EPISODE),
    "Figure 3b as published, by the distance of the text, F-PPO massaged in use."
    + kinds_told(in_use, "at_distance", "as_published", "f-ppo-in-use"),
    "figure_3b_massaged",
)

# %% tags=["nbval-ignore-output", "hide-cell"]
apart.show(
    apart.curve_figure("at_long_term_gap", *in_text, methods=plotted, across=EPISODE),
    "Figure 3b as published, by the gap of the figure, not massaged in use."
    + kinds_told(apart, "at_long_term_gap", "as_published", "f-ppo"),
    "figure_3b_as_published_by_the_figure",
)

# %% tags=["nbval-ignore-output", "hide-cell"]
in_use.show(
    in_use.curve_figure("at_long_term_gap", *in_text, methods=plotted_in_use, across=EPISODE),
    "Figure 3b as published, by the gap of the figure, F-PPO massaged in use."
    + kinds_told(in_use, "at_long_term_gap", "as_published", "f-ppo-in-use"),
    "figure_3b_massaged_by_the_figure",
)

# %% tags=["nbval-ignore-output", "hide-cell"]
apart.show(
    apart.curve_figure("at_reward", *in_text, methods=plotted, across=EPISODE),
    "Figure 3c as published, not massaged in use: reward per step."
    + kinds_told(apart, "at_reward", "as_published", "f-ppo"),
    "figure_3c_as_published",
)

# %% tags=["nbval-ignore-output", "hide-cell"]
in_use.show(
    in_use.curve_figure("at_reward", *in_text, methods=plotted_in_use, across=EPISODE),
    "Figure 3c as published, F-PPO massaged in use."
    + kinds_told(in_use, "at_reward", "as_published", "f-ppo-in-use"),
    "figure_3c_massaged",
)

# %% tags=["nbval-ignore-output", "hide-cell"]
apart.show(
    apart.curve_figure("training_gap", "as_published", methods=("f-ppo", "f-ppo-l"), every=10),
    "Figure 2b for training as published."
    + kinds_told(apart, "training_gap", "as_published", "f-ppo"),
    "figure_2b_as_published",
)

# %% tags=["nbval-ignore-output", "hide-cell"]
apart.show(
    apart.curve_figure(
        "training_gap_deviation", "as_published", methods=("f-ppo", "f-ppo-l"), every=10
    ),
    "The standard deviation of that gap within a rollout, as published.",
    "figure_2b_deviation_as_published",
)

# %% [markdown]
# ## Text against code
#
# - *Increases.* The text lets increases differ between sites and gives no number. The numbers are
#   the code's.
# - *Long-term gap in training.* The text has a 1-Wasserstein distance and leaves open between what.
#   Both variants use the code's gap.
# - *Floor.* The code keeps rates at or above zero, which the text does not say.
# - *Weight and tolerance.* The text has none. Both variants use the code's, 0.15 and 0.1, which as
#   published is our choice.
# - *Massaging.* The text asks that the probabilities of the two sites be close. The code asks that
#   the Gaussian density of the two drawn numbers change by little. Among equally fair moves the
#   last digit of a floating-point number decides there.
# - *Short-term gap.* Trained on the last 300 steps, plotted since the start.
# - *Constrained policy optimisation.* The text lists it among the agents made by hand. The code
#   trains it, with more than seven times the steps of the others, and lets it act by its mean.
# - *Evaluation.* The text promises massaged decisions in use, too. The code never massages there.
#   As published both are measured.
# - *Observation.* The text shows the share of incidents found in the last step, the code that of
#   the last 300. Both variants use the code's.

# %% [markdown]
# ## What it means
#
# As coded F-PPO earns about what PPO earns, as in the paper's figure. In the figure's gap the two
# cannot be told apart. By the text's distance F-PPO's sites are a little more alike, at more
# incidents. A long-term gap in incidents can be small because all rates are low, so it should be
# read beside that distance. A-PPO's long-term gap is by the figure more than twice that of either,
# as in the paper. Whether its shares are more equal than PPO's over most of an episode cannot be
# told (`fppo-g-attention`), so neither can whether it has fairness in the short term in exchange.
# And a learner should be compared with a rule of one number that was searched for the same reward;
# the paper has none, and this one earns more than either.
#
# **What would change our mind?** A learner whose reward is above that rule's by more than the
# intervals, at no larger gaps, in ten runs.

# %% [markdown]
# ## Exercises
#
# ```{exercise} The level that pays
# :label: exercise-fpattention-level
#
# A site gets one unit in every step and its rate stays at $\lambda$. What is its reward per step,
# and at which rate is it highest? What does that say about the reward?
# ```

# %% [markdown]
# ```{solution-start} exercise-fpattention-level
# :class: dropdown
# ```

# %% [markdown]
# With $y \sim \mathrm{Poisson}(\lambda)$ incidents one is found if there is any, with probability
# $1 - e^{-\lambda}$. The reward is $1 - e^{-\lambda} - \tfrac14 (\lambda - 1 + e^{-\lambda}) =
# \tfrac54 (1 - e^{-\lambda}) - \tfrac14 \lambda$. It is highest where $\tfrac54 e^{-\lambda} =
# \tfrac14$:

# %% tags=["nbval-check-output"]
best = np.log(5.0)
print(f"rate {best:.2f}, reward {1.25 * (1 - np.exp(-best)) - 0.25 * best:.2f}")

# %% [markdown]
# At rate 0 it is 0. An agent that could choose would keep the site at more than one and a half
# incidents per step.
#
# ```{solution-end}
# ```
#
# ```{exercise} A fair share that starves nobody
# :label: exercise-fpattention-equal
#
# How small can the short-term gap be with six units and five sites, if every step has to share them
# out in the same way? And if steps may differ?
# ```

# %% [markdown]
# ```{solution-start} exercise-fpattention-equal
# :class: dropdown
# ```

# %% tags=["nbval-check-output"]
same = np.array([2, 1, 1, 1, 1]) / 6
print(f"the same in every step: {np.abs(same - 0.2).max():.3f}; in turns: {0:.3f}")

# %% [markdown]
# Taking turns with the sixth unit brings it to nothing. The policy *every site* of this page does
# not take turns, which is why its short-term gap is not 0.
#
# ```{solution-end}
# ```

# %% [markdown]
# ## The verdicts
#
# Claims that are *asked here* are not the paper's.

# %% tags=["nbval-check-output", "remove-input"]
page.claims()

# %% tags=["nbval-ignore-output", "remove-input"]
page.gaps()

# %% [markdown]
# ## Where this came from

# %% tags=["nbval-check-output", "remove-input"]
folded(sites.cost(), "What the runs cost")

# %% tags=["nbval-ignore-output", "remove-input"]
page.origin(["numpy", "torch", "stable-baselines3"], [train_and_evaluate])
