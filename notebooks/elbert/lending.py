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
# # Lending
#
# *A bank decides on one applicant after another, and its decisions make the applicants of
# tomorrow.*
#
# This notebook follows Sections 3 and 5 of {cite:t}`xu2024elbert`, Figure 4 (lending) and Appendix
# D. It uses the benefit rate explained in [temporal discrimination](temporal_discrimination.ipynb).

# %% tags=["parameters"]
profile = "book"

# %% tags=["hide-input"]
import textwrap
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
from IPython.display import Markdown

from longfair.agents.ppo import RPPO, ElbertPO, Strategy
from longfair.agents.ppo.compiled_update import surrogate_slope
from longfair.agents.ppo.elbert_po import advantage_weights
from longfair.agents.supply_demand_mdp import objective
from longfair.envs.lending import LendingParams
from longfair.figures import (
    METHODS,
    LineStyle,
    claim_box,
    group_rates,
    line_chart,
    offer,
    show,
    show_missing,
    source_of,
)
from longfair.figures.style import VARIANT_NAMES
from longfair.metrics import benefit_rate, bias, squared_bias_gradient
from longfair.papers import registry
from longfair.papers.elbert import lending_results as lending
from longfair.papers.elbert import result_figures as figures
from longfair.papers.elbert.lending import (
    ALPHA,
    LENDING,
    PROBLEM,
    REFERENCES,
)
from longfair.papers.elbert.measures import measured
from longfair.papers.protocol import train_and_evaluate
from longfair.papers.seed_figures import interval_in_words
from longfair.runs import tidy
from longfair.runs.origin import origin
from longfair.runs.store import Store
from longfair.runs.verdicts import judge_all

pd.set_option("display.max_colwidth", None)
store = Store()
results = tidy.stored(store, profile, LENDING)
names = {method: style.label for method, style in METHODS.items()}
NOTHING = tidy.nothing_to_show(profile, LENDING)


def labelled(table):
    """Write methods and variants as in the figures."""
    return table.rename(index={**names, **VARIANT_NAMES, "reference": "static"})


# %% [markdown]
# ## Claims on this page
#
# Each claim about the experiment is judged twice. *As coded* means the computations of the authors'
# scripts, *as published* those of the paper's text. `elbert-static` is not the paper's claim: it
# asks whether the learned policy beats a lender that fits in one line.

# %% tags=["nbval-check-output", "hide-input"]
claims = [
    claim
    for claim in registry.claims()
    if claim.experiment == LENDING.id or getattr(claim.rule, "check", None) == "policy-gradient"
]
verdicts = judge_all(claims, store, profile, registry.checks())
claim_box([verdict.as_json() for verdict in verdicts])

# %% tags=["nbval-ignore-output", "remove-input"]
missing = tidy.gaps(store, profile, LENDING).droplevel("experiment")
show_missing(labelled(missing), f"the profile `{profile}`")

# %% [markdown]
# In short:

# %% tags=["nbval-check-output", "remove-input"]
last = tidy.by_seed(results) if len(results) else pd.DataFrame()


def in_short(method, variant):
    """Say in one line what the last policies of an arm reach."""
    rows = tidy.final(results)
    rows = rows[(rows["method"] == method) & (rows["variant"] == variant)]
    found = tidy.over_seeds(rows[rows["group"] < 0], ["method", "variant", "metric"])
    found = found.set_index("metric")
    reward, gap = found.loc["reward"], found.loc["bias"]
    name = f"{names[method]} {VARIANT_NAMES[variant]}".strip()
    return (
        f"{name}: reward {reward['value']:.3f} [{reward['low']:.3f}, {reward['high']:.3f}], "
        f"bias {gap['value']:.3f} [{gap['low']:.3f}, {gap['high']:.3f}]"
    )


lines = [
    in_short(method, variant)
    for method, variant in [
        ("g-ppo", "as_coded"),
        ("elbert-po", "as_coded"),
        ("elbert-po", "as_published"),
        ("threshold-2-1", "reference"),
    ]
    if len(results) and ((last["method"] == method) & (last["variant"] == variant)).any()
]
Markdown("\n".join(f"- {text}" for text in lines) or NOTHING)

# %% [markdown]
# ## Before you start
#
# | | |
# | --- | --- |
# | You need | the benefit rate; what a policy, an advantage and a policy gradient are |
# | You will know | how ELBERT-PO works, how well it lends, and how well it has to lend to matter |
# | Reading time | 45 minutes |
# | Computing time | two minutes on one core for this page; the cost of the stored runs is below |

# %% [markdown]
# ## The idea
#
# A bank that lends does not only sort people, it also changes them. A person who gets a loan and
# repays it has a better score next time, a person who defaults has a worse one. A person who is
# refused has the same score as before, however reliable. So the bank's rule for today shapes whom
# it meets tomorrow, and it can shape two groups differently.
#
# A bank that only looks at the next loan cannot see this. Neither can a fairness rule that only
# looks at the present applicants. {cite:t}`xu2024elbert` treat the bank's business as a sequential
# decision problem, measure fairness over its whole length, and train a policy for both.
#
# Fairness here means equal opportunity {cite:p}`hardt2016equality`, over time. A person who would
# repay has a *demand* for a loan. If the bank grants it, this is a *supply*. The long-term benefit
# rate of a group is its total supply over its total demand: the share of its reliable applicants
# who got their loan. That is the true positive rate of the bank, counted over the episode.

# %% [markdown]
# ## The bank
#
# One applicant comes per step, from either group with equal chance. Applicants have a credit score
# from 0 to 6. The chance of repaying depends on the score only. The groups differ in how the scores
# are distributed at the start.

# %% tags=["nbval-check-output", "hide-input"]
params = LendingParams()
scores = np.arange(len(params.repay_probability))
pd.DataFrame(
    [params.repay_probability, *params.initial_distribution],
    index=["chance of repaying", "share of group 0 at the start", "share of group 1 at the start"],
    columns=pd.Index(scores, name="score"),
)

