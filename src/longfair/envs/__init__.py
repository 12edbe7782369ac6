"""What happens: environments, one package each, stepped in batches.

Importing this package registers them with Gymnasium.
"""

from longfair.envs.registration import NAMES, environment_id, register_all

register_all()

__all__ = ["NAMES", "environment_id", "register_all"]
