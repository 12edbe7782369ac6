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
# # Fairness that remembers
#
# *What it means to be fair over time, and how much of the past one has to remember for it.*

# %% tags=["parameters", "remove-input"]
profile = "book"

# %% tags=["hide-input"]
import numpy as np
import pandas as pd

from longfair.figures import Words, line_chart, show, source_of
from longfair.metrics.memory_fairness import (
    FairnessScheme,
    MemoryAugmentation,
    anytime,
    automata_of_memory,
    average_moment,
    bounded,
    counts,
    discounted_sum,
    equal_so_far,
    every,
    last_moment,
    least_squared_unfairness,
    log_nash_welfare,
    long_term,
    memory_augmentation,
    memory_needed,
    memory_of_automata,
    overall_unfairness,
    periodic,
    policy_score,
    rawlsian_welfare,
    received_from_log,
    relaxed_parity,
    scheme_rewards,
    timepoint_first,
    unfair_to,
    unfairness,
    worst_moment,
)
from longfair.papers import registry
from longfair.papers.fairqcm.checks import KITCHENS, SHIPMENTS, shipment_table
from longfair.papers.fairqcm.formalism_results import (
    POLICIES,
    audited,
    markovian_with,
    received_under,
    sizes,
    worth_of_memory,
)
from longfair.papers.fairqcm.memory_checks import memory_growth
from longfair.papers.page import Page

exact = [claim.id for claim in registry.select_claims(paper="fairqcm") if not claim.experiment]
page = Page(profile, claims=exact)
doses = {process: counts(shipped) / 1000 for process, shipped in SHIPMENTS.items()}
parity_sum = timepoint_first(relaxed_parity, discounted_sum)

# %% [markdown]
# ## In two minutes
#
# Can one see at the end whether somebody was treated fairly, and what must a decision maker
# remember to be fair, if fairness over time is defined by what everybody has received, as in
# {cite:t}`alamdari2024fairqcm` (Sections 3 to 5)?

# %% tags=["nbval-ignore-output", "hide-input"]
months = pd.Index([1, 2, 3, 4], name="month")
so_far = pd.DataFrame(
    {
        "A, one after the other": doses["one after the other"][:, 0],
        "B, one after the other": doses["one after the other"][:, 1],
        "A and B, side by side": doses["side by side"][:, 0],
    },
    index=months,
)
show(
    line_chart(
        so_far, across="month", up="doses received so far, in thousands", ticks=[1, 2, 3, 4]
    ),
    "Vaccine doses that two countries have received by the end of each month, under two plans. "
    "Both plans end at the same point.",
    name="vaccines",
)

# %% tags=["nbval-check-output", "remove-input"]
apart, together = (float(anytime(history, parity_sum)) for history in doses.values())
without, remembering = worth_of_memory()
growth = memory_growth()
stated = [verdict for verdict in page.verdicts if verdict.claim.asked == "paper"]
checked = [verdict.word for verdict in stated].count("checked")
Words(
    f"- Both plans end alike, but parity added up over the months is {apart:.0f} thousand doses "
    f"for one and {together:.0f} for the other.\n"
    "- In a small problem the best policy that sees the present alone has an expected score of "
    f"{without['no memory'].max():.3f} and the best of all policies "
    f"{remembering['best of all']:.3f}, and serving whoever is behind gets there and remembers "
    "only a difference.\n"
    f"- Of {len(stated)} exact statements of the paper that were computed, {checked} hold "
    "wherever we looked."
)

# %% [markdown]
# **Why?** Sending a whole shipment to B is fine in the third month of one plan and would not be in
# its first, so whether a decision is fair depends on what happened before, which the present state
# does not say.
#
# **What would change our mind?** A trace on which one of the checks fails.
#
# *You need* sums, minima, logarithms; for the second half, Markov decision processes. *Time:* 25
# minutes to read, under a minute on one core. Nothing is trained.

# %% [markdown]
# ## The problem
#
# Eighty thousand doses of a vaccine go to two countries, A and B, in four monthly shipments. One
# plan serves A first and B afterwards, because that is cheaper. The other sends half of each
# shipment to either country. In the end both countries have the same.
#
# Nobody in B would call the two plans equally fair. But the end does not show the difference, and
# the current shipment does not show whether it is fair. **Whether a decision is fair depends on
# what happened before.**

