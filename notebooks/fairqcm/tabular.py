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
# # Tabular doughnuts
#
# *Three people, twelve doughnuts, and an agent that has to remember who had how many.*
#
# This notebook follows Sections 5 and 6 of {cite:t}`alamdari2024fairqcm`, Figure 4 and Theorem 5.7.
# The problem is small enough to be solved exactly, so everything that is learned here can be held
# against the truth.

# %% tags=["parameters"]
profile = "book"

# %% tags=["hide-input"]
import textwrap
from dataclasses import asdict, replace

import gymnasium
import numpy as np
import pandas as pd
from IPython.display import Markdown

from longfair.agents.fairqcm.presets import QLearningSettings
from longfair.agents.fairqcm.q_learning import TabularQLearning
from longfair.agents.finite import FiniteProblem
from longfair.envs.doughnut import DoughnutParams
from longfair.envs.doughnut.compiled import (
    learn_episode,
    learn_imagined,
    serve,
    update,
    welfare,
)
from longfair.envs.memory import FullMemory, MinMemory, ResetMemory
from longfair.figures import (
    LineStyle,
    claim_box,
    learning_curves,
    line_chart,
    offer,
    show,
    show_missing,
    source_of,
)
from longfair.figures.style import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VARIANT_NAMES,
    VERMILION,
)
from longfair.papers import registry
from longfair.papers.fairqcm import tabular_results as tabular
from longfair.papers.fairqcm.tabular import (
    CONVERGENCE,
    CONVERGENCE_ARMS,
    FAIRQCM,
    GOAL,
    PREMISES,
    PUBLISHED,
    SMOOTHING,
    TABULAR,
    ConvergenceConfig,
    ExactValues,
    LearnerConfig,
    converge,
    learn_and_measure,
)
from longfair.papers.seed_figures import training_curves
from longfair.runs import tidy
from longfair.runs.origin import origin
from longfair.runs.statistics import estimate
from longfair.runs.store import Store
from longfair.runs.verdicts import judge_all

pd.set_option("display.max_colwidth", None)
store = Store()
results = tidy.stored(store, profile, TABULAR)
limits = tidy.stored(store, profile, CONVERGENCE)
NOTHING = tidy.nothing_to_show(profile, TABULAR, CONVERGENCE)
styles = {
    "fairqcm": LineStyle("FairQCM", BLUE, "o"),
    "full": LineStyle("Full", VERMILION, "s"),
    "min": LineStyle("Min", PURPLE, "^", (0, (5, 1.5))),
    "reset": LineStyle("Reset", ORANGE, "D", (0, (3, 1, 1, 1))),
    "oracle": LineStyle("Oracle", BLACK, "*", ":"),
    "rotation": LineStyle("taking turns", SKY, "P", ":"),
    "random-present": LineStyle("random, present", GREY, "v", ":"),
    "fixed-priority": LineStyle("the first present", GREY, "+", ":"),
    "strict-rotation": LineStyle("turns, lost on the absent", GREY, "1", ":"),
    "random": LineStyle("Random", GREY, "x", ":"),
}
names = {method: style.label for method, style in styles.items()}
variant_names = {
    **VARIANT_NAMES,
    "reference": "learns nothing",
    "true_update": "true update",
    "without_real": "real memory once",
    "decay_every_visit": "decay at every visit",
    "without_smoothing": "no smoothing",
    "end_masked": "end masked",
    "with_time": "with time",
    "coded_with_time": "as coded, with time",
    "repeated": "nine updates a step",
    "constant_step": "constant step size",
    "coded_update": "waste counted",
    "without_time": "without time",
}


def labelled(table):
    """Write methods and variants as in the figures."""
    return table.rename(index={**names, **variant_names})


# %% [markdown]
# ## Claims on this page
#
# *As coded* means the computations of the authors' scripts, *as published* those of the paper's
# text. They are compared further down.

# %% tags=["nbval-check-output", "hide-input"]
claims = [
    claim for claim in registry.claims() if claim.experiment in (TABULAR.id, CONVERGENCE.id)
]
verdicts = judge_all(claims, store, profile, registry.checks())
claim_box([verdict.as_json() for verdict in verdicts])

# %% tags=["nbval-ignore-output", "remove-input"]
gaps = tidy.gaps(store, profile, TABULAR, CONVERGENCE)
show_missing(labelled(gaps), f"the profile `{profile}`")

# %% [markdown]
# In short:

