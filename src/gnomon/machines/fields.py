"""Fields of description files by type: each is checked, and an error names file, key and reason.

Below are the checks that the parts of a machine make of themselves, however they are made.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.events.tomlfile import Section

_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

E = TypeVar("E", bound=StrEnum)


def whole(section: Section, key: str, default: int | None = None) -> int:
    """Return a whole number; without a default the key must be there."""
    value = section.integer(key)
    if value is None:
        value = default
    if value is None:
        raise section.error("is missing", key)
    return value


def number(section: Section, key: str, default: float | None = None) -> float:
    """Return a number of less than 10^9; without a default the key must be there."""
    section.asked.add(key)
    value = section.data.get(key, default)
    if value is None:
        raise section.error("is missing", key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise section.error("must be a number", key)
    if not abs(value) < 1e9:
        raise section.error(f"is out of range: {value}", key)
    return float(value)


def truth(section: Section, key: str, default: bool) -> bool:
    """Return true or false."""
    section.asked.add(key)
    value = section.data.get(key, default)
    if not isinstance(value, bool):
        raise section.error("must be true or false", key)
    return value


def choice(section: Section, key: str, kind: type[E], default: E) -> E:
    """Return one of several words."""
    value = section.text(key, default.value)
    try:
        return kind(value)
    except ValueError:
        known = [each.value for each in kind]
        from gnomon.events.tomlfile import suggestion

        hint = suggestion(value, known) or f": choose from {', '.join(known)}"
        raise section.error(f"'{value}' is unknown{hint}", key) from None


def size(section: Section, key: str) -> int:
    """Return a number of bytes, written as such or with a unit."""
    section.asked.add(key)
    value = section.data.get(key)
    if value is None:
        raise section.error("is missing", key)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    found = re.fullmatch(r"\s*([0-9]{1,9}(?:\.[0-9]{1,3})?)\s*(B|KiB|MiB|GiB)\s*", str(value))
    if found is None or not isinstance(value, str):
        raise section.error("must be a size such as 32768 or '32 KiB'", key)
    amount = float(found[1]) * _UNITS[found[2]]
    if amount != int(amount):
        raise section.error(f"'{value}' is not a whole number of bytes", key)
    return int(amount)


LEAST_RATE = 0.001  # GB/s; below it a slot of a channel becomes longer than any run


class FieldError(UsageError):
    """A part of a machine has an invalid value; `key` says which."""

    def __init__(self, key: str, reason: str) -> None:
        self.key = key
        self.reason = reason
        super().__init__(f"{key}: {reason}.")


def positive(key: str, value: float) -> None:
    """Refuse what is not above zero."""
    if not value > 0:
        raise FieldError(key, f"must be above zero, not {value:g}")


def not_negative(key: str, value: float) -> None:
    """Refuse what is below zero."""
    if not value >= 0:
        raise FieldError(key, f"must not be negative, as {value:g} is")


def at_most(key: str, value: int, most: int) -> None:
    """Refuse what is not 1 to `most`."""
    if not 1 <= value <= most:
        raise FieldError(key, f"must be 1 to {most}, not {value}")


def rate(key: str, value: float) -> None:
    """Refuse a rate that is too low to be simulated."""
    if not value >= LEAST_RATE:
        raise FieldError(key, f"must be at least {LEAST_RATE}, not {value:g}")


def power_of_two(key: str, value: int) -> None:
    """Refuse what is not a power of two."""
    if value < 1 or value & (value - 1):
        raise FieldError(key, f"must be a power of two, which {value} is not")
