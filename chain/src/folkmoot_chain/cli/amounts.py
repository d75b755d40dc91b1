"""Amounts of coins and times as they are typed: 0.01 (coins), 5gwei, 100wei; 30s, 2m, 1h."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

UNITS = {"gwei": 10**9, "wei": 1, "": 10**18}  # the longer name first


def parse_coins(text: str, option: str) -> int:
    """Wei of what was typed; ValueError that shows it."""
    typed = text.strip().lower()
    unit = next(name for name in UNITS if typed.endswith(name))
    try:
        wei = Decimal(typed.removesuffix(unit).strip()) * UNITS[unit]
        if not wei.is_finite() or wei < 0 or wei != wei.to_integral_value() or wei >= 2**256:
            raise InvalidOperation
    except InvalidOperation:
        raise ValueError(
            f"{option} must be an amount such as 0.01 (coins), 5gwei or 100wei: got {text!r}"
        ) from None
    return int(wei)


def shown_coins(wei: int) -> str:
    """An amount in coins, all its digits."""
    sign, wei = ("-", -wei) if wei < 0 else ("", wei)
    whole, rest = divmod(wei, 10**18)
    return f"{sign}{whole}" + (f".{rest:018d}".rstrip("0") if rest else "")


def seconds_of(text: str, option: str) -> float:
    """Seconds of a time such as 30s, 2m, 500ms or 1h; ValueError with what was typed."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|)\s*", text)
    if match is None:
        raise ValueError(f"{option} must be a time such as 30s, 2m or 500ms: got {text!r}")
    return float(match[1]) * {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}[match[2]]
