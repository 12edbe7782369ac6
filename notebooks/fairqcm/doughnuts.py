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
# # Deep doughnuts
#
# *One doughnut a step, five people who come and go, and an agent that is paid for having been fair
# so far. What does it have to remember, and can it learn from what did not happen?*
#
# This notebook follows Section 6.1, Figure 2 and Table 1 of {cite:t}`alamdari2024fairqcm`. The
# notions are those of [the formalism](formalism.ipynb); the same problem with tables instead of
# networks is in [tabular doughnuts](tabular.ipynb).

# %% tags=["parameters"]
profile = "book"

# %% tags=["hide-input"]
import base64
import platform
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from IPython.display import HTML, Markdown, display

import longfair
from longfair.agents.fairqcm.counterfactuals import (
    Counterfactuals,
    DoughnutCounterfactuals,
    Occurrence,
)
from longfair.agents.fairqcm.dqn import Exploration, FairDQN
from longfair.agents.fairqcm.replay import CounterfactualReplayBuffer
from longfair.envs.doughnut import DoughnutVectorEnv
from longfair.envs.memory import FullMemory, MinMemory, ResetMemory
from longfair.figures import LineStyle, claim_box, learning_curves, line_chart, show, source_of
from longfair.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from longfair.papers import registry
from longfair.papers.fairqcm import deep_results as tidy
from longfair.papers.fairqcm.deep import (
    CHANGES,
    DOUGHNUTS,
    ReferenceConfig,
    config_of,
    evaluate_reference,
    train_and_evaluate,
)
from longfair.runs.digest import package_versions, source_digest
from longfair.runs.machine import commit_of
from longfair.runs.store import Store
from longfair.runs.verdicts import judge_all

pd.set_option("display.max_colwidth", None)
store = Store()
results = tidy.stored(store, DOUGHNUTS, profile)
learned = ["fairqcm", "full", "min", "reset", "rnn"]
styles = {
    "fairqcm": LineStyle("FairQCM", BLUE, "o"),
    "full": LineStyle("Full", VERMILION, "s"),
    "min": LineStyle("Min", PURPLE, "^", (0, (5, 1.5))),
    "reset": LineStyle("Reset", ORANGE, "D", (0, (3, 1, 1, 1))),
    "rnn": LineStyle("RNN", GREEN, "v", (0, (6, 1, 1, 1, 1, 1))),
    "oracle": LineStyle("Oracle", BLACK, "*", ":"),
    "rotation": LineStyle("taking turns", SKY, "P", ":"),
    "random-present": LineStyle("random, present", GREY, "+", ":"),
    "random": LineStyle("Random", GREY, "x", ":"),
}
names = {method: style.label for method, style in styles.items()}
variants = {"as_coded": "as coded", "as_published": "as published", "reference": "no training"}
variants |= dict(CHANGES)
NOTHING = f"Nothing to show: 'longfair run {DOUGHNUTS.id} --profile {profile}' makes these runs."


def labelled(table):
    """Write methods and variants as in the figures."""
    return table.rename(index=names | variants)


# %% [markdown]
# ## Claims on this page
#
# *As coded* means the computations of the authors' scripts, *as published* those of the paper's
# text. The claim about policies without memory is not the paper's.

# %% tags=["nbval-check-output", "hide-input"]
claims = [claim for claim in registry.claims() if claim.experiment == DOUGHNUTS.id]
verdicts = judge_all(claims, store, profile, registry.checks())
claim_box([verdict.as_json() for verdict in verdicts])

# %% tags=["nbval-ignore-output", "remove-input"]
missing = tidy.gaps(store, [DOUGHNUTS], profile)
display(
    Markdown(
        f"Every run of the profile `{profile}` is stored, and the present code would give the same."
        if missing.empty
        else f"These runs of the profile `{profile}` are missing, or were made by an older state "
        "of the code. The page shows what there is."
    )
)
if not missing.empty:
    display(missing)

# %% [markdown]
# In short:

# %% tags=["nbval-check-output", "remove-input"]
def in_short(method, variant):
    """Say in one line what the runs of an arm reach."""
    parts = {}
    for metric in ("return", "return_all"):
        values = tidy.of_arm(results, metric, method, variant)
        rows = pd.DataFrame({"value": values, "arm": f"{method} {variant} {metric}"})
        found = tidy.over_seeds(rows, ["arm"]).iloc[0]
        parts[metric] = f"{found['value']:.0f} [{found['low']:.0f}, {found['high']:.0f}]"
    return (
        f"{names[method]} {variants[variant]}: {parts['return']} in the last hundred episodes, "
        f"{parts['return_all']} over all of training"
    )


