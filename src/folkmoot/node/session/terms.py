"""The terms of a motion: one struct from prompt, Python, HTTP and header, and its rules, written once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args, get_type_hints

import msgspec

from folkmoot import checks
from folkmoot.protocols.naming import PROTOCOLS, named_protocol
from folkmoot.protocols.snow import SnowProtocol
from folkmoot.protocols.thresholds import StrongConfidence

Answers: TypeAlias = Literal["labels", "probabilities", "numbers", "text"]
Believe: TypeAlias = Literal["all", "own"]
LOCAL: Final = "local"  # alpha: each member its own, by its holdout (strong confidence)

# The first of each is the one that is taken unless another is named.
RULES: Final[dict[str, tuple[str, ...]]] = {
    "labels": ("plurality", "weighted", "dawid-skene"),
    "probabilities": ("mean", "log"),
    "numbers": ("trimmed-mean", "median"),
    "text": ("plurality",),
}
MOST_TEXT_MEMBERS: Final = 100  # each pair of candidates is compared for each member
MOST_LABELS: Final = 5000
MOST_WEIGHT: Final = 1_000_000
MOST_ROWS: Final = 1000  # validation rows of a member
MOST_TALKED_OF: Final = 127  # labels, where members talk
MOST_STATES: Final = 400_000  # labels^3 beta: the table of a protocol that decides
MOST_ROUNDS: Final = 10_000
MOST_BETA: Final = 1000
LONGEST_LABEL: Final = 200
WINDOW: Final = 0.25
MOST_WINDOW: Final = 0.5
TALK: Final = 0.25  # of the seconds of a motion, for all rounds of a talk
STEP: Final = 1e-6

Label: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_LABEL)]


class Terms(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """On which terms members vote.

    Examples
    --------
    >>> from folkmoot.node.session.terms import Terms
    >>> Terms(labels=("no", "yes")).check(n=4)
    >>> Terms(labels=("no", "yes"), rows=5).check(n=4)
    Traceback (most recent call last):
        ...
    folkmoot.checks.ArgumentError: rows must be given with believe='own', and only with it: got rows=5
    """

    # The kind of answer to an input. Texts are proposals, and final votes choose among them.
    answers: Answers = "labels"
    labels: tuple[Label, ...] = ()  # the possible answers; none for numbers and texts
    rule: str = ""  # the public aggregation, one of ``RULES``. Default: the first of these.
    # One per member: for the rule "weighted", or what its answers count for in a talk.
    weights: tuple[int, ...] = ()
    least: int = 0  # how many first votes a label needs. 0 is f + 1.
    coin: bool = False  # whether a tie is settled by the hash of the agreed commitments
    # With "own" each member casts a final vote after it has seen all first votes. Final votes are
    # counted by plurality, numbers by their median.
    believe: Believe = "all"
    rows: int = 0  # how many validation rows each member may show, for final votes by peer review
    protocol: str = ""  # the rule by which members talk before their final votes; "" is no talk
    # The talk: k others are asked in a round, and ``alpha`` equal answers win it. 0 is the least
    # majority of k, "local" lets each member take its own threshold. Protocols that decide do so after
    # ``beta`` rounds.
    k: int = checks.DEFAULT_K
    alpha: int | Literal["local"] = 0
    beta: int = 20
    rounds: int = 50
    step: float = STEP  # the grid that numbers are on
    seconds: float = 60.0  # the deadline, after which the asker does not wait any more
    window_share: float = WINDOW  # how much of the seconds slow models have to vote, in all polls together

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Terms:
        """Terms by the names of their fields, as people type them; ArgumentError if one is none.

        >>> from folkmoot.node.session.terms import Terms
        >>> Terms.of({"labels": ["no", "yes"], "coin": True}).labels
        ('no', 'yes')
        >>> Terms.of({"coin": 3})
        Traceback (most recent call last):
            ...
        folkmoot.checks.ArgumentError: coin: Expected `bool`, got `int`
        """
        kinds = get_type_hints(cls, include_extras=True)
        values: dict[str, Any] = {}
        for name, value in given.items():
            if name not in kinds:
                raise checks.ArgumentError(
                    "terms must be of {known!s}: got {name!r}", known=", ".join(kinds), name=name
                )
            try:
                values[name] = msgspec.convert(value, kinds[name])
            except msgspec.ValidationError as error:
                raise checks.ArgumentError(f"{{{name}}}: {{why!s}}", **{name: value, "why": error}) from None
        return cls(**values)

    @property
    def used_rule(self) -> str:
        """The public aggregation: of first votes, or of final votes where there are any."""
        if self.polls == 2:
            return "median" if self.answers == "numbers" else "plurality"
        return self.rule or RULES[self.answers][0]

    @property
    def polls(self) -> int:
        """First votes; and final votes, where members talk, or each of them judges first votes by itself."""
        return 2 if self.believe == "own" or self.protocol or self.answers == "text" else 1

    @property
    def window(self) -> float:
        """Seconds that slow models have in each poll."""
        return self.window_share * self.seconds / self.polls

    @property
    def talk_seconds(self) -> float:
        """How long a talk lasts at the most."""
        return TALK * self.seconds

    def talk(self, n: int, accuracy: float = 0.5) -> SnowProtocol[Any]:
        """The rule of a talk among n members, for one of this accuracy."""
        alpha = (
            StrongConfidence([accuracy])
            if self.alpha == LOCAL
            else int(self.alpha) or checks.least_alpha(self.k)
        )
        return named_protocol(self.protocol, self.k, alpha, beta=self.beta).scaled(n)

    def check(self, n: int) -> None:
        """ArgumentError, with what is wrong, unless n members can vote on these terms."""
        checks.one_of("answers", self.answers, get_args(Answers))
        checks.one_of("believe", self.believe, get_args(Believe))
        self._check_labels()
        self._check_final_votes()
        self._check_rule()
        self._check_weights(n)
        self._check_talk()
        if self.answers == "text" and n > MOST_TEXT_MEMBERS:
            raise checks.ArgumentError(
                "{answers} 'texts' must be asked of at most {most!s} members: got {n!s}",
                answers=self.answers, most=MOST_TEXT_MEMBERS, n=n,
            )  # fmt: skip
        _within("least", self.least, 0, n)
        if self.coin and self.answers == "numbers":
            raise checks.ArgumentError(
                "{coin} must not be given in a motion about numbers, which has no ties"
            )
        if self.step != STEP and self.answers != "numbers":
            raise checks.ArgumentError("{step} is for numbers: got {step=}, {answers=}", **_of(self, "step"))
        if not (math.isfinite(self.step) and 1e-12 <= self.step <= 1e12):
            raise checks.ArgumentError("{step} must be within 1e-12..1e12: got {step=}", step=self.step)
        _within("seconds", self.seconds, 1, 86_400)
        _within("window_share", self.window_share, 0.01, MOST_WINDOW)

    def _check_labels(self) -> None:
        many = len(self.labels)
        if self.answers in ("numbers", "text"):
            if many:
                raise checks.ArgumentError(
                    "{labels} must not be given in a motion about {kind!s}: got {many!s}",
                    kind=self.answers, many=many,
                )  # fmt: skip
        elif not 2 <= many <= MOST_LABELS or len(set(self.labels)) < many:
            raise checks.ArgumentError(
                "{labels} must be 2 to {most!s}, all different: got {many!s}, {different!s} different",
                most=MOST_LABELS, many=many, different=len(set(self.labels)),
            )  # fmt: skip

    def _check_final_votes(self) -> None:
        if self.believe == "own" and self.protocol:
            raise checks.ArgumentError(
                "{believe} must be 'all' where members talk, since each says how final votes are made: "
                "got {believe=}, {protocol=}", **_of(self, "believe", "protocol"),
            )  # fmt: skip
        if self.believe == "own" and self.answers == "text":
            raise checks.ArgumentError(
                "{believe} must be 'all' for texts, as each member chooses by its own rule: got {believe=}",
                believe=self.believe,
            )
        _within("rows", self.rows, 0, MOST_ROWS)
        if self.rows and self.believe != "own":
            raise checks.ArgumentError(
                "{rows} must be given with {believe}='own', and only with it: got {rows=}", rows=self.rows
            )

    def _check_rule(self) -> None:
        known = RULES[self.answers]
        if self.rule and self.rule not in known:
            raise checks.ArgumentError(
                "{rule} must be one of {known!s} for {answers!s}: got {rule!r}",
                known=", ".join(known), answers=self.answers, rule=self.rule,
            )  # fmt: skip
        if self.polls == 2 and self.rule and self.rule != self.used_rule:
            raise checks.ArgumentError(
                "{rule} must be {used!r} where there are final votes ({believe}='own', or {protocol}): "
                "got {rule=}", rule=self.rule, used=self.used_rule,
            )  # fmt: skip

    def _check_weights(self, n: int) -> None:
        wanted = self.rule == "weighted"
        if (wanted and not self.weights) or (self.weights and not wanted and not self.protocol):
            raise checks.ArgumentError(
                "{weights} must be given with the rule 'weighted', or in a talk, and only then: got {rule=}",
                rule=self.rule or self.used_rule,
            )
        if self.weights and (
            len(self.weights) != n
            or not all(0 <= each <= MOST_WEIGHT for each in self.weights)
            or not any(self.weights)
        ):
            raise checks.ArgumentError(
                "{weights} must be {n!s} whole numbers within 0..{most!s}, not all 0: got {many!s}",
                n=n, most=MOST_WEIGHT, many=len(self.weights),
            )  # fmt: skip

    def _check_talk(self) -> None:
        if not self.protocol:
            for name, default in _DEFAULTS.items():
                if getattr(self, name) != default:
                    raise checks.ArgumentError(
                        f"{{{name}}} is for protocols with rounds: "
                        f"give {{protocol}}, one of {{known!s}}, or leave it out",
                        known=", ".join(PROTOCOLS),
                    )
            return
        checks.one_of("protocol", self.protocol, tuple(PROTOCOLS))
        if self.answers != "labels":
            raise checks.ArgumentError(
                "{protocol} is for labels: got {answers=}, {protocol=}", **_of(self, "answers", "protocol")
            )
        if len(self.labels) > MOST_TALKED_OF:
            raise checks.ArgumentError(
                "{labels} must be at most {most!s} where members talk: got {many!s}",
                most=MOST_TALKED_OF, many=len(self.labels),
            )  # fmt: skip
        _within("k", self.k, 1, 1000)
        if self.alpha not in (0, LOCAL):
            checks.query(self.k, self.alpha)
        _within("rounds", self.rounds, 1, MOST_ROUNDS)
        _within("beta", self.beta, 1, MOST_BETA)
        states = len(self.labels) ** 3 * self.beta
        if PROTOCOLS[self.protocol].decides and states > MOST_STATES:
            raise checks.ArgumentError(
                "{protocol} {name!s} must have labels^3 beta <= {most!s}: got {many!s} labels and {beta=}; "
                "take a smaller {beta}, or slush",
                name=self.protocol, most=MOST_STATES, many=len(self.labels), beta=self.beta,
            )  # fmt: skip


_DEFAULTS: Final = {name: getattr(Terms(), name) for name in ("k", "alpha", "beta", "rounds")}


def _of(terms: Terms, *names: str) -> dict[str, Any]:
    return {name: getattr(terms, name) for name in ("answers", *names)}


def _within(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:  # NaN is refused too
        raise checks.ArgumentError(
            f"{{{name}}} must be within {low:,}..{high:,}: got {{{name}=}}", **{name: value}
        )
