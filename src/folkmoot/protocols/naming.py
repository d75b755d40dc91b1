"""Protocols as people type them: ``slush``, ``snowflake`` and ``snowball``."""

from dataclasses import fields
from typing import Any, Final

from folkmoot import checks
from folkmoot.protocols.slush import Slush
from folkmoot.protocols.snow import Alpha, SnowProtocol
from folkmoot.protocols.snowball import Snowball
from folkmoot.protocols.snowflake import Snowflake

# By the names that --protocol, motions and plans give them.
PROTOCOLS: Final[dict[str, type[SnowProtocol[Any]]]] = {
    "slush": Slush,
    "snowflake": Snowflake,
    "snowball": Snowball,
}


def protocol_called(name: str) -> type[SnowProtocol[Any]]:
    """The kind of protocol that a name stands for; ValueError if it stands for none."""
    if name not in PROTOCOLS:
        raise checks.ArgumentError(
            "{protocol} must be one of {known!s}: got {name!r}",
            known=", ".join(PROTOCOLS),
            name=name,
        )
    return PROTOCOLS[name]


def named_protocol(name: str, k: int, alpha: Alpha, **parameters: Any) -> SnowProtocol[Any]:
    """Make the protocol of a name, as ``--protocol`` and motions do."""
    kind = protocol_called(name)
    taken = {field.name for field in fields(kind)}
    return kind(k, alpha, **{key: value for key, value in parameters.items() if key in taken})


def check_protocol(protocol: object) -> None:
    """TypeError, with those there are, unless this is a protocol."""
    if not isinstance(protocol, SnowProtocol):
        raise TypeError(f"protocol must be {protocols_in_words()}: got {protocol!r}")


def protocols_in_words() -> str:
    """``Slush, Snowflake or Snowball``, for messages."""
    *others, last = [kind.__name__ for kind in PROTOCOLS.values()]
    return f"{', '.join(others)} or {last}"
