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
# # Temporal discrimination
#
# *Why the order of two operations, adding up and dividing, decides whom a fairness measure sees.*

# %% tags=["parameters", "remove-input"]
profile = "book"

# %% tags=["hide-input"]
import numpy as np
import pandas as pd

from longfair.figures import line_chart, show, source_of, trajectories
from longfair.metrics import (
    benefit_rate,
    bias,
    long_term_benefit_rate,
    signed_gap_sum,
    soft_bias,
    soft_bias_gradient,
    squared_bias_gradient,
    squared_gap_sum,
    step_gaps,
    two_trajectories,
    windowed_gap,
)
from longfair.papers.elbert import histories
from longfair.papers.page import Page

page = Page(profile, claims=["elbert-23", "elbert-25", "elbert-26"])

# %% [markdown]
# ## In two minutes
#
# Two histories of a bank, A and B, give the group *blue* five loans for six applications and the
# group *red* one for six, and differ in **which** red person gets the one loan. Should a measure of
# fairness over time tell them apart, which {cite:t}`xu2024elbert` (Sections 2.2, 2.3 and 3.3) deny?

# %% tags=["nbval-ignore-output", "hide-input"]
small = histories.as_table(two_trajectories(crowd=5))
show(
    trajectories(small),
    "Each group walks to the right by its demand and upwards by its supply. The slope of one piece "
    "is the rate of that day. The slope of the broad line is the rate of the whole time.",
    name="two_trajectories",
)

# %% [markdown]
# - Day by day, the slopes of A agree and those of B do not, so a measure that compares the days
#   finds nothing wrong in A and raises an alarm at B.
# - Over the whole time, the broad lines, both are equally unfair, and these are what ELBERT's
#   **long-term benefit rate** compares.
#
# **Why?** A rate of a quiet day counts as much as that of a busy one, so a person counts for less
# the more others come that day, while adding up first gives everybody the same weight.
#
# **What would change our mind?** A reason why people who come on a busy day should count for less.
#
# *You need* fractions, sums, and the idea of a rate; no reinforcement learning yet. *Time:* 20
# minutes to read, a few seconds on one core; nothing is trained.

# %% [markdown]
# ## The problem
#
# A bank lends on two days, and everybody who applies would repay. On the first day one blue person
# and a crowd of red people come, and on the second day it is the other way round. The bank is
# generous on the second day only. To keep the picture readable, a crowd has five people here. The
# paper uses one hundred.

# %% tags=["nbval-check-output", "hide-input"]
days = small.assign(
    day=small["step"].map({0: "first day", 1: "second day"}),
    loans=small["supply"].astype(str) + " of " + small["demand"].astype(str),
)
days.pivot(index=["trajectory", "group"], columns="day", values="loans")

# %% [markdown]
# Nobody would call either of them equal. A measure of fairness over time should say so, and it
# should say the same of both, because a red person who applies on the first day is not worth less
# than one who applies on the second.
#
# Many measures proposed for sequential decisions do something else. They compute the gap between
# the groups *day by day* and add the gaps up afterwards. In A, blue goes *flat, then steep*, and so
# does red, although the red flat piece is five people long and the blue one only one.
#
# So a bank that wants to look fair day by day has a reason to give the red loan on the quiet day.
# Red people who come on the busy day pay for that. The paper calls this **temporal
# discrimination**: within one group, people count differently depending on when they come.

# %% [markdown]
# ## The idea
#
# ### Dividing first
#
# Write $S_g(t)$ for the supply of group $g$ at time $t$ (loans given) and $D_g(t)$ for its demand
# (people who should get one). The gap between groups 1 and 2 at time $t$ is
#
# $$
# \Delta(t) = \frac{S_1(t)}{D_1(t)} - \frac{S_2(t)}{D_2(t)} .
# $$ (eq-td-gap)
#
# Two ways of adding up the gaps are compared. The *signed sum* stands for notions such as those of
# {cite:t}`wen2021fairmdp` and {cite:t}`chi2022return`, which compare totals of step-wise rates. The
# *squared sum* stands for the notion of {cite:t}`yin2023ucbfair`:
#
# $$
# \text{signed} = \sum_t \Delta(t), \qquad \text{squared} = \sum_t \Delta(t)^2 .
# $$ (eq-td-before)

# %% tags=["nbval-check-output", "remove-input"]
source_of(step_gaps, signed_gap_sum, squared_gap_sum)

