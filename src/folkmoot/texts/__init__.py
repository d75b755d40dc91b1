"""Answers that are texts: members propose, then choose among what was proposed."""

from folkmoot.texts.consensus_text import ConsensusText
from folkmoot.texts.outcome import Answered, Saying, TextOutcome

__all__ = ["Answered", "ConsensusText", "Saying", "TextOutcome"]
