"""What massaging makes of a bank that accepts everybody with one probability.

Such a bank has learned nothing yet. Where its probability lies within the band of unsure decisions,
every decision may be flipped, and what is executed is massaging alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from longfair.agents.ppo.massaging.lending import NEEDS
from longfair.agents.ppo.massaging.lending_flips import gaps_of_decisions, massaged
from longfair.papers.fppo.lending import CASE
from longfair.papers.fppo.methods import VARIANTS

WINDOW_FACTS = NEEDS[-3:]
"""What massaging reads: true positives and positives of the window, and of the applicant."""


def executed(
    chances: Sequence[float],
    band: float,
    variant: str,
    seed: int,
    copies: int = 64,
    steps: int = 2000,
) -> pd.DataFrame:
    """Play whole episodes with massaged coins.

    Parameters
    ----------
    chances
        Probabilities of accepting an applicant.
    band
        Probability from which on a decision is unsure: 0.5 means none is.
    variant
        `"as_coded"` or `"as_published"`.
    seed
        Of applicants and coins.
    copies
        Episodes.
    steps
        Their length.

    Returns
    -------
    pandas.DataFrame
        Index chance: shares of those who would repay, and of those who would not, that got a loan,
        and the mean profit of an episode.
    """
    rows = []
    for chance in chances:
        loans, profit = _played(chance, band, variant, seed, copies, steps)
        rows.append((chance, *loans, profit))
    columns = ["chance", "got a loan, would repay", "got a loan, would default", "profit"]
    return pd.DataFrame(rows, columns=columns).set_index("chance")


def _played(
    chance: float, band: float, variant: str, seed: int, copies: int, steps: int
) -> tuple[list[float], float]:
    """Return the shares of good and of bad applicants that got a loan, and the mean profit."""
    env, rng = CASE.worlds[variant].make(copies, steps), np.random.default_rng(seed)
    _, info = env.reset(seed=seed)
    accept = np.full(copies, chance)
    given, came, profit = np.zeros(2), np.zeros(2), 0.0
    for _ in range(steps):
        actions = (rng.random(copies) < chance).astype(np.int64)
        gaps = gaps_of_decisions(*(info[name] for name in WINDOW_FACTS))
        actions = massaged(actions, accept, gaps, band, VARIANTS[variant])
        good = env.unwrapped.repays  # type: ignore[attr-defined]  # of longfair
        for kind, own in enumerate((good, ~good)):
            given[kind] += actions[own].sum()
            came[kind] += own.sum()
        _, reward, _, _, info = env.step(actions)
        profit += float(reward.sum())
    env.close()
    return list(given / came), profit / copies