# %% [markdown]
# ## The idea
#
# ### How well has everybody fared so far?
#
# A *trace* $\tau_t$ is what has happened up to time $t$: states and actions in turn. A **status
# function** $U$ maps it to one number per person, $U(\tau_t) \in \mathbb{R}^n$. It can be any
# number that says how well a person has fared: doses received, an accumulated return, or less envy
# of what the others have. Then a **welfare function** $W$ makes one number of the status, higher
# being better:
#
# $$
# \text{worst-off: } \min_i u_i, \qquad \text{Nash: } \sum_i \log(u_i + 1), \qquad
# \text{parity: } -\Big|\sum_{i \in A} u_i - \sum_{i \in B} u_i\Big| .
# $$ (eq-fq-welfare)

# %% tags=["nbval-check-output", "remove-input"]
source_of(counts, rawlsian_welfare, log_nash_welfare)

# %% tags=["nbval-check-output", "remove-input"]
source_of(relaxed_parity, heading="Parity in Python, for any two groups of people")

# %% [markdown]
# For the two plans this gives the following table. Doses are in thousands, and the Nash welfare is
# taken of single doses. One of the checks compares every digit with a table worked out by hand.

# %% tags=["nbval-check-output"]
shipment_table().round(4)

# %% [markdown]
# ### Four ways to look at a time
#
# | Notion | One looks | Score of a trace of length $T$ |
# | --- | --- | --- |
# | long-term | at the end | $W(U(\tau_T))$ |
# | periodic | whenever $p$ steps are over | $W_{ex}(U(\tau_p), U(\tau_{2p}), \dots)$ |
# | anytime | always | $W_{ex}(U(\tau_1), U(\tau_2), \dots, U(\tau_T))$ |
# | bounded | whenever a filter $B$ says so | $W_{ex}(U(\tau_{t_1}), U(\tau_{t_2}), \dots)$ |
#
# $W_{ex}$ is an *extended aggregation*: it makes one number of several statuses. The usual one
# takes the welfare of each moment first, and then aggregates over time:
#
# $$
# \begin{aligned}
# &W_{ex}(u_1, \dots, u_k) \\
# &\quad = W_{time}\big(W(u_1), \dots, W(u_k)\big)
# \end{aligned}
# $$ (eq-fq-timepoint-first)
#
# where $W_{time}$ is the last value, the mean, a discounted sum or the minimum.

# %% tags=["nbval-check-output", "remove-input"]
source_of(timepoint_first, long_term, periodic, anytime, bounded)

# %% tags=["nbval-check-output"]
notions = {
    "long-term": lambda history: long_term(history, relaxed_parity),
    "periodic, 4 months": lambda history: periodic(history, parity_sum, 4),
    "periodic, 2 months": lambda history: periodic(history, parity_sum, 2),
    "anytime, sum": lambda history: anytime(history, parity_sum),
    "anytime, mean": lambda history: anytime(
        history, timepoint_first(relaxed_parity, average_moment)
    ),
    "anytime, worst": lambda history: anytime(
        history, timepoint_first(relaxed_parity, worst_moment)
    ),
}
scores = {
    notion: {process: float(score(history)) for process, history in doses.items()}
    for notion, score in notions.items()
}
pd.DataFrame(scores).transpose()

# %% [markdown]
# Parity, in thousands of doses. A score of zero is the best. The long-term score is blind to the
# difference, *whatever* the welfare function, because both plans end with the same status. Looking
# every second month already shows some of the waiting.
#
# The four notions are really one. A bounded score with the right filter gives each of the others
# (`fairqcm-notions`). A status function, an extended aggregation and a filter together are a
# **fairness scheme** $\mathcal{F} = \langle U, W_{ex}, B \rangle$, and the score of a policy is
# the mean score of its traces.

# %% tags=["nbval-check-output", "remove-input"]
source_of(
    FairnessScheme.score,
    every,
    policy_score,
    heading="The score of a scheme, and of a policy, in Python",
)

