"""Units of counts and metrics: reading them, multiplying them, finding senseless ones.

Two things are kept apart. *Physical* dimensions (time, data, energy, temperature) are
checked strictly: bytes are never added to seconds. *Counted things* (instructions,
cycles, accesses) are all plain numbers to physics, and people add and divide them freely,
so they are only compared with a unit that names them: a formula for cycles per
instruction is not accepted under the unit `instructions/cycle`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from gnomon.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gnomon.events.event import Event

Exponents = tuple[tuple[str, int], ...]
"""Base names with their exponents, sorted, none of them zero."""

_PHYSICAL: Mapping[str, tuple[Fraction, Mapping[str, int]]] = {
    "%": (Fraction(1, 100), {}),
    "percent": (Fraction(1, 100), {}),
    "s": (Fraction(1), {"s": 1}),
    "sec": (Fraction(1), {"s": 1}),
    "second": (Fraction(1), {"s": 1}),
    "Hz": (Fraction(1), {"s": -1}),
    "B": (Fraction(1), {"B": 1}),
    "byte": (Fraction(1), {"B": 1}),
    "Byte": (Fraction(1), {"B": 1}),
    "bit": (Fraction(1, 8), {"B": 1}),
    "J": (Fraction(1), {"J": 1}),
    "joule": (Fraction(1), {"J": 1}),
    "Joule": (Fraction(1), {"J": 1}),
    "W": (Fraction(1), {"J": 1, "s": -1}),
    "watt": (Fraction(1), {"J": 1, "s": -1}),
    "Watt": (Fraction(1), {"J": 1, "s": -1}),
    "C": (Fraction(1), {"°C": 1}),
    "°C": (Fraction(1), {"°C": 1}),
}

# Misses, hits and references are all accesses, so that hits + misses stays an access.
_COUNTED = {
    "access": "access",
    "branch": "branch",
    "cpu": "cpu",
    "cyc": "cycle",
    "cycle": "cycle",
    "fault": "fault",
    "flop": "operation",
    "hit": "access",
    "instr": "instruction",
    "instruction": "instruction",
    "interrupt": "interrupt",
    "load": "access",
    "migration": "migration",
    "miss": "access",
    "misprediction": "branch",
    "op": "operation",
    "operation": "operation",
    "packet": "packet",
    "reference": "access",
    "request": "access",
    "slot": "slot",
    "stall": "cycle",
    "store": "access",
    "switch": "switch",
    "t": "transfer",
    "transfer": "transfer",
    "uop": "uop",
    "walk": "walk",
}
_ANYTHING = ("event", "count")

_PREFIXES = {
    "p": Fraction(1, 10**12),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "µ": Fraction(1, 10**6),
    "μ": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "k": Fraction(10**3),
    "K": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "Kilo": Fraction(10**3),
    "Mega": Fraction(10**6),
    "Giga": Fraction(10**9),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
}
_NUMBER = re.compile(r"\d+(\.\d*)?([eE][-+]?\d+)?")
_FACTOR = re.compile(r"(?P<word>[^\s\d^²³*·/]+)(?:\^?(?P<exponent>-?\d+)|(?P<raised>[²³]))?")


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit as a factor to base units, physical exponents, and what is being counted.

    `counted` is None where nobody knows what was counted, as for a raw event code.
    """

    factor: Fraction = Fraction(1)
    physical: Exponents = ()
    counted: Exponents | None = ()
    text: str = field(default="", compare=False)

    def __mul__(self, other: Unit) -> Unit:
        counted = (
            None
            if self.counted is None or other.counted is None
            else _combine(self.counted, other.counted)
        )
        return Unit(self.factor * other.factor, _combine(self.physical, other.physical), counted)

    def __truediv__(self, other: Unit) -> Unit:
        return self * other**-1

    def __pow__(self, exponent: int) -> Unit:
        counted = None if self.counted is None else _times(self.counted, exponent)
        return Unit(self.factor**exponent, _times(self.physical, exponent), counted)

    @property
    def dimension(self) -> str:
        """The physical dimension in words, for messages."""
        return _format(self.physical) or "a plain number"

    def mismatch(self, found: Unit) -> str | None:
        """Return why a quantity in the unit `found` cannot be given in this unit, or None."""
        if self.physical != found.physical:
            return f"it is declared in '{self.text}' ({self.dimension}) but gives {found.dimension}"
        if self.counted and found.counted is not None and self.counted != found.counted:
            was = _format(found.counted) or "a plain number"
            return f"it is declared in '{self.text}' ({_format(self.counted)}) but gives {was}"
        return None


