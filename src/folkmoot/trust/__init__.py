"""Trust learnt by listening: what a participant can know of its peers by its own holdout and their votes."""

from folkmoot.trust.anchor import Anchor
from folkmoot.trust.camps import Camps, find_camps
from folkmoot.trust.checked import PUBLIC, CheckedAnswers, check_answers
from folkmoot.trust.conduct import (
    LEAST_LIKENESS,
    MOST_CHANGED,
    heeded,
    held_after,
    opening,
    sampling_weights,
)
from folkmoot.trust.counting import agreement_counts, pack_votes
from folkmoot.trust.estimators import Estimate, peer_accuracies, peer_confusions
from folkmoot.trust.gold import Gold, split_gold
from folkmoot.trust.gold_rules import GoldReview, review_gold
from folkmoot.trust.listening import LEAST_INPUTS, TrustWarning, listen, listen_all
from folkmoot.trust.number_review import CheckedNumbers, NumberReview, review_numbers
from folkmoot.trust.review import PeerReview, review_all
from folkmoot.trust.trusting import Trust, class_probabilities, decide, margins, reputation

__all__ = [
    "LEAST_INPUTS",
    "LEAST_LIKENESS",
    "MOST_CHANGED",
    "PUBLIC",
    "Anchor",
    "Camps",
    "CheckedAnswers",
    "CheckedNumbers",
    "Estimate",
    "Gold",
    "GoldReview",
    "NumberReview",
    "PeerReview",
    "Trust",
    "TrustWarning",
    "agreement_counts",
    "check_answers",
    "class_probabilities",
    "decide",
    "find_camps",
    "heeded",
    "held_after",
    "listen",
    "listen_all",
    "margins",
    "opening",
    "pack_votes",
    "peer_accuracies",
    "peer_confusions",
    "reputation",
    "review_all",
    "review_gold",
    "review_numbers",
    "sampling_weights",
    "split_gold",
]
