"""Error messages name what was meant, in one line."""

from __future__ import annotations

from longfair.errors import near_misses


def test_few_names_are_all_told() -> None:
    assert near_misses("bok", ["paper", "book"]) == "did you mean 'book'? allowed: book, paper"
    assert near_misses("x", []) == "allowed: nothing yet"


def test_many_names_are_counted_and_the_near_ones_told() -> None:
    names = [f"claim-{number}" for number in range(190)]
    told = near_misses("clam-7", names)
    assert "'claim-7'" in told
    assert told.endswith("allowed are 190 names")
    assert len(told) < 100
    assert near_misses("nothing of the kind", names) == "allowed are 190 names, as 'claim-0'"


def test_the_same_number_with_other_zeros_comes_first() -> None:
    names = [f"elbert-{number:02}" for number in range(1, 31)]
    assert near_misses("elbert-7", names).startswith("did you mean 'elbert-07' or ")
    assert near_misses("elbert-0", names).startswith("did you mean 'elbert-01' or 'elbert-02'")
    assert near_misses("elbert-020", names).startswith("did you mean 'elbert-20' or ")
    assert near_misses("elbert-100", ["elbert-10", "elbert-100a"]).startswith(
        "did you mean 'elbert-100a'"
    )