SOME_COUNT = Unit(counted=None)
"""The unit of an event that counts occurrences of something we do not know."""


def parse_unit(text: str) -> Unit:
    """Return the unit that a text such as `MB/s`, `ns` or `misses/1000 instructions` names."""
    unit = Unit()
    for place, part in enumerate(re.split(r"/|\bper\b", text)):
        if place and not part.strip():
            raise UsageError(f"unit '{text}' lacks something after the stroke.")
        product = _parse_product(part, text)
        unit = unit / product if place else unit * product
    return Unit(unit.factor, unit.physical, unit.counted, text.strip())


def unit_of(event: Event) -> Unit:
    """Return the unit of an event's raw counts, its scale included."""
    if not event.unit:
        return SOME_COUNT
    unit = parse_unit(event.unit)
    return Unit(unit.factor * Fraction(event.scale), unit.physical, unit.counted, event.unit)


def _parse_product(part: str, text: str) -> Unit:
    unit = Unit()
    for factor in re.split(r"[\s*·]+", part.strip()):
        if not factor:
            continue
        if _NUMBER.fullmatch(factor):
            unit = unit * Unit(Fraction(factor))
            continue
        match = _FACTOR.fullmatch(factor)
        if match is None:
            raise UsageError(f"unit '{text}' has a part '{factor}' that is not a unit.")
        raised = {"²": 2, "³": 3}.get(match["raised"] or "", 1)
        unit = unit * _parse_word(match["word"], text) ** int(match["exponent"] or raised)
    return unit


def _parse_word(word: str, text: str) -> Unit:
    plain = _lookup(word)
    if plain is not None:
        return plain
    for prefix, scale in _PREFIXES.items():
        if word.startswith(prefix):
            plain = _lookup(word[len(prefix) :])
            if plain is not None:
                return Unit(scale) * plain
    raise UsageError(
        f"unit '{text}' has a word '{word}' that is not known: use s, B, J, W, Hz, %, °C "
        f"with SI prefixes, or what is counted, as in instructions or misses."
    )


def _lookup(word: str) -> Unit | None:
    for singular in (word, word.removesuffix("s")):
        if singular in _PHYSICAL:
            factor, exponents = _PHYSICAL[singular]
            return Unit(factor, _sorted(exponents.items()))
    lower = word.lower()
    for singular in (lower, lower.removesuffix("s"), lower.removesuffix("es")):
        if singular in _COUNTED:
            return Unit(counted=((_COUNTED[singular], 1),))
        if singular in _ANYTHING:
            return SOME_COUNT
    return None


def _combine(left: Exponents, right: Exponents) -> Exponents:
    total = dict(left)
    for base, exponent in right:
        total[base] = total.get(base, 0) + exponent
    return _sorted(total.items())


def _times(exponents: Exponents, factor: int) -> Exponents:
    return _sorted((base, exponent * factor) for base, exponent in exponents)


def _sorted(items: Iterable[tuple[str, int]]) -> Exponents:
    return tuple(sorted((base, exponent) for base, exponent in items if exponent))


def _format(exponents: Exponents) -> str:
    def side(sign: int) -> str:
        return "·".join(
            base if abs(exponent) == 1 else f"{base}^{abs(exponent)}"
            for base, exponent in exponents
            if exponent * sign > 0
        )

    over, under = side(1), side(-1)
    return f"{over or '1'}/{under}" if under else over
