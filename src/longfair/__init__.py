"""Long-term fairness in sequential decision making.

Importing the package registers its environments with Gymnasium, without importing them.
"""

from importlib.metadata import version

from longfair.envs.registration import register_all

__version__ = version("longfair")

register_all()
