"""Who decides: learned agents, heuristics and exact solvers."""
