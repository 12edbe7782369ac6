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
# # Learning fairly
#
# *A bank that does not know its applicants has to try them out, and wants to be fair meanwhile.*

# %% tags=["parameters", "remove-input"]
profile = "book"

# %% tags=["hide-input"]
import numpy as np
import pandas as pd

from longfair.agents.fair_mdp.compiled_books import learn
from longfair.agents.fair_mdp.explore_then_commit import (
    estimate_strangers,
    explore,
    regret_bound,
    required_exploration,
    transition_error,
    value_error,
)
from longfair.agents.fair_mdp.memory_q_learning import MemoryQLearning, QLearning
from longfair.envs.loan_mdp import LoanMDPParams
from longfair.figures import Words, folded, source_of
from longfair.papers.fairmdp import EXPERIMENTS, exact_results, memory_results
from longfair.papers.fairmdp import cross_entropy_results as searches
from longfair.papers.fairmdp import exploration_results as banks
from longfair.papers.fairmdp import other_learners_results as learners
from longfair.papers.fairmdp.committing import committed
from longfair.papers.fairmdp.cross_entropy import FIGURE1, SWEEP
from longfair.papers.fairmdp.exploration import EXPLORATION, MARGIN, Bank, Exploring, learned
from longfair.papers.fairmdp.loans import loan_problem, step_weights
from longfair.papers.fairmdp.memory_learner import BANKS, Meeting
from longfair.papers.fairmdp.regret import SAME
from longfair.papers.page import Page
from longfair.papers.protocol import train_and_evaluate
from longfair.runs.tidy import of_arm

page = Page(
    profile,
    "fairmdp/exploration",
    "fairmdp/exploration-opportunity",
    "fairmdp/other-learners",
    "fairmdp/memory-learner",
    claims=["fairmdp-21"],
)
runs = page.of("fairmdp/exploration", look=banks.LOOK)
opportunity = page.of("fairmdp/exploration-opportunity", look=banks.LOOK)
others = page.of("fairmdp/other-learners", look=learners.LOOK)
memory = page.of("fairmdp/memory-learner", look=memory_results.LOOK)
numbers = exact_results.stored(page.store)

# %% [markdown]
# ## In two minutes
#
# {cite:t}`wen2021fairmdp` (Section 5, Figure 2c) let a coin decide for 100 episodes, then commit to
# the policy that is best and fair by their estimate: is every episode fair, and is hardly anything
# lost after the hundred, as they report?

# %% tags=["nbval-ignore-output", "hide-input"]
runs.show(
    banks.regret_figure(runs, "as_published", 1000.0),
    "Expected regret as published, means over banks with 95 % intervals. The margin is a part "
    "of the tolerance, kept in reserve. The coin's line leaves the picture and goes on.",
    "regret_as_published",
)

# %% tags=["nbval-check-output", "remove-input"]
runs.say(
    "The shape is there: with a margin a thousand episodes cost a regret of "
    f"{runs.number('regret', 'explore-commit-margin', 'as_published', 0)}, so much more reward "
    "would the best fair policy have earned, and "
    f"{runs.mean('regret_exploring', 'explore-commit-margin', 'as_published'):.0f} of it is lost "
    "in the first hundred, while the coin decides.",
    "With a margin of a fifth of the tolerance "
    f"{banks.always_fair(runs, 'explore-commit-margin', 'as_published')} keep every episode fair, "
    f"without one {banks.always_fair(runs, 'explore-commit', 'as_published')}, and which of the "
    "two the paper's experiment does is not in the text that we have.",
    "A bank that estimates nothing and remembers what the groups got (FairQCM) is, after "
    f"{memory.experiment.horizon[profile]:,} decisions, "
    f"{memory_results.shortfall(memory, 'fairqcm', 'as_published', numbers):.4f} short of the best "
    f"profit, and {memory_results.kept(memory, 'fairqcm', 'as_published')} keep the tolerance.",
)

# %% [markdown]
# **Why?** Without a margin the policy uses up the tolerance of the *estimated* problem, and in the
# true one its gap is more or less, by chance.
#
# **What would change our mind?** The authors' tolerance and planner.
#
# *You need* the loan problem of [exact solutions](exact.ipynb). *Time:* 25 minutes to read, one
# minute on one core.

