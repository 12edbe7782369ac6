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
# # Simulated lending
#
# *A bank has four customers in two groups and one loan a step. Both groups should have had the same
# number of loans at all times, and the bank still has to earn.*
#
# This notebook follows Section 6.2, Figure 3, Table 2 and, for real-valued credit, Appendix A.3 and
# Figure 5 of {cite:t}`alamdari2024fairqcm`. The agents are those of
# [deep doughnuts](doughnuts.ipynb).

# %% tags=["parameters"]
profile = "book"

# %% tags=["hide-input"]
import textwrap
from dataclasses import replace

import gymnasium
import numpy as np
import pandas as pd
from IPython.display import Markdown

from longfair.agents.fairqcm.counterfactuals import LoanCounterfactuals, Occurrence
from longfair.envs.loan_pool import LoanPoolParams, LoanPoolVectorEnv
from longfair.envs.memory import FullMemory, MinMemory
from longfair.figures import (
    LineStyle,
    claim_box,
    learning_curves,
    offer,
    show,
    show_missing,
    source_of,
)
from longfair.figures.style import BLACK, BLUE, GREEN, GREY, PURPLE, SKY, VERMILION
from longfair.papers import registry
from longfair.papers.fairqcm import deep_results as deep
from longfair.papers.fairqcm.deep import (
    CHANGES,
    LENDING,
    LENDING_CONTINUOUS,
    LENDING_PROFIT,
    DeepLearning,
    config_of,
    reference,
)
from longfair.papers.protocol import train_and_evaluate
from longfair.papers.seed_figures import training_curves
from longfair.runs import tidy
from longfair.runs.origin import origin
from longfair.runs.statistics import estimate
from longfair.runs.store import Store
from longfair.runs.verdicts import judge_all

pd.set_option("display.max_colwidth", None)
store = Store()
experiments = (LENDING, LENDING_CONTINUOUS)
NOTHING, NOTHING_CONTINUOUS = (tidy.nothing_to_show(profile, one) for one in experiments)
results, continuous = (tidy.stored(store, profile, experiment) for experiment in experiments)
styles = {
    "fairqcm": LineStyle("FairQCM", BLUE, "o"),
    "full": LineStyle("Full", VERMILION, "s"),
    "min": LineStyle("Min", PURPLE, "^", (0, (5, 1.5))),
    "rnn": LineStyle("RNN", GREEN, "v", (0, (6, 1, 1, 1, 1, 1))),
    "oracle": LineStyle("optimum", BLACK, "*", ":"),
    "alternating": LineStyle("alternating", SKY, "P", ":"),
    "random-present": LineStyle("random applicant", GREY, "+", ":"),
    "random": LineStyle("Random", GREY, "x", ":"),
}
names = {method: style.label for method, style in styles.items()}
variants = {"as_coded": "as coded", "as_published": "as published", "reference": "no training"}
variants |= dict(CHANGES)


def labelled(table):
    """Write methods and variants as in the figures."""
    return table.rename(index=names | variants)


def differences(pairs, quantities):
    """Write how one arm differs from another, paired by run; say so without results."""
    found = tidy.differences(results, pairs, quantities) if len(results) else pd.DataFrame()
    return NOTHING if found.empty else found


# %% [markdown]
# ## Claims on this page
#
# *As coded* means the computations of the authors' scripts, *as published* those of the paper's
# text. The authors' plots are labelled with the fairness score alone and show the return, fines
# included; the paper speaks of the score. So the claims about Figure 3 are judged by the return as
# coded, and by the score as published. For real-valued credit there is no code; there both have to
# hold.

# %% tags=["nbval-check-output", "hide-input"]
here = {experiment.id for experiment in (*experiments, LENDING_PROFIT)}
claims = [claim for claim in registry.claims() if claim.experiment in here]
verdicts = judge_all(claims, store, profile, registry.checks())
claim_box([verdict.as_json() for verdict in verdicts])

# %% tags=["nbval-ignore-output", "remove-input"]
show_missing(
    tidy.gaps(store, profile, *experiments, LENDING_PROFIT), f"the profile `{profile}`"
)

# %% [markdown]
# In short:


