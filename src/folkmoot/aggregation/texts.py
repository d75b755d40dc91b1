"""Texts: from what members propose and choose to one answer, in whole numbers and strings alone.

1. Each member proposes a text. Proposals with the same normal form are one *candidate*. Candidates are
   ordered by a salted hash, so their numbers say nothing about who proposed them.
2. Each member chooses a candidate, and says which candidates mean the same.
3. Two candidates that a quorum calls the same may be joined. The quorum is floor((m + f) / 2) + 1 of m
   voters. Joining is complete linkage, so each pair of a class has a quorum. The source is Defays, "An
   efficient algorithm for a complete link method" (The Computer Journal 20, 1977).
4. The class that most members chose is the answer, if at least f + 1 did. A tie is undecided.

Two quorums share an honest voter, and to that voter "means the same" is transitive. So if one quorum joins a
with b and another b with c, some honest voter joins all three.

Every step gives the same bytes on every machine and with every version of Python, so a network can compute
it again. Letters are therefore read by Unicode 3.2, which Python keeps beside its own version.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, groupby
from typing import Final, TypeAlias

LONGEST: Final = 4000  # characters of a proposal
_STEPS: Final = 8  # a step may make what the next one reads: a number from its digits

_OLD: Final = unicodedata.ucd_3_2_0  # newer characters stay as they are
_DASHES: Final = frozenset("-\u2010\u2011\u2012\u2013\u2014\u2015\u2212")
_APOSTROPHES: Final = frozenset("'\u2018\u2019\u201b\u02bc")
_MEANING: Final = frozenset("%#&@")  # Unicode calls these punctuation, but they change what is said
_WITHIN: Final = frozenset("'.,:/_\u00b7")  # kept between two letters or digits
_UNSEEN: Final = frozenset("`\u00ad\ufeff") | frozenset(map(chr, range(0xFE00, 0xFE10)))
_BLANK: Final = " \t\r\n\f\v\u00a0\u2028\u2029\u3000"
_OTHER_MEANING: Final = ("<super>", "<sub>", "<fraction>", "<circle>", "<square>")  # 10² is not 102
_THIN: Final = frozenset("\u00a0\u2009\u202f")  # spaces within numbers
_GROUPS: Final = re.compile(
    r"(?<![0-9.,'])([0-9]{1,3})([,'\u00a0\u2009\u202f])[0-9]{3}(?:\2[0-9]{3})*(?![0-9,'])"
)
_WHOLE: Final = re.compile(r"(?<![0-9.])(?![0-9]{1,3}\.000(?![0-9]))([0-9]+)\.0+(?![0-9.])")

Same: TypeAlias = tuple[int, ...]  # for each candidate the first one that means the same


@lru_cache(maxsize=2048)
def normal(text: str) -> str:
    """Reduce a text to its normal form: two texts with the same one are the same answer.

    Case, white space, punctuation around words and the way in which characters and whole numbers are written
    do not count. Characters that may change the meaning do: a sign, ``%``, ``10²``, ``don't``. Digits after a
    point stay, since 3.10 may be a version. So does 1.000, which is a thousand in many languages.

    Examples
    --------
    >>> from folkmoot.aggregation.texts import normal
    >>> normal("  The Answer:\\n**PARIS**! ")
    'the answer paris'
    >>> normal("1,000.0 km") == normal("1000 km"), normal("-5 %") == normal("5 %")
    (True, False)
    """
    for _ in range(_STEPS):
        before, text = text, _normal(text)
        if text == before:
            break
    return text


def _normal(text: str) -> str:
    plain = _composed("".join(map(_plain, _composed(text))))
    plain = _GROUPS.sub(lambda found: re.sub("[^0-9]", "", found[0]), plain)
    plain = _WHOLE.sub(r"\1", plain)
    word = list(map(_is_word, plain))
    kept = [letter if word[i] else _kept(plain, i, word) for i, letter in enumerate(plain)]
    return " ".join(each for each in "".join(kept).split(" ") if each)


def _composed(text: str) -> str:
    """Letters with their accents as one (NFC). Newer ones stay apart, so that nothing moves past them."""
    if text.isascii():
        return text
    if all(map(_is_known, text)):
        return _OLD.normalize("NFC", text)
    runs = groupby(text, _is_known)
    return "".join(_OLD.normalize("NFC", "".join(run)) if known else "".join(run) for known, run in runs)


@lru_cache(maxsize=1 << 16)
def _is_known(letter: str) -> bool:
    return _OLD.category(letter) != "Cn"


@lru_cache(maxsize=1 << 16)
def _is_word(letter: str) -> bool:
    return _OLD.category(letter)[0] in "LNM"


@lru_cache(maxsize=1 << 16)
def _plain(letter: str) -> str:
    """A character without its look and case; nothing if it cannot be seen."""
    kind = _OLD.category(letter)
    if kind == "Cn":
        return letter
    if kind == "Cf" or letter in _UNSEEN:
        return ""
    if letter in _THIN or _OLD.decomposition(letter).startswith(_OTHER_MEANING):
        return letter
    digit = _OLD.decimal(letter, None)
    if digit is not None:
        return str(int(digit))
    found = _OLD.normalize("NFKC", letter)
    return "".join(each.casefold() if _OLD.category(each) != "Cn" else each for each in found)


def _kept(text: str, i: int, word: Sequence[bool]) -> str:
    """What is left of a character, by its neighbours."""
    letter = text[i]
    before, after = i > 0 and word[i - 1], i + 1 < len(text) and word[i + 1]
    if letter in _DASHES:
        return "-" if not before and after and text[i + 1] in "0123456789" else " "
    if letter in _APOSTROPHES:
        letter = "'"
    kind = _OLD.category(letter)
    if kind[0] in "ZC" and kind not in ("Cn", "Co"):
        return " "
    if kind[0] != "P" or letter in _MEANING:
        return letter
    return letter if letter in _WITHIN and before and after else " "


@dataclass(frozen=True)
class Candidate:
    """A proposed answer.

    Parameters
    ----------
    text : str
        The spelling that most of its proposers gave.
    normal : str
        The normal form of all its spellings.
    proposers : tuple of int
        The members that proposed it.
    """

    text: str
    normal: str
    proposers: tuple[int, ...]


def candidates(proposals: Mapping[int, str], salt: bytes = b"") -> tuple[Candidate, ...]:
    """Give equal proposals one number; ``proposals`` is by member, and a text without characters is none.

    >>> from folkmoot.aggregation.texts import candidates
    >>> [each.proposers for each in candidates({0: "Paris.", 1: "Lyon", 3: "paris"}, salt=b"7")]
    [(1,), (0, 3)]
    """
    spelt: dict[str, Counter[str]] = {}
    whose: dict[str, list[int]] = {}
    for member, proposal in sorted(proposals.items()):
        text = _composed(proposal).strip(_BLANK)
        key = normal(text) or text
        if key:
            spelt.setdefault(key, Counter())[text] += 1
            whose.setdefault(key, []).append(member)
    order = sorted(spelt, key=lambda key: _mark(salt, key))
    return tuple(Candidate(_shown(spelt[key], salt), key, tuple(whose[key])) for key in order)


def _shown(spelt: Counter[str], salt: bytes) -> str:
    return min(spelt, key=lambda text: (-spelt[text], _mark(salt, text)))


def _mark(salt: bytes, text: str) -> bytes:
    return hashlib.sha256(b"folkmoot/3 text\n" + salt + text.encode("utf-8", "surrogatepass")).digest()


@dataclass(frozen=True)
class Choice:
    """A member's word on the candidates.

    Parameters
    ----------
    best : int or None
        The candidate that it chooses.
    same : tuple of int
        For each candidate the first one that means the same to this member, itself included.
    """

    best: int | None
    same: Same = ()

    def fits(self, many: int) -> bool:
        """Whether it speaks of so many candidates, and of each once."""
        return (self.best is None or 0 <= self.best < many) and is_same(self.same, many)


def is_same(same: Sequence[int], many: int) -> bool:
    """Whether these numbers say of so many candidates which mean the same, in the one way to say it."""
    return len(same) == many and all(0 <= first <= i and same[first] == first for i, first in enumerate(same))


def same_of(groups: Sequence[Sequence[int]], many: int) -> Same:
    """The same, from groups of candidates that mean the same; what two groups share joins them.

    >>> from folkmoot.aggregation.texts import same_of
    >>> same_of([(3, 1), (2, 3)], many=5)
    (0, 1, 1, 1, 4)
    """
    first = list(range(many))
    for group in groups:
        places = {first[i] for i in group}
        first = [min(places) if each in places else each for each in first]
    return tuple(first)


def quorum(voters: int, faults: int) -> int:
    """How many of so many voters must call two candidates the same; two such groups share an honest voter."""
    return (voters + faults) // 2 + 1


def classes(choices: Sequence[Choice], many: int, needed: int) -> Same:
    """Join candidates that so many voters call the same; for each candidate the first of its class.

    The two classes with the most votes for "the same" are joined first, where each pair across them has
    ``needed``; of equals, the first ones.

    >>> from folkmoot.aggregation.texts import Choice, classes
    >>> classes([Choice(0, (0, 0, 2)), Choice(0, (0, 0, 0)), Choice(2, (0, 1, 2))], 3, needed=2)
    (0, 0, 2)
    """
    together = {
        (a, b): sum(each.same[a] == each.same[b] for each in choices) for a, b in combinations(range(many), 2)
    }
    groups: list[tuple[int, ...]] = [(i,) for i in range(many)]

    def least(pair: tuple[int, int]) -> int:
        one, other = groups[pair[0]], groups[pair[1]]
        return min(together[min(a, b), max(a, b)] for a in one for b in other)

    while pairs := [pair for pair in combinations(range(len(groups)), 2) if least(pair) >= needed]:
        one, other = max(pairs, key=least)  # the first of the largest
        groups[one] = tuple(sorted(groups[one] + groups.pop(other)))
    return same_of(groups, many)


@dataclass(frozen=True)
class Verdict:
    """The classes, votes and answer that the members' choices come to.

    Parameters
    ----------
    candidates : tuple of Candidate
        The proposals, by number.
    classes : tuple of int
        For each candidate the first of those that mean the same.
    votes : dict of int to int
        How many chose each class, by its first candidate.
    tied : tuple of int
        The classes that most members chose, if at least f + 1 did: one where the text is decided.
    """

    candidates: tuple[Candidate, ...]
    classes: Same
    votes: dict[int, int]
    tied: tuple[int, ...]
    chosen: dict[int, int]  # candidates, by how many chose them

    def text(self, first: int) -> str:
        """How a class is written: as the candidate in it that most members chose, the first of equals."""
        inside = [i for i, each in enumerate(self.classes) if each == first]
        return self.candidates[max(inside, key=lambda i: (self.chosen.get(i, 0), -i))].text

    @property
    def decided(self) -> int | None:
        """The class of the answer; None where it is undecided."""
        return self.tied[0] if len(self.tied) == 1 else None

    @property
    def answer(self) -> str | None:
        """The answer; None where it is undecided."""
        return None if self.decided is None else self.text(self.decided)


def verdict(
    found: Sequence[Candidate], choices: Mapping[int, Choice], *, faults: int, least: int = 0
) -> Verdict:
    """Count choices, by member; a choice that does not fit the candidates is none.

    Parameters
    ----------
    found : sequence of Candidate
        The proposals, by number.
    choices : mapping of int to Choice
        A word on them of each member that voted.
    faults : int
        How many members may lie.
    least : int
        How many choices an answer needs. 0 is ``faults + 1``.

    Returns
    -------
    Verdict
        The classes, their votes and the answer.
    """
    many = len(found)
    counted = [choices[member] for member in sorted(choices) if choices[member].fits(many)]
    joined = classes(counted, many, quorum(len(counted), faults))
    chosen = Counter(each.best for each in counted if each.best is not None)
    votes: Counter[int] = Counter()
    for i, number in chosen.items():
        votes[joined[i]] += number
    most = max(votes.values(), default=0)
    enough = most >= max(least or faults + 1, 1)
    tied = tuple(sorted(first for first, number in votes.items() if number == most)) if enough else ()
    return Verdict(tuple(found), joined, dict(sorted(votes.items())), tied, dict(sorted(chosen.items())))