# %% [markdown]
# ## The problem
#
# So far the bank knew how its applicants behave. Suppose it does not. It has to lend to find out,
# and a policy made for wrong probabilities can be unfair unnoticed.
#
# *As published* follows Section 5: there is no discount, an episode is worth the sum of its 51
# steps. *As coded* takes reward and gap of the authors' code for Figure 1, where the reward is
# discounted and the gap is not; they published no code for this figure. *Discounted* discounts
# both.

# %% [markdown]
# ## The idea
#
# There is a policy that is fair whatever the probabilities are: let a coin decide. When the
# individual reward is the loan itself, everybody then gets the same, always. The coin is a bad
# banker, but it sees everything. So: let the coin decide for $N_0$ episodes, estimate the
# transitions, compute the best fair policy for the estimates, and keep it for the rest.
#
# The **regret** after $n$ episodes is what the best fair policy $\pi^*$ would have earned more,
#
# $$
# \sum_{i \le n} \big( R^{(\pi^*)} - R^{(\pi_i)} \big) .
# $$ (eq-learning-regret)
#
# It grows steadily while the coin decides. Then it should be nearly flat.
#
# What has to be estimated? The transitions of the loan problem depend on two numbers per group, the
# belief $(\alpha_z, \beta_z)$ about a stranger. Whoever has repaid $n_a$ times, defaulted $n_b$
# times and been denied $n_d$ times repays next with probability
#
# $$
# p = \frac{\alpha_z + n_a}{\alpha_z + \beta_z + n_a + n_b + 0.1\, n_d} .
# $$ (eq-learning-belief)
#
# The bank keeps, for every loan, what it knew before and whether it was repaid, and takes the
# numbers under which all this is most likely.

# %% tags=["nbval-check-output", "remove-input"]
source_of(explore, estimate_strangers, heading="Exploring with a coin and estimating, in Python")

# %% [markdown]
# The planner is exact: the frontier of [exact solutions](exact.ipynb), computed for the estimates.

# %% tags=["nbval-check-output", "remove-input"]
source_of(committed)

# %% [markdown]
# ## Learn yourself
#
# Five banks explore for a hundred episodes each. Change the number of episodes or the chance of a
# loan, and run the cell again.

# %% tags=["nbval-check-output"]
five = range(1000, 1005)
banks.explored(five, episodes=100, chance=0.5).round(2)

# %% [markdown]
# A hundred applicants tell little about $\alpha$ and $\beta$ one by one. But what matters for the
# policy is the chance in {eq}`eq-learning-belief` after ten or twenty more loans, and that depends
# on them less and less. Here is what the same five banks do with their estimates, with discount.
# Everything is computed under the true probabilities.

# %% tags=["nbval-check-output"]
banks.committed_banks(five).round(4)

# %% [markdown]
# ## What came out
#
# Regret is expected regret: nothing but the estimates is random. In the figure at the top the line
# *first law estimated* belongs to banks that also have to estimate how applicants are distributed
# when they first appear. The theorem assumes that this is known.

# %% tags=["nbval-ignore-output", "hide-input"]
runs.show(
    banks.regret_figure(runs, "as_coded", 80.0),
    "Expected regret as coded. The lines of the three that commit lie on each other.",
    "regret_as_coded",
)

# %% tags=["nbval-check-output", "hide-input"]
banks.ends(runs, "as_published")

# %% tags=["nbval-check-output", "remove-input"]
folded(banks.ends(runs, "as_coded"), "The same as coded")

# %% tags=["nbval-check-output", "remove-input"]
folded(banks.ends(runs, "discounted"), "The same, discounted")

# %% tags=["nbval-check-output", "remove-input"]
runs.say(
    "A margin, which Theorem 5.1 needs too, helps, but is not enough for all. As published, the "
    f"largest gap of all banks with a margin of {MARGIN} is "
    f"{banks.largest_gap(runs, 'explore-commit-margin', 'as_published'):.3f}, and without one "
    f"{banks.largest_gap(runs, 'explore-commit', 'as_published'):.3f}. The baseline that the paper "
    f"calls unfair has {searches.PRINTED['optimistic-dp', 'gap_dp']:.2f}. Whoever estimates the "
    "first law, too, errs by much more: up to "
    f"{banks.largest_gap(runs, 'explore-commit-own-law', 'as_published'):.3f}."
)

