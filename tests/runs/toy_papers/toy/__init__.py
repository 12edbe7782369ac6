"""A paper that exists only in the tests."""

from toy_experiment import halves, toy_experiment

EXPERIMENTS = (toy_experiment(),)
CHECKS = {"halves": halves}