# %% [markdown]
# ### To whom was it unfair?
#
# A number for the whole does not say who had to wait. The paper compares each person with the mean
# of all, $\bar U$, at each time and adds up:
#
# $$
# \mathrm{unf}_i(\tau, t) = \bar U(\tau_t) - U(\tau_t)_i, \qquad
# \mathrm{Unf}_i(\tau_T) = \sum_{t=1}^{T} \mathrm{unf}_i(\tau, t), \qquad
# W_{ex} = -\sum_{i=1}^{n} \mathrm{Unf}_i(\tau_T)^2 .
# $$ (eq-fq-unfair)
#
# Positive means disadvantaged.

# %% tags=["nbval-check-output", "remove-input"]
source_of(unfairness, overall_unfairness, least_squared_unfairness)

# %% [markdown]
# Here is why this is something new, and not one more choice of $W$ and $W_{time}$. Two children get
# a doughnut each, four times over. In the first kitchen Ada is always served before Bo. In the
# second they take turns in being first.

# %% tags=["nbval-check-output"]
rows = {}
for kitchen, served in KITCHENS.items():
    history = counts(served)
    to_ada, to_bo = overall_unfairness(history)
    rows[kitchen] = {
        "parity, sum": anytime(history, parity_sum),
        "log Nash, sum": anytime(history, timepoint_first(log_nash_welfare, discounted_sum)),
        "parity, worst": anytime(history, timepoint_first(relaxed_parity, worst_moment)),
        "unfair to Ada": to_ada,
        "unfair to Bo": to_bo,
        "squared": anytime(history, least_squared_unfairness),
    }
pd.DataFrame(rows).transpose().astype(float).round(4)

# %% [markdown]
# A welfare function that treats everybody alike sees one child ahead of another, and not which. So
# any score of the form {eq}`eq-fq-timepoint-first` is the same for both kitchens. The unfairness
# over time follows each child and tells them apart.
#
# Its sign lets such events balance out, as the paper says one might want. The price: who was
# favoured long ago can be disadvantaged today with the score as clean as before, as
# {ref}`exercise-fq-sign` shows.

# %% [markdown]
# ### A trace need not be a simulation
#
# Here are the decisions of a small bank, as a clerk might have written them down.

# %% tags=["nbval-check-output"]
log = pd.DataFrame(
    [
        (1, "grant", "north", "repaid"),
        (2, "grant", "north", "repaid"),
        (3, "refuse", "south", "none"),
        (4, "grant", "north", "default"),
        (5, "grant", "south", "repaid"),
        (6, "refuse", "north", "none"),
        (7, "grant", "south", "repaid"),
        (8, "grant", "south", "default"),
    ],
    columns=["step", "action", "group", "outcome"],
)
log["granted"] = log["action"] == "grant"
log["repaid"] = log["outcome"] == "repaid"
log.set_index("step")

# %% [markdown]
# `received_from_log` turns such a table into the array that all functions take. What counts as the
# status is our decision, and it matters: loans granted, or loans that went well.

# %% tags=["nbval-check-output"]
rows = {}
for status in ("granted", "repaid"):
    history = counts(received_from_log(log, person="group", amount=status))
    behind = unfair_to(history).mean(axis=0)
    rows[status] = {
        "long-term parity": long_term(history, relaxed_parity),
        "anytime parity, worst": anytime(history, timepoint_first(relaxed_parity, worst_moment)),
        "anytime parity, sum": anytime(history, parity_sum),
        "unfair to north (share of steps)": behind[0],
        "unfair to south (share of steps)": behind[1],
    }
pd.DataFrame(rows).transpose().astype(float)

# %% [markdown]
# A filter can depend on the trace, too. Suppose the bank is audited whenever two more loans have
# been granted. Then only these moments count:

# %% tags=["nbval-check-output", "remove-input"]
source_of(audited)

# %% tags=["nbval-check-output"]
granted = received_from_log(log, person="group", amount="granted")
audits = FairnessScheme(counts, parity_sum, audited)
print("audits after the decisions", granted.index[audited(granted)].tolist())
print("score of the audits", float(audits.score(granted)))

# %% [markdown]
# ## Run it yourself: one simulation, many schemes
#
# The doughnut counter of the paper's experiments, with three people who come and go and one
# doughnut per step. Four policies that need no training play it, and four schemes score each trace.