# %% tags=["nbval-check-output", "remove-input"]
margin, plain = (f"explore-commit{name}" for name in ("-margin", ""))
tolerance = Bank.tolerance
over = of_arm(runs.results, "gap_largest", plain, "as_published") - tolerance
excess = over[over > SAME]
runs.say(
    f"Without a margin, as published, {len(excess)} of {len(over)} banks exceed the tolerance in "
    f"the nine hundred episodes after they commit, by {excess.min():.3f} to {excess.max():.3f}."
)

# %% tags=["nbval-check-output", "remove-input"]
runs.say(
    "The margin costs a little. As published, the regret is larger by "
    f"{runs.less('regret', (margin, 'as_published'), (plain, 'as_published'), 1)}, when banks with "
    "the same applicants are compared."
)

# %% [markdown]
# ### The other notion
#
# The theorem speaks of demographic parity. Equal opportunity, equal lending rates of the qualified,
# is tried here. A bank knows how many are qualified at the start.

# %% tags=["nbval-check-output", "remove-input"]
opportunity.say(
    "With the same margin, "
    f"{banks.always_fair(opportunity, 'explore-commit-margin', 'as_published')} keep every episode "
    "fair as published, and "
    f"{banks.always_fair(opportunity, 'explore-commit', 'as_published')} without one. The largest "
    "gap of those with a margin is "
    f"{banks.largest_gap(opportunity, 'explore-commit-margin', 'as_published'):.3f}. The regret is "
    "as flat as under parity: a committed episode costs "
    f"{opportunity.number('slope_ratio', 'explore-commit-margin', 'as_published')} of one with the "
    "coin."
)

# %% tags=["nbval-check-output", "remove-input"]
folded(banks.ends(opportunity, "as_published"), "Banks under equal opportunity, as published")

# %% [markdown]
# ### How long to explore?
#
# For the regret alone, exploring for a hundred episodes is too long. What a longer exploration buys
# is accuracy: the gap comes closer to what was planned.

# %% tags=["nbval-check-output", "remove-input"]
folded(banks.by_exploration(runs), "Regret and gap by episodes of exploration, without a margin")

# %% [markdown]
# ### The bound
#
# Theorem 5.1 bounds the regret. Its printed form is lost; what follows from the surviving proof is
#
# $$
# 2\, T R_{max}\, N_0 + 2\, \tau\, (N - N_0), \qquad
# \tau = \tfrac12 |S|\, T^2 R_{max}\, \epsilon_P, \qquad
# \epsilon_P = \sqrt{\frac{\log(4 |S|^2 |A| / \delta)}{\lambda_0 N_0}},
# $$ (eq-learning-bound)
#
# where $\lambda_0$ is the smallest share of an episode that any state and action takes under the
# coin. The policy has to be planned with a tolerance smaller by $2\tau$, and the best policy it is
# compared with has one smaller by $4\tau$.

# %% tags=["nbval-check-output", "remove-input"]
source_of(
    transition_error,
    required_exploration,
    value_error,
    regret_bound,
    heading="The bound in Python",
)

# %% tags=["nbval-check-output", "hide-input"]
banks.bound_table(runs)

# %% [markdown]
# The bound says nothing here: it asks for more episodes of exploration than there will ever be, and
# the regret that it allows is more than can be lost. It charges for every situation that the coin
# could reach, among them some that it reaches once in more episodes than there are people. A bank
# that knows the form {eq}`eq-learning-belief` needs four numbers, not a hundred thousand, and
# learns them from whatever situations it sees. That may be why our experiment works; the bound as
# rebuilt here is too loose to explain it.

# %% [markdown]
# ## Other learners on the same problem
#
# From here on *as published* discounts reward and gap.
#
# The learners of {cite:t}`xu2024elbert` know nothing of this problem's form. They learn from
# episodes, a million steps each, and know fairness only from the loans that each group asks for
# and gets: **G-PPO** looks at the profit alone, **R-PPO** takes a penalty off the reward, **A-PPO**
# changes the advantage, and **ELBERT-PO** has the gap in its objective, with a weight
# ([their chapter](../../book/papers/elbert.md)). Their policies are evaluated exactly, with the gap
# as published. FairQCM, with the same experience, is explained below.

# %% tags=["nbval-ignore-output", "hide-input"]
others.show(
    learners.scatter(others, memory, numbers),
    "Profit against gap of learners that do not know the problem. Black marks are the best "
    "policies. Learners that lend to nobody in any run are not drawn; the table has them.",
    "other_learners",
)

