"""What massaging makes of a bank that tosses coins: what the note of a claim says."""

from __future__ import annotations

import pytest

from longfair.papers.fppo.unsure_bank import executed

PLAYED = {"band": 0.4, "seed": 1, "copies": 8, "steps": 400}


def test_inside_the_band_nobody_who_would_repay_gets_a_loan() -> None:
    coded = executed([0.47], variant="as_coded", **PLAYED).loc[0.47]
    assert coded["got a loan, would repay"] == 0.0
    assert coded["got a loan, would default"] == pytest.approx(0.53, abs=0.05)
    assert coded["profit"] < -50.0


def test_without_the_label_nobody_at_all_does() -> None:
    published = executed([0.47], variant="as_published", **PLAYED).loc[0.47]
    assert (published == 0.0).all()


@pytest.mark.parametrize("variant", ["as_coded", "as_published"])
def test_outside_the_band_coins_decide(variant: str) -> None:
    shares = executed([0.3, 0.7], variant=variant, **PLAYED)
    for chance, row in shares.iterrows():
        assert row["got a loan, would repay"] == pytest.approx(chance, abs=0.05)
        assert row["got a loan, would default"] == pytest.approx(chance, abs=0.05)
