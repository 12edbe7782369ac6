"""The numbers that stand in for unknown ones are those of the settings, in boxes on every page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from longfair.agents.ucbfair.settings import LUCBFairSettings
from longfair.agents.ucbfair.td3_settings import RTD3Settings
from longfair.envs.population.params import FitnessTable, PopulationParams
from longfair.papers.ucbfair.experiments import ADULT, SYNTHETIC
from longfair.papers.ucbfair.learning import TD3Learning, UCBLearning

FOLDER = Path(__file__).parents[2] / "notebooks" / "ucbfair"


def box_of(page: str) -> str:
    """Return the words of the page's box of stand-ins, on one line."""
    source = (FOLDER / f"{page}.py").read_text(encoding="utf-8")
    (box,) = re.findall(r"# ```\{note\}\n(# Stand-ins:.*?)# ```", source, re.DOTALL)
    return " ".join(box.replace("# ", " ").split())


def of(number: float) -> str:
    """Write a number as the boxes do."""
    return f"{number:,g}"


def fitness(table: FitnessTable) -> list[str]:
    """Return what a box says of a fitness table, in its order."""
    return [
        of(table.unqualified_rejected),
        of(table.unqualified_accepted),
        of(table.qualified_rejected),
        of(table.qualified_accepted),
    ]


def learned() -> list[str]:
    """Return L-UCBFair's numbers in the order of its box."""
    settings, learning = LUCBFairSettings.calibrated(), UCBLearning()
    return [
        *map(of, (settings.cells**2, settings.ridge, settings.bonus, settings.sharpness)),
        *map(of, (settings.largest_price, learning.size, settings.budget)),
    ]


SYNTHETIC_PARAMS, ADULT_PARAMS = PopulationParams.synthetic(), PopulationParams.adult()
NUMBERS = {
    "population": [
        *fitness(SYNTHETIC_PARAMS.fitness),
        *fitness(ADULT_PARAMS.fitness),
        of(SYNTHETIC_PARAMS.rate_margin),
        *map(of, SYNTHETIC_PARAMS.threshold_range),
        of(SYNTHETIC.constant),
    ],
    "l_ucbfair": [
        *fitness(SYNTHETIC_PARAMS.fitness),
        *learned(),
        *map(of, SYNTHETIC_PARAMS.start_range),
        of(UCBLearning().episodes),
    ],
    "r_td3": [
        *fitness(SYNTHETIC_PARAMS.fitness),
        *map(of, SYNTHETIC_PARAMS.start_range),
        of(RTD3Settings().action_noise),
        of(TD3Learning().total_steps),
    ],
    "adult": [*fitness(ADULT_PARAMS.fitness), "32", "1/32", "31/32", of(ADULT.constant)],
}


@pytest.mark.parametrize("page", NUMBERS)
def test_a_box_has_the_numbers_of_the_settings_in_order(page: str) -> None:
    told = re.findall(r"(?<![\w/])-?\d+(?:,\d{3})*(?:\.\d+)?(?:/\d+)?", box_of(page))
    wanted = iter(told)
    assert all(number in wanted for number in NUMBERS[page]), (NUMBERS[page], told)