# %% tags=["nbval-check-output", "remove-input"]
last = tidy.by_seed(results) if len(results) else pd.DataFrame()


def reaches(method, variant, metric="return", digits=2):
    """Write the mean over seeds of a final value with its interval; nothing without results."""
    if results.empty:
        return ""
    values = tidy.of_arm(results, metric, method, variant)
    if values.empty:
        return ""
    return tidy.written(estimate(values, name=f"{method} {variant} {metric}"), digits)


lines = [
    f"{names[method]} {variant_names[variant]}: {text}"
    for method, variant in [
        ("full", "as_coded"),
        ("fairqcm", "as_coded"),
        ("fairqcm", "as_published"),
        ("fairqcm", "with_time"),
        ("full", "with_time"),
    ]
    if (text := reaches(method, variant))
]
if lines:
    lines = [
        "Return of the greedy policy at the end of training, with 95 % intervals over seeds. The "
        f"best possible is {tabular.optimum():.2f}.",
        "",
        *(f"- {text}" for text in lines),
    ]
Markdown("\n".join(lines) or NOTHING)

# %% [markdown]
# ## Before you start
#
# | | |
# | --- | --- |
# | You need | what Q-learning and a discount are; [the formalism](formalism.ipynb) helps |
# | You will know | what FairQCM adds to Q-learning, when it converges, what is its doing here |
# | Reading time | 35 minutes |
# | Computing time | one minute on one core for this page; the first call compiles the learner |

# %% [markdown]
# ## The idea
#
# Fairness has a past. Whether it is fair to hand *this* doughnut to *you* depends on who had the
# earlier ones. An agent that only sees who is at the counter cannot tell, so its memory has to
# become part of the state. But then there are many states: every combination of counts is a state
# of its own, and each has to be learned from experience.
#
# Most of this experience is redundant. Who turns up tomorrow does not depend on what the agent
# remembers. When person 2 takes a doughnut while the counts are (1, 0, 2), the agent knows just as
# well what would have happened had the counts been (2, 1, 2). **FairQCM** learns from such
# *counterfactual* memories as if they had occurred. The idea comes from reward machines, where it
# is known as counterfactual experience {cite:p}`toroicarte2022reward`.
#
# ## The problem
#
# Three people, each of them at the counter with probability 0.8 at every step. Twelve doughnuts,
# one a step. A doughnut for somebody who is not there is wasted and earns nothing. Otherwise the
# reward is the Nash welfare of what everybody has had by then, in its logarithmic form:
#
# $$
# r_t = \sum_i \log (n_i + 1).
# $$ (eq-tabular-reward)

# %% tags=["nbval-check-output", "remove-input"]
source_of(serve, welfare)

# %% [markdown]
# The library plays these episodes in compiled code, because a learner that changes its table at
# every step cannot play many episodes side by side. The compiled rules are tested against the
# environment `longfair/Doughnut-v0` with the same random numbers.
#
# The best policy is easy to guess: serve whoever is there and has had least. The paper calls it the
# *Oracle*. Here we can make sure. Backward induction over all states gives the best expected
# return, and other policies can be scored exactly, too.

# %% tags=["nbval-check-output"]
exact = ExactValues(DoughnutParams.tabular(), discount=1.0)
print(f"States: {len(exact.model.states):,}; best expected return: {tabular.optimum():.4f}")
labelled(tabular.exact_scores()).round(3)

# %% [markdown]
# Remember two rows. Whoever takes *turns* and skips the absent comes within one per cent of the
# best. And a policy **without any memory**, which picks somebody who is there at random, already
# reaches most of it. A learner that ends below that row would have done better not to remember
# anything.

# %% [markdown]
# ## What the agents remember
#
# | Agent | Memory | Learns from |
# | --- | --- | --- |
# | Full | what everybody has had | what happened |
# | Min | by how much everybody is ahead of whoever has had least | what happened |
# | Reset | what everybody has had since all had last had the same | what happened |
# | FairQCM | as Full | what happened, and what would have happened with other memories |
#
# Min and Reset have shorter tables. The price is that the reward {eq}`eq-tabular-reward`, which
# needs all counts, is no longer a function of what the agent knows.

# %% tags=["nbval-check-output", "remove-input"]
source_of(FullMemory.update, MinMemory.update, ResetMemory.update)

