from __future__ import annotations

import pandas as pd
from toy_experiment import toy_work

from longfair.runs.keys import package_versions
from longfair.runs.origin import origin
from longfair.runs.sources import source_digest


def test_a_page_without_runs_names_code_and_versions() -> None:
    facts = origin("book", ["numpy"], [toy_work])["value"]
    assert list(facts.index[:3]) == ["profile", "commit the page was made from", "python"]
    assert facts["numpy"] == package_versions()["numpy"]
    assert source_digest(toy_work).startswith(facts["digest of the source"])
    assert "stored runs" not in facts


def test_stored_runs_are_summed_up() -> None:
    provenance = pd.DataFrame(
        {
            "commit": ["b" * 40, "a" * 40, "b" * 40],
            "dirty": [False, True, False],
            "finished": ["2026-02-03T10:00:00", "2026-01-02T10:00:00", "2026-03-04T10:00:00"],
        }
    )
    facts = origin("book", [], provenance=provenance)["value"]
    assert facts["stored runs"] == 3
    assert facts["of these, from a tree with changes"] == 1
    assert facts["commits of the stored runs"] == f"{'a' * 12}, {'b' * 12}"
    assert facts["first and last finished"] == "2026-01-02 and 2026-03-04"
