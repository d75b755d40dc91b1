"""The exact theory of consensus learning with Slush: probabilities, not estimates.

Sections 2.3, 4 and appendix A of the paper, by its names. Time is counted in steps: in each, one
participant asks once. The peers follow ``sampling=Everyone()``, the paper's law and the default, or
``Others()``. See docs/theory.md for a tour.
"""

from folkmoot.theory.chain import SlushChain
from folkmoot.theory.gap import accuracy_gap, threshold_accuracy
from folkmoot.theory.local_chain import LocalSlushChain
from folkmoot.theory.majorities import majority_accuracy

__all__ = [
    "LocalSlushChain",
    "SlushChain",
    "accuracy_gap",
    "majority_accuracy",
    "threshold_accuracy",
]