# %% [markdown]
# ## The update
#
# With $s$ the people at the counter and $m$ the memory, a step moves one entry of the table:
#
# $$
# Q(\langle s, m\rangle, a) \leftarrow (1 - \alpha)\, Q(\langle s, m\rangle, a)
# + \alpha \big[ r + \gamma \max_{a'} Q(\langle s', m'\rangle, a') \big],
# \qquad m' = \mu(m, s, a, s').
# $$ (eq-tabular-update)

# %% tags=["nbval-check-output", "remove-input"]
source_of(update)

# %% [markdown]
# FairQCM then does the same for memories $\hat m$ that did not occur, with their own
#
# $$
# \hat m' = \mu(\hat m, s, a, s') \quad\text{and}\quad \hat r = R(s', \hat m').
# $$ (eq-tabular-imagined)
#
# Which ones? The authors' script takes everybody's count as it is or one higher, that is $\prod_i
# \{m_i, m_i + 1\}$: eight memories for three people. The switches in the code below are its
# deviations from {eq}`eq-tabular-imagined`, to which we come back.

# %% tags=["nbval-check-output", "remove-input"]
source_of(learn_imagined)

# %% [markdown]
# And an episode:

# %% tags=["nbval-check-output", "remove-input"]
source_of(learn_episode)

# %% [markdown]
# ## Train it yourself
#
# Four agents, in front of you, as coded. After every training episode each plays one greedy
# episode; a point of the curve is the mean of 500 of these. All agents meet the same people. Change
# a setting and run the cell again.

# %% tags=["nbval-ignore-output"]
run_number, episodes = 1000, 20_000
live = pd.concat(
    learn_and_measure(
        LearnerConfig(settings.as_coded(), SMOOTHING["as_coded"], episodes, bin_episodes=500),
        run_number,
    ).assign(method=method, variant="as_coded", seed=run_number)
    for method, (settings, _) in PUBLISHED.items()
)
live.query("phase == 'final'").pivot(index="method", columns="metric", values="value").rename(
    index=names
)[["return", "allocated", "return_all", "episodes_to_36"]].round(2)

# %% tags=["nbval-ignore-output", "hide-input"]
bars = tabular.exact_scores()


def exact_bars(column, methods=("oracle", "rotation", "random-present", "random")):
    """Horizontal lines at exact scores."""
    return bars.loc[list(methods), column].rename("value").reset_index()


show(
    learning_curves(
        tidy.over_seeds(tidy.curve(live, "return", "as_coded"), ["method", "variant", "step"]),
        quantity="return of a greedy episode",
        band="one run each, so no band",
        references=exact_bars("return"),
        styles=styles,
    ),
    "The live runs: return of greedy episodes during training. One run each. Horizontal lines: "
    "exact scores of policies that learn nothing.",
    name="live_return",
)

# %% [markdown]
# FairQCM goes up at once. The others do something odd: they rise for a short while and then *fall*,
# well below the policy that has no memory. More experience makes them worse. That deserves an
# explanation, and it gets one below.

# %% [markdown]
# ## What came out
#
# The stored runs are five times as long, several seeds for each method. The paper's text speaks of
# 100,000 time steps, its code of 50,000 episodes; both are the beginning of what follows. Thin
# lines are single runs, bands are 95 % bootstrap intervals of the mean over seeds, a point is the
# mean of a thousand greedy episodes, as in the paper's Figure 4.
#
# ### As coded

# %% tags=["nbval-ignore-output", "hide-input"]
def bars_for(metric):
    """Lines of policies that learn nothing, exact where possible; of equal ones the Oracle's."""
    few = ["oracle", "random"]
    if metric == "return":
        return exact_bars(metric)
    if metric == "allocated":
        return exact_bars(metric, few)
    found = tidy.references(results, metric)
    return found[found["method"].isin(few)] if metric == "invalid" else found


def curves(metric, quantity, variant, until=np.inf):
    """Draw learning curves of the four methods, or return None when there are none."""
    runs = tidy.curve(results, metric, variant)
    return training_curves(
        runs[runs["step"] <= until],
        quantity,
        references=bars_for(metric),
        styles=styles,
        thin_lines=metric == "return",
    )


show(
    curves("return", "return of a greedy episode", "as_coded"),
    "Return of greedy episodes during training, as coded. Horizontal lines: exact scores of "
    "policies that learn nothing; the Oracle's is the best possible.",
    name="return_as_coded",
    otherwise=NOTHING,
)

