"""Why an input got its answer: who voted what, who changed its mind after whose answers, how close it was."""

from folkmoot.explanation.closeness import Closeness
from folkmoot.explanation.explanation import ChangeOfMind, Explanation, Participation, Reply, Uncounted
from folkmoot.explanation.making import explain

__all__ = [
    "ChangeOfMind",
    "Closeness",
    "Explanation",
    "Participation",
    "Reply",
    "Uncounted",
    "explain",
]
