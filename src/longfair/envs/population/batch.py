"""A population whose qualification follows the decisions made about it: replicator dynamics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode

from longfair.arrays import BoolArray, FloatArray
from longfair.envs.parameters import named_preset
from longfair.envs.population.model import PopulationModel
from longfair.envs.population.params import GROUPS, FitnessTable, PopulationParams
from longfair.envs.vector import FairVectorEnv, Restart, Transition, action_array
from longfair.errors import UsageError
from longfair.settings import Count, validated


class PopulationVectorEnv(FairVectorEnv):
    r"""One threshold per group decides who is accepted, and decides who will be qualified.

    A population has two groups. In group :math:`g` a share :math:`s_g` is qualified. Everybody with
    a feature :math:`x` of at least the group's threshold :math:`a_g` is accepted: a share
    :math:`A_{1,g}` of the qualified and :math:`A_{0,g}` of the unqualified. What becomes of a group
    depends on how well its members do. With fitness :math:`U_{y\hat y}` of an individual of
    qualification :math:`y` that gets the decision :math:`\hat y`, a label has the mean fitness

    $$W_{y,g} = U_{y0} + (U_{y1} - U_{y0}) A_{y,g},$$

    and the share of the qualified follows the replicator equation,

    $$s_g \leftarrow \frac{s_g W_{1,g}}{s_g W_{1,g} + (1 - s_g) W_{0,g}}.$$

    In all fitness tables here the unqualified profit most from being accepted. So a lenient decider
    is rewarded at once and loses the qualified in the long run, and a strict one gives up reward
    now for a population that is worth accepting later.

    With the features `"adult"` the feature is a score: the fitted probability of a high income in
    the Adult census data, for groups Male and Female. The score is fitted anew to the present
    qualification rates, so each group's scores depend on both rates. The fits were made
    beforehand on a grid of rates and are interpolated. Other features change one thing of it:
    `"adult_race"` the groups, to White and everybody else; `"adult_weak_ridge"` and
    `"adult_strong_ridge"` the penalty of the regression, to a tenth and to ten times;
    `"adult_16_bins"` and `"adult_64_bins"` the bins of the score, of which `"adult"` has 32.

    ## Action space

    `Box(0, 1, (2,))`: the threshold of each group on a scale from the lowest (0) to the highest (1)
    of `threshold_range`: -4 to 4 for Gaussian features, 1/32 to 31/32 for Adult scores, whatever
    their bins.

    ## Observation space

    `Box(0, 1, (2,))`: qualification rate of each group. It is the whole state.

    ## Rewards

    `true_positive_weight` times the share of the whole population that is qualified and accepted,
    plus `true_negative_weight` times the share that is unqualified and rejected. The papers' loss
    is 1 minus the reward. In the presets only true positives count, so the reward is at most the
    mean qualification rate.

    ## Starting state

    Both rates are uniform in `start_range`, independently, or those of `starts`.

    ## Episode end

    Truncated after `episode_length` steps. Never terminated.

    ## Information

    | Key | Shape | Meaning |
    | --- | --- | --- |
    | `supply` | (N, 2) | share of the whole population that is in the group, qualified, accepted |
    | `demand` | (N, 2) | share of the whole population that is in the group and qualified |
    | `group_state` | (N, 2, 1) | qualification rate of the group |
    | `acceptance` | (N, 2, 2) | share accepted of the group's unqualified, then of its qualified |
    | `disparity` | (N, 4) | squared gaps between the groups, in the order below |

    Shares are probability masses: the groups' masses are `group_probability` at every step.
    `supply` over `demand` is a group's true positive rate. The gaps are those in acceptance rate
    (demographic parity), in true positive rate (equal opportunity), the mean of the squared gaps in
    true and false positive rate (equalised odds), and in qualification rate. `acceptance` and
    `disparity` belong to the step just made; the gap in qualification is that before the step.

    ## Arguments

    `preset`: `"synthetic"` (default), `"synthetic_mild"`, `"adult"`, `"adult_easier"`,
    `"adult_cited"`, `"adult_race"`, `"adult_weak_ridge"`, `"adult_strong_ridge"`,
    `"adult_16_bins"`, `"adult_64_bins"`. `params`: a `PopulationParams` instead of a preset.
    `episode_length`: replaces that of the preset. `fitness`: name of a fitness table that replaces
    that of the preset: `"cited"`, `"mild"`, `"adult_1"`, `"adult_2"`.

    ## Vectorised use

    `gymnasium.make_vec("longfair/Population-v0", num_envs=256, preset="synthetic")` steps 256
    copies together; `gymnasium.make("longfair/Population-v0")` is a batch of one.
    `PopulationModel` in this module answers what an action does in a state without stepping.

    ## Version history

    v0: first version. The paper's fitness tables and its treatment of the Adult data are not
    public. `cited` is the one table in the authors' earlier code; the others, and the Adult scores,
    were chosen so that what the paper says about its figures holds. Rates stay 0.001 away from 0
    and 1.
    """

    params_class = PopulationParams
    continuous = True

    @validated
    def __init__(
        self,
        num_envs: Count = 1,
        params: PopulationParams | None = None,
        autoreset_mode: Restart = AutoresetMode.SAME_STEP,
    ) -> None:
        self.params = params = PopulationParams.synthetic() if params is None else params
        super().__init__(
            num_envs=num_envs,
            num_groups=GROUPS,
            episode_length=params.episode_length,
            observation_space=Box(0.0, 1.0, (GROUPS,), np.float32),
            action_space=Box(0.0, 1.0, (GROUPS,), np.float32),
            autoreset_mode=autoreset_mode,
        )
        self.model = PopulationModel(params)
        self._rates = np.full((num_envs, GROUPS), 0.5)
        self._starts = _starts_of_copies(params.starts, num_envs)

    @classmethod
    @validated
    def chosen_params(
        cls,
        preset: str | None = None,
        params: PopulationParams | None = None,
        episode_length: int | None = None,
        fitness: str | None = None,
    ) -> PopulationParams:
        """Return the parameters that the arguments of `make` and `make_vec` stand for.

        Parameters
        ----------
        preset, params, episode_length
            As for every environment.
        fitness
            Name of the fitness table that replaces that of the preset or the record.
        """
        chosen: PopulationParams = super().chosen_params(preset, params, episode_length)
        if fitness is None:
            return chosen
        return replace(chosen, fitness=named_preset(FitnessTable, fitness))

    def _restart(self, copies: BoolArray) -> None:
        starts = self._starts
        if starts is None:
            starts = self.np_random.uniform(*self.params.start_range, self._rates.shape)
        self._rates = np.where(copies[:, None], starts, self._rates)

    def _transition(self, actions: FloatArray) -> Transition:
        rates = self._rates
        outcome = self.model.transition(rates, actions)
        self._rates = outcome.next_rates
        facts = {
            "acceptance": outcome.acceptance,
            "disparity": self.model.gaps(rates, outcome),
        }
        return Transition(
            self.model.reward(outcome),
            outcome.true_positives,
            rates * self.model.shares,
            np.zeros(self.num_envs, np.bool_),
            facts,
        )

    def _observation(self) -> Any:
        return self._rates.astype(np.float32)

    def _group_state(self) -> FloatArray:
        return self._rates[:, :, None].copy()

    def _checked_actions(self, actions: Any) -> FloatArray:
        array = action_array(actions, self._rates.shape, "numbers")
        # A threshold that is not a number fails this comparison as well.
        if not (array.min() >= 0.0 and array.max() <= 1.0):
            bad = array[~((array >= 0.0) & (array <= 1.0))][0]
            raise UsageError(f"threshold {bad!s} is not allowed: give numbers in [0, 1]")
        return array


def _starts_of_copies(starts: Sequence[tuple[float, float]], num_envs: int) -> FloatArray | None:
    """Return the start (N, 2) of every copy, or None when starts are drawn."""
    return np.array(starts)[np.arange(num_envs) % len(starts)] if starts else None