# %% [markdown]
# The bank accepts or refuses. An accepted loan earns one unit when it is repaid and loses one when
# it is not. After a repayment a little of the group's probability mass moves from the applicant's
# score to the next higher one. After a default it moves to the next lower one. After a refusal
# nothing moves.
#
# What would you do? At equal gain and loss, a loan pays from a chance of one half on, that is, from
# score 3. The *myopic* lender accepts from score 3 in both groups; we write threshold 3 / 3.
# Compare it with the lender who accepts group 0 from score 2 on and group 1 from score 1 on,
# threshold 2 / 1, and loses money on some of these loans.

# %% tags=["nbval-ignore-output"]
lenders = ["threshold-3-3", "threshold-2-1"]
history = {
    lender: lending.score_history(lender, copies=32, episode_length=10_000, every=100, seed=1)
    for lender in lenders
}
mean_scores = {
    f"group {group}, {names[lender]}": distributions[:, group] @ scores
    for group in (0, 1)
    for lender, (_, distributions) in history.items()
}
applicants = history["threshold-3-3"][0]
show(
    line_chart(
        pd.DataFrame(mean_scores, index=applicants),
        across="applicants so far",
        up="mean credit score",
    ),
    "Mean score of both groups under two static lenders, averaged over 32 episodes. Lending first "
    "lifts the scores of both groups and later lowers them, most of all for group 1 under "
    "threshold 2 / 1.",
    name="scores_over_time",
)

# %% [markdown]
# The lines go up and then down, and the lender who is kinder to group 1 leaves it with *lower*
# scores. To see why, look at where the people are at the end.

# %% tags=["nbval-check-output", "hide-input"]
ends = {
    (names[lender], f"group {group}"): distributions[-1, group]
    for lender, (_, distributions) in history.items()
    for group in (0, 1)
}
pd.DataFrame(ends, index=pd.Index(scores, name="score")).transpose().round(2)

# %% [markdown]
# They collect at the score just below the threshold. From score 3 on a repayment is more likely
# than a default, so lending lifts scores on average. But an accepted applicant can default several
# times in a row and fall below the line, and below the line nobody gets the chance to rise again.
# Every lender with a threshold slowly loses customers to this **trap**; the longer the episode, the
# more. A lower threshold moves the trap further down. A loan at score 1 serves the few who would
# repay it, which is what the true positive rate counts, and it sends most of those who take it
# another step down, which the true positive rate does not count.
#
# So the picture is not as simple as "whoever is refused stays poor". Three consequences will come
# back on this page: a lender looks better on short episodes than on long ones; a higher rate for
# group 1 can go together with lower scores of group 1; and then there are fewer reliable applicants
# left in group 1 to count.
#
# What do these lenders earn, and how equal are they? Here they are beside others that need no
# training. The *equal-opportunity* lender knows the score distributions, which the others do not
# see, and makes the most of the next loan under equal true positive rates.

# %% tags=["nbval-check-output"]
static = [
    "reject-all",
    "accept-all",
    "threshold-3-3",
    "threshold-2-2",
    "threshold-1-1",
    "threshold-2-1",
    "equal-opportunity",
]
played = {lender: lending.play_reference(lender, 50, 10_000, seed=2) for lender in static}


def line(totals):
    """Reward, rates and bias of some episodes, as the evaluation computes them."""
    rows = measured(totals, "final", 0).set_index(["metric", "group"])["value"]
    rates = {f"rate of group {group}": rows["rate", group] for group in (0, 1)}
    return {"reward": rows["reward", -1], **rates, "bias": rows["bias", -1]}


labelled(pd.DataFrame({lender: line(totals) for lender, totals in played.items()}).T).round(3)

# %% [markdown]
# Keep the first two rows in mind. A bias of zero is free: refuse everybody, or accept everybody. A
# bias means nothing without the reward beside it. And keep the row of threshold 2 / 1 in mind. It
# is the bar for everything that follows. These rows come from 50 episodes each; how sure one can be
# of such a number is the subject of a section further down.

# %% [markdown]
# ## From a bias to an advantage
#
# With $\eta$ the expected reward of an episode and $\eta^S_g$, $\eta^D_g$ the expected supply and
# demand of group $g$, ELBERT-PO maximises
#
# $$
# J(\pi) = \eta - \alpha\, b^2, \qquad b = \max_g z_g - \min_g z_g, \qquad
# z_g = \frac{\eta^S_g}{\eta^D_g} .
# $$ (eq-lending-objective)
#
# In a small problem with known transitions all of this can be computed exactly. There,
# {eq}`eq-lending-objective` is a function of the policy:

# %% tags=["nbval-check-output", "remove-input"]
source_of(objective, benefit_rate, bias)

# %% [markdown]
# A ratio of expectations is not an expectation, so $J$ is not the value of any reward. Its gradient
# is nevertheless a policy gradient. Each of $\eta$, $\eta^S_g$ and $\eta^D_g$ *is* a value, with an
# advantage of its own: $A$, $A^S_g$, $A^D_g$. By the chain rule the gradient of $J$ is the policy
# gradient with the **fairness-aware advantage** (Proposition 3.2)
#
# $$
# A^{fair}_t = A_t - \alpha \sum_g \frac{\partial b^2}{\partial z_g}
# \Big[ \frac{1}{\eta^D_g}\, A^S_{g,t} - \frac{\eta^S_g}{(\eta^D_g)^2}\, A^D_{g,t} \Big],
# \qquad \frac{\partial b^2}{\partial z_g} = \pm 2 b ,
# $$ (eq-lending-advantage)
#
# with plus for the group with the higher rate. In words: a decision is good if it earns, if it
# leads to more served people in the group that is behind or fewer in the other, and also if it
# leads to *fewer* people to be served in the group that is behind.

# %% tags=["nbval-check-output", "remove-input"]
source_of(squared_bias_gradient, advantage_weights)

# %% [markdown]
# An example. Two groups with demands 10 and 20 and supplies 5 and 6, so rates of 0.5 and 0.3. A
# decision with reward advantage 1 serves group 0 and takes from group 1.

