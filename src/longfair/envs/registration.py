"""Names of the environments in Gymnasium's registry."""

from __future__ import annotations

import gymnasium

NAMES = ("Lending", "Attention", "Epidemic", "Doughnut", "LoanPool", "Population", "LoanMDP")
"""Names without the prefix `longfair/` and the version `-v0`."""


def register_all() -> None:
    """Register every environment with its scalar and its batch entry point."""
    for name in NAMES:
        identifier = environment_id(name)
        if identifier not in gymnasium.registry:
            gymnasium.register(
                id=identifier,
                entry_point="longfair.envs.making:make_scalar",
                vector_entry_point="longfair.envs.making:make_vector",
                kwargs={"environment": name},
            )


def environment_id(name: str) -> str:
    """Return the full id of an environment, such as `longfair/Lending-v0`."""
    return f"longfair/{name}-v0"