# %% [markdown]
# The first 100,000 steps, which is what the paper's text describes:

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    curves("return", "return of a greedy episode", "as_coded", until=108_000),
    "The beginning of the same curves.",
    name="return_as_coded_beginning",
    otherwise=NOTHING,
)

# %% [markdown]
# A return mixes two things: how evenly doughnuts are shared, and how many are wasted. The reward of
# a wasted one is zero, although the welfare of the people has not changed. The next figures take
# them apart. First the sum over all steps of the welfare {eq}`eq-tabular-reward`, whether or not
# the doughnut of that step was taken:

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    curves("welfare", "Nash welfare, summed over steps", "as_coded"),
    "The pure fairness score of the same episodes.",
    name="welfare_as_coded",
    otherwise=NOTHING,
)

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    curves("allocated", "doughnuts taken, of 12", "as_coded"),
    "Doughnuts that somebody took, in the same episodes. The Oracle loses those for which nobody "
    "was there, as does every policy that never offers one to an absent person.",
    name="allocated_as_coded",
    otherwise=NOTHING,
)

# %% [markdown]
# And the fourth series, the doughnuts that were offered to somebody who was not there, or for whom
# nobody was:

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    curves("invalid", "doughnuts wasted, of 12", "as_coded"),
    "Wasted doughnuts in the same episodes.",
    name="invalid_as_coded",
    otherwise=NOTHING,
)

# %% [markdown]
# ### As published
#
# The same agents with the true update of imagined memories, the real memory not imagined once more,
# exploration that decays at every visit, and no smoothing in the reward. About the end of an
# episode the paper says nothing, so that is as in the code.

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    curves("return", "return of a greedy episode", "as_published"),
    "Return of greedy episodes during training, as published.",
    name="return_as_published",
    otherwise=NOTHING,
)

# %% [markdown]
# The numbers, at the end of the paper's 100,000 steps, of the code's 50,000 episodes, and of our
# runs:

# %% tags=["nbval-check-output", "hide-input"]
moments = (8_000, 50_000, 100_000) if profile == "book" else (1_000, 2_000)
table = (
    tabular.curve_table(results, moments, ["as_coded", "as_published"]) if len(results) else None
)
NOTHING if table is None else labelled(table)

# %% tags=["nbval-check-output", "hide-input"]
quantities = {
    "return": ("return", 2),
    "return_all": ("mean of the whole curve", 2),
    "episodes_to_36": (f"episodes to {GOAL:g}", 0),
    "allocated": ("doughnuts taken", 2),
}
chosen = results["variant"].isin(["as_coded", "as_published"]) if len(results) else []
labelled(tidy.final_table(results[chosen], quantities)) if len(results) else NOTHING

# %% [markdown]
# A goal that a run never reached counts as one episode more than the run has.

# %% [markdown]
# ## Verdicts
#
# The rules were committed before the runs; they are in `claims.yaml` of the paper's folder.

# %% tags=["nbval-check-output", "hide-input"]
for verdict in verdicts:
    print(f"{verdict.claim.id}, {VARIANT_NAMES[verdict.variant]}: {verdict.word}")
    for part in verdict.parts or [verdict]:
        print(textwrap.indent(textwrap.fill(part.detail.rstrip(".") + ".", width=76), "    "))

# %% [markdown]
# ## Why do the others get worse?
#
# Follow one decision through training. At the start of an episode persons 1 and 2 are there, person
# 0 is not. Offering the doughnut to person 0 wastes it. How much does an agent think it loses? Here
# is Full, with the same discount as always, beside the exact answer.

# %% tags=["nbval-ignore-output"]
moments = (1_000, 4_000, 8_000, 20_000, 100_000)
full = PUBLISHED["full"][0]
thinks = tabular.first_choice(full, moments, seed=run_number)
truth = tabular.exact_first_choice(full.discount)
pd.concat([thinks, truth.to_frame("exact").T]).round(2)