arms = set(zip(results["method"], results["variant"], strict=True)) if len(results) else set()
wanted = [(method, variant) for method in ("fairqcm", "full") for variant in list(variants)[:2]]
bars = tidy.references(results, "return").set_index("method")["value"] if len(results) else {}
lines = [in_short(*arm) for arm in wanted if arm in arms]
lines += [
    f"{names[method]}, which learns nothing: {bars[method]:.0f}"
    for method in ("oracle", "random-present", "random")
    if method in bars
]
Markdown("\n".join(f"- {text}" for text in lines) or NOTHING)

# %% [markdown]
# ## Before you start
#
# | | |
# | --- | --- |
# | You need | what an action value and Q-learning are |
# | You will know | what FairQCM adds to deep Q-learning, how much it helps, and against what |
# | Reading time | 40 minutes |
# | Computing time | under a minute for this page; the cost of the stored runs is below |

# %% [markdown]
# ## The problem
#
# At every step each of five people stands at the counter with probability 0.8. The agent offers
# one doughnut to one of them. A person who is there takes it. A doughnut offered to somebody who is
# not there is wasted. After 100 doughnuts the episode is over.
#
# The reward of a doughnut that is taken looks at everything so far: with $n_i$ the doughnuts that
# person $i$ has had,
#
# $$
# r_t = \sum_{i=1}^{5} \log(n_i + 1) .
# $$ (eq-doughnuts-reward)
#
# This is the Nash welfare of the counts. It is largest when they are equal, and it is paid at every
# step, so the agent should be fair all along and not only in the end. A wasted doughnut earns
# nothing.
#
# The observation says who is at the counter. It does not say who has had how many. So the reward
# {eq}`eq-doughnuts-reward` is not a function of what is observed, and an agent without memory
# cannot know what its choice will be worth.

# %% [markdown]
# ## What to remember
#
# The paper compares four memories that are appended to the observation, in bits, and one agent that
# has to find its own:
#
# - **Full**: everybody's count $n_i$;
# - **Min**: everybody's lead over whoever had least, $n_i - \min_j n_j$;
# - **Reset**: the counts since everybody last had the same number;
# - **RNN**: nothing; a recurrent network sees the observations and keeps what it wants;
# - **FairQCM**: as Full, and it also learns from memories that it did not have.

# %% tags=["nbval-check-output", "remove-input"]
source_of(FullMemory.update, MinMemory.update, ResetMemory.update)

# %% [markdown]
# Only Full makes {eq}`eq-doughnuts-reward` a function of what the agent sees. Under Min and Reset
# two situations with the same observation can pay differently, so their weakness here is built in.

# %% [markdown]
# ## Policies that learn nothing
#
# Before anything is trained: what can be had for free? These policies need one line each.

# %% tags=["nbval-check-output", "hide-input"]
free = {}
for name in ("oracle", "rotation", "random-present", "random"):
    table = evaluate_reference(ReferenceConfig("doughnuts", name, 2000), 1000)
    values = table[table["phase"] == "curve"].groupby("metric")["value"].mean()
    free[name] = values[["return", "allocated", "invalid"]]
labelled(pd.DataFrame(free).T).rename(
    columns={"allocated": "doughnuts taken", "invalid": "doughnuts wasted"}
).round(1)

# %% [markdown]
# The **Oracle** gives each doughnut to the person present who has had least. *Taking turns* skips
# whoever is away. The third policy chooses **at random among those present** and remembers nothing
# at all. Look how close it is to the Oracle. Luck evens out over a hundred doughnuts: what costs
# points in this problem is waste and lasting favour, not forgetting.
#
# So this problem hardly rewards memory. A learner that does not reach the third row has not shown
# that memory helps; it has shown that learning hurts. Keep that row in mind.

# %% [markdown]
# ## Learning from what did not happen
#
# Who comes to the counter does not depend on what the agent remembers. Suppose the real step was:
# person 2 was there, was offered the doughnut, and took it. Then we also know what would have
# happened to an agent with any *other* memory $\hat m_t$: it would have moved on to
#
# $$
# \hat m_{t+1} = \mu(\hat m_t, s_t, a_t, s_{t+1})
# $$ (eq-doughnuts-update)
#
# with $\mu$ the memory's update, and it would have been paid for the counts $\hat m_{t+1}$. So one
# step gives many transitions that are all true. The deep agents imagine that everybody has had one
# or two doughnuts more than in truth, in all combinations: 32 memories per step.

