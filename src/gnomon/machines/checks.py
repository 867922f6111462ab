"""What the parts of a machine check of themselves."""

from __future__ import annotations

from gnomon.errors import UsageError

LEAST_RATE = 0.001  # GB/s; below it a slot of a channel becomes longer than any run


class FieldError(UsageError):
    """A part of a machine has a value that makes no sense; `key` says which."""

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