# %% tags=["nbval-check-output"]
episodes = 2000

schemes = {
    "log Nash, at the end": timepoint_first(log_nash_welfare, last_moment),
    "log Nash, sum": timepoint_first(log_nash_welfare, discounted_sum),
    "worst-off, mean": timepoint_first(rawlsian_welfare, average_moment),
    "unfairness, squared": least_squared_unfairness,
}
rows = {}
for policy in POLICIES:
    served = received_under(policy, episodes, seed=2024)
    rows[policy] = {}
    for scheme, aggregation in schemes.items():
        score = policy_score(FairnessScheme(counts, aggregation).score(served))
        rows[policy][scheme] = f"{score.mean:.2f} ± {score.standard_error:.2f}"
pd.DataFrame(rows).transpose()

# %% [markdown]
# Mean and standard error. The first two policies need no memory. The other two remember whose turn
# it is, or how much everybody has had.
#
# Look down the column *log Nash, sum*. It is the score of the paper's doughnuts, except that there
# the step of a wasted doughnut earns nothing. From the first policy to the second it rises by much,
# and after that by little: not wasting a doughnut counts for far more than remembering. Keep this
# in mind when the next pages compare learned policies.
#
# The squared unfairness rewards remembering. Waste is no fault to it, because a wasted doughnut
# puts nobody ahead: it prefers choosing anybody at random to choosing somebody who is there. No
# score sees everything.

# %% [markdown]
# ## What came out
#
# ### What a state forgets
#
# A decision maker who sees only the present state cannot tell who has had less. The paper's remedy
# is to put a **memory** next to the state and to treat the pair as the new state:
#
# $$
# m_1 = m_{init}, \qquad m_{t+1} = \mu(m_t, s_t, a_t, s_{t+1}) .
# $$ (eq-fq-memory)
#
# The process with memory is an ordinary decision process, and everything known about those applies.

# %% tags=["nbval-check-output", "remove-input"]
source_of(
    memory_augmentation,
    MemoryAugmentation.along,
    MemoryAugmentation.augmented,
    heading="A memory, and a process that has one, in Python",
)

# %% [markdown]
# What is a memory worth? Take two people, four doughnuts, and the Nash welfare after every second
# one. Without memory there is one decision to make: whom to serve when both are there. The expected
# scores are exact.

# %% tags=["nbval-ignore-output"]
lines = without.assign(**{"best with memory": remembering["best of all"]})
show(
    line_chart(
        lines,
        across="chance to serve the first person when both are there",
        up="expected score",
    ),
    "Expected score of every policy without memory, beside the best policy with memory. Tossing a "
    "coin is the best one can do without memory.",
    name="worth_of_memory",
)

# %% tags=["nbval-check-output"]
table = pd.concat([pd.Series({"best without memory": without["no memory"].max()}), remembering])
table.rename("expected score").to_frame().round(3)

# %% [markdown]
# "Best of all" is the best of all policies that may use the whole past in any way, by brute force.
# Serving whoever is behind does as well, and remembers only the *difference* of the counts.
#
# Not every memory keeps what a score needs. The table says whether a quantity is a function of
# state and memory on random traces. The memories are those of the paper's agents: *Min* remembers
# by how much everybody is ahead of the least served, *Reset* counts since all were last equal,
# *Full* counts everything.

# %% tags=["nbval-check-output"]
markovian_with()

# %% [markdown]
# Two things stand out.
#
# - For the Nash welfare, Min and Reset forget something that the score needs. On doughnuts they may
#   be at a disadvantage; [with networks](doughnuts.ipynb) Min is, and of Reset it cannot be told.
#   For parity all three will do.
# - **The last line has no "yes" at all.** It is the reward of the doughnut experiment, which pays
#   nothing for a wasted doughnut. Whether one was wasted depends on who was there *before*, and
#   neither the new state nor the new counts say it. So even with Full memory this reward is not of
#   the form that the next section assumes. Q-learning can use it all the same, because it follows
#   from the old state, the action and the new state.