# %% tags=["nbval-check-output"]
weights = advantage_weights(
    supply=np.array([5.0, 6.0]), demand=np.array([10.0, 20.0]), alpha=3.0, beta=20.0
)
advantages = np.array([1.0, 1.0, -1.0, 1.0, 1.0])  # reward; supply 0, 1; demand 0, 1
example = pd.DataFrame(
    {"weight": weights, "advantage": advantages, "product": weights * advantages},
    index=["reward", "supply of group 0", "supply of group 1", "demand of 0", "demand of 1"],
)
print(example.round(4))
print(f"fairness-aware advantage: {weights @ advantages:.4f}")

# %% [markdown]
# So ELBERT-PO needs one critic for the reward and one for every supply and demand; with two groups,
# five. The rest is PPO {cite:p}`schulman2017ppo`. With $r_t$ the probability of the action taken
# under the new policy over that under the old one, PPO maximises
#
# $$
# \mathbb E\big[ \min\big( r_t A^{fair}_t,\;
# \mathrm{clip}(r_t, 1-\epsilon, 1+\epsilon)\, A^{fair}_t \big) \big] .
# $$ (eq-lending-clip)
#
# The library computes the slope of {eq}`eq-lending-clip` directly. The combination
# {eq}`eq-lending-advantage` is the one function in which ELBERT-PO differs from PPO. It has
# a switch for *where* advantages are standardised; we come back to that.

# %% tags=["nbval-check-output", "remove-input"]
source_of(ElbertPO.advantage, surrogate_slope)

# %% [markdown]
# The identity itself is the claim `elbert-24` above. It is checked on random problems against
# finite differences of `objective`, for raw advantages.

# %% [markdown]
# ## Train it yourself
#
# Now a small run, in front of you. Three learners start from the same untrained network, meet the
# same first applicants, and are evaluated on the same long episodes:
#
# - G-PPO (*greedy*): PPO on the reward alone,
# - ELBERT-PO with the paper's weight $\alpha$,
# - ELBERT-PO with a hundredth of it.
#
# Everything else is as in the stored runs below, which take eight times as many steps. Change the
# numbers and run the cell again.

# %% tags=["nbval-ignore-output"]
quick = replace(PROBLEM.learning["book"], total_steps=250_000)
look = replace(PROBLEM.evaluating["book"], every=6, episodes=5, final_episodes=50)
live_problem = replace(PROBLEM, learning={"live": quick}, evaluating={"live": look})
live_problem = replace(live_problem, episode_length={"live": 2048})
run_number = 1000

learners = {
    "g-ppo": Strategy(),
    "elbert-po": ElbertPO.as_coded(ALPHA),
    "elbert-po-light": ElbertPO.as_coded(ALPHA / 100),
}
orange = METHODS["a-ppo"].colour
styles = {"elbert-po-light": LineStyle("ELBERT-PO, weight / 100", orange, "D", "--")}
live = pd.concat(
    train_and_evaluate(live_problem.learned(strategy, "live"), run_number).assign(
        method=method, variant="live", seed=run_number
    )
    for method, strategy in learners.items()
)
bars = pd.concat(
    train_and_evaluate(PROBLEM.untrained(REFERENCES[lender][0], look), run_number).assign(
        method=lender, variant="reference", seed=run_number
    )
    for lender in lenders
)

# %% tags=["nbval-ignore-output", "hide-input"]
before = live[(live["phase"] == "curve") & (live["step"] == 0)]
after = live[live["phase"] == "final"]
moments = {"before": before, "after": pd.concat([after, bars])}
columns = {
    (metric, moment): rows[rows["metric"] == metric].set_index("method")["value"]
    for metric in ("reward", "bias")
    for moment, rows in moments.items()
}
table = pd.DataFrame(columns).reindex([*learners, *lenders]).round(3)
table = table.astype(object).where(table.notna(), "")
labelled(table).rename(index={method: style.label for method, style in styles.items()})

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    figures.live_curves(pd.concat([live, bars]), "reward", styles),
    "The live runs: reward per step on evaluation episodes during training. One run each, so this "
    "shows how learning begins and proves nothing.",
    name="live_reward",
)

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    figures.live_curves(pd.concat([live, bars]), "bias", styles),
    "The live runs: bias on the same evaluation episodes.",
    name="live_bias",
)

# %% [markdown]
# An untrained policy tosses a coin. It treats both groups alike and earns nothing, so the bias of
# G-PPO has to rise while it learns. With the paper's weight, fairness comes first for a long time
# and the reward has to wait; the authors' own curves begin like this, too. With a hundredth of the
# weight the reward comes at once. One run each proves nothing, but it is a reason to ask how the
# paper's weight was chosen. The paper does not say.

# %% [markdown]
# ## What came out
#
# The stored runs train to the paper's horizon, several seeds for each method. Beside ELBERT-PO and
# G-PPO stand the paper's two other baselines. **R-PPO** subtracts a penalty from the reward as long
# as the running rates of the groups differ. **A-PPO** adds fairness terms to the advantage.
#
# ### As coded
#
# Thin lines are single runs, bands are 95 % bootstrap intervals of the mean over seeds, nothing is
# smoothed. Each point of a thin line is an evaluation on three episodes, as the authors do it.

# %% tags=["nbval-ignore-output", "hide-input"]
beside = ["threshold-3-3", "threshold-2-1", "equal-opportunity"]
show(
    figures.curves(results, "bias", "as_coded", beside),
    "Bias during training, as coded, on episodes of 10,000 applicants. Horizontal lines: static "
    "lenders, on the same episodes.",
    name="bias_as_coded",
    otherwise=NOTHING,
)

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    figures.curves(results, "reward", "as_coded", beside),
    "Reward per step during training, as coded, on the same episodes.",
    name="reward_as_coded",
    otherwise=NOTHING,
)