# %% tags=["nbval-check-output", "remove-input"]
def in_short(method, variant):
    """Say in one line what the last hundred greedy episodes of an arm reach."""
    parts = {}
    for metric in ("return", "welfare"):
        values = tidy.of_arm(results, metric, method, variant)
        found = estimate(values, name=f"{method} {variant} {metric}")
        parts[metric] = tidy.written(found, 0)
    return (
        f"{names[method]} {variants[variant]}: return {parts['return']}, of which fairness "
        f"{parts['welfare']}"
    )


arms = set(zip(results["method"], results["variant"], strict=True)) if len(results) else set()
wanted = [
    (method, variant) for method in ("fairqcm", "min", "full") for variant in list(variants)[:2]
]
bars = tidy.curve_references(results, "return").set_index("method")["value"] if len(results) else {}
lines = [in_short(*arm) for arm in wanted if arm in arms]
lines += [
    f"{names[method]}, which learns nothing: return {bars[method]:.0f}"
    for method in ("oracle", "alternating", "random-present", "random")
    if method in bars
]
Markdown("\n".join(f"- {text}" for text in lines) or NOTHING)

# %% [markdown]
# ## Before you start
#
# | | |
# | --- | --- |
# | You need | [deep doughnuts](doughnuts.ipynb): memories, counterfactual experience, the learner |
# | You will know | why a score and a return can differ, and what one wrong reward does |
# | Reading time | 30 minutes |
# | Computing time | under a minute for this page; the cost of the stored runs is below |

# %% [markdown]
# ## The problem
#
# Two customers belong to group A, two to group B. At every step each asks for a loan with
# probability 0.9, and the bank grants one loan. A customer repays with a probability that is the
# customer's credit. A repaid loan earns one unit and raises the credit by 0.1. A default costs one
# unit and lowers it by 0.1. Group A starts with credit 0.6, group B with 0.9. An episode has 40
# steps.

# %% tags=["nbval-check-output", "hide-input"]
params = LoanPoolParams.discrete()
pd.Series(
    {
        "steps in an episode": params.episode_length,
        "profit that the bank must make": params.required_profit,
        "reward of a grant to somebody who did not ask": params.invalid_reward,
        "reward of the last step if the profit is too small": params.missed_reward,
        "credit of group A at the start": params.initial_repayment[0],
        "credit of group B at the start": params.initial_repayment[-1],
    },
    name="value",
).to_frame()

# %% [markdown]
# With $L_A$ and $L_B$ the loans that the groups have had so far, the reward of an ordinary step is
#
# $$
# r_t = -\,\lvert L_A - L_B \rvert .
# $$ (eq-fairqcm-lending-reward)
#
# The paper calls this *relaxed demographic parity*. Two exceptions replace it: a loan to
# somebody who did not ask, and an episode that ends with less profit than a tenth of its steps.
#
# The fines are of another size than the fairness. An even-handed bank loses about half a point a
# step to {eq}`eq-fairqcm-lending-reward`, because after every odd loan one group is ahead. One
# grant to somebody who did not ask costs as much as two whole even-handed episodes, and one missed
# margin as much as twenty. So a return says little about fairness unless the fines are counted
# apart, and that is what we do: the **return**, which the authors plot; the **fairness score**, the
# sum of {eq}`eq-fairqcm-lending-reward` over all steps whatever was fined; the share of episodes
# that **meet the margin**; and the **invalid grants**.

# %% [markdown]
# ## Policies that learn nothing

# %% tags=["nbval-check-output", "hide-input"]
free = {}
for name in ("oracle", "alternating", "random-present", "random"):
    table = train_and_evaluate(reference("lending", name, 2000), 1000)
    values = table[table["phase"] == "curve"].groupby("metric")["value"].mean()
    free[name] = values[["return", "welfare", "margin_met", "invalid"]]
labelled(pd.DataFrame(free).T).rename(
    columns={"welfare": "fairness", "margin_met": "margin met", "invalid": "invalid grants"}
).round(2)

# %% [markdown]
# The *optimum* is found exactly by dynamic programming, and here plays the same number of episodes
# as the others. The *alternating* lender serves the group that is behind, and in it the applicant
# with the best credit. The third row lends to an **applicant at random**, the last to anybody.
#
# Look at the margin. Lending to anybody at random meets it in most episodes, because customers
# repay more often than not. That every method learns to meet it, as the paper reports, is therefore
# weak evidence of learning.

