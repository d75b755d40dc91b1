"""Compare what an example prints with what its page shows: same text, numbers equal up to their last digits.

Processors and versions of numpy differ in the last bits of ``exp``, ``log``, ``power`` and sums of products.
"""

from __future__ import annotations

import doctest
import math
import re

LENIENT = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
_NUMBER = re.compile(r"(\d+(?:\.\d*)?(?:e[+-]?\d+)?)")


class OutputChecker(doctest.OutputChecker):
    """doctest's own, but a number shown and the next float printed are the same."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        """Whether the text that was printed is the text that is shown."""
        if super().check_output(want, got, optionflags):
            return True
        shown, printed = _NUMBER.split(want), _NUMBER.split(got)
        if len(shown) != len(printed):
            return False
        for place in range(1, len(shown), 2):
            if _close(shown[place], printed[place]):
                shown[place] = printed[place]
        return super().check_output("".join(shown), got, optionflags)


def _close(shown: str, printed: str) -> bool:
    if "." not in shown + printed:
        return False  # integers have no last bit
    return math.isclose(float(shown), float(printed), rel_tol=1e-9, abs_tol=1e-12)