# %% [markdown]
# ### From a scheme to rewards
#
# If the sum over time is plain, and if filter and status are functions of the state, possibly
# thanks to a memory, then reward each step with
#
# $$
# R(s_t, a_t, s_{t+1}) = \tilde B(s_{t+1})\, W\big(\tilde U(s_{t+1})\big) .
# $$ (eq-fq-reward)
#
# The undiscounted return of a trace is its fairness score, so a policy that maximises the return is
# the fairest one. A periodic filter needs a clock in the memory.

# %% tags=["nbval-check-output", "remove-input"]
source_of(scheme_rewards)

# %% [markdown]
# :::{dropdown} How the two claims about these rewards are checked
# The check of `fairqcm-rewards` adds up the rewards along random traces. Then it compares the
# optimum that dynamic programming finds with memory with the one found by going through all
# histories, as in the table above. The check of `fairqcm-discounted-rewards` discounts: over an
# infinite time the value of the best policy with memory has to lie between bounds that are computed
# from all histories of a few steps.
# :::

# %% [markdown]
# ### How much memory does it take?
#
# Counting doughnuts for ever takes a memory that grows for ever. Which statuses get by with a
# finite one? The answer uses the oldest model of a finite memory, the *finite automaton*. It reads
# a word letter by letter, and has nothing but its own state to remember by. A trace is a word whose
# letters are states and actions in turn.
#
# A status is **value-regular** if it has finitely many values and if for each of them some
# automaton accepts exactly the traces with this value.
#
# - **Theorem 5.4.** A value-regular status can be read off a finite memory. Let the automata of all
#   values read along together; the memory is the tuple of their states.
# - **Theorem 5.5.** Only value-regular statuses can. From a memory one builds the automata: the
#   pairs of state and memory are *their* states.

# %% tags=["nbval-check-output", "remove-input"]
source_of(
    memory_of_automata,
    automata_of_memory,
    heading="From automata to a memory and back, in Python",
)

# %% [markdown]
# Both constructions are carried out for two statuses: counts that stop at a cap, and the difference
# of two counts modulo a number. For each value an automaton was written by hand. The paper's memory
# is the product of all automata, an enormous set on paper. But only few of its elements ever occur,
# because all automata read the same trace.

# %% tags=["nbval-check-output"]
sizes()

# %% [markdown]
# And a status that is not value-regular? It need not have many values. *Have both received equally
# much so far?* has two. Count the histories that no single memory may confuse, because some
# continuation tells them apart:

# %% tags=["nbval-check-output", "remove-input"]
source_of(
    memory_needed,
    equal_so_far,
    heading="How the memories that are needed are counted, in Python",
)

# %% tags=["nbval-ignore-output"]
needed = pd.DataFrame(
    {name: growth[name] for name in growth if name != "counts"},
    index=range(1, len(growth["counts"]) + 1),
)
show(
    line_chart(needed, across="steps so far", up="memories needed"),
    "How many memories it takes to know the status after so many steps, and ever after, of two "
    "people who are always there. For the "
    "two value-regular statuses the number stops growing. For the question whether both are equal "
    "it does not.",
    name="memory_needed",
)

# %% tags=["nbval-check-output", "remove-input"]
finite, endless = "counts up to 2", "equal so far"
Words(
    "If the number of steps is known, counting up to two takes at most "
    f"{growth[finite][-1]} memories after any of them. The table above has more, because there "
    "people come and go, and no number of steps is given. "
    f"Whether two have had equally much takes {growth[endless][-1]} after {len(growth[endless])} "
    "steps, and more with every step."
)

# %% [markdown]
# To know whether two are equal one has to know by how much they differ, and the difference has no
# bound. This is the classical argument that no automaton checks whether brackets match.
#
# In practice an episode ends, so every count is bounded and everything can be remembered. The
# question is then *how much*: the paper's doughnut memory has as many elements as there are ways to
# hand out a hundred doughnuts. That is why learning needs help. The next pages are about the
# paper's help: imagine the same step with other memories, and learn from all of them.