# %% [markdown]
# G-PPO is at its best early. Then it learns to refuse whoever brings no profit now, and gets worse
# on long episodes. ELBERT-PO first gives up the reward for fairness and earns it back later. Both
# can be seen in the authors' curves, too.
#
# ### As published
#
# The same four methods, following the text: critics that a method does not use are not trained,
# R-PPO penalises only what exceeds its tolerance, A-PPO's terms are not rescaled, and ELBERT-PO
# combines raw advantages, with discounted totals. Weights and tolerances are unchanged.

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    figures.curves(results, "bias", "as_published", beside),
    "Bias during training, as published.",
    name="bias_as_published",
    otherwise=NOTHING,
)

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    figures.curves(results, "reward", "as_published", beside),
    "Reward per step during training, as published.",
    name="reward_as_published",
    otherwise=NOTHING,
)

# %% [markdown]
# ### Reward against bias
#
# The last policy of every run, played for many more episodes than during training. The best corner
# is the upper left.

# %% tags=["nbval-ignore-output", "hide-input"]
learned = results[results["variant"] != "reference"]
show(
    figures.scatter(results, ["as_coded"], static),
    "Reward against bias, as coded. Large marks are means with intervals, small ones single runs. "
    "Static lenders carry their names.",
    name="trade_off_as_coded",
    otherwise=NOTHING,
)

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    figures.scatter(results, ["as_published"], static),
    "Reward against bias, as published.",
    name="trade_off_as_published",
    otherwise=NOTHING,
)

# %% [markdown]
# How is the bias lowered? A gap between two rates closes when the lower one rises, when the higher
# one falls, or when there are fewer people to serve in the group behind. The bars show all three.

# %% tags=["nbval-ignore-output", "hide-input"]
quantities = {
    "rate": "true positive rate",
    "supply": "supply per step",
    "demand": "demand per step",
}


def bars_of(results, variant):
    """Draw rate, supply and demand of every group for one variant and the static lenders."""
    rows = tidy.final(results)
    chosen = rows["method"].isin(["threshold-3-3", "threshold-2-1", "equal-opportunity"])
    rows = rows[(rows["variant"] == variant) | chosen]
    rows = rows[rows["metric"].isin(quantities) & (rows["group"] >= 0)]
    if (rows["variant"] == variant).sum() == 0:
        return None
    return group_rates(
        tidy.over_seeds(rows, ["method", "variant", "metric", "group"]),
        quantities=quantities,
        interval=interval_in_words(rows),
        group_names=["group 0 (starts higher)", "group 1"],
    )


show(
    bars_of(results, "as_coded"),
    "The groups' rates, and the supply and demand behind them, as coded.",
    name="group_rates",
    otherwise=NOTHING,
)

# %% [markdown]
# The bias has no sign. The first panel shows who is ahead: a method that pushes too hard, or pushes
# on short episodes and is evaluated on long ones, can end with the other group in front.
#
# The third panel deserves a look, too. Those who close the gap by lending more to group 1 find
# fewer reliable applicants in it than the myopic lender does. That is the trap at work. And it is
# one of the ways in which {eq}`eq-lending-advantage` can lower a bias: fewer people to serve in the
# group that is behind.

# %% tags=["nbval-check-output", "remove-input"]
chance = np.array(params.initial_distribution[1]) @ params.repay_probability
opening = chance * params.group_probability[1]
sentences = [f"At the start of an episode, {opening:.1%} of the applicants are members of group 1 "
             "who would repay."]
for method, variant in [
    ("threshold-3-3", "reference"),
    ("g-ppo", "as_coded"),
    ("elbert-po", "as_coded"),
    ("threshold-2-1", "reference"),
    ("equal-opportunity", "reference"),
]:
    rows = last[(last["method"] == method) & (last["variant"] == variant)]
    if len(rows):
        sentences.append(f"{names[method]}: {rows['demand_1'].mean():.1%} over an episode.")
Markdown(" ".join(sentences))

# %% [markdown]
# The paper's Figure 9 shows the same during training, and sorts by rank: the *advantaged* group is
# the one with the higher rate in the evaluation at hand. When the two rates come close, the groups
# change places often, and a line can jump without anything happening in any group.

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    figures.supply_and_demand(results),
    "Supply and demand of the better and the worse served group during training, as coded, one "
    "panel per method. Mean and 95 % bootstrap interval over seeds.",
    name="lending_supply_demand",
    otherwise=NOTHING,
)

# %% [markdown]
# Under G-PPO both supplies rise at first and then fall again, most for the worse served group.
# ELBERT-PO supplies both groups more than G-PPO does in the end, and the demand of both is lower.
# R-PPO turns the gap around: its better served group has the lower demand, so it is group 1.
#
# The paper sees the danger. Its Appendix E proposes an extra term that protects the demand of a
# group, and argues that lending does not need it because the demand falls only mildly. You can
# judge for yourself whether the fall is mild. A rate cannot tell an open door from an empty room.
#
# The numbers, with 95 % intervals over seeds. IQM is the interquartile mean, which one odd run in
# ten cannot move. The *bias* is that of the authors' evaluation; the *exact bias* leaves out the
# one that this evaluation adds to every episode's demand.

# %% tags=["nbval-check-output", "hide-input"]
labelled(lending.final_table(results)) if len(results) else NOTHING

# %% [markdown]
# How does this compare with what the authors show? They published no tables. The numbers below were
# read off the plots of their poster: the learning curves at two million steps, and their end at
# five million. Their curves are smoothed; the reading errors are up to 0.004.

# %% tags=["nbval-check-output", "hide-input"]
def cells_beside_poster(poster, heading):
    """Lay out our values, with their intervals, and the poster's: cells by method and column."""
    shown = {}
    for row in poster.to_dict("records"):
        interval = f"{row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
        cells = shown.setdefault(names[row["method"]], {})
        cells[row["metric"], heading] = interval
        cells[row["metric"], "poster, two million"] = f"{row['at two million']:.3f}"
        cells[row["metric"], "poster, end"] = f"{row['at the end']:.3f}"
    return shown