# %% tags=["nbval-check-output", "remove-input"]
source_of(
    DoughnutCounterfactuals.imagined, Counterfactuals.received, DoughnutCounterfactuals.rewards
)

# %% [markdown]
# A small example with two people. The counts are 3 and 5. The first person is offered a doughnut
# and *is not there*.

# %% tags=["nbval-check-output"]
wasted = Occurrence(counts=np.array([3, 5]), unit=0, granted=False, excepted=True, reward=0.0)
rows = {}
for variant, coded in {"as published": False, "as coded": True}.items():
    rule = DoughnutCounterfactuals(largest=100, always_received=coded, people=2)
    before = rule.imagined(wasted)
    after = before + rule.received(wasted)
    rows[variant] = [
        f"{tuple(map(int, now))}, reward {reward:g}"
        for now, reward in zip(after, rule.rewards(before, after, wasted), strict=True)
    ]
index = pd.Index([str(tuple(map(int, counts))) for counts in before], name="imagined before")
pd.DataFrame(rows, index=index)

# %% [markdown]
# The authors' code counts the doughnut all the same. That contradicts {eq}`eq-doughnuts-update`: it
# tells the agent that a wasted doughnut raises a count and pays nothing. The false part of the
# message happens to be useful, because it makes waste look as bad as it should feel. We come back
# to this.

# %% [markdown]
# ## The learner
#
# All of this goes into the replay buffer of an ordinary deep Q-network {cite:p}`mnih2015dqn`. With
# $o$ the observation and the memory, and $\bar\theta$ a copy of the weights that is renewed every
# thousand steps,
#
# $$
# y = r + \gamma \max_{a'} Q_{\bar\theta}(o', a'), \qquad
# \text{loss} = \tfrac1B \sum \big(Q_\theta(o, a) - y\big)^2 .
# $$ (eq-doughnuts-target)
#
# The library's agent is the `DQN` of Stable-Baselines3 {cite:p}`raffin2021sb3` with another buffer.

# %% tags=["nbval-check-output", "remove-input"]
source_of(
    FairDQN.train, FairDQN._value_next_observations, CounterfactualReplayBuffer.batch
)

# %% [markdown]
# The settings are those of Table 1; what the table leaves out is as in the code.

# %% tags=["nbval-check-output", "hide-input"]
tidy.learning_table("doughnuts", learned, "as_coded").rename(columns=names)

# %% [markdown]
# FairQCM differs from Full in more than its memories: its minibatches are 32 times as large, too.
# Nothing in the paper separates the two. We do, [below](#what-helps).
#
# There is also no terminal state in {eq}`eq-doughnuts-target`: the value of the observation after
# the last doughnut counts as any other, although nothing follows, and no agent sees the time.

# %% [markdown]
# ## Train it yourself
#
# A short run of Full and FairQCM, as published, a tenth of the paper's length. After every training
# episode the current target network plays one episode without exploring. Change the numbers and run
# the cell again.

# %% tags=["nbval-ignore-output"]
episodes, run_number = 100, 1000


def quick(method, **changes):
    """Settings of a short run that explores as little as a late one."""
    config = config_of("doughnuts", method, "as_published")
    return replace(config, episodes=episodes, learning=replace(config.learning, **changes))


live = pd.concat(
    train_and_evaluate(quick(method, exploration_factor=0.97), run_number).assign(
        method=method, variant="live", seed=run_number
    )
    for method in ("full", "fairqcm")
)
final = live[live["phase"] == "final"].pivot(index="method", columns="metric", values="value")
labelled(final[["return_all", "allocated", "last_policy_return"]]).round(1)

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
# The stored runs are as long as the paper's: 1000 training episodes of 100 doughnuts, ten runs for
# each method. We show four series and not one:
#
# - the **return**, which is what the paper's Figure 2 shows;
# - the **doughnuts taken**, which the paper's text relies on;
# - the **welfare** $\sum_t \sum_i \log(n_i + 1)$ alone, where a wasted doughnut earns no zero but
#   leaves the counts as they are;
# - the **doughnuts wasted**.
#
# ### As coded
#
# Thin lines are single runs, each point the mean of 50 greedy episodes; bands are 95 % bootstrap
# intervals of the mean over runs.

