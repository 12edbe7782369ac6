"""Long-term fairness in sequential decision making.

Importing the package registers its environments with Gymnasium, without importing them.
"""

from longfair.envs.registration import register_all

register_all()
