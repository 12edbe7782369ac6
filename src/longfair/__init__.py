"""Long-term fairness in sequential decision making.

Importing the package registers its environments with Gymnasium, without importing them. Its rooms,
each of which can be used alone:

============  =====================================================================
package       what it has
============  =====================================================================
`envs`        batched environments, as ``gymnasium.make_vec("longfair/Lending-v0")``
`metrics`     benefit rates, gaps, distances, memory fairness, logs of decisions
`agents`      learners, policies without training, exact planners; who acts where
`papers`      what is run for each paper, and its claims with the rules that judge
`runs`        experiments, the runner, the store of results, statistics, verdicts
`figures`     pictures, with words for whoever does not see them
============  =====================================================================

`testing` holds an environment of your own against what all of them promise. ``longfair --help``
tells the commands.
"""

from importlib.metadata import version

from longfair.envs.registration import register_all

__version__ = version("longfair")

register_all()