poster = lending.beside_poster(results) if "as_coded" in set(results["variant"]) else pd.DataFrame()
shown = cells_beside_poster(poster, "ours, as coded")
for lender in lenders:
    for metric in ("reward", "bias"):
        mean = tidy.references(results, metric, [lender])["value"]
        if len(poster) and len(mean):
            cells = shown.setdefault(names[lender], {})
            cells[metric, "ours, as coded"] = f"{mean[0]:.3f}"
            cells[metric, "poster, two million"] = cells[metric, "poster, end"] = ""
pd.DataFrame.from_dict(shown, orient="index") if shown else NOTHING

# %% tags=["nbval-check-output", "remove-input"]
if len(poster):
    text = (
        f"Of the {len(poster)} numbers at the end of the authors' curves, "
        f"{poster['at the end agrees'].sum()} lie within our intervals, widened by the reading "
        f"error; of those at two million steps, {poster['at two million agrees'].sum()}."
    )
    if poster["at the end agrees"].sum() > poster["at two million agrees"].sum():
        text += (
            " So our runs, which end at two million, look more like the end of theirs. "
            "Learning rate, minibatches and networks differ, and runs with the authors' settings, "
            "further below, look otherwise."
        )
Markdown(text if len(poster) else NOTHING)

# %% [markdown]
# And the question that the table raises: is a learned policy better than threshold 2 / 1? The
# differences are paired by seed, because both are evaluated on the same stream of applicants.

# %% tags=["nbval-check-output", "hide-input"]
rows = {}
for method, variant in learned[["method", "variant"]].drop_duplicates().itertuples(index=False):
    gain = {
        f"{metric} less that of {names['threshold-2-1']}": tidy.difference(
            results, metric, (method, variant), ("threshold-2-1", "reference")
        )
        for metric in ("reward", "bias")
    }
    if all(gain.values()):
        rows[method, variant] = {name: tidy.written(found) for name, found in gain.items()}
against_static = pd.DataFrame.from_dict(rows, orient="index")
labelled(against_static) if rows else NOTHING

# %% [markdown]
# A policy would be preferable without reservation if the first column were above zero and the
# second one below. The static lender was not trained. But it was not found without effort either:
# somebody who knew the transition probabilities chose its two numbers. The first exercise looks at
# all pairs of thresholds.

# %% [markdown]
# ## Verdicts
#
# The rules were committed before the runs; they are in `claims.yaml` of the paper's folder. Read
# the verdicts together. `elbert-01`, `-02` and `-03` look at the bias alone, and a policy that
# tosses a coin would do well by them. `elbert-04` and `elbert-static` look at the reward, too.

# %% tags=["nbval-check-output", "hide-input"]
for verdict in verdicts:
    print(f"{verdict.claim.id}, {VARIANT_NAMES[verdict.variant]}: {verdict.word}")
    for part in verdict.parts or [verdict]:
        print(textwrap.indent(textwrap.fill(part.detail.rstrip(".") + ".", width=76), "    "))
    if verdict.interquartile_mean is not None:
        mean = f"{verdict.interquartile_mean:.4g}"
        print(f"    {verdict.measured}, with interquartile means: {mean}.")

# %% [markdown]
# ## What the authors' code does differently
#
# ### The advantages are standardised one by one
#
# Before the chain rule combines them, the code centres and scales each of the five advantages over
# the minibatch. The paper does not mention it. The relative weights in
# {eq}`eq-lending-advantage` are then no longer those of the proposition, and the number $\alpha$
# has no meaning apart from this step. The code also computes $\eta^S_g$ and $\eta^D_g$ as plain
# sums over the episode where the paper discounts them. That alone changes the effect of
# $\alpha$, because a discounted sum is so much smaller:

# %% tags=["nbval-check-output", "hide-input"]
discount, length = 0.99, PROBLEM.episode_length["book"]
example_totals = lending.play_reference("threshold-2-2", 50, length, seed=3)
supply = example_totals.supply.mean(axis=0)
demand = example_totals.demand.mean(axis=0)
shrink = (1 - discount**length) / (1 - discount) / length
rows = {}
sums = {"plain sums (as coded)": 1.0, "discounted sums (as published)": shrink}
for name, factor in sums.items():
    weights = advantage_weights(supply * factor, demand * factor, ALPHA, beta=20.0)
    rows[name] = {
        "demand of group 0": demand[0] * factor,
        "demand of group 1": demand[1] * factor,
        "weight of supply 0": weights[1],
        "weight of supply 1": weights[2],
        "weight of demand 0": weights[3],
        "weight of demand 1": weights[4],
    }
print(f"Weights beside a reward advantage of weight 1, alpha = {ALPHA:,.0f},")
print(f"with the totals of {names['threshold-2-2']} spread evenly over an episode:")
pd.DataFrame.from_dict(rows, orient="index").round(0).astype(int)

# %% tags=["nbval-check-output", "remove-input"]
Markdown(
    f"So the same weight is {1 / shrink:.0f} times heavier as published. In both variants fairness "
    "outweighs the reward by far at first, and the reward counts only once the bias is small. "
    "Where each variant ended:"
)

# %% tags=["nbval-check-output", "remove-input"]
sentences = []
for variant in ("as_coded", "as_published"):
    rows = last[(last["method"] == "elbert-po") & (last["variant"] == variant)]
    if rows.empty:
        continue
    rates = [rows[f"rate_{group}"] for group in (0, 1)]
    sentences.append(
        f"ELBERT-PO {VARIANT_NAMES[variant]}, {tidy.seeds_in_words(rows)}: mean reward "
        f"{rows['reward'].mean():.3f}, single runs from {rows['reward'].min():.3f} to "
        f"{rows['reward'].max():.3f}. It serves {rates[0].mean():.0%} of the reliable applicants "
        f"of group 0 and {rates[1].mean():.0%} of those of group 1; in single runs the rate of "
        f"group 0 lies between {rates[0].min():.0%} and {rates[0].max():.0%}."
    )
Markdown("\n".join(f"- {sentence}" for sentence in sentences) or NOTHING)