# %% tags=["nbval-check-output", "remove-input"]
folded(learners.means(others), "What these learners reach, means over runs")

# %% [markdown]
# G-PPO does not reach the best profit. As published it is more unequal than the best policy without
# constraint, as the race-blind search was; as coded this cannot be told. ELBERT-PO has a weight of
# fairness that was set to the price that fairness has at a gap of 0.1. This problem discounts, so
# there is also a form of it with discounted totals, which the paper on ELBERT-PO does not have. It
# ends near that gap, and loses some profit against the best policy. It was not made for this
# paper's notion, but the two agree: the loans that a group gets over the decisions on its members
# are its lending rate.
#
# R-PPO and A-PPO compare the groups *within an episode*. Here an episode has one applicant. The
# other group's rate is zero, so the applicant's own rate is the disparity. R-PPO learns to lend to
# nobody, and so does A-PPO as coded. A-PPO as published ends like G-PPO. A notion that needs both
# groups in one episode does not carry over to a problem that meets people one at a time.

# %% [markdown]
# ## Fair by memory
#
# {cite:t}`alamdari2024fairqcm` give the learner a **memory** of what people received, and reward it
# for the change of a score of that memory; see [their chapter](../../book/papers/fairqcm.md). *As
# published* discounts here, too. No applicant's episode has both groups in it. But the bank's books
# do. Let it keep a balance $m$ that goes from one applicant to the next. A loan at step $t$ to a
# member of group $z$ books
#
# $$
# x = \begin{cases}
# + w_t / p_z & \text{for the majority,} \\
# - w_t / p_z & \text{for the minority,}
# \end{cases}
# $$ (eq-learning-booked)
#
# with $w_t$ the weight of the step in the lending rate and $p_z$ the share of the group. What an
# applicant adds is, on average, the gap. When the applicant leaves, the tolerance is written off
# towards zero:
#
# $$
# \begin{aligned}
# m \leftarrow {} &\operatorname{sign}(m + \textstyle\sum x) \\
# &\times \max\big(|m + \textstyle\sum x| - \epsilon,\, 0\big) .
# \end{aligned}
# $$ (eq-learning-balance)
#
# What stays in the books is the violation so far. As long as the balance stays within bounds, the
# average gap in the long run is at most $\epsilon$, whatever the bank has learned, and whatever it
# believes about its applicants. This is a statement about the average over time: at a single
# balance the gap may be larger, and a finite run can end above.
#
# The score of a balance is $-\tfrac12 c\, m^2$. A loan changes it by $-c\,(m x + \tfrac12 x^2)$. So
# a loan to the group that is ahead has a **price** of about $c\, m$ per unit booked, and one to the
# other group earns as much. This is the price of fairness of [exact solutions](exact.ipynb), except
# that nobody sets it: the balance rises until the price makes the gap equal to the tolerance.
#
# The bank learns by tables of action values, one for each of 21 levels of the balance. Applicants
# behave in the same way whatever the books say. So each real step also tells what it would have
# been worth at every other balance. Learning all levels from each step is what makes this FairQCM.

# %% tags=["nbval-check-output", "remove-input"]
source_of(learn, heading="One step of learning, at all balances, in Python")

# %% [markdown]
# ### Let it learn yourself
#
# One bank, with the experience of the other learners: a million decisions on some twenty thousand
# applicants. Then it stops learning and lends on. The rows are the balances at which applicants
# find it, with what it does there, computed exactly.

# %% tags=["nbval-ignore-output"]
run_number = 1000
keeping = BANKS["as_published"]
bank = MemoryQLearning(
    loan_problem(),
    step_weights(LoanMDPParams.fico(), keeping.rates),
    keeping.books,
    QLearning("imagined"),
    seed=run_number,
)
bank.learn(Meeting.early)
readings = bank.readings(500_000, np.random.default_rng(run_number + 1))
memory_results.levels(bank, readings, discounted=True).round(3).rename("{:g}".format)

# %% tags=["nbval-ignore-output", "hide-input"]
outcome, target = bank.outcome(readings), memory_results.best(numbers, "as_published")
lines = {
    "this bank in the long run": (outcome.profit[0], outcome.gap(discounted=True)[0]),
    "best policy": (target["profit"], target["gap"]),
}
pd.DataFrame.from_dict(lines, orient="index", columns=["profit", "gap"]).round(4)

