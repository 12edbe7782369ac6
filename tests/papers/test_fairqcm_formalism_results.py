"""Tables of the chapter on the formalism, where they are known by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from longfair.metrics.memory_fairness import (
    FairnessScheme,
    counts,
    discounted_sum,
    relaxed_parity,
    timepoint_first,
)
from longfair.papers.fairqcm import formalism_results as formalism


def test_audits_come_whenever_another_two_loans_are_granted() -> None:
    granted = pd.DataFrame({"north": [1, 1, 0, 1, 0], "south": [0, 0, 0, 0, 1]})
    looked_at = formalism.audited(granted)
    assert looked_at.tolist() == [False, True, False, False, True]
    scheme = FairnessScheme(
        counts, timepoint_first(relaxed_parity, discounted_sum), formalism.audited
    )
    assert float(scheme.score(granted)) == -2.0 - 2.0  # two loans ahead at both audits


def test_every_policy_meets_the_same_people() -> None:
    served = {name: formalism.received_under(name, 50, seed=3) for name in formalism.POLICIES}
    assert {found.shape for found in served.values()} == {(50, 12, 3)}
    assert all(set(np.unique(found.sum(axis=-1))) <= {0.0, 1.0} for found in served.values())
    # Whoever serves somebody who is there wastes a doughnut only where nobody is.
    turns, least = (
        served[name] for name in ("turns, skipping the absent", "whoever has had least")
    )
    assert np.array_equal(turns.sum(axis=-1), least.sum(axis=-1))


def test_memory_is_worth_something_and_a_difference_is_enough() -> None:
    without, remembering = formalism.worth_of_memory()
    scores = without["no memory"]
    assert scores.idxmax() == pytest.approx(0.5)
    assert scores[0.0] == pytest.approx(scores[1.0])
    assert remembering["whoever is behind"] == pytest.approx(remembering["best of all"])
    assert remembering["best of all"] > scores.max() + 0.1


def test_only_full_memory_keeps_what_the_nash_welfare_needs() -> None:
    table = formalism.markovian_with()
    assert table.loc["log Nash"].to_dict() == {
        "nothing": "no",
        "Min": "no",
        "Reset": "no",
        "Full": "yes",
    }
    assert set(table.loc["log Nash, zero if wasted"]) == {"no"}
    assert set(table.loc["parity", ["Min", "Reset", "Full"]]) == {"yes"}


def test_few_memories_occur_of_the_product_of_all_automata() -> None:
    table = formalism.sizes()
    assert table.loc["gap modulo 3", "memories that occur"] == 12
    assert table.loc["gap modulo 3", "product of all sizes"] == "4,900"  # 17 cubed is 4,913
