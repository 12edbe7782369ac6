"""The weights of R-PPO and A-PPO are those of the authors' code, environment by environment."""

from __future__ import annotations

import pytest

from longfair.agents.ppo.a_ppo import APPO
from longfair.agents.ppo.r_ppo import RPPO
from longfair.papers import registry
from longfair.papers.setting import Setting

# environment: R-PPO's penalty, its excess_only as coded, A-PPO's two weights, tolerance, offset
AUTHORS = {
    "elbert/lending": (2.0, False, 0.25, 0.005, 0.0),
    "elbert/infectious": (0.1, False, 0.1, 0.05, 1.0),
    "elbert/infectious-harder": (0.1, False, 0.1, 0.05, 1.0),
    "elbert/attention": (10.0, True, 0.15, 0.05, 1.0),
    "elbert/attention-harder": (20.0, True, 0.15, 0.05, 1.0),
}


@pytest.mark.parametrize("experiment", AUTHORS)
@pytest.mark.parametrize("profile", ["smoke", "book", "paper"])
def test_weights_are_those_of_the_authors(experiment: str, profile: str) -> None:
    penalty, excess_only, weight, tolerance, offset = AUTHORS[experiment]
    found = set()
    for arm in registry.experiments()[experiment].arms[profile]:
        method = arm.config.method if isinstance(arm.config, Setting) else None
        as_coded = arm.name.endswith("as_coded")
        if isinstance(method, RPPO):
            assert (method.penalty, method.sign) == (penalty, -1)
            assert method.excess_only == (excess_only if as_coded else True)
        elif isinstance(method, APPO):
            assert (method.level_weight, method.change_weight) == (weight, weight)
            assert method.as_coded == as_coded
        else:
            continue
        assert (method.tolerance, method.offset) == (tolerance, offset)
        found.add((method.name, as_coded))
    assert found == {(name, coded) for name in ("a-ppo", "r-ppo") for coded in (True, False)}