# %% [markdown]
# ### Adding up first
#
# The long-term benefit rate turns the order round. Supply and demand are added up over time, and
# divided once. The bias is the distance between the best and the worst served group:
#
# $$
# z_g = \frac{\eta^S_g}{\eta^D_g} = \frac{\sum_t \gamma^t S_g(t)}{\sum_t \gamma^t D_g(t)},
# \qquad b = \max_g z_g - \min_g z_g .
# $$ (eq-td-rate)
#
# In the examples here $\gamma=1$. With a single time step, {eq}`eq-td-rate` is the ordinary static
# rate $S_g/D_g$; that is the claim `elbert-26`.

# %% tags=["nbval-check-output", "remove-input"]
source_of(long_term_benefit_rate, benefit_rate, bias)

# %% [markdown]
# ## What came out
#
# Now with the paper's crowd of one hundred. Change the number and run the cell again.

# %% tags=["nbval-check-output"]
crowd = 100

first, second = two_trajectories(crowd)
reports = {
    "trajectory A": histories.three_notions(first.supply, first.demand),
    "trajectory B": histories.three_notions(second.supply, second.demand),
}
pd.DataFrame(reports).round(5)

# %% [markdown]
# Both sums call A perfectly fair and B very unfair. The benefit rate calls both unfair, to the same
# extent.
#
# Where does the difference come from? In {eq}`eq-td-gap` one more loan on day $t$ moves the
# result by $1/D_g(t)$. In {eq}`eq-td-rate` it moves it by one over the *total* demand, whatever
# the day. This is the weight of one red person in each:

# %% tags=["nbval-check-output"]
red_demand = np.array(two_trajectories(crowd)[0].demand)[:, 1]
pd.DataFrame(
    {
        "day-by-day sum": 1 / red_demand,
        "benefit rate": np.full(2, 1 / red_demand.sum()),
    },
    index=["red person of the first day", "red person of the second day"],
).round(4)

# %% [markdown]
# ### Move it yourself
#
# Begin with A. Move the red point of the first day only: both groups keep their rate over both
# days, so the bias stays the same. Which notions change their mind? Then look for the reverse of A,
# a history that the bias calls fair and the squared gaps do not.
#
# ```{include} ../../book/_generated/world_histories.md
# ```

# %% [markdown]
# ### How much does the number one hundred matter?
#
# Not much: A and B are told apart from small crowds on. Look at crowds of one, at the left edge.
# Overall, both groups get one loan for two applications. The benefit rate reports no bias, and the
# squared sum still minds on *which* day red gets its loan.

# %% tags=["nbval-ignore-output"]
lines = {
    "both sums, A": (0, "squared sum"),
    "signed sum, B": (1, "signed sum"),
    "squared sum, B": (1, "squared sum"),
    "ELBERT bias, A and B": (1, "ELBERT bias"),
}
sweep = {}
for size in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000):
    pair = [histories.three_notions(one.supply, one.demand) for one in two_trajectories(size)]
    sweep[size] = {line: pair[which][notion] for line, (which, notion) in lines.items()}

show(
    line_chart(
        pd.DataFrame(sweep).transpose(),
        across="people in a crowd",
        up="what the notion reports",
        logarithmic=True,
    ),
    "The three notions on trajectories A and B as the crowds grow. Both sums "
    "stay at zero for A. The benefit rate has one line, because A and B are "
    "the same to it.",
    name="crowd_sweep",
)

# %% [markdown]
# ### Let a bank make use of it
#
# An example with two days may look contrived. So let us give a bank a free choice and see which
# decisions each notion rewards.
#
# Five days, with more and more applicants. Blue and red come in equal numbers, and half of the blue
# applicants get the loan every day. The bank decides how many red applicants get it. There are few
# enough ways to try them all.

# %% tags=["nbval-check-output"]
applicants = np.array([2, 4, 8, 16, 70])

# Every number of red loans on every day: one row per way to decide.
ways = np.indices(applicants + 1).reshape(5, -1).T
blue = np.broadcast_to(applicants / 2, ways.shape)
supply = np.stack([blue, ways], axis=-1)  # (ways, days, groups)
demand = np.broadcast_to(applicants[:, None], supply.shape)

notions = {name: np.abs(value) for name, value in histories.three_notions(supply, demand).items()}
loans = ways.sum(axis=1)


columns = [*(f"day {day}" for day in range(1, 6)), "red loans", "red rate"]
rows = {"blue, for comparison": histories.described((applicants / 2).astype(int), applicants)}
for name, value in notions.items():
    fair = np.flatnonzero(value < 1e-12)
    rows[f"{name} is zero"] = histories.described(ways[fair[loans[fair].argmin()]], applicants)