# %% [markdown]
# The value of serving ends near the truth. The value of wasting ends far above it, so the **gap**
# between them is a fraction of the true one. And the gap shrinks as training goes on.
#
# The reason is time. There are twelve doughnuts, so a wasted one is gone. But the agent does not
# see how many are left, and nothing in the update {eq}`eq-tabular-update` tells it that the episode
# ends: the last step bootstraps from a state after the end, as any other step would. In the world
# that this table describes, doughnuts never run out. A wasted one leaves the memory as it is, and
# everything can still be had one step later, at the price of one discount. Between
#
# $$
# Q(\text{waste}) = \gamma V(m) \qquad\text{and}\qquad Q(\text{serve}) = r + \gamma V(m + e_a)
# $$
#
# there is hardly a difference, because $V(m)$ contains the reward that was missed. The better the
# agent learns this world, the less it minds wasting, and noise decides. So the curves fall. Later
# they recover slowly. Our reading is that a small gap is enough once the values have stopped
# growing, and not before.
#
# The test: let the agents remember how many doughnuts have been handed out. Nothing else changes.

# %% tags=["nbval-ignore-output"]
agents = {
    "Full": full,
    "FairQCM": FAIRQCM,
    "Full, with time": replace(full, time=True),
    "FairQCM, with time": replace(FAIRQCM, time=True),
}
gap = {
    name: tabular.first_choice(settings, moments, seed=run_number)["gap"]
    for name, settings in agents.items()
}
print(f"Serving less wasting, first doughnut; exact: {truth['gap']:.2f}")
pd.DataFrame(gap).T.round(2)

# %% [markdown]
# With time the gap does not collapse. It is too large at first, because what follows a wasted first
# doughnut is seldom tried, and comes down towards the truth.
#
# In the stored runs:

# %% tags=["nbval-check-output", "hide-input"]
pairs = {
    ("full", "with_time"): ("full", "as_published"),
    ("fairqcm", "with_time"): ("fairqcm", "as_published"),
    ("fairqcm", "coded_with_time"): ("fairqcm", "as_coded"),
    ("fairqcm", "end_masked"): ("fairqcm", "as_published"),
}
found = tabular.changes(results, pairs, quantities) if len(results) else pd.DataFrame()
NOTHING if found.empty else labelled(found)

# %% tags=["nbval-ignore-output", "hide-input"]
def compared(arms, quantity="return of a greedy episode", metric="return", single=False):
    """Draw learning curves of several variants side by side, or return None without runs."""
    runs = pd.concat(
        tidy.curve(results, metric, variant).query("method == @method")
        for method, variant in arms
    )
    looks = [
        LineStyle("", colour, marker, line)
        for colour, marker, line in [
            (BLUE, "o", "-"),
            (VERMILION, "s", "-"),
            (SKY, "D", (0, (3, 1, 1, 1))),
            (ORANGE, "^", (0, (5, 1.5))),
            (PURPLE, "v", "-"),
        ]
    ]
    own = {
        f"{method} {variant}": replace(look, label=f"{names[method]}, {variant_names[variant]}")
        for (method, variant), look in zip(arms, looks, strict=False)
    }
    runs = runs.assign(method=runs["method"] + " " + runs["variant"], variant="")
    return training_curves(
        runs,
        quantity,
        references=exact_bars(metric, ["oracle", "rotation", "random-present"]),
        styles={**styles, **own},
        thin_lines=single,
    )


show(
    compared(
        [
            ("fairqcm", "with_time"),
            ("full", "with_time"),
            ("fairqcm", "as_published"),
            ("full", "as_published"),
        ]
    ),
    "What time in the memory does for Full and for FairQCM.",
    name="with_time",
    otherwise=NOTHING,
)

# %% [markdown]
# This is the main finding of the page. An agent that knows the time does not unlearn, with or
# without counterfactual memories.

# %% tags=["nbval-check-output", "remove-input"]
def lead(variant, metric="return"):
    """Estimate by how much FairQCM is ahead of Full in a variant; None without results."""
    if results.empty:
        return None
    arms = [tidy.of_arm(results, metric, method, variant) for method in ("fairqcm", "full")]
    return tidy.change(*arms, f"lead {variant} {metric}")


leads = {variant: lead(variant) for variant in ("as_published", "with_time")}
speeds = {
    method: reaches(method, "with_time", "episodes_to_36", 0) for method in ("fairqcm", "full")
}
text = NOTHING
if all(leads.values()):
    without, knowing = (tidy.written(found, 2) for found in leads.values())
    text = (
        f"At the end of training FairQCM is ahead of Full by {without} as published, and by "
        f"{knowing} when both know the time. It remains the faster one: with time it reaches "
        f"{GOAL:g} after {speeds['fairqcm']} episodes, Full after {speeds['full']}."
    )
Markdown(text)