# %% [markdown]
# ## What to remember
#
# **Full** remembers the loans of both groups, **Min** only by how much one is ahead. Here, unlike
# on doughnuts, Min is enough: {eq}`eq-fairqcm-lending-reward` depends on the difference alone. The
# paper's **FairQCM** remembers what Min does and learns from ten further memories a step, in which
# one of the groups has had one to five loans more.

# %% tags=["nbval-check-output", "remove-input"]
source_of(
    FullMemory.update, MinMemory.update, LoanCounterfactuals.imagined, LoanCounterfactuals.rewards
)

# %% [markdown]
# The authors' code differs in three ways. Its documented command gives FairQCM the memory of Full.
# Its imagined rewards look at the loans *before* the step. And a grant to somebody who did not ask
# is fined in the real memory only. An example: the groups have had three loans each, and the bank
# grants a loan to somebody of group A who did not ask.

# %% tags=["nbval-check-output"]
wrong = Occurrence(counts=np.array([3, 3]), unit=0, granted=False, excepted=True, reward=-40.0)
rewards = {}
for variant, false in {"as published": False, "as coded": True}.items():
    rule = LoanCounterfactuals(largest=40, always_received=false, gap_before=false)
    before = rule.imagined(wrong)
    rewards[variant] = rule.rewards(before, before + rule.received(wrong), wrong)
index = pd.Index([str(tuple(map(int, loans))) for loans in before], name="imagined loans")
pd.DataFrame(rewards, index=index).transpose()

# %% [markdown]
# The real transition says $-40$. As coded, the ten others say that nothing much happened. The agent
# learns from all eleven alike, so it learns that a wrong grant costs little.

# %% [markdown]
# The settings are those of Table 2; what the table leaves out is as in the code.

# %% tags=["nbval-check-output", "hide-input"]
deep.learning_table("lending", ("full", "min", "rnn", "fairqcm"), "as_coded").rename(columns=names)

# %% [markdown]
# ## Train it yourself
#
# A run of a fraction of the paper's length, whose exploration falls faster: FairQCM as published,
# and with the code's counterfactuals. Change the numbers and run the cell again.

# %% tags=["nbval-ignore-output"]
episodes, run_number = 400, 1000
styles["false"] = LineStyle("FairQCM, false rewards", VERMILION, "D", "--")


def quick(method):
    """Settings of a shorter run, whose exploration falls faster."""
    config = config_of("lending", method, "as_published")
    learning = replace(config.learning.settings, exploration_factor=0.985)
    return replace(config, learning=DeepLearning(learning, episodes))


fair = quick("fairqcm")
switches = replace(fair.method.switches, always_received=True, gap_before=True)
learners = {
    "fairqcm": fair,
    "false": replace(fair, method=replace(fair.method, switches=switches)),
}
live = pd.concat(
    train_and_evaluate(config, run_number).assign(method=method, variant="live", seed=run_number)
    for method, config in learners.items()
)
final = live[live["phase"] == "final"].pivot(index="method", columns="metric", values="value")
labelled(final[["return", "welfare", "margin_met", "invalid"]]).rename(
    index={"false": styles["false"].label}
).round(2)

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    learning_curves(
        tidy.over_seeds(tidy.curve(live, "return", "live"), ["method", "variant", "step"]),
        quantity="return of a greedy episode",
        band="one run each, so no band",
        styles=styles,
        references=pd.DataFrame(
            {"method": list(free), "value": [values["return"] for values in free.values()]}
        ),
    ),
    "The live runs: return of the greedy episodes, averaged over ten. One run each proves nothing.",
    name="live_return",
)

# %% [markdown]
# ## What came out
#
# ### As coded
#
# The stored runs are as long as the paper's, and there are as many for each method. Thin lines
# are single runs, each point the mean of 50 greedy episodes; bands are 95 % bootstrap intervals of
# the mean over runs.


# %% tags=["nbval-ignore-output", "hide-input"]
def curves(results, metric, quantity, variant):
    """Draw one series of one variant, or return None when there are no runs."""
    return training_curves(
        tidy.curve(results, metric, variant, every=5 if profile == "book" else 1),
        quantity,
        references=tidy.curve_references(results, metric),
        styles=styles,
        thin_lines=metric != "margin_met",  # shares of 50 episodes jump too much
    )


