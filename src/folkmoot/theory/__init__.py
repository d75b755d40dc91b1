"""The exact theory of consensus learning with Slush: probabilities, not estimates.

Sections 2.3, 4 and appendix A of the paper, by its names. Time is counted in steps: in each, one
participant asks once. The peers follow ``sampling=Everyone()``, the paper's law and the default, or
``Others()``. See docs/theory.md for a tour.
"""

from folkmoot.checks import ByzantineThresholdWarning
from folkmoot.theory.bounds import (
    absorption_bound,
    byzantine_asymmetry,
    chvatal_bound,
    condorcet_bound,
    performance_groups_bound,
    slush_lower_bound,
)
from folkmoot.theory.chain import SlushChain
from folkmoot.theory.gap import (
    Gap,
    accuracy_gap,
    control_ratio,
    log_control_ratio,
    threshold_accuracy,
)
from folkmoot.theory.local_chain import LocalSlushChain
from folkmoot.theory.majorities import majority_accuracy
from folkmoot.theory.teams import Verdict, hierarchy_verdict
from folkmoot.theory.votes_law import log_poisson_binomial, poisson_binomial

__all__ = [
    "ByzantineThresholdWarning",
    "Gap",
    "LocalSlushChain",
    "SlushChain",
    "Verdict",
    "absorption_bound",
    "accuracy_gap",
    "byzantine_asymmetry",
    "chvatal_bound",
    "condorcet_bound",
    "control_ratio",
    "hierarchy_verdict",
    "log_control_ratio",
    "log_poisson_binomial",
    "majority_accuracy",
    "performance_groups_bound",
    "poisson_binomial",
    "slush_lower_bound",
    "threshold_accuracy",
]
