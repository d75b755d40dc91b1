"""
Which k and alpha to take
=========================

Learn how to choose k, alpha and rounds: what each setting of a moot gives, and what it costs in messages.

40 participants of skill 0.8, five of them liars. The planner tries the settings, exactly for Slush on two
labels, and takes the cheapest whose accuracy is within 0.005 of the best.

``python examples/plot_plan.py [FILE]``
"""

from __future__ import annotations

import sys

from folkmoot import plan


def main(path: str = "plan.png") -> None:
    found = plan(40, byzantine=5, p=0.8)
    print(found)
    found.plot().savefig(path, dpi=150)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