show(
    curves(results, "return", "return of a greedy episode", "as_coded"),
    "Figure 3 of the paper, made anew: return during training, as coded. Dotted lines: policies "
    "that learn nothing, on the same episodes.",
    name="return_as_coded",
    otherwise=NOTHING,
)

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    curves(results, "welfare", "fairness score of an episode", "as_coded"),
    "Fairness score alone, as coded.",
    name="fairness_as_coded",
    otherwise=NOTHING,
)

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    curves(results, "margin_met", "share of episodes that meet the margin", "as_coded"),
    "Episodes that meet the profit margin, as coded.",
    name="margin_as_coded",
    otherwise=NOTHING,
)

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    curves(results, "invalid", "invalid grants per episode", "as_coded"),
    "Grants to customers who did not ask, as coded.",
    name="invalid_as_coded",
    otherwise=NOTHING,
)

# %% [markdown]
# ### As published

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    curves(results, "return", "return of a greedy episode", "as_published"),
    "Return during training, as published.",
    name="return_as_published",
    otherwise=NOTHING,
)

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    curves(results, "welfare", "fairness score of an episode", "as_published"),
    "Fairness score alone, as published.",
    name="fairness_as_published",
    otherwise=NOTHING,
)

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    curves(results, "margin_met", "share of episodes that meet the margin", "as_published"),
    "Episodes that meet the profit margin, as published.",
    name="margin_as_published",
    otherwise=NOTHING,
)

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    curves(results, "invalid", "invalid grants per episode", "as_published"),
    "Grants to customers who did not ask, as published.",
    name="invalid_as_published",
    otherwise=NOTHING,
)

# %% [markdown]
# ### The numbers
#
# Means over runs with 95 % intervals, of the last hundred greedy episodes unless said otherwise.
# *Last policy* is the return of the very last network on 200 fresh episodes.

# %% tags=["nbval-check-output", "hide-input"]
quantities = {
    "return": ("return", 0),
    "return_all": ("return, all episodes", 0),
    "last_policy_return": ("last policy", 0),
    "welfare": ("fairness", 0),
    "margin_met": ("margin met", 2),
    "invalid": ("invalid grants", 2),
}
labelled(tidy.final_table(results, quantities)) if len(results) else NOTHING

# %% [markdown]
# Does the bank earn its margin? The paper says that every method learns to, and not in how many
# episodes. So the mean profit is asked for, on runs of their own that keep it; a tenth of forty
# loans is 4.

# %% tags=["nbval-check-output", "hide-input"]
profits_known = tidy.stored(store, profile, LENDING_PROFIT)
earned = {"profit": ("mean profit", 2), "margin_met": ("margin met", 2)}
(
    labelled(tidy.final_table(profits_known, earned))
    if len(profits_known)
    else tidy.nothing_to_show(profile, LENDING_PROFIT)
)

# %% [markdown]
# ### Where the return is lost
#
# What separates a method from the optimum has two parts: fines, and the fairness score.

# %% tags=["nbval-check-output", "hide-input"]
lost = deep.losses(results, "oracle", 0) if len(results) else pd.DataFrame()
parts = {"exceptions": "by fines", "welfare": "by the fairness score"}
labelled(lost.rename(columns=parts)) if len(lost) else NOTHING

# %% [markdown]
# ### Single runs
#
# Returns of the last hundred greedy episodes. One missed margin in ten episodes costs more than the
# whole unfairness of a good policy, so a few runs can decide a mean.

# %% tags=["nbval-check-output", "hide-input"]
both = ["as_coded", "as_published"]
singles = deep.single_runs(results, "return", both) if len(results) else []
labelled(singles) if len(singles) else NOTHING

# %% [markdown]
# ### Beside an independent rerun
#
# An independent rerun of the authors' scripts {cite:p}`nagy2025rerun` exists in two versions. The
# first keeps the authors' environment and updates, but copies the target network less often,
# computes in half precision and evaluates the recurrent network with a stale state. The second
# starts and schedules the networks differently. In both, FairQCM remembers what Min does, so that
# neither is quite our *as coded*. Returns of the last hundred episodes, over runs:

