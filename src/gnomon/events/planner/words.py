"""Counters, registers and lists of events as a user reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.events.planner.needs import LDLAT_MSR
from gnomon.events.planner.pmu import FIXED, GENERAL_MASK, indices

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_REGISTERS = {
    0x1A6: "offcore-response",
    0x1A7: "offcore-response",
    LDLAT_MSR: "load-latency",
    0x3F7: "front-end",
}
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def number(value: int) -> str:
    """Return a count as a word while it is small."""
    return _NUMBERS[value] if 0 <= value < len(_NUMBERS) else str(value)


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: `1 event`, `3 events`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def join(names: Sequence[str], most: int = 6) -> str:
    """Return names as a phrase: `A, B and C`, with the tail of a long list only counted."""
    shown = list(names)
    if len(shown) > most:
        shown = [*shown[: most - 1], f"{len(shown) - most + 1} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def counters_text(mask: int, link: str = "or") -> str:
    """Return a counter set as a phrase: `counters 0 to 3 or fixed counter 1`."""
    general = indices(mask & GENERAL_MASK)
    fixed = [index - FIXED for index in indices(mask & ~GENERAL_MASK)]
    parts = []
    if general:
        parts.append(f"counter{'s' * (len(general) > 1)} {_range(general)}")
    if fixed:
        parts.append(f"fixed counter{'s' * (len(fixed) > 1)} {_range(fixed)}")
    return f" {link} ".join(parts) or "no counter"


def registers_text(registers: Iterable[int]) -> str:
    """Return extra registers as a phrase: `the offcore-response registers 0x1a6 and 0x1a7`."""
    numbers = sorted(set(registers))
    names = {_REGISTERS.get(register, "extra") for register in numbers}
    name = names.pop() if len(names) == 1 else "extra"
    return (
        f"the {name} register{'s' * (len(numbers) > 1)}"
        f" {join([hex(register) for register in numbers])}"
    )


def _range(numbers: Sequence[int]) -> str:
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return join([str(n) for n in numbers], most=len(numbers))