print(f"{len(ways)} ways to serve red")
pd.DataFrame(rows, index=columns).transpose()

# %% [markdown]
# The lower rows show the cheapest way, in loans to red, that each notion calls perfectly fair.
#
# - The signed sum lets a bank be "fair" with a fraction of the loans. It serves everybody on the
#   quiet days and nobody on the busy ones, where most red people are.
# - The squared sum is zero only if the rates agree every day. Here blue and red come in equal
#   numbers every day, so the benefit rates agree then, too. (In trajectory A they did not come in
#   equal numbers, and the benefit rates did not agree.)
# - The benefit rate asks for as many loans, but not for any particular day.
#
# Now give the bank a budget that is too small. It comes as close to zero as it can.

# %% tags=["nbval-check-output"]
budget = 20

affordable = loans == budget
rows = {}
for name in ("signed sum", "squared sum"):
    best = np.where(affordable, notions[name], np.inf).argmin()
    rows[f"smallest {name}"] = histories.described(ways[best], applicants)
same = notions["ELBERT bias"][affordable]
print(f"{affordable.sum()} ways to give {budget} loans to red")
print(f"their ELBERT bias: from {same.min():.3f} to {same.max():.3f}")
pd.DataFrame(rows, index=columns).transpose()

# %% [markdown]
# With the squared sum, the bank brings the quiet days into order and leaves the busiest day to its
# fate. That is temporal discrimination in the other notion. The benefit rate has no opinion: every
# way to spend the budget gives the same bias. It does not tell the bank *when* to be good, and that
# is the point. It is also a limit, as the next section shows.

# %% [markdown]
# ### What adding up first cannot see
#
# A sum over a long time can be equal while no moment is. {cite:t}`hu2024fppo`, another paper of
# this book, therefore also looks at a *window*: the same rates over the last few hundred steps.
#
# Here is a stream of applicants with a reversal. In its first half the bank prefers blue, in the
# second half it makes up for it.

# %% tags=["nbval-ignore-output"]
generator = np.random.default_rng(2024)
steps = 3000
asked = generator.random((steps, 2)) < 0.5  # who would repay, per group
first_half = np.arange(steps)[:, None] < steps // 2
chance = np.where(first_half, [0.8, 0.4], [0.4, 0.8])
given = asked & (generator.random((steps, 2)) < chance)

views = {
    "last 100 steps": windowed_gap(given, asked, 100),
    "last 300 steps": windowed_gap(given, asked, 300),
    "all steps so far": windowed_gap(given, asked, steps),
}
shown_steps = np.arange(99, steps, 25)
stream = pd.DataFrame(views, index=np.arange(1, steps + 1))
show(
    line_chart(
        stream.iloc[shown_steps],
        across="step",
        up="gap between the groups' rates",
    ),
    "The same decisions seen through two windows and over all steps so far. "
    "Over all steps the gap melts away towards the end. Through a window it "
    "never does, except while the preference turns.",
    name="windows",
)

# %% [markdown]
# Whether the second half *makes good* for the first is not a question of mathematics. If the same
# people come again, perhaps it does. If they are different people, somebody was treated unequally
# at every single step. A long-term rate and a short-term window answer different questions, and
# this book reports both where a paper does.
#
# The window has its own weakness, visible in the shortest one: few people, much noise, and an
# absolute gap that is never negative. It lies above zero even for a bank that treats everybody
# alike.

# %% [markdown]
# ### A bias that can be differentiated
#
# To *reduce* the bias by gradient descent one needs a derivative. The maximum and minimum in
# {eq}`eq-td-rate` have kinks. For more than two groups the paper smooths them:
#
# $$
# b^{soft}_\beta = \frac{1}{\beta}\Big[\log\sum_g e^{\beta z_g} + \log\sum_g e^{-\beta z_g}\Big],
# \qquad b \le b^{soft}_\beta \le b + \frac{2\log M}{\beta} .
# $$ (eq-td-soft)
#
# $M$ is the number of groups, and a large $\beta$ means little smoothing. The inequalities are the
# paper's Proposition 3.3. From two groups on the left one is strict, and the right one is an
# equality exactly when all rates are equal.

# %% tags=["nbval-check-output", "remove-input"]
source_of(soft_bias, soft_bias_gradient)

# %% tags=["nbval-ignore-output"]
gap = np.linspace(0.0, 0.5, 101)
two_rates = np.stack([0.5 + gap / 2, 0.5 - gap / 2], axis=-1)
curves = {"exact": bias(two_rates)}
for beta in (5, 20, 100):
    curves[f"soft, sharpness {beta}"] = soft_bias(two_rates, beta)
