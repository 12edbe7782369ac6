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
#
# This notebook follows Appendices A and E of {cite:t}`xu2024elbert`, and builds on
# [lending](lending.ipynb). The authors have neither code nor experiments for these parts. What
# follows are our runs, in the lending problem.

# %% tags=["parameters"]
profile = "book"

# %% tags=["hide-input"]
from dataclasses import replace

import pandas as pd
from IPython.display import Markdown, display

from longfair.agents.ppo.demand_regularised import DemandRegularisedPO
from longfair.agents.ppo.equalised_odds import SeveralNotionsPO
from longfair.figures import METHODS, LineStyle, claim_box, offer, show, source_of
from longfair.figures.style import BLUE, GREEN, ORANGE, PURPLE, SKY
from longfair.metrics.supply_demand import (
    accuracy_parity,
    demographic_parity,
    discovery_probability,
    equalised_odds,
)
from longfair.papers import registry
from longfair.papers.elbert import notions
from longfair.papers.elbert.lending import LENDING
from longfair.papers.elbert.notion_wrappers import NOTIONS
from longfair.papers.elbert.notions import (
    ASPIRATIONS,
    DEMAND_WEIGHTS,
    EXTENSIONS,
)
from longfair.papers.protocol import train_and_evaluate
from longfair.papers.seed_figures import reward_against_bias
from longfair.runs import tidy
from longfair.runs.origin import origin
from longfair.runs.store import Store
from longfair.runs.verdicts import judge_all

pd.set_option("display.max_colwidth", None)
store = Store()
experiments = {experiment.id: experiment for experiment in EXTENSIONS}
results = {name: tidy.stored(store, profile, found) for name, found in experiments.items()}
biases = {f"{n.replace('-', '_')}_bias": f"gap in {n.replace('-', ' ')}" for n in NOTIONS}
nothing = {name: tidy.nothing_to_show(profile, found) for name, found in experiments.items()}


def described(name):
    """Return what every method of an experiment stands for."""
    arms = experiments[name].arms[profile]
    return {arm.method: arm.description for arm in arms}


def table_of(found, name, shown):
    """Lay out the last policies of some runs of an experiment, or say what is missing."""
    if found.empty:
        return Markdown(nothing[name])
    lines = tidy.final_table(found, shown)
    return lines.droplevel("variant").rename(index=described(name)).rename_axis(None)


# %% [markdown]
# ## Claims on this page
#
# The paper makes one claim nearby. Appendix E says that demand needs no protection in lending,
# because fair methods lower it only mildly. It is judged on the runs of [lending](lending.ipynb).
# The other claims are ours. They ask whether the methods of the appendices do what they are made
# for. Each was written before the runs that judge it.

# %% tags=["nbval-check-output", "hide-input"]
claims = [
    claim
    for claim in registry.claims()
    if claim.id == "elbert-22" or claim.experiment in experiments
]
claim_box([v.as_json() for v in judge_all(claims, store, profile, registry.checks())])

# %% [markdown]
# ## Before you start
#
# | | |
# | --- | --- |
# | You need | what ELBERT-PO is, from [lending](lending.ipynb) |
# | You will know | how one method serves several notions of fairness, and what each costs |
# | Reading time | 15 minutes |
# | Computing time | one minute on one core for this page |

# %% [markdown]
# ## The idea
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
# ## The equations
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
# ## Try it yourself
#
# Two short runs, one towards equal opportunity and one towards equalised odds, both evaluated under
# all notions.

# %% tags=["nbval-ignore-output"]
few = {"every": 100, "episodes": 2, "final_episodes": 50, "episode_length": 2048}
live = {}
for aspiration in ("equal-opportunity", "equalised-odds"):
    settings = notions.over_notions("book")[f"elbert-po-{aspiration}"][0]
    short = replace(settings.learning, total_steps=150_000)
    look = replace(settings.evaluating, **few)
    live[aspiration] = train_and_evaluate(
        replace(settings, learning=short, evaluating=look), 1000
    )
