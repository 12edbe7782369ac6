"""The kinds of rules: one class each, in a file of this folder.

A rule is a frozen dataclass under ``@register(kind)``. It reads its own keys from a file of claims,
names the methods and checks that it needs, and judges a `longfair.runs.rules.case.Case`: it turns
what the runs gave into one number, its **effect**, with an interval over seeds, decides its word by
the interval ``[low, high]`` alone, never by the point estimate, and writes its sentence. A new kind
is a new file here; a package of a paper elsewhere may register its own.

Three things come before every rule. One whose methods have no results is *not attempted*. One with
fewer seeds than the claim needs, and never fewer than five, counting the seeds that all its methods
share, is *inconclusive*, whatever its interval. One whose runs have not the authors' settings and
end before the claim's horizon is at worst *inconclusive*, because they cannot refute a claim about
the end of training. Nor can they show that methods end alike.

One thing comes after: where runs are of two kinds, a word about their mean stands only if more than
half of them, each taken alone, are on its side.

A rule may have a **guard**: another rule, about what the effect must not cost. While it is not
reproduced, the word is at most *direction only*; see `longfair.runs.rules.rule.Guarded`.

A rule may have a **limit** on its word, ``at_worst`` or ``at_best``, where the paper leaves open
what decides it; see `longfair.runs.rules.rule.AtWorst` and `longfair.runs.rules.rule.AtBest`.

A method is looked up in the variant that is judged, then in the variant ``reference`` of methods
that learn nothing. ``method:variant`` in a rule pins the variant.
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