# %% tags=["nbval-check-output", "hide-input"]
rows = {}
for method in ("fairqcm", "min", "full", "rnn"):
    for version, known in deep.RERUN_LENDING.items():
        if method in known:
            rows[names[method], f"rerun, {version}"] = known[method]
    for variant in ("as_coded", "as_published", "false_update"):
        if (method, variant) in arms:
            ours = tidy.of_arm(results, "return", method, variant)
            line = (ours.mean(), ours.std(ddof=0), ours.median())
            rows[names[method], f"ours, {variants[variant]}"] = line
pd.DataFrame(
    list(rows.values()),
    index=pd.MultiIndex.from_tuples(rows, names=["method", "runs"]),
    columns=["mean", "deviation", "median"],
).round().astype(int)

# %% [markdown]
# Full as coded ends lower in our runs than in the rerun's first version. That version copies the
# target network a tenth as often and judges the learning network; whether this makes the difference
# has not been tried in stored runs.

# %% [markdown]
# ### What single changes do
#
# Each row changes one thing of a published method. Differences are paired by run.

# %% tags=["nbval-check-output", "hide-input"]
compared = {metric: quantities[metric] for metric in ("return", "return_all", "welfare", "invalid")}
changed = deep.changes(results, compared) if len(results) else pd.DataFrame()
labelled(changed) if len(changed) else NOTHING

# %% [markdown]
# Does FairQCM's lead come from imagined memories, or from minibatches that are eight times as
# large? The paper changes both together. FairQCM differs from Full in its memory, too, so here
# there are three steps from Full to FairQCM:

# %% tags=["nbval-check-output", "hide-input"]
differences(
    {
        "Min's memory instead of Full's": (("min", "as_published"), ("full", "as_published")),
        "imagined memories, small minibatches": (
            ("fairqcm", "small_batch"),
            ("min", "as_published"),
        ),
        "large minibatches, for FairQCM": (
            ("fairqcm", "as_published"),
            ("fairqcm", "small_batch"),
        ),
        "large minibatches only: Full": (("full", "batch_only"), ("full", "as_published")),
        "large minibatches and buffer: Full": (("full", "large_batch"), ("full", "as_published")),
        "imagined memories, large minibatches, Full's memory": (
            ("fairqcm", "full_memory"),
            ("full", "batch_only"),
        ),
    },
    compared,
)

# %% [markdown]
# ## Real-valued credit
#
# In the paper's Appendix A.3 credit is a real number, and its changes are Gaussian. There is no
# code for it, and the parameters are not in any copy we could read. Ours move the credit by 0.1 up
# or down on average, with a standard deviation of 0.05, and keep it within the same bounds. The
# agents see the four credits as they are. With real-valued credit there are too many states for
# dynamic programming, so no exact optimum is drawn.

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    curves(continuous, "return", "return of a greedy episode", "as_published"),
    "Figure 5 of the paper, made anew with our parameters: return during training.",
    name="return_continuous",
    otherwise=NOTHING_CONTINUOUS,
)

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    curves(continuous, "welfare", "fairness score of an episode", "as_published"),
    "Real-valued credit: fairness score alone.",
    name="fairness_continuous",
    otherwise=NOTHING_CONTINUOUS,
)

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    curves(continuous, "margin_met", "share of episodes that meet the margin", "as_published"),
    "Real-valued credit: episodes that meet the margin.",
    name="margin_continuous",
    otherwise=NOTHING_CONTINUOUS,
)

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    curves(continuous, "invalid", "invalid grants per episode", "as_published"),
    "Real-valued credit: grants to customers who did not ask.",
    name="invalid_continuous",
    otherwise=NOTHING_CONTINUOUS,
)

# %% tags=["nbval-check-output", "hide-input"]
(
    labelled(tidy.final_table(continuous, quantities))
    if len(continuous)
    else NOTHING_CONTINUOUS
)

# %% [markdown]
# ## The verdicts

# %% tags=["nbval-check-output", "hide-input"]
for verdict in verdicts:
    print(f"{verdict.claim.id}, {variants[verdict.variant]}: {verdict.word}")
    for part in verdict.parts or [verdict]:
        print(textwrap.indent(textwrap.fill(part.detail.rstrip(".") + ".", width=76), "    "))

# %% [markdown]
# The claim about the margin asks for 95 of 100 episodes, which is our reading: the paper only says
# that the margin is met. Meeting it *on average* would be a weaker claim, and is not judged here.