show(
    line_chart(
        pd.DataFrame(curves, index=gap),
        across="exact bias of two groups",
        up="exact and soft bias",
    ),
    "The soft bias lies above the exact one and follows it once the bias is "
    "large compared with one over the sharpness. It does not reach zero.",
    name="soft_bias",
)

# %% [markdown]
# At zero bias the curves show the floor $2\log(M)/\beta$. At the paper's main setting, sharpness 20
# and five groups, the floor is larger than the biases the paper reports for its own method. Equal
# rates stay a resting point all the same. But the number that is minimised is then not the number
# that is reported.

# %% [markdown]
# ## Text against code
#
# - The caption of the paper's Figure 1 calls the benefit rate a ratio *before* aggregation. The
#   text, and the formula in the same caption, have it *after*. This is a slip of the pen.
# - The poster of the paper shows the same example with crowds of five instead of one hundred. The
#   numbers differ, the message does not; the sweep above covers both. For a crowd of $n$ and
#   trajectory B the signed sum is $1-\frac1n$, the squared sum $1+\frac1{n^2}$ and the bias
#   $\frac{n-1}{n+1}$.
# - Section 5.1 of the paper swaps the symbols of supply and demand for the lending problem in the
#   sentence that defines them. The code, and the rest of the paper, have the loans in the
#   numerator.
# - The introduction attributes the signed sum to a paper of 2021, Section 2.3 to
#   {cite:t}`chi2022return`.
# - For two groups the code always uses the exact bias; the sharpness it accepts has no effect
#   there. At equal rates it takes the derivative $-1$ for the first and $+1$ for the second group.
# - **The code's evaluation adds one to the demand of every episode**, to avoid dividing by zero.
#   Its training does not. On an example as short as this one, the extra one is visible:

# %% tags=["nbval-check-output"]
first, _ = two_trajectories(100)
plain = long_term_benefit_rate(first.supply, first.demand, axis=0)
evaluated = long_term_benefit_rate(first.supply, first.demand, axis=0, offset=1)
comparison = {
    "as published": [*plain, bias(plain)],
    "as coded, evaluation": [*evaluated, bias(evaluated)],
}
pd.DataFrame(comparison, index=["rate of blue", "rate of red", "bias"]).map("{:.4f}".format)

# %% [markdown]
# The lending experiment is evaluated on episodes of ten thousand steps. There, the extra one moves
# a rate by less than a thousandth. In [infectious disease](infectious.ipynb) it decides what the
# bias is.

# %% [markdown]
# ## What it means
#
# Dividing first counts days, adding up first counts people. The benefit rate does not care when
# people are served, which is its strength and its limit. What would change our mind: a reason why
# people who come on a busy day should count for less, or a problem in which it matters *when* a
# group is served. Then the window, or another measure, is the better question.

# %% [markdown]
# ## Exercises
#
# ```{exercise} An unequal history that every notion but one calls fair
# :label: exercise-td-reversal
#
# Two days, ten applicants per group and day. Find decisions for which the signed sum **and** the
# ELBERT bias are zero although not a single day treats the groups alike. What does the squared sum
# say?
# ```

# %% [markdown]
# ```{solution-start} exercise-td-reversal
# :class: dropdown
# ```
#
# Favour one group on the first day and the other one, by as much, on the second.

# %% tags=["nbval-check-output"]
served = np.array([[10, 0], [0, 10]])
came = np.full((2, 2), 10)
print("signed sum ", signed_gap_sum(served, came))
print("ELBERT bias", bias(long_term_benefit_rate(served, came, axis=0)))
print("squared sum", squared_gap_sum(served, came))

# %% [markdown]
# With equally many people every day, dividing first or last makes no difference to the signed sum,
# so both are blind in the same way. The squared sum is not. No notion sees everything.
#
# ```{solution-end}
# ```
#
# ```{exercise} Two ways to lower a bias
# :label: exercise-td-gradient
#
# A bank's bias can fall because the worse served group gets more, or because fewer of its members
# ask. Differentiate $b^2$ by each group's total supply and total demand, for two groups. Which of
# the four derivatives are negative, and what would a method that follows them do? Compare with
# `squared_bias_gradient` for totals of your choice. If you know what an advantage is: which one
# follows for $\eta - \alpha\, b^2$, with $\eta$ the expected reward?
# ```

