"""The vocabulary of a vote, shared by every layer (section 2.3.1 of the paper).

A colour is an integer ``0..C-1``. In the two-colour theory blue is the right answer and red the
wrong one, so the state of the network is the number of blue participants.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

UNCOLOURED: Final = -1  # abstains, or has no answer yet
RED: Final = 0
BLUE: Final = 1

Colour: TypeAlias = int
# How many of the k answers to one query named each colour; uncoloured answers are counted nowhere.
Tally: TypeAlias = Sequence[int]