# %% [markdown]
# Recall that refusing everybody, accepting everybody and tossing a coin all have no bias. A run
# that ends near one of these has satisfied the fairness term and not found its way to the reward.
# Whether the published form *can* work with another weight is the third exercise.
#
# ### Supply and demand change places in one sentence
#
# Section 5.1 of the paper calls the people who would repay the supply and those among them who get
# a loan the demand. Everything else in paper and code has it the other way round, as we do.
#
# ### The evaluation adds one
#
# The evaluation divides by the demand plus one per episode, the training does not.

# %% tags=["nbval-check-output", "remove-input"]
if len(last):
    moved = (last["bias"] - last["bias_exact"]).abs()
    text = (
        f"Over all {len(last)} stored runs this moves the bias by at most {moved.max():.5f}. It "
        "cannot matter in episodes of this length."
    )
Markdown(text if len(last) else NOTHING)

# %% [markdown]
# ### Training and evaluation have different lengths
#
# Policies are trained on episodes of 2048 applicants and evaluated on 10,000. The same static
# lenders at both lengths:

# %% tags=["nbval-check-output"]
lengths = {"2048 applicants": 2048, "10,000 applicants": 10_000}
rows = {}
for lender in ("accept-all", "threshold-3-3", "threshold-2-2", "threshold-1-1", "threshold-2-1"):
    for name, length in lengths.items():
        reached = line(lending.play_reference(lender, 50, length, seed=4))
        for quantity in ("reward", "bias"):
            rows.setdefault(lender, {})[quantity, name] = reached[quantity]
labelled(pd.DataFrame.from_dict(rows, orient="index")).round(3)

# %% [markdown]
# Every one of them earns less per step in long episodes, because more and more people have fallen
# into the trap. A learner never sees this part of the episode. Its discount of 0.99 makes it look
# ahead about one hundred applicants in any case, and on that horizon the myopic lender is nearly
# right. So one should expect G-PPO to end near the myopic lender:

# %% tags=["nbval-check-output", "remove-input"]
sentences = []
for variant in ("as_coded", "as_published"):
    found = [
        tidy.difference(results, metric, ("g-ppo", variant), ("threshold-3-3", "reference"))
        for metric in ("reward", "bias")
    ]
    if all(found):
        sentences.append(
            f"G-PPO {VARIANT_NAMES[variant]} less {names['threshold-3-3']}: reward "
            f"{tidy.written(found[0])}, bias {tidy.written(found[1])}."
        )
Markdown("\n".join(f"- {sentence}" for sentence in sentences) or NOTHING)

# %% [markdown]
# ### Critics that nobody uses
#
# The authors' baselines train critics for supply and demand without using them. All networks share
# one clip of the gradient norm, so these critics make the policy's steps smaller as long as they
# fit badly. For G-PPO, this is the only difference between the variants:

# %% tags=["nbval-check-output", "remove-input"]
rows = {}
for method in ("g-ppo", "r-ppo", "a-ppo", "elbert-po"):
    found = {
        f"{metric}, as coded less as published": tidy.difference(
            results, metric, (method, "as_coded"), (method, "as_published")
        )
        for metric in ("reward", "bias")
    }
    if all(found.values()):
        rows[method] = {name: tidy.written(value) for name, value in found.items()}
labelled(pd.DataFrame.from_dict(rows, orient="index")) if rows else NOTHING

# %% [markdown]
# ### A sign
#
# Equation 27 of the appendix *adds* R-PPO's penalty to the reward, which would pay the bank for
# unfairness. The text subtracts it, and so does the code. The second exercise tries the printed
# sign.
#
# ### How long is a run?
#
# The paper's appendix trains for two million steps. The authors' script has five million, and so
# has the axis of their poster. The percentages in the text fit the shorter horizon better:

# %% tags=["nbval-check-output", "remove-input"]
noted = [claim for claim in claims if claim.id in ("elbert-02", "elbert-03")]
Markdown("\n".join(f"- `{claim.id}`: {claim.statement} {claim.note}" for claim in noted))

# %% [markdown]
# We judge at two million.
#
# ### How much does an evaluation know?
#
# The authors evaluate on three episodes. Let us play many episodes with static lenders, draw
# evaluations from them, and see how far evaluations of one and the same policy scatter.

# %% tags=["nbval-check-output"]
noisy = ["threshold-3-3", "threshold-2-2", "threshold-1-1", "threshold-2-1"]
pool = {lender: lending.play_reference(lender, 150, 10_000, seed=5) for lender in noisy}
generator = np.random.default_rng(6)
sizes = (1, 3, 10, 30, 100)
draws = {
    (lender, size): lending.resampled_bias(pool[lender], size, 4000, generator)
    for lender in noisy
    for size in sizes
}
rows = {
    lender: {
        "bias over all episodes": line(pool[lender])["bias"],
        "mean of evaluations": draws[lender, 3].mean(),
        "standard deviation": draws[lender, 3].std(),
        "95 % of them from": np.quantile(draws[lender, 3], 0.025),
        "to": np.quantile(draws[lender, 3], 0.975),
    }
    for lender in noisy
}
print("Evaluations on three episodes:")
labelled(pd.DataFrame.from_dict(rows, orient="index")).round(3)

# %% tags=["nbval-ignore-output", "hide-input"]
spread = {
    names[lender]: [draws[lender, size].std() for size in sizes] for lender in noisy
}
show(
    line_chart(
        pd.DataFrame(spread, index=sizes),
        across="episodes per evaluation",
        up="standard deviation of the bias",
        logarithmic=True,
    ),
    "How much evaluations of one policy scatter, by the number of episodes in each.",
    name="evaluation_noise",
)

# %% tags=["nbval-check-output", "remove-input"]
better, worse = draws["threshold-2-1", 3], draws["threshold-2-1", 3] + 0.02
wrong = np.mean(better[:, None] > generator.permutation(worse)[None, :])
Markdown(
    f"Take two policies like {names['threshold-2-1']}, one with a bias that is larger by 0.02. "
    f"One three-episode evaluation of each puts them into the wrong order in {wrong:.0%} of cases."
)

