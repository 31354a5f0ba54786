"""Small formulas over whole numbers, fractions, texts and truths: as much of CEL as settings need, and never more.

    parse("min(110, (default_enis - 1) * (ips_per_eni - 1) + 2)").value({"default_enis": 4, "ips_per_eni": 15})

A formula has the operators of CEL with its precedence and its arithmetic: integers have 64 bits, divide towards zero
and do not mix with fractions (`double(vcpus) * 0.5`), `&&` and `||` look at the right side only if they must. Functions
are `min`, `max`, `int`, `double`, `string`, `size`, and of a text `startsWith`, `endsWith` and `contains`. There are no
loops, so a formula takes as long as it is, and its length is limited.

    BadInput
    ├── BadFormula      it cannot be read: what is wrong, and where
    └── BadEvaluation   it can, but not be worked out with these values
"""

from __future__ import annotations

from dovetail.core.expressions.operations import BadEvaluation, Value, kind_of
from dovetail.core.expressions.reading import BadFormula, Formula, parse

__all__ = ["BadEvaluation", "BadFormula", "Formula", "Value", "kind_of", "parse"]
