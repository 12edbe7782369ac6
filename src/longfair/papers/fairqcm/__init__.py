"""FairQCM: fairness with memory (Alamdari et al. 2024)."""

from longfair.papers.fairqcm.beyond import EXPERIMENTS as _BEYOND
from longfair.papers.fairqcm.deep import EXPERIMENTS as _DEEP
from longfair.papers.fairqcm.instances import EXPERIMENTS as _INSTANCES
from longfair.papers.fairqcm.memories import EXPERIMENTS as _MEMORIES
from longfair.papers.fairqcm.tabular import EXPERIMENTS as _TABULAR

CHECKS = {
    "vaccine-shipments": "longfair.papers.fairqcm.checks:vaccine_shipments",
    "bounded-covers-all": "longfair.papers.fairqcm.checks:bounded_covers_all",
    "bounded-rewards": "longfair.papers.fairqcm.checks:bounded_rewards",
    "two-kitchens": "longfair.papers.fairqcm.checks:two_kitchens",
    "discounted-rewards": "longfair.papers.fairqcm.checks:discounted_rewards",
    "memoryless-policies": "longfair.papers.fairqcm.memoryless:memoryless_policies",
    "tables-of-settings": "longfair.papers.fairqcm.checks:tables_of_settings",
    "memory-from-automata": "longfair.papers.fairqcm.memory_checks:memory_from_automata",
    "automata-from-memory": "longfair.papers.fairqcm.memory_checks:automata_from_memory",
    "unbounded-count": "longfair.papers.fairqcm.memory_checks:unbounded_count",
}
EXPERIMENTS = (*_TABULAR, *_INSTANCES, *_DEEP, *_MEMORIES, *_BEYOND)

__all__ = ["CHECKS", "EXPERIMENTS"]