# %% [markdown]
# ## Text against code
#
# - **Neither experiment has a reward of the form {eq}`eq-fq-reward`**, which the paper calls
#   reward-like; its text names the exceptions, and the code has them, too. For the doughnuts this
#   was the last line of the table. In the lending task the fines for an invalid loan and for a
#   missed profit margin depend on the action and on the time.
# - **The experiments maximise a *discounted* sum** and report the undiscounted one. The identity
#   between return and score holds for one of them at a time.
#
# :::{dropdown} Three differences that change no result
# - The paper's update is $\mu(m, a, s')$. Both experiments need the old state $s$ as well, to know
#   whether the person who was chosen was there. The library's update takes it. Nothing changes in
#   the theorems, because a memory may keep the previous state.
# - The code's Nash welfare is $\sum_i \log(u_i + 1 + \lambda)$ with a tiny $\lambda$, and without
#   it for imagined memories. The difference is too small to be seen in any score.
# - The formulas of several definitions are lost in the copies of the paper that can be read by a
#   machine. They were restored from the sentences around them. The sign of $\mathrm{unf}_i$ is our
#   choice; the squared score does not depend on it.
# :::

# %% [markdown]
# ## What it means
#
# Fairness over time is a property of histories. It becomes an ordinary decision problem once the
# memory that the score needs is part of the state, and the score decides how much that is. For the
# paper's own doughnut experiment even the memory of all counts does not make the reward a function
# of the state.
#
# The statements hold wherever they were computed. That proves no theorem. The constructions of two
# proofs are carried out here; no proof was verified. What would change our mind is a trace on which
# one of the checks fails; they are easy to run on other statuses.

# %% [markdown]
# ## Exercises
#
# ```{exercise} A clean score for a long injustice
# :label: exercise-fq-sign
#
# Two people and twelve doughnuts. Find an order of serving for which the squared unfairness over
# time is zero although nearly every moment is unfair to somebody. What do anytime parity and its
# worst moment say?
# ```

# %% [markdown]
# ```{solution-start} exercise-fq-sign
# :class: dropdown
# ```
#
# Let one person run ahead, then the other one catch up and run ahead by as much for as long.

# %% tags=["nbval-check-output"]
order = [0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0]
history = counts(np.eye(2)[order])
print("overall unfairness  ", overall_unfairness(history))
print("unfair moments      ", int(unfair_to(history).any(axis=1).sum()), "of", len(order))
print("parity, sum         ", float(anytime(history, parity_sum)))
worst = timepoint_first(relaxed_parity, worst_moment)
print("parity, worst moment", float(anytime(history, worst)))

# %% [markdown]
# The sum of signed amounts cancels, so a debt can be paid back later. If it should not be possible
# to pay it back, one needs a score that does not cancel, such as parity at each moment.
#
# ```{solution-end}
# ```
#
# ```{exercise} A memory for being last
# :label: exercise-fq-memory
#
# Two people who are always there. The status is 1 for whoever was served last, and 0 for the other.
# Is it value-regular? How many memories does it take? Use `memory_augmentation` to build one, and
# `memory_needed` to count those that are needed after the first step.
# ```

# %% [markdown]
# ```{solution-start} exercise-fq-memory
# :class: dropdown
# ```
#
# The last action is all there is to remember. One more memory is needed for the beginning, when
# nobody has been served.


# %% tags=["nbval-check-output"]
def served_last(actions):
    """Statuses (..., T, 2) along actions (..., T)."""
    return np.eye(2)[actions]


memory = memory_augmentation(
    "nobody", lambda last, state, action, after: action, states=1, actions=2
)
print("memories:", memory.memories)
for length in (1, 2, 3, 4):
    print(length, "steps:", memory_needed(served_last, actions=2, length=length), "needed")

# %% [markdown]
# Two memories are needed after any number of steps, from the first on. The third is that of the
# start, before which nobody was served, so `memory_needed` does not see it. The number does not
# grow, so the status is value-regular.
#
# ```{solution-end}
# ```

# %% [markdown]
# ## The verdicts
#
# These are exact statements. They are checked by computing them, so there are no runs and no
# intervals. Three are asked here. One of them compares settings of the deep agents with the
# defaults of the authors' code.

# %% tags=["nbval-check-output", "remove-input"]
page.claims()

# %% [markdown]
# ## Where this came from

# %% tags=["nbval-ignore-output", "remove-input"]
page.origin(
    ["numpy", "scipy", "gymnasium"],
    [counts, bounded, memory_of_automata, least_squared_unfairness],
)