# %% [markdown]
# So a single point of a learning curve says little about differences of that size. And because a
# bias cannot be negative, noise pushes small ones upwards: compare the first two columns in the
# last row. The authors smooth over many evaluations instead. Our final values use 100 episodes per
# run.
#
# ### What is a band?
#
# The authors' plots draw a band from 100 means of 30 draws, taken with replacement from three runs.
# Thirty draws from three runs know no more than the three runs do, so the band comes out much too
# narrow. Here is their recipe beside a bootstrap interval, on three of our runs:

# %% tags=["nbval-check-output", "remove-input"]
rows = {}
for method, variant in [("g-ppo", "as_coded"), ("elbert-po", "as_coded")]:
    values = last[(last["method"] == method) & (last["variant"] == variant)]
    for metric in ("reward", "bias"):
        if len(values) >= 3:
            low, high = lending.published_band(values[metric].iloc[:3], np.random.default_rng(7))
            chosen = values[["method", "variant", metric]].rename(columns={metric: "value"})
            ours = tidy.over_seeds(chosen, ["method", "variant"]).iloc[0]
            rows[f"{names[method]}, {metric}"] = {
                "three runs": ", ".join(f"{value:.4f}" for value in values[metric].iloc[:3]),
                "authors' recipe on these": f"{low:.4f} to {high:.4f}",
                f"95 % interval, {ours['seeds']} runs": f"{ours['low']:.4f} to {ours['high']:.4f}",
            }
pd.DataFrame.from_dict(rows, orient="index") if rows else NOTHING

# %% [markdown]
# ## What our settings change
#
# Environment, horizon, observations, rewards, discount, clip range and the weights of all methods
# are the authors'. To afford several seeds of every method, the profile `book` changes how the same
# number of steps is used:

# %% tags=["nbval-check-output", "hide-input"]
def described(name):
    """Settings of a profile, and how far one rollout can move the policy."""
    learning = PROBLEM.learning[name]
    rollout = learning.copies * PROBLEM.episode_length[name]
    gradient_steps = learning.epochs * rollout / learning.minibatch
    return {
        **asdict(learning),
        **asdict(PROBLEM.evaluating[name]),
        "gradient steps per rollout": round(gradient_steps),
        "learning rate x gradient steps": f"{learning.learning_rate * gradient_steps:.4f}",
    }


settings = {name: described(name) for name in ("paper", "book")}
changed = pd.DataFrame(settings).rename_axis("setting")
changed[changed["paper"].astype(str) != changed["book"].astype(str)].rename(
    columns={"paper": "authors' settings (paper)", "book": "ours (book)"}
)

# %% [markdown]
# These settings were chosen by looking at runs with numbers from 1000 on, which no profile reports.
#
# The choice is not innocent, and it was made twice. **ELBERT-PO is sensitive to it.** What matters
# most is how far the updates of one rollout can move the policy, the last row of the table. If it
# is too far, the side that the fairness term pulls to flips from rollout to rollout. A first
# version of `book` had rollouts of eight episodes. Ten runs were made with it, and two of them
# ended far from the others. We then went back to the tuning runs, settled on the present version,
# and ran all methods again; the [changelog](../../book/changelog.md) has the entry. No rule was
# changed. But the settings were changed by people who had seen runs 0 to 9, and you should know it.
#
# On tuning runs with still larger updates (minibatches of 512, or a learning rate of 1e-3), and
# with rollouts of sixteen episodes, ELBERT-PO ended in policies that refuse most people or earn
# little. With a learning rate of 1e-4 it was still improving after two million steps. The tuning
# runs were not kept, so this is a report, not a result. It means that a verdict about ELBERT-PO on
# this page is a verdict about ELBERT-PO *with these settings*. The baselines were not tuned apart;
# all methods share the settings, as in the paper.

# %% [markdown]
# ### With the authors' settings
#
# The profile `paper` follows the authors' script in every number. Its runs take many times as long.
# If our settings do no harm, the intervals of both meet:

# %% tags=["nbval-check-output", "hide-input"]
both = {name: tidy.stored(store, name, LENDING) for name in ("book", "paper")}
labelled(tidy.side_by_side(both, {"reward": ("reward", 3), "bias": ("bias", 3)}))

# %% [markdown]
# The same runs beside the poster:

# %% tags=["nbval-check-output", "hide-input"]
authors = both["paper"]
shown = {}
if "as_coded" in set(authors["variant"]):
    shown = cells_beside_poster(lending.beside_poster(authors), "authors' settings, as coded")
pd.DataFrame.from_dict(shown, orient="index") if shown else tidy.nothing_to_show("paper", LENDING)

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    figures.curves(authors, "reward", "as_coded"),
    "Reward per step during training with the authors' settings, as coded.",
    name="reward_paper",
    otherwise=tidy.nothing_to_show("paper", LENDING),
)

# %% [markdown]
# G-PPO, R-PPO and ELBERT-PO end about where they end with our settings, and about where the poster
# has them after as many steps. Only ELBERT-PO's bias is lower than there, because the poster's
# evaluations are of three episodes, and chance adds to a small bias. A-PPO is the exception. With
# our settings it earns less than G-PPO and has a small bias; with the authors' it earns as much as
# anybody and has a larger one. The poster has both. Its A-PPO begins as the second, and between one
# and three million steps it falls to where our runs end. So this fall comes late, our larger steps
# bring it forward, and a run of two million steps with small ones ends before it.
#
# That matters for one verdict. By how much ELBERT-PO reduces the bias of A-PPO, `elbert-03`,
# depends on when one looks. The text's percentage fits the poster's A-PPO on its way down, not at
# its end. What the claims measure over the runs with the authors' settings, which are too few for a
# verdict:

# %% tags=["nbval-check-output", "hide-input"]
by_authors = [
    verdict.as_json()
    for verdict in judge_all(claims, store, "paper", registry.checks())
    if verdict.claim.experiment and verdict.word != "not attempted"
]
claim_box(by_authors) if by_authors else tidy.nothing_to_show("paper", LENDING)

# %% [markdown]
# More of these runs:

# %% tags=["nbval-check-output", "hide-input"]
labelled(lending.final_table(authors)) if len(authors) else tidy.nothing_to_show("paper", LENDING)

# %% tags=["nbval-ignore-output", "remove-input"]
if len(authors):
    show(
        figures.scatter(authors, ["as_coded", "as_published"], static),
        "Reward against bias with the authors' settings.",
        name="trade_off_paper",
    )

# %% [markdown]
# ## What it costs
#
# Time on one core, from the provenance of the stored runs; evaluation included.

# %% tags=["nbval-check-output", "hide-input"]
if len(results):
    provenance = store.provenance(experiment=LENDING.id, profile=profile)
    costs = tidy.cost(provenance, LENDING.methods(profile), "hours")
labelled(costs) if len(results) else NOTHING

# %% tags=["nbval-check-output", "remove-input"]
if len(results):
    text = (
        f"All {costs['runs'].sum()} runs together took {costs['core hours in all'].sum():.1f} "
        f"core hours on {' and '.join(sorted(provenance['processor'].unique()))}."
    )
Markdown(text if len(results) else NOTHING)

# %% [markdown]
# ## What would change our mind
#
# - **Runs with the authors' settings** that end elsewhere. Our settings take larger and fewer steps
#   through the same number of applicants. If the profile `paper` gave another order of the methods,
#   the verdicts above would be about our settings and not about the methods.
# - **A learned policy above and to the left of threshold 2 / 1**, by more than its interval. The
#   claim `elbert-static` would then be reproduced. The observation contains the running rates of
#   both groups, so a policy can in principle react to the present gap, which no static lender can.
# - **A problem where no pair of thresholds is good.** Lending with two groups and one score is
#   kind to static lenders. What holds here need not hold in the paper's other two environments.
# - **ELBERT-PO with another weight.** We kept the paper's $\alpha$ for both variants, because the
#   paper gives one number. The live run above and the third exercise suggest that much smaller
#   weights learn faster. Full runs over a range of weights, chosen for each variant on runs that
#   are not reported, could turn several verdicts.

# %% [markdown]
# ## Exercises
#
# ```{exercise} All static lenders
# :label: exercise-lending-pairs
#
# There are eight thresholds for each group, from "everybody" to "nobody". Play all 64 pairs. Which
# of them are not beaten by another pair in reward *and* bias? Check your choice on applicants that
# were not used to find it.
# ```

# %% [markdown]
# ```{solution-start} exercise-lending-pairs
# :class: dropdown
# ```
#
# A pair is kept if no other pair has at least its reward and at most its bias. Pairs that earn
# nothing are left out; refusing one group altogether is among them.

# %% tags=["nbval-check-output"]
pairs = lending.threshold_pairs(episodes=40, episode_length=10_000, seed=8)
worthwhile = pairs[pairs["reward"] > 0.01].sort_values("reward", ascending=False)
unbeaten = worthwhile[worthwhile["bias"] < worthwhile["bias"].cummin().shift(fill_value=1.0)]
again = lending.threshold_pairs(episodes=40, episode_length=10_000, seed=9).loc[unbeaten.index]
unbeaten = unbeaten.join(again[["reward", "bias"]].add_suffix(" on fresh applicants"))
unbeaten.set_index(["group 0", "group 1"]).round(3)

# %% [markdown]
# Finding the best of 64 on the same applicants flatters the winner, so look at the last columns.
#
# ```{solution-end}
# ```
#
# ```{exercise} The printed sign
# :label: exercise-lending-sign
#
# Train R-PPO for a short time with the penalty subtracted, and with the sign of Equation 27. What
# happens to reward and bias?
# ```

# %% [markdown]
# ```{solution-start} exercise-lending-sign
# :class: dropdown
# ```

# %% tags=["nbval-ignore-output"]
short = replace(quick, total_steps=200_000)


def reached(strategy):
    """Train briefly and return reward and bias of the last policy."""
    setting = replace(live_problem.learned(strategy, "live"), learning=short)
    table = train_and_evaluate(setting, run_number)
    end = table[table["phase"] == "final"].set_index("metric")["value"]
    return end[["reward", "bias"]]


bar = bars.pivot_table(index="method", columns="metric", values="value")[["reward", "bias"]]
signs = {"subtracted": RPPO(excess_only=True), "added, as printed": RPPO(excess_only=True, sign=1)}
pd.DataFrame(
    {name: reached(strategy) for name, strategy in signs.items()}
    | {names[lender]: bar.loc[lender] for lender in lenders}
).transpose().round(3)

# %% [markdown]
# Adding the penalty rewards the gap itself, and the policy finds it.
#
# ```{solution-end}
# ```
#
# ```{exercise} The published form with another weight
# :label: exercise-lending-weight
#
# As published, the paper's $\alpha$ is much heavier than as coded. Train the published form with
# smaller weights. From which weight on does it learn to lend within a short run?
# ```

# %% [markdown]
# ```{solution-start} exercise-lending-weight
# :class: dropdown
# ```

# %% tags=["nbval-ignore-output"]
forms = {
    f"as published, alpha = {alpha:,.0f}": ElbertPO.as_published(alpha)
    for alpha in (ALPHA, ALPHA / 2000)
}
pd.DataFrame(
    {name: reached(strategy) for name, strategy in forms.items()}
    | {names[lender]: bar.loc[lender] for lender in lenders}
).transpose().round(3)

# %% [markdown]
# One short run each proves little. It does show that the published form is not broken by nature:
# what fails above is the pair of form and weight.
#
# ```{solution-end}
# ```

# %% [markdown]
# ## Where this came from

# %% tags=["nbval-ignore-output", "hide-input"]
origin(
    profile,
    ["numpy", "scipy", "torch", "stable-baselines3"],
    [train_and_evaluate],
    provenance if len(results) else None,
)

# %% tags=["nbval-ignore-output", "remove-input"]
offer(
    last,
    "All final values, one row per run",
    name=f"elbert_lending_{profile}",
    folders=[f"results/{LENDING.id}/{profile}"],
)