# %% tags=["nbval-ignore-output", "hide-input"]
def curves(metric, quantity, variant):
    """Draw one series of one variant, or return None when there are no runs."""
    runs = tidy.curve(results, metric, variant, every=5 if profile == "book" else 1)
    if runs.empty:
        return None
    seeds = runs.groupby("method")["seed"].nunique()
    count = f"{seeds.min()}" if seeds.min() == seeds.max() else f"{seeds.min()} to {seeds.max()}"
    bars = tidy.references(results, metric)
    return learning_curves(
        tidy.over_seeds(runs, ["method", "variant", "step"]),
        runs=runs,
        quantity=quantity,
        band=f"mean and 95 % bootstrap interval, {count} seeds",
        references=None if bars.empty else bars,
        styles=styles,
    )


def show_or_say(figure, caption, name):
    """Show a figure, or say that there are no runs for it."""
    if figure is None:
        print(NOTHING)
    else:
        show(figure, caption, name=name)


show_or_say(
    curves("return", "return of a greedy episode", "as_coded"),
    "Figure 2 of the paper, made anew: return during training, as coded. Dotted lines: policies "
    "that learn nothing, on the same episodes.",
    "return_as_coded",
)

# %% tags=["nbval-ignore-output", "hide-input"]
show_or_say(
    curves("allocated", "doughnuts taken per episode", "as_coded"),
    "Doughnuts taken during training, as coded.",
    "allocated_as_coded",
)

# %% tags=["nbval-ignore-output", "hide-input"]
show_or_say(
    curves("welfare", "welfare summed over an episode", "as_coded"),
    "Welfare of the counts during training, as coded, whatever was wasted.",
    "welfare_as_coded",
)

# %% tags=["nbval-ignore-output", "hide-input"]
show_or_say(
    curves("invalid", "doughnuts wasted per episode", "as_coded"),
    "Doughnuts wasted during training, as coded.",
    "wasted_as_coded",
)

# %% [markdown]
# ### As published
#
# The same with the paper's definitions: imagined memories follow {eq}`eq-doughnuts-update`, every
# run explores anew from 1, and the recurrent network is 256 wide and learns from whole episodes.

# %% tags=["nbval-ignore-output", "hide-input"]
show_or_say(
    curves("return", "return of a greedy episode", "as_published"),
    "Return during training, as published.",
    "return_as_published",
)

# %% tags=["nbval-ignore-output", "hide-input"]
show_or_say(
    curves("allocated", "doughnuts taken per episode", "as_published"),
    "Doughnuts taken during training, as published.",
    "allocated_as_published",
)

# %% [markdown]
# ### The numbers
#
# Means over runs with 95 % intervals. *Last hundred* and *all* are returns of the greedy episodes;
# *last policy* is the return of the very last network on 200 fresh episodes. *To 900* is the
# first point of the learning curve, in episodes, at which ten greedy episodes reach it; one more
# than the run's length means never.

# %% tags=["nbval-check-output", "hide-input"]
quantities = {
    "return": ("last hundred", 1),
    "return_all": ("all", 1),
    "last_policy_return": ("last policy", 1),
    "allocated": ("taken, last hundred", 1),
    "allocated_first_100": ("taken, first hundred", 1),
    "episodes_to_900": ("to 900", 0),
    "episodes_to_1000": ("to 1000", 0),
}
labelled(tidy.final_table(results, quantities)) if len(results) else NOTHING

# %% [markdown]
# How does that compare with the authors' own scripts? An independent rerun of them
# {cite:p}`nagy2025rerun` keeps the score of every episode, from which the following means are
# computed. The standard deviation is over its ten runs.

# %% tags=["nbval-check-output", "hide-input"]
beside = {}
for method, (over_all, last, deviation) in tidy.RERUN.items():
    if (method, "as_coded") in arms:
        ours = tidy.of_arm(results, "return", method, "as_coded")
        beside[names[method]] = {
            "all, rerun": over_all,
            "all, ours": tidy.of_arm(results, "return_all", method, "as_coded").mean(),
            "last hundred, rerun": last,
            "last hundred, ours": ours.mean(),
            "deviation, rerun": deviation,
            "deviation, ours": ours.std(ddof=0),
        }
pd.DataFrame(beside).T.round(1) if beside else NOTHING

# %% [markdown]
# ### The verdicts

# %% tags=["nbval-check-output", "hide-input"]
for verdict in verdicts:
    print(f"{verdict.claim.id}, {variants[verdict.variant]}: {verdict.word}")