# %% [markdown]
# ## What the authors' code does differently
#
# | Paper | Code |
# | --- | --- |
# | FairQCM remembers what Min does | the documented command gives it the memory of Full |
# | imagined rewards look at the loans after the step | before the step |
# | a wrong grant is wrong in every memory | fined in the real memory only |
# | the plotted score is relaxed parity | the plotted value is the return, fines included |
# | a recurrent network of 256 units | of 16, trained on unrelated transitions as one history |
# | every run explores alike | the exploration rate is never reset between runs |
#
# Neither paper nor code tells the agent the time, although the fine for the margin comes at a fixed
# step, and neither knows a last step. The row *sees the time and expects
# nothing after the end* above changes both.
#
# What do the habits of the code change? Each line takes the runs without a habit from the runs with
# it. For Full and Min code and paper differ in the exploration alone.

# %% tags=["nbval-check-output", "hide-input"]
fair = ("fairqcm", "as_published")
habits = {
    "exploration not reset: Full": (("full", "as_coded"), ("full", "as_published")),
    "exploration not reset: Min": (("min", "as_coded"), ("min", "as_published")),
    "memory of Full: FairQCM": (("fairqcm", "full_memory"), fair),
    "false imagined rewards: FairQCM": (("fairqcm", "false_update"), fair),
    "all three together: FairQCM": (("fairqcm", "as_coded"), fair),
    "narrow, on shuffled samples, at every step: RNN": (
        ("rnn", "as_coded"),
        ("rnn", "as_published"),
    ),
}
differences(habits, compared)

# %% [markdown]
# ## What it costs
#
# Time on one core, from the provenance of the stored runs; evaluation included.

# %% tags=["nbval-check-output", "hide-input"]
if len(results):
    provenance = store.provenance(experiment=LENDING.id, profile=profile)
    costs = tidy.cost(provenance, LENDING.methods(profile))
labelled(costs) if len(results) else NOTHING

# %% [markdown]
# ## What was found, and what was not


# %% tags=["nbval-check-output", "remove-input"]
words = {1: "a clear gain", -1: "a clear loss", 0: "no clear difference"}


def said(metric, first, second):
    """Say in words what taking one arm from another gives; nothing without results."""
    found = tidy.difference(results, metric, first, second)
    return found and f"{words[tidy.sign(found)]}, {tidy.written(found, 0, signed=True)}"


def found_here():
    """Say what the stored runs show, sentence by sentence; what has no runs is left out."""
    learners = [arm for arm in arms if arm[1] != "reference"]
    means = {arm: tidy.of_arm(results, "return", *arm).mean() for arm in learners}
    best = max(means, key=means.get)
    over = sum(mean > bars["random-present"] for mean in means.values())
    near = sum(mean >= bars["alternating"] for mean in means.values())
    yield (
        f"Learned arms that end above lending to an applicant at random "
        f"({bars['random-present']:.0f}): {over} of {len(means)}. Learned arms that reach the "
        f"alternating lender ({bars['alternating']:.0f}): {near}. The best is {names[best[0]]} "
        f"{variants[best[1]]} with {means[best]:.0f}."
    )
    for what, second in (("Min", "min"), ("Full", "full")):
        for variant in ("as_coded", "as_published"):
            if {("fairqcm", variant), (second, variant)} <= arms:
                gains = [
                    f"{said(metric, ('fairqcm', variant), (second, variant))} {where}"
                    for metric, where in (
                        ("return_all", "in the return over all of training"),
                        ("return", "in that of the last hundred episodes"),
                        ("welfare", "in their fairness score"),
                    )
                ]
                yield f"FairQCM against {what}, {variants[variant]}: {'; '.join(gains)}."
    if {(method, "as_published") for method in ("full", "min", "fairqcm")} <= arms:
        lead, shorter = (
            means[method, "as_published"] - means["full", "as_published"]
            for method in ("fairqcm", "min")
        )
        yield (
            f"As published, FairQCM ends {lead:.0f} points above Full. Min, which imagines nothing "
            f"either, ends {shorter:.0f} above it: so much is due to the shorter memory."
        )
    meets = {arm: tidy.of_arm(results, "margin_met", *arm).mean() for arm in learners}
    usual = tidy.curve_references(results, "margin_met").set_index("method")["value"]["random"]
    less = sum(share < usual for share in meets.values())
    yield (
        "Learned arms that meet the margin less often than lending to anybody at random does "
        f"({usual:.0%}): {less} of {len(meets)}. A possible reason, not tested here: who keeps "
        "returning to the same customers depends on their luck."
    )