pd.DataFrame(
    {
        name: table[(table["phase"] == "final") & (table["group"] < 0)].set_index("metric")["value"]
        for name, table in live.items()
    }
).loc[["reward", *biases]].rename(index=biases).T.round(3)

# %% [markdown]
# ## What came out: notions
#
# Each row is trained towards its own notion, and all are evaluated under all.

# %% tags=["nbval-check-output", "hide-input"]
name = "elbert/notions-lending"
evaluated_short = results[name]["method"].str.endswith("-short")
on_long_episodes = results[name][~evaluated_short]
quantities = {metric: (title, 3) for metric, title in {"reward": "reward", **biases}.items()}
table_of(on_long_episodes, name, quantities)

# %% tags=["nbval-ignore-output", "hide-input"]
colours = (SKY, PURPLE, ORANGE, GREEN)
styles = {
    f"elbert-po-{aspiration}": LineStyle(aspiration.replace("-", " "), colour, marker)
    for aspiration, colour, marker in zip(ASPIRATIONS, colours, "osD^", strict=True)
}


def show_gap(notion):
    """Draw reward against the gap of one notion, on long episodes."""
    metric, label = f"{notion.replace(' ', '_')}_bias", f"gap in the {notion} rate"
    show(
        reward_against_bias(on_long_episodes, bias=metric, bias_label=label, styles=styles),
        f"Reward against the {label}, by the notion that each method was trained towards.",
        name=f"extensions_{metric}",
        otherwise=nothing["elbert/notions-lending"],
    )


show_gap("true positive")

# %% tags=["nbval-ignore-output", "hide-input"]
show_gap("acceptance")

# %% tags=["nbval-ignore-output", "hide-input"]
show_gap("accuracy")

# %% [markdown]
# The same, evaluated on episodes as short as those of the training:

# %% tags=["nbval-check-output", "hide-input"]
table_of(results[name][evaluated_short], name, quantities)

# %% [markdown]
# Three of the four notions are served: ELBERT-PO closes the gaps that it is trained to close, on
# both lengths. Each notion leaves gaps in the others, so they are not interchangeable. Equal
# opportunity is the cheap one here, it even earns more than PPO. Equalised odds closes both of its
# gaps, and that in acceptance with them, at the price of most of the profit: some of its runs
# accept nearly everybody, and none earns what PPO does.
#
# Accuracy parity is not served, and it is why the two claims about all four notions are
# contradicted. PPO on the reward has hardly a gap in accuracy, because a bank that earns by
# deciding rightly does so in both groups. There is nothing to close, and a method that pays much
# for the gap only adds its own unrest.
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
# ## What came out: demand
#
# The disadvantaged group is group 1. Its demand is the share of applicants who are its members and
# would repay.

# %% tags=["nbval-check-output", "hide-input"]
def with_demand(found):
    """Treat the demand of group 1 as a metric of the whole run."""
    of_group_1 = (found["metric"] == "demand") & (found["group"] == 1)
    renamed = found["metric"].mask(of_group_1, "demand_1")
    return found.assign(metric=renamed, group=found["group"].mask(of_group_1, -1))


name = "elbert/demand-lending"
found = with_demand(results[name])
shown = {metric: (metric, 3) for metric in ("reward", "bias")} | {
    "demand_1": ("demand of group 1", 4)
}
if found.empty:
    print(nothing[name])
else:
    display(table_of(found, name, shown))
    none = ("elbert-po-demand-0", "as_coded")
    pairs = {
        f"weight {weight}": ((f"elbert-po-demand-{weight}", "as_coded"), none)
        for weight in DEMAND_WEIGHTS[1:]
    }
    display(Markdown("Less what runs of the same seed reach with weight 0:"))
    display(tidy.differences(found, pairs, shown))

# %% [markdown]
# And beside them lenders that need no training, from [lending](lending.ipynb):