# %% [markdown]
# ## What the authors' code does differently
#
# These are the differences that concern deep agents, as switches of the library. Two further ones
# concern only [the tabular agents](tabular.ipynb).

# %% tags=["nbval-check-output", "hide-input"]
tidy.switch_table()

# %% [markdown]
# Two of them matter most here.
#
# **Exploration is not reset between runs.** The rate lives in an object that all ten runs share.
# The first run starts at 1 and ends near 0.37, the second goes on from there, and the other eight
# keep 0.2 throughout. So a published curve averages three schedules.

# %% tags=["nbval-ignore-output", "hide-input"]
start, rates = Exploration(), {}
for run in range(3):
    rate, series = start.after_runs(run, 1000).start, []
    for _ in range(1001):
        series.append(rate)
        rate = start.after_episode(rate)
    rates["run 1" if run == 0 else "run 2" if run == 1 else "runs 3 to 10"] = series[::20]
show(
    line_chart(
        pd.DataFrame(rates, index=np.arange(0, 1001, 20)),
        across="training episodes",
        up="share of random actions",
    ),
    "Exploration in the authors' scripts. As published, every run is as run 1.",
    name="exploration",
)

# %% tags=["nbval-check-output", "hide-input"]
singles = tidy.single_runs(results, "return", ["as_coded"]) if len(results) else []
labelled(singles) if len(singles) else NOTHING

# %% [markdown]
# **The recurrent network is not trained on histories.** A minibatch of 256 unrelated transitions is
# run through the network as if it were one episode, so what the state carries from one step to the
# next during training has nothing to do with what it carries while acting. The published variant
# trains on whole episodes.
#
# One difference is not a switch. In the authors' scripts training and evaluation draw from one
# random stream, so whoever evaluates differently trains differently. Here they have streams of
# their own, and the evaluation of a run takes place afterwards, on all its networks side by side.
#
# (what-helps)=
# ## What helps
#
# Each row below changes one thing of a published method. Differences are paired by run, so both
# meet the same people.

# %% tags=["nbval-check-output", "hide-input"]
changed = tidy.changes(
    results, {"return": ("last hundred", 1), "return_all": ("all", 1), "allocated": ("taken", 2)}
)
labelled(changed) if len(changed) else NOTHING

# %% [markdown]
# Does FairQCM's lead come from imagined memories, or from minibatches that are 32 times as large?
# The paper cannot tell, because it changes both together.

# %% tags=["nbval-check-output", "remove-input"]
sentences = []
for name, first in {
    "The minibatches and the buffer of FairQCM, without its counterfactuals,": (
        "full",
        "large_batch",
    ),
    "The counterfactuals, with Full's minibatches,": ("fairqcm", "small_batch"),
    "Both together": ("fairqcm", "as_published"),
}.items():
    found = tidy.change(
        tidy.of_arm(results, "return_all", *first),
        tidy.of_arm(results, "return_all", "full", "as_published"),
        name,
    )
    if found is not None:
        sentences.append(
            f"{name} change the return of Full over all of training by "
            f"{tidy.written(found, 0, signed=True)}."
        )
Markdown(" ".join(sentences) or NOTHING)

# %% [markdown]
# ## What it costs
#
# Time on one core, from the provenance of the stored runs; evaluation included.

# %% tags=["nbval-check-output", "hide-input"]
if len(results):
    provenance = store.provenance(experiment=DOUGHNUTS.id, profile=profile)
    costs = tidy.cost(provenance, DOUGHNUTS.methods(profile))
labelled(costs) if len(results) else NOTHING

# %% [markdown]
# The published recurrent network is the exception to the paper's loop: it learns five times per
# episode instead of at every step, because one gradient step of a network that wide on whole
# episodes takes as long as dozens of the others. The paper does not say how often it learns. The
# row *as narrow as in the code, learning at every step* above shows what the other extreme gives.

# %% [markdown]
# ## What was found, and what was not
#
# - The order of the methods and the size of their scores can be read off the table above, for both
#   variants. The verdicts say which of the paper's sentences hold.
# - What the figure of the paper does not show is the line of a policy that remembers nothing. It
#   lies above every learner there. In this problem the learners lose points because deep
#   Q-learning with these settings favours and wastes, not because fairness needs more memory.
# - We did not find the paper's printed curves: no accessible copy has them in a readable form. The
#   comparison is with an independent rerun of the authors' scripts.
#
# ## What would change our mind
#
# - **A problem in which the memoryless policy does badly**: fewer doughnuts, or people who come
#   rarely and at different rates. There memory would have something to add, and the order of the
#   methods would mean more.
# - **A learner of this family above the memoryless policy.** The notebook on going beyond the paper
#   looks for one.
# - **Tuned baselines.** All settings are the authors'. A learning rate or a number of minibatches
#   chosen for each method could change the order.

