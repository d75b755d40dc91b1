"""Misstating: in federated agreement it tells each any well-formed statement; to a query, any colour.

The most that a Byzantine node of the Stellar protocol can do (Mazières, 2015): it may say of every ballot
what it likes, something else to each, and show a quorum set that suits it.
"""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot.adversaries.random_colour import RandomColour


@dataclass(frozen=True)
class Misstating(RandomColour):
    """Says anything, to each something else.

    In federated Byzantine agreement it says a label drawn for each hearer, phase and counter, and as its
    first vote.

    What it has told somebody it does not take back, as nobody would heed that. Where participants are asked
    it answers as ``RandomColour`` does.

    Examples
    --------
    Three of four are honest and take any three of the four, so that no liar can split them:

    >>> from folkmoot import deliberate
    >>> from folkmoot.adversaries import Misstating
    >>> from folkmoot.outlook import FBA, QuorumSet
    >>> three = QuorumSet(3, ["ada", "bo", "cy", "di"])
    >>> protocol = FBA(dict.fromkeys(["ada", "bo", "cy", "di"], three))
    >>> votes = [[0, 1, 0], [0, 1, 1], [0, 0, 1], [1, 1, 1]]
    >>> deliberate(votes, protocol, adversaries={3: Misstating()}, seed=1).decision
    array([0, 1, 1])
    """

    misstates = True