# %% [markdown]
# At each balance the bank is deterministic, and at none of them does it have the gap it is meant to
# have. Some are too unequal, some too equal. The balance moves between them, and the mixture is
# fair. This is what the coin did on [the first page](randomness.ipynb). Here no coin is tossed:
# whether somebody on the edge gets a loan depends on who came before.
#
# The bank plans for a tolerance of 0.098 and not 0.1, to leave room for what a long run of finitely
# many applicants shows. The table below says that this is not always enough.
#
# ### What it takes
#
# Two other learners say what the parts are worth. One has the same memory but learns only about the
# balance that it really had (*nothing imagined*). The other is paid in the same way and does not
# see the balance (*no memory*).

# %% tags=["nbval-ignore-output", "hide-input"]
memory.show(
    memory_results.against_experience(memory, "profit", numbers),
    "Profit in the long run against decisions learned from, as published. Broad lines are medians, "
    "thin ones single banks. Black: the best policy within 0.1.",
    "profit",
)

# %% tags=["nbval-ignore-output", "hide-input"]
memory.show(
    memory_results.against_experience(memory, "gap_dp_discounted", numbers),
    "Gap in the long run against decisions learned from, as published. Broad lines are medians, "
    "thin ones single banks. Black: the tolerance.",
    "gap",
)

# %% tags=["nbval-check-output", "hide-input"]
memory_results.table(memory, "as_published", numbers)

# %% tags=["nbval-check-output", "remove-input"]
folded(memory_results.table(memory, "as_coded", numbers), "The same as coded")

# %% tags=["nbval-check-output", "remove-input"]
first, last = (
    {
        method: memory_results.shortfall(memory, method, "as_published", numbers, early=early)
        for method in ("fairqcm", "min")
    }
    for early in (True, False)
)
elbert = ("elbert-po-discounted", "ablation")
behind = memory_results.best(numbers, "as_published")["profit"] - others.mean("profit", *elbert)
memory.say(
    f"After {memory_results.early_decisions(memory):,} decisions, as published, FairQCM is "
    f"{first['fairqcm']:.3f} short of the best profit, and {last['fairqcm']:.4f} at the end. With "
    f"nothing imagined {first['min']:.3f} is missing first, and {last['min']:.4f} at the end. "
    f"ELBERT-PO with discounted totals, after as many decisions, is {behind:.3f} short at a gap of "
    f"{others.mean('gap_dp_discounted', *elbert):.3f}.",
    f"The end is after {memory.experiment.horizon[profile]:,} decisions. There "
    f"{memory_results.kept(memory, 'fairqcm', 'as_published')} with FairQCM keep the tolerance, "
    "and the best profit is "
    f"{memory_results.best(numbers, 'as_published')['profit']:.3f}.",
)

# %% [markdown]
# - **The memory holds the gap near the tolerance**, also while the bank still lends badly. It does
#   not make every run keep it; `fairmdp-memory-published` counts those that do. A bank whose
#   balance has reached the end of its books cannot, as happens at first if nothing is imagined.
# - **Imagined balances make it learn faster.** In the end the difference is small.

# %% tags=["nbval-check-output", "remove-input"]
memory.say(
    "Without sight of the balance the bank earns as much, at first. But one policy has one gap, "
    "and it is wherever the price happened to be when learning stopped. At the end, as published, "
    f"{memory_results.kept(memory, 'memoryless', 'as_published')} without a memory keep the "
    "tolerance. They earn more than the best policy that keeps it."
)

# %% [markdown]
# The comparison with the learners by gradients is not quite fair to them. A table needs no
# features, and fits here because there are only seventy thousand situations. The gap of a bank with
# a balance is measured on two million applicants, which leaves an error of about a thousandth.

# %% [markdown]
# ## Text against code
#
# We cannot say: no code was published for this section. The text that we have has lost the
# constraint and its tolerance, and does not say how the parameters were estimated, or the planner.
# Ours are demographic parity, 0.1, maximum likelihood and an exact planner.

