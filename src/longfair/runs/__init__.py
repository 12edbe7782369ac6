"""Run and remember: experiments, runner, store, provenance, statistics, verdicts."""