# %% [markdown]
# So **the counterfactual memories buy speed. Most of the lead that is left at the end they do not
# explain**; it comes from what happens to a learner that cannot see the end coming, to which
# FairQCM is less exposed.
#
# Note the last line of the table, too. Masking the end *without* telling the time makes things
# worse: the same entry of the table is told now that nothing follows, now that much does. The
# single runs jump up and down for as long as they last.

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    compared([("fairqcm", "as_published"), ("fairqcm", "end_masked")], single=True),
    "Masking the end of an episode without telling the time. Thin lines are single runs.",
    name="end_masked",
    otherwise=NOTHING,
)

# %% [markdown]
# ## What the authors' code does differently
#
# ### Waste is imagined as a gift
#
# When a doughnut is wasted, the code adds it to the *imagined* memories all the same, with a reward
# of zero. That contradicts {eq}`eq-tabular-imagined` and the premise of Theorem 5.7. And it helps.
# An imagined person who is credited with a doughnut they did not get makes the future look worse:
# the slot is gone, and nothing came of it. This is the very cost that the table cannot see without
# time. One defect repairs part of another.
#
# ### The real step is learned twice
#
# The imagined memories of the code contain the real one. After a wasted doughnut the table is told
# two contradicting stories about the same memory, the true one first.
#
# ### Exploration decays less often
#
# The paper lowers the rate of exploration at every visit of a state and memory, the code only when
# it led to a random choice.
#
# ### A small number in the logarithm
#
# The code adds 0.0001 inside the logarithm of real rewards, and not of imagined ones.
#
# One change at a time, each against FairQCM as coded, paired by seed:

# %% tags=["nbval-check-output", "hide-input"]
pairs = {
    ("fairqcm", variant): ("fairqcm", "as_coded")
    for variant in ("true_update", "without_real", "decay_every_visit", "without_smoothing")
} | {("fairqcm", "as_published"): ("fairqcm", "as_coded")}
found = tabular.changes(results, pairs, quantities) if len(results) else pd.DataFrame()
NOTHING if found.empty else labelled(found)

# %% [markdown]
# The first line is the defect's help, undone. If our explanation is right, the defect should be of
# no help to an agent that knows the time. As coded with time, against as published with time:

# %% tags=["nbval-check-output", "hide-input"]
pairs = {("fairqcm", "coded_with_time"): ("fairqcm", "with_time")}
found = tabular.changes(results, pairs, quantities) if len(results) else pd.DataFrame()
NOTHING if found.empty else labelled(found)

# %% [markdown]
# There it does harm, if only a little: nothing is left for it to repair.

# %% [markdown]
# ## Is it the memories, or the number of updates?
#
# FairQCM updates its table eight or nine times per step, the others once. So it learns more from
# every step even where nothing new is imagined. A fair comparison lets Full learn every step nine
# times. That is the same arithmetic as one update with a larger step size.

# %% tags=["nbval-check-output", "hide-input"]
pairs = {
    ("full", "repeated"): ("full", "as_coded"),
    ("fairqcm", "as_coded"): ("full", "repeated"),
}
found = tabular.changes(results, pairs, quantities) if len(results) else pd.DataFrame()
NOTHING if found.empty else labelled(found)

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    compared([("fairqcm", "as_coded"), ("full", "as_coded"), ("full", "repeated")]),
    "Full with as many updates as FairQCM.",
    name="equal_updates",
    otherwise=NOTHING,
)

# %% [markdown]
# Part of the lead is the number of updates. The rest is what they are about.

# %% [markdown]
# ## Does it converge?
#
# Theorem 5.7 says that tabular FairQCM finds the optimal action values $Q^*$ if the step sizes of
# every entry decay neither too fast nor too slowly,
#
# $$
# \sum_n \alpha_n = \infty, \qquad \sum_n \alpha_n^2 < \infty ,
# $$ (eq-tabular-steps)
#
# counterfactual updates included, and if imagined memories follow the true update. The authors'
# experiment has neither: its step size is constant, its imagined memories do not follow the truth.
# So the theorem is tested here, on a problem where $Q^*$ is known: two people, four doughnuts, step
# sizes $0.9 / n^{0.75}$ for the $n$-th update of an entry, and time in the memory, without which
# the reward and the end of the episode are not functions of what the agent knows.
#
# The exact values come from backward induction:

# %% tags=["nbval-check-output", "remove-input"]
source_of(FiniteProblem.backward_induction, ExactValues.distances)

