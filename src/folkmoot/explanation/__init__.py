"""Why an input got its answer: who voted what, who changed its mind after whose answers, how close it was."""

from folkmoot.explanation.closeness import Closeness
from folkmoot.explanation.explanation import Answer, ChangeOfMind, Explanation, Unheard, Voice
from folkmoot.explanation.making import explain

__all__ = [
    "Answer",
    "ChangeOfMind",
    "Closeness",
    "Explanation",
    "Unheard",
    "Voice",
    "explain",
]