# %% [markdown]
# ## What it means
#
# Learning fairly is a matter of margins: a bank that plans to the edge of what is allowed ends on
# the wrong side of it about as often as not. A memory of what the groups received sees on which
# side it is and corrects itself, though some of its runs end slightly above. What would change our
# mind:
#
# - **The authors' tolerance and planner.** With a loose tolerance, or a larger margin, more banks
#   would be fair in every episode.
# - **A tighter analysis.** A bound that counts parameters could explain why a hundred episodes are
#   enough.
# - **Longer training of the learners by gradients,** whose profit may still rise.
# - **A problem too large for tables.** There FairQCM needs networks, with which imagined memories
#   help less surely.
#
# The learner with a memory knows demographic parity only.

# %% [markdown]
# ## Exercises
#
# ```{exercise} The first law
# :label: exercise-learning-law
#
# A bank that estimates how applicants are distributed at first is less fair than one that knows it.
# Does exploring for a thousand episodes change that? `Bank(knows_first_law=False)` estimates it.
# ```

# %% [markdown]
# ```{solution-start} exercise-learning-law
# :class: dropdown
# ```

# %% tags=["nbval-check-output"]
gaps = {}
for exploring in (100, 1000):
    for knows in (True, False):
        bank, learning = Bank(knows_first_law=knows), Exploring(exploring, episodes=10_000)
        setting = learned("discounted", bank, learning)
        found = [train_and_evaluate(setting, run_number) for run_number in range(1000, 1004)]
        worst = [t[(t["phase"] == "final") & (t["metric"] == "gap_largest")] for t in found]
        gaps[exploring, "known" if knows else "estimated"] = [t["value"].iloc[0] for t in worst]
pd.DataFrame.from_dict(
    {key: np.abs(np.array(value) - 0.1) for key, value in gaps.items()}, orient="index"
).mean(axis=1).rename("mean distance of the gap from the tolerance").round(4).to_frame()

# %% [markdown]
# It does, but slowly. With ten times as many applicants an error of estimation should shrink to
# about a third. With as few banks as here it may shrink less.
#
# ```{solution-end}
# ```
#
# ```{exercise} A small problem
# :label: exercise-learning-bound
#
# For which number of episodes of exploration does the bound {eq}`eq-learning-bound` say anything
# about a problem with four states, two actions and five steps, of which each state and action takes
# at least a tenth? Rewards are at most 1, and $\delta = 0.05$.
# ```

# %% [markdown]
# ```{solution-start} exercise-learning-bound
# :class: dropdown
# ```

# %% tags=["nbval-check-output"]
small = {}
for exploring in (10**3, 10**4, 10**5, 10**6):
    off = value_error(4, 5, 1.0, transition_error(4, 2, exploring, 0.1, 0.05))
    small[f"{exploring:,}"] = {"error of a value": off, "largest possible": 5 * 1.0}
pd.DataFrame.from_dict(small, orient="index").rename_axis("episodes of exploration").round(3)

# %% [markdown]
# Even there it takes thousands of episodes until the error of a value is smaller than the value can
# be.
#
# ```{solution-end}
# ```

# %% [markdown]
# ## The verdicts
#
# `fairmdp-19` is on what a committed episode costs, as a share of what one of exploration costs,
# `fairmdp-19-fair` on in how many runs *every* episode is fair, at best *inconclusive*. Both judge
# the bank with a margin, as Theorem 5.1 has one. `fairmdp-21` is that theorem on small problems.
# All learners are judged by the same share: a tolerance is kept if more than half of the runs keep
# it, with the whole interval of that share. Searches measured by the code's gap get the rounding of
# its print. A verdict is *fragile* if another kind of interval would change it, or if the runs
# behind a mean are *of two kinds*: some end in one place, some in another, and none near the mean
# ([how to read verdicts](../../book/how_to_read.md)).

# %% tags=["nbval-check-output", "remove-input"]
page.claims()

# %% tags=["nbval-ignore-output", "remove-input"]
page.gaps()

# %% [markdown]
# ## Where this came from

# %% tags=["nbval-check-output", "remove-input"]
everything = [page.of(experiment.id) for experiment in EXPERIMENTS]
searches.cost_of_runs(*everything)

# %% tags=["nbval-check-output", "remove-input"]
costs = searches.cost_in_words(everything, [FIGURE1, SWEEP, EXPLORATION])
Words(str(costs), heading="What the whole chapter costs, and the paper's own figures in it")

# %% tags=["nbval-ignore-output", "remove-input"]
page.origin(["numpy", "scipy", "torch"], [train_and_evaluate])
