"""Run the toy experiment through the command, as a process of its own that tests can kill.

Usage: python driver.py DIARY SECONDS TROUBLE ARGUMENT...
"""

from __future__ import annotations

import sys

from toy_experiment import toy_experiment

if __name__ == "__main__":  # the workers import this file, and need none of what follows
    from longfair.cli import main
    from longfair.papers import registry

    diary, seconds, trouble, *arguments = sys.argv[1:]
    experiment = toy_experiment(seconds=float(seconds), diary=diary, trouble=trouble)
    registry.experiments = lambda: {experiment.id: experiment}  # the papers' take a second to load
    main(["run", experiment.id, *arguments])
