"""What was claimed: per paper the experiments, the claims and the executable checks.

A file of a paper says by its name what it is for: ``x.py`` declares what is run (or, where nothing
is run, computes it), ``x_results.py`` reads what came out for the pages, ``x_checks.py`` or
``checks.py`` proves exact statements. What all papers share lies beside them: `setting` (what a run
is told), `protocol` (the one function that runs any setting), `registry` (which papers there are).
"""
