"""Which agent can act in which environment: the plan of a grid, and the reasons for its gaps."""

from __future__ import annotations

from typing import Any

import gymnasium

from longfair.agents.register import agents
from longfair.envs import NAMES, environment_id


def who_acts_where() -> list[dict[str, Any]]:
    """Ask every registered agent about every environment of the library.

    Returns
    -------
    list of dict
        One per agent: `agent`, `label`, `revision`, `acts_in` (names of environments) and
        `refused` (name of an environment to the reason).
    """
    batches = {name: gymnasium.make_vec(environment_id(name), num_envs=1) for name in NAMES}
    rows = []
    for entry in agents().values():
        reasons = {name: entry.why_not(env) for name, env in batches.items()}
        rows.append(
            {
                "agent": entry.name,
                "label": entry.label,
                "revision": entry.revision,
                "acts_in": [name for name, reason in reasons.items() if not reason],
                "refused": {name: reason for name, reason in reasons.items() if reason},
            }
        )
    return rows