# %% tags=["nbval-check-output", "hide-input"]
main = with_demand(tidy.stored(store, profile, LENDING))
chosen = ["reject-all", "threshold-3-3", "threshold-2-1", "accept-all"]
if main.empty:
    print(tidy.nothing_to_show(profile, LENDING))
else:
    lenders = main[main["method"].isin(chosen) & (main["variant"] == "reference")]
    lines = tidy.final_table(lenders, shown).droplevel("variant").loc[chosen]
    display(lines.rename(index={name: METHODS[name].label for name in chosen}).rename_axis(None))

# %% [markdown]
# The same as a picture. Across is what a policy takes away from the demand, against refusing
# everybody; the best corner is the upper left.

# %% tags=["nbval-ignore-output", "hide-input"]
def demand_lost(found):
    """Turn the demand of group 1 into what is missing of it under a lender who refuses all."""
    if found.empty or main.empty:
        return found.iloc[:0]
    most = tidy.references(main, "demand_1", ["reject-all"])["value"].iloc[0]
    return found.assign(
        value=found["value"].mask(found["metric"] == "demand_1", most - found["value"])
    )


colours = (BLUE, SKY, PURPLE, ORANGE)
styles = {
    f"elbert-po-demand-{weight}": LineStyle(f"weight {weight}", colour, marker)
    for weight, colour, marker in zip(DEMAND_WEIGHTS, colours, "^osD", strict=True)
}
rewards, losses = (tidy.references(demand_lost(main), m, chosen) for m in ("reward", "demand_1"))
show(
    reward_against_bias(
        demand_lost(found),
        bias="demand_1",
        bias_label="demand of group 1 lost",
        references=rewards.rename(columns={"value": "reward"}).assign(bias=losses["value"]),
        styles=styles,
    ),
    "Reward against the loss of demand of group 1, by the weight of this demand.",
    name="extensions_demand",
    otherwise=nothing["elbert/demand-lending"],
)

# %% [markdown]
# A weight of one changes nothing that can be told. A weight of ten makes two kinds of runs. Most
# lend about as before and keep no more demand. Some accept nearly everybody. Only with a weight of
# a hundred is the demand clearly higher, as the claim has it. But its runs, too, are on the way to
# the lender who accepts all. The bank's profit cannot be told from zero, and the gain in demand is
# small beside what other lenders keep.
#
# Those lenders show the conflict. The myopic one, threshold 3 / 3, keeps much more of the demand
# and earns well. But it is the unfair one. Equal rates are had by lending to members of group 1
# with low scores. More of them default than repay, so their scores fall, and the group's demand
# with them; this is the trap in [lending](lending.ipynb). Refusing everybody keeps most of all. So
# the surest way to protect a demand is not to meet it, and the term and the benefit rate want
# opposite things here.

# %% [markdown]
# ## What the code does differently
#
# There is no code of the authors for this page. Our runs follow the habits of their code for
# ELBERT-PO: every advantage is standardised on its own, totals are not discounted, and all networks
# share one clip of the gradient norm. Appendix A's inline definitions mix up the superscripts of
# the two notions; its Equation 8 is the one implemented. The agents observe the running true
# positive rates whatever they are trained towards, as in the main experiment.

# %% [markdown]
# ## What would change our mind
#
# - **A problem where the notions collide harder.** In lending all of them can be had by lending to
#   nearly everybody. Where acceptance is scarce they exclude each other.
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
# How many critics does equalised odds need for two groups, and for five?
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
# ```{solution-end}
# ```

# %% [markdown]
# ## Where this came from

# %% tags=["nbval-ignore-output", "hide-input"]
origin(profile, ["numpy", "scipy", "torch", "stable-baselines3"])

# %% tags=["nbval-ignore-output", "remove-input"]
for name, found in results.items():
    if len(found):
        what = f"All final values of {name}, one row per run"
        offer(tidy.by_seed(found), what, name=f"{name.replace('/', '_')}_{profile}")