Markdown(NOTHING if results.empty else "\n".join(f"- {text}" for text in found_here()))

# %% [markdown]
# - What FairQCM achieves here depends on which FairQCM: the paper's, with the memory of Min and
#   imagined rewards that keep the fines, or the code's. The table of habits takes the difference
#   apart.
# - A return can be low for two reasons that have nothing to do with each other. For some methods it
#   is mostly fines, for others mostly unfairness; the table of losses tells which.
# - The authors' printed curves could not be read, and for real-valued credit nothing but a figure
#   without parameters exists.
#
# ## What would change our mind
#
# - **Another fine.** With fines of the size of the unfairness, waste and a missed margin would
#   decide less, and the order of the methods could change.
# - **Longer training, or another learning rate.** All settings are the authors', and none was tuned
#   for a method. [Beyond FairQCM](beyond.ipynb) changes them.
# - **The authors' Gaussians.** Policies that learn nothing hardly change with the noise; learners
#   might.

# %% [markdown]
# ## Exercises
#
# ```{exercise} A profitable bank
# :label: exercise-fairqcm-lending-margin
#
# How much does the margin cost? Raise it, and see how often the alternating lender misses it.
# ```

# %% [markdown]
# ```{solution-start} exercise-fairqcm-lending-margin
# :class: dropdown
# ```

# %% tags=["nbval-check-output"]
from longfair.agents.policies import LaggingGroupBestCredit


def profits(params):
    """Play 4000 episodes with the alternating lender; return its profits and its mean return."""
    env = LoanPoolVectorEnv(4000, params)
    policy = LaggingGroupBestCredit(params.groups)
    observation, info = env.reset(seed=1)
    returns = np.zeros(4000)
    for _ in range(params.episode_length):
        policy.observe(info)
        observation, reward, _, _, info = env.step(policy.predict(observation)[0])
        returns += reward
    return info["profit"], returns.mean()


rows = {}
for margin in (0.0, 0.1, 0.3, 0.5):
    chosen = replace(params, margin=margin)
    profit, mean_return = profits(chosen)
    missed = (profit < chosen.required_profit).mean()
    rows[margin] = {"missed": f"{missed:.1%}", "mean return": round(mean_return, 1)}
pd.DataFrame.from_dict(rows, orient="index").rename_axis("margin")

# %% [markdown]
# At a tenth of the steps few episodes miss the margin, and what they are fined is still a part of
# the loss that can be seen. At a half the fine is most of what is lost.
#
# ```{solution-end}
# ```
#
# ```{exercise} Two memories, one reward
# :label: exercise-fairqcm-lending-min
#
# Full knows strictly more than Min. Why can it learn more slowly? Count the inputs that differ
# between two situations with the same gap.
# ```

# %% [markdown]
# ```{solution-start} exercise-fairqcm-lending-min
# :class: dropdown
# ```

# %% tags=["nbval-check-output"]
encodings = {}
for kind in (FullMemory, MinMemory):
    memory = kind(gymnasium.make_vec("longfair/LoanPool-v0", num_envs=1))
    loans = np.array([[count, count - 1] for count in range(1, 20)])
    encodings[kind.__name__] = memory.encode(memory.update(np.zeros_like(loans), loans))
pd.Series(
    {name: len(np.unique(bits, axis=0)) for name, bits in encodings.items()},
    name="different inputs for a gap of one",
).to_frame()

# %% [markdown]
# Under Min all of them look the same, so what is learned of one holds for all. Full has to learn it
# for each pair of counts, or find out how bits subtract.
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
parts = [
    tidy.by_seed(found).assign(experiment=experiment.id)
    for experiment, found in zip(experiments, (results, continuous), strict=True)
    if len(found)
]
offer(
    pd.concat(parts) if parts else pd.DataFrame(),
    "All final values, one row per run",
    name=f"fairqcm_lending_{profile}",
    folders=[f"results/{experiment.id}/{profile}" for experiment in experiments],
)