# %% [markdown]
# ```{solution-start} exercise-td-gradient
# :class: dropdown
# ```
#
# Let group 1 have the higher rate. With $z_g = \eta^S_g / \eta^D_g$ and $b = z_1 - z_2$, the chain
# rule gives
#
# $$
# \begin{aligned}
# \frac{\partial b^2}{\partial \eta^S_g} &= \pm\frac{2b}{\eta^D_g}, \\
# \frac{\partial b^2}{\partial \eta^D_g} &= \mp\frac{2b\,\eta^S_g}{(\eta^D_g)^2},
# \end{aligned}
# $$
#
# with the upper sign for group 1.

# %% tags=["nbval-check-output"]
weights = squared_bias_gradient(supply=[60.0, 20.0], demand=[100.0, 80.0])
pd.DataFrame(
    {"by supply": weights.supply, "by demand": weights.demand},
    index=["better served group", "worse served group"],
).round(5)

# %% [markdown]
# A derivative is negative where *more* lowers the bias: more supply for the worse served group, and
# more demand for the better served one. The other two are positive: less supply for the better
# served group, and **less demand for the worse served group**. The last one is the uncomfortable
# one. A bank could lower its bias by having fewer worthy applicants in the group it serves badly.
# The paper discusses this in its Appendix E and proposes a term that protects the demand.
#
# Each of $\eta$, $\eta^S_g$ and $\eta^D_g$ is the value of a policy, so its gradient is
# $\mathbb E[\sum_t \nabla\log\pi(a_t \mid s_t)\, A_t]$ with its own advantage. The gradient of
# $\eta - \alpha\, b^2$ is the sum of these gradients, each times its derivative above. Nothing but
# the advantages differs between them. So one policy gradient does it, with the weighted sum of the
# advantages: equation {eq}`eq-lending-advantage` of [the page on lending](lending.ipynb),
# Proposition 3.2.
#
# ```{solution-end}
# ```
#
# ```{exercise} Between the bounds
# :label: exercise-td-bounds
#
# Proposition 3.3 puts the soft bias of $M$ groups between $b$ and $b + 2\log(M)/\beta$. Prove it.
# Then draw rates of five groups at random. How far above $b$ does the soft bias lie, as a part of
# that width, for several $\beta$? For which rates does it come near either end?
# ```

# %% [markdown]
# ```{solution-start} exercise-td-bounds
# :class: dropdown
# ```
#
# A sum of $M$ positive numbers is at least its largest term and at most $M$ times that. So, with
# $s_\pm = \log\sum_g e^{\pm\beta z_g}$,
#
# $$
# \begin{aligned}
# 0 &\le s_+ - \beta \max_g z_g \le \log M, \\
# 0 &\le s_- + \beta \min_g z_g \le \log M .
# \end{aligned}
# $$
#
# Add the two lines and divide by $\beta$. On the left equality needs a single term, so it is strict
# from two groups on. On the right it needs equal terms, which means equal rates.

# %% tags=["nbval-check-output"]
drawn = np.random.default_rng(7).random((1000, 5))
chosen = {
    "all equal": np.full(5, 0.5),
    "one best, one worst": np.array([1.0, 0.5, 0.5, 0.5, 0.0]),
    "one best, four worst": np.array([1.0, 0.0, 0.0, 0.0, 0.0]),
}
rows = {}
for beta in (1, 5, 20, 100, 500):
    width = 2 * np.log(5) / beta
    parts = (soft_bias(drawn, beta) - bias(drawn)) / width
    rows[beta] = {"lowest drawn": parts.min(), "highest drawn": parts.max()} | {
        name: (soft_bias(z, beta) - bias(z)) / width for name, z in chosen.items()
    }
pd.DataFrame(rows).rename_axis(columns="beta").round(3) + 0.0

# %% [markdown]
# The upper end is reached at equal rates, whatever $\beta$. The lower end is approached where one
# group is the best and one the worst, and $\beta$ is large. Where four groups share the worst rate,
# a half of the width remains: $\log 4/(2\log 5)$ of it, however large $\beta$ is.
#
# ```{solution-end}
# ```

# %% [markdown]
# ## The verdicts
#
# All three claims are exact statements. They are checked by computing them, so there are no seeds
# and no intervals.

# %% tags=["nbval-check-output", "remove-input"]
page.claims()

# %% [markdown]
# ## Where this came from

# %% tags=["nbval-ignore-output", "remove-input"]
page.origin(
    ["numpy", "scipy", "POT"],
    [signed_gap_sum, long_term_benefit_rate, soft_bias, windowed_gap],
)