# %% [markdown]
# A first look, live. Over all reachable combinations of moment, people there, memory and action:
# the largest distance and the mean one, as shares of the largest $Q^*$; and the share of the best
# expected return that the greedy policy misses.

# %% tags=["nbval-ignore-output"]
quick = ConvergenceConfig(PREMISES, checkpoints=(100, 1_000, 10_000, 100_000))
first = converge(quick, run_number).query("phase == 'curve'")
first = first.assign(episodes=first["step"] // quick.episode_length)
first.pivot(index="episodes", columns="metric", values="value").round(4)

# %% [markdown]
# The policy is optimal long before the values are. The largest distance is that of the rarest
# entry: to be in a situation with no doughnut taken after three were offered, somebody has to waste
# three times in a row.
#
# The stored runs go on for longer, and break one premise at a time:

# %% tags=["nbval-check-output", "hide-input"]
pd.DataFrame(
    {
        (method, variant): {
            "what": description,
            "step size": f"{settings.step_size:g} / n^{settings.step_size_decay:g}",
        }
        for (method, variant), (settings, description) in CONVERGENCE_ARMS.items()
    }
).T.rename(index={**names, **variant_names})

# %% tags=["nbval-ignore-output", "hide-input"]
def distances(metric, what):
    """Draw distances to the exact values on a logarithmic scale, or return None."""
    if limits.empty:
        return None
    table = tabular.distance_curves(limits, metric)
    table.columns = [f"{names[method]}, {variant_names[variant]}" for method, variant in table]
    table.index = table.index / 1000
    return line_chart(
        table, across="training episodes (thousands)", up=f"{what}, log 10", logarithmic=True
    )


show(
    distances("relative_distance", "largest distance"),
    "Largest distance to the exact action values, as a share of the largest of these, mean over "
    "seeds. Minus 2 means one per cent.",
    name="largest_distance",
    otherwise=NOTHING,
)

# %% tags=["nbval-ignore-output", "hide-input"]
show(
    distances("mean_distance", "mean distance"),
    "Mean distance to the exact action values, on the same scale.",
    name="mean_distance",
    otherwise=NOTHING,
)

# %% tags=["nbval-check-output", "hide-input"]
measures = {
    "relative_distance": ("largest distance", 4),
    "mean_distance": ("mean distance", 4),
    "relative_loss": ("return missed by the greedy policy", 5),
}
labelled(tidy.final_table(limits, measures)) if len(limits) else NOTHING

# %% [markdown]
# Under the premises both distances keep falling, for Full about as fast as for FairQCM: imagined
# memories are never lower than the real one, so they do not help with the entries that are rarest.
# With a constant step size they level off where the noise of single steps balances the learning.
# With imagined waste counted as a gift they stop at a wrong answer. Without time there is no right
# answer to converge to.
#
# A finite run cannot show a limit. And a theorem about values says nothing about the authors'
# experiment, which breaks its premises in three places and does well all the same.

# %% [markdown]
# ## Settings and cost
#
# The authors' settings, unchanged. Only the length differs: 100,000 episodes here, 50,000 in the
# code, 100,000 steps in the text. There is no separate profile `paper`.

# %% tags=["nbval-check-output", "hide-input"]
forms = {"as_published": FAIRQCM, "as_coded": FAIRQCM.as_coded()}
pd.DataFrame(
    {
        variant_names[variant]: asdict(settings) | {"smoothing of the reward": SMOOTHING[variant]}
        for variant, settings in forms.items()
    }
).rename_axis("setting of FairQCM")

# %% tags=["nbval-check-output", "hide-input"]
if len(results):
    provenance = store.provenance(experiment=TABULAR.id, profile=profile)
    costs = tidy.cost(provenance, TABULAR.methods(profile))
labelled(costs) if len(results) else NOTHING

# %% [markdown]
# Loading compiled code and writing results are in these times; one greedy episode after every
# training episode is, too.

# %% [markdown]
# ## What would change our mind
#
# - **A problem without an end.** With no last doughnut there is nothing to be seen of time, and the
#   lead of FairQCM at the end would be due to its memories alone.
# - **Full with settings of its own.** Nine updates per step act like a larger step size and help,
#   and so does a smaller discount, as the second exercise shows on one run. All agents here share
#   the authors' settings. If tuned settings brought Full to FairQCM's curve without time, the
#   memories would matter even less.
# - **Many more people.** Counterfactual memories are most useful where real ones are rarely seen
#   twice. Three people and twelve doughnuts are few.
# - **Convergence runs that stop falling.** If longer runs under the premises of the theorem
#   flattened above zero, either the theorem or our program would be wrong.

# %% [markdown]
# ## Exercises
#
# ```{exercise} Which memories are imagined?
# :label: exercise-tabular-imagined
#
# FairQCM imagines counts as they are or one higher, never lower. After a long run, how many entries
# of the table have been updated at least once by Full, and by FairQCM? How many could matter?
# ```

# %% [markdown]
# ```{solution-start} exercise-tabular-imagined
# :class: dropdown
# ```
#
# With time, what matters is known: the reachable combinations.

# %% tags=["nbval-ignore-output"]
whole = ExactValues(DoughnutParams.tabular(), full.discount)
seen = {}
for name in ("Full, with time", "FairQCM, with time"):
    agent = tabular.learner(agents[name], 0.0, run_number).learn(12 * 20_000)
    learned = agent.updates > 0
    reachable = whole.learned(agent.updates)[whole.reachable] > 0
    seen[name] = {
        "entries updated": int(learned.sum()),
        "of these, reachable": int(reachable.sum()),
        "reachable in all": reachable.size,
    }
pd.DataFrame.from_dict(seen, orient="index")

# %% [markdown]
# FairQCM updates more than twice as many entries, and of those that can occur only a few more. The
# rest can never occur: more doughnuts in the memory than have been handed out.
#
# ```{solution-end}
# ```
#
# ```{exercise} Another discount
# :label: exercise-tabular-discount
#
# The gap between serving and wasting is about one discount wide. So a *smaller* discount should
# help an agent that does not know the time. Does it?
# ```

# %% [markdown]
# ```{solution-start} exercise-tabular-discount
# :class: dropdown
# ```

# %% tags=["nbval-ignore-output"]
rows = {}
for discount in (0.99, 0.95, 0.9, 0.7):
    for name in ("Full", "FairQCM"):
        changed = replace(agents[name], discount=discount)
        scores = tabular.learner(changed, 0.0, run_number).learn_evaluated(30_000, seed=1)
        rows[name, discount] = scores.reward[-1000:].mean()
pd.Series(rows).unstack(0).rename_axis("discount").round(2)

# %% [markdown]
# Yes, and most of all Full. It costs almost nothing, because in this problem a policy that looks
# ahead only a little still shares well. One run each proves little. But it says that the authors'
# discount is hard on agents that do not know the time.
#
# ```{solution-end}
# ```
#
# ```{exercise} Your own crowd
# :label: exercise-tabular-crowd
#
# Two people, one of whom is hardly ever there. Train FairQCM with time and compare it with the
# exact optimum and with whoever is there and has had least. Is the Oracle still optimal?
# ```

# %% [markdown]
# ```{solution-start} exercise-tabular-crowd
# :class: dropdown
# ```

# %% tags=["nbval-ignore-output"]
crowd = DoughnutParams((0.9, 0.2), episode_length=10, smoothing=0.0)
values = ExactValues(crowd, discount=1.0)
agent = TabularQLearning(
    gymnasium.make_vec("longfair/Doughnut-v0", params=crowd),
    QLearningSettings(imagine=True, time=True, discount=1.0),
    seed=run_number,
)
agent.learn(10 * 50_000)
present, counts = values.model.states[:, :2], values.model.states[:, 2:]
least = np.where(present == 1, -counts, -np.inf)
oracle = np.tile(least, (crowd.episode_length, 1, 1))
best = values.value_of(values.solution.action_values)
pd.Series(
    {
        "exact optimum": best,
        "whoever is there and has had least": values.value_of(oracle),
        "FairQCM with time": values.value_of(values.learned(agent.values)),
    }
).round(4).to_frame("expected return")

# %% [markdown]
# Compare the first two rows. Serving whoever has had least was shown to be optimal for people who
# are equally often there, and need not be for others.
#
# ```{solution-end}
# ```

# %% [markdown]
# ## Where this came from

# %% tags=["nbval-ignore-output", "hide-input"]
origin(
    profile,
    ["numpy", "scipy", "gymnasium"],
    [learn_and_measure],
    provenance if len(results) else None,
)

# %% tags=["nbval-ignore-output", "remove-input"]
offer(
    last,
    "All final values, one row per run",
    name=f"fairqcm_tabular_{profile}",
    folders=[f"results/{TABULAR.id}/{profile}"],
)