# %% [markdown]
# ## Exercises
#
# ```{exercise} How much does memory matter?
# :label: exercise-doughnuts-memory
#
# Compare the Oracle with the memoryless policy when people are there with probability 0.2 and an
# episode has 20 doughnuts. Is memory worth more, in relation to the score?
# ```

# %% [markdown]
# ```{solution-start} exercise-doughnuts-memory
# :class: dropdown
# ```

# %% tags=["nbval-check-output"]
from longfair.agents.allocation_over_people import LeastServedThere, SomebodyThereAtRandom
from longfair.agents.evaluation import acting, play_episodes
from longfair.envs.doughnut import DoughnutParams

scores = {}
for presence, length in ((0.8, 100), (0.8, 20), (0.2, 100), (0.2, 20)):
    params = DoughnutParams((presence,) * 5, length, smoothing=0.0)
    policies = {"Oracle": LeastServedThere(5), "random, present": SomebodyThereAtRandom(5, 1)}
    scores[presence, length] = {
        name: play_episodes(acting(policy), DoughnutVectorEnv(4000, params), 2).reward.mean()
        for name, policy in policies.items()
    }
table = pd.DataFrame(scores).T.rename_axis(["presence", "doughnuts"])
table["memory is worth"] = (table["Oracle"] / table["random, present"] - 1).map("{:.1%}".format)
table.round(1)

# %% [markdown]
# Short episodes leave luck no time to even out. When people are rarely there, a policy has little
# to choose between, with or without memory.
#
# ```{solution-end}
# ```
#
# ```{exercise} A false message that helps
# :label: exercise-doughnuts-waste
#
# Train FairQCM briefly with the code's counterfactuals and with the correct ones, and with the same
# exploration. Which one stops wasting sooner?
# ```

# %% [markdown]
# ```{solution-start} exercise-doughnuts-waste
# :class: dropdown
# ```

# %% tags=["nbval-ignore-output"]
correct = quick("fairqcm", exploration_factor=0.97)
false = replace(correct, switches=replace(correct.switches, always_received=True))
taken = {}
for name, config in {"correct": correct, "as coded": false}.items():
    table = train_and_evaluate(config, 1001)
    rows = table[(table["phase"] == "curve") & (table["metric"] == "allocated")]
    taken[name] = rows.set_index("step")["value"]
pd.DataFrame(taken).round(1)

# %% [markdown]
# One run each is a beginning. The row *with the counterfactuals of the code* above has ten.
#
# ```{solution-end}
# ```

# %% [markdown]
# ## Where this came from

# %% tags=["nbval-ignore-output", "hide-input"]
commit = commit_of(Path(longfair.__file__).parent)
versions = package_versions()
entries = {
    "profile": profile,
    "commit the page was made from": (commit.name or "none")[:12]
    + " + changes" * bool(commit.dirty),
    "python": ".".join(platform.python_version_tuple()[:2]),
    **{name: versions[name] for name in ("numpy", "scipy", "torch", "stable-baselines3")},
    "digest of the experiment's source": source_digest(train_and_evaluate)[:16],
}
if len(results):
    commits = sorted({str(name)[:12] for name in provenance["commit"]})
    entries |= {
        "stored runs": len(provenance),
        "of these, from a tree with changes": int(provenance["dirty"].sum()),
        "commits of the stored runs": ", ".join(commits),
        "first and last finished": " and ".join(
            sorted(provenance["finished"])[index][:10] for index in (0, -1)
        ),
    }
pd.Series(entries, name="value").to_frame()

# %% tags=["nbval-ignore-output", "remove-input"]
table = tidy.by_seed(results) if len(results) else pd.DataFrame()
data = base64.b64encode(table.to_csv(index=False, float_format="%.6g").encode()).decode()
HTML(
    f'<p class="longfair-caption"><a download="fairqcm_doughnuts_{profile}.csv" '
    f'href="data:text/csv;base64,{data}">All final values, one row per run '
    f"(CSV, {len(table)} rows)</a>. The full tables with the learning curves are in the "
    f"repository under <code>results/{DOUGHNUTS.id}/{profile}</code>.</p>"
)
