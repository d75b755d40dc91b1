"""Why an input got its answer: who voted what, who changed its mind after whose answers, how close it was."""

from folkmoot.explanation.closeness import Closeness
from folkmoot.explanation.explanation import Answer, ChangeOfMind, Explanation, Unheard, Voice
from folkmoot.explanation.making import why, why_of_answer

__all__ = [
    "Answer",
    "ChangeOfMind",
    "Closeness",
    "Explanation",
    "Unheard",
    "Voice",
    "why",
    "why_of_answer",
]
