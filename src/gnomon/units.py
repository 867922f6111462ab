"""Reading and writing quantities as people do: 10ms, 64MB, 1.25 G, 912 ± 35 ms.

What the numbers of a unit look like is decided here, once, for the cells of tables, for words,
and for the axes of charts.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal

from gnomon.errors import UsageError

_DURATIONS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9}
_MULTIPLES = {
    "": 1,
    **{letter: 1000**power for power, letter in enumerate(("k", "M", "G", "T"), 1)},
    **{f"{letter}i": 1024**power for power, letter in enumerate(("K", "M", "G", "T"), 1)},
}
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_TIME_STEPS = ((60e9, 60e9, "min"), (1e9, 1e9, "s"), (1e6, 1e6, "ms"), (1e3, 1e3, "µs"))


def parse_duration(text: str, what: str = "interval") -> int:
    """Return the nanoseconds in a text such as `10ms`, `0.5s` or `250us`."""
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*(ns|us|µs|ms|s|m)\s*", text)
    if match is None:
        raise UsageError(
            f"{what} '{text}' is not a duration: write a number and a unit, as in 10ms."
        )
    nanoseconds = round(float(match[1]) * _DURATIONS[match[2]])
    if nanoseconds <= 0:
        raise UsageError(f"{what} '{text}' must be longer than zero.")
    return nanoseconds


def parse_seconds(time: str | float | None, what: str) -> float | None:
    """Return the seconds in a text such as `30s`; numbers are seconds, and None stays None."""
    return parse_duration(time, what) / 1e9 if isinstance(time, str) else time


def parse_size(text: str, what: str = "size") -> int:
    """Return the bytes in a text such as `4096`, `64MB` (10^6 each) or `64MiB` (2^20 each)."""
    return _whole(
        text, what, "B?", "a size: write bytes with or without a unit, as in 64MB or 64MiB"
    )


def parse_count(text: str, what: str = "number") -> int:
    """Return the whole number in a text such as `65536`, `10k` or `64Ki`."""
    return _whole(text, what, "", "a whole number such as 65536, 10k or 64Ki")


def _whole(text: str, what: str, unit: str, wanted: str) -> int:
    match = re.fullmatch(
        rf"\s*([0-9]{{1,20}}(?:\.[0-9]{{1,12}})?)\s*([kMGT]|[KMGT]i)?{unit}\s*",
        text.replace("KB", "kB"),
    )
    if match is None:
        raise UsageError(f"{what} '{text}' is not {wanted}.")
    value = Decimal(match[1]) * _MULTIPLES[match[2] or ""]
    if value != int(value):
        raise UsageError(f"{what} '{text}' is not whole.")
    return int(value)


def utc_now(*, milliseconds: bool = False) -> str:
    """Return the time of day as ISO 8601 writes it."""
    now = time.time()
    fraction = f".{int(now * 1000) % 1000:03d}" if milliseconds else ""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + fraction + "+00:00"


def format_duration(nanoseconds: float) -> str:
    """Return a duration with three or four digits and a fitting unit."""
    for limit, divisor, unit in _TIME_STEPS:
        if abs(nanoseconds) >= limit:
            return f"{nanoseconds / divisor:.4g} {unit}"
    return f"{nanoseconds:.4g} ns"


def format_si(value: float, digits: int = 4) -> str:
    """Return a number with an SI prefix, for axes and sparklines rather than for tables."""
    rounded = abs(float(f"{value:.{digits}g}"))  # 999,999 is 1 M, not 1e+03 k
    for limit, prefix in _PREFIXES:
        if rounded >= limit:
            return f"{value / limit:.{digits}g} {prefix}"
    return f"{value:.{digits}g}"


def format_bytes(size: int) -> str:
    """Return a size in bytes with the largest binary unit that fits."""
    for limit, unit in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= limit:
            return f"{size / limit:.4g} {unit}"
    return f"{size} B"


# ---- numbers as text ------------------------------------------------------------------------

Within = tuple[float, float] | None
"""The ends of an interval that a number lies in."""

MISSING = "–"
_SI = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_TIME = ((60e9, "min"), (1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_BINARY = tuple(
    (1024.0**power, f"{prefix}B")
    for power, prefix in ((4, "Ti"), (3, "Gi"), (2, "Mi"), (1, "Ki"), (0, ""))
)
_DIGITS = 4  # of a number without an interval
_BRIEF = 3  # of a number in a sentence
_MOST = 12  # digits that even the narrowest interval can claim


@dataclass(frozen=True, slots=True)
class Unit:
    """How numbers of a unit are written: scaled by steps, or by a function of their own.

    A unit without either is a count, which is written in full. The steps are data, so that
    the axes of a page and the columns of a table use the same ones.
    """

    steps: tuple[tuple[float, str], ...] = ()
    own: Callable[[float, Within, int], tuple[str, str]] | None = None

    def step(self, size: float) -> tuple[float, str]:
        """Return the divisor and the name for numbers of this size."""
        if not self.steps:
            return 1.0, ""
        size = float(f"{abs(size):.4g}")  # 999,990 ns is 1 ms, not 1000 µs
        return next((each for each in self.steps if size >= each[0]), self.steps[-1])


def unit_of(name: str) -> Unit:
    """Return a unit by name; one that the table lacks is written after the number as it is."""
    return UNITS.get(name) or Unit(((1.0, name),))


@dataclass(frozen=True, slots=True)
class Scale:
    """One divisor and one number of decimals for a whole column; its name is for the heading."""

    divisor: float
    name: str
    decimals: int

    @classmethod
    def of(cls, values: Iterable[float], unit: str, digits: int = 0) -> Scale | None:
        """Return the scale that suits the median; None for units that are not scaled."""
        found = sorted(abs(value) for value in values if value and math.isfinite(value))
        how = unit_of(unit)
        if not how.steps or not found:
            return None
        divisor, name = how.step(found[len(found) // 2])
        largest = math.floor(math.log10(found[-1] / divisor))
        if all(_whole_number(value / divisor) for value in found):
            return cls(divisor, name, 0)
        return cls(divisor, name, max(0, (digits or _DIGITS) - 1 - largest))

    def write(self, value: float) -> str:
        """Return a number in this scale, without the name of its unit."""
        return _signed(f"{value / self.divisor:,.{self.decimals}f}")


def number(
    value: float | str | None,
    unit: str = "",
    *,
    within: Within = None,
    scale: Scale | None = None,
    digits: int = 0,
) -> str:
    """Return a number as text with its unit, with as many digits as its interval allows.

    Without an interval it has `digits`, or as many as its unit has by itself: four where it
    is scaled, all where it is a count, none after the point for a share. With a `scale` the
    name of the unit is left to the heading. A missing number is a dash, a text stays as it is.
    """
    return " ".join(
        part for part in parts(value, unit, within=within, scale=scale, digits=digits) if part
    )


def parts(
    value: float | str | None,
    unit: str = "",
    *,
    within: Within = None,
    scale: Scale | None = None,
    digits: int = 0,
) -> tuple[str, str]:
    """Return what `number` returns as two texts: the figure and the name of its unit."""
    if value is None or isinstance(value, str):
        return (MISSING if value is None else value), ""
    if math.isnan(value):
        return MISSING, ""
    how = unit_of(unit)
    if math.isinf(value):
        return ("∞" if value > 0 else "−∞"), ""
    if how.own is not None:
        text, name = how.own(value, within, digits)
        return _signed(text), name
    if not how.steps:
        return _signed(_count(value, within, digits)), ""
    if scale is not None:
        return scale.write(value), ""
    divisor, name = how.step(value)
    if value == 0 and within is None:
        return "0", ""
    ends = None if within is None else (within[0] / divisor, within[1] / divisor)
    return _signed(_figure(value / divisor, ends, digits)), name


def brief(value: float | str | None, unit: str = "") -> str:
    """Return a number for a sentence: three digits and a prefix, as in 14.5 s or 28.6 k."""
    if unit or value is None or isinstance(value, str) or not math.isfinite(value):
        return number(value, unit, digits=_BRIEF if unit_of(unit).steps else 0)
    if abs(value) < 10_000 and _whole_number(value):
        return number(int(value))
    divisor, name = next((each for each in _SI if _rounded(value) >= each[0]), (1.0, ""))
    return f"{_signed(_figure(value / divisor, None, _BRIEF))} {name}".rstrip()


def interval(
    low: float,
    high: float,
    unit: str = "",
    *,
    value: float | None = None,
    scale: Scale | None = None,
) -> str:
    """Return both ends of an interval: in one scale, to one place.

    The scale is that of `value`, so that the interval can stand beside it.
    """
    if low == high:
        return number(low, unit, scale=scale)
    how = unit_of(unit)
    if how.own is not None:
        ends = [parts(low, unit, within=(low, high)), parts(high, unit, within=(low, high))]
        if ends[0][1] == ends[1][1] == "less":
            ends.reverse()  # 2× to 5× less
        if ends[0][1] == ends[1][1]:
            return f"{ends[0][0]} to {ends[1][0]} {ends[0][1]}".rstrip()
        return " to ".join(f"{text} {name}".rstrip() for text, name in ends)
    finite = [abs(end) for end in (low, high) if math.isfinite(end)]
    size = value if value is not None else max(finite, default=0.0)
    divisor, name = (scale.divisor, "") if scale else how.step(size)
    within = low / divisor, high / divisor
    return f"{_end(within[0], within)} to {_end(within[1], within)} {name}".rstrip()


def with_interval(value: float, low: float, high: float, unit: str = "") -> str:
    """Return a number with how sure it is: `912 ± 35 ms`, or its ends where they are uneven."""
    how = unit_of(unit)
    if how.own is not None or not all(map(math.isfinite, (low, high))) or low == high:
        return f"{number(value, unit, within=(low, high))} ({interval(low, high, unit)})"
    below, above = value - low, high - value
    if min(below, above) < 0 or max(below, above) > 1.2 * min(below, above):
        spread = interval(low, high, unit, value=value)
        return f"{number(value, unit, within=(low, high))} ({spread})"
    text, name = parts(value, unit, within=(low, high))
    divisor = how.step(value)[0]
    half = (high - low) / 2 / divisor
    return f"{text} ± {_figure(half, (-half, half))} {name}".rstrip()


def ticks(
    low: float, high: float, unit: str = "", *, log: int = 0, most: int = 6, fill: bool = False
) -> list[float]:
    """Return round values between two limits for an axis, at steps that suit the unit.

    Where powers of ten would be few, `fill` puts twos and fives between them.
    """
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low or most < 2:
        return [low] if math.isfinite(low) else []
    if log and low > 0:
        return _powers(low, high, log, most, fill=fill)
    divisor = unit_of(unit).step(max(abs(low), abs(high)))[0]
    rough = (high - low) / divisor / (most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    choices = [power * factor for factor in (1, 2, 5, 10)]
    if divisor == 60e9:  # minutes have sixty seconds
        choices = sorted({*choices, *(n / 60 for n in (1, 2, 5, 10, 15, 30))})
    if unit == "B" and rough > 1:
        choices = [2.0 ** math.ceil(math.log2(rough))]
    step = divisor * next(choice for choice in choices if choice >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{place * step:.12g}") for place in range(first, last + 1)]


def tick(value: float, unit: str = "", *, log: int = 0) -> str:
    """Return the label of a tick; a ratio is one of the words of a logarithmic axis."""
    if unit == "x":
        return _multiple(value)
    if not unit_of(unit).steps and unit_of(unit).own is None:
        divisor, name = next((each for each in _SI if _rounded(value) >= each[0]), (1.0, ""))
        return f"{_signed(_plain(value / divisor))} {name}".rstrip()
    if unit_of(unit).own is not None:
        return number(value, unit) if log or value == 0 else number(value, unit, digits=_BRIEF)
    divisor, name = unit_of(unit).step(value)
    return "0" if value == 0 else f"{_signed(_plain(value / divisor))} {name}"


def bar(share: float, room: int) -> str:
    """Return a bar of characters that is `room` wide for a share of 1."""
    if not math.isfinite(share):
        return ""
    whole, part = divmod(round(min(max(share, 0.0), 1.0) * room * 8), 8)
    return "█" * whole + " ▏▎▍▌▋▊▉"[part].strip()


def _powers(low: float, high: float, base: int, most: int, *, fill: bool) -> list[float]:
    first = math.floor(math.log(low, base) + 1e-9)
    last = math.ceil(math.log(high, base) - 1e-9)
    every = max(1, -(-(last - first + 1) // most))
    found = [float(base) ** power for power in range(first, last + 1) if power % every == 0]
    inside = [value for value in found if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
    if base == 2 or (len(inside) >= 2 and (not fill or 3 * len(inside) > most + 6)):
        return inside
    finer = [float(f"{m}e{power}") for power in range(first - 1, last + 1) for m in (1, 2, 5)]
    finer = [value for value in finer if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
    return finer if len(inside) < 2 or len(inside) < len(finer) <= most + 2 else inside


def _count(value: float, within: Within, digits: int) -> str:
    """Return a count in full; means and estimates with the digits that they are worth."""
    if isinstance(value, int) or (not _bounded(within) and _whole_number(value)):
        return f"{int(value):,}"
    if _bounded(within) or digits:
        return _figure(value, within, digits)
    size = abs(value)
    if size < 1:
        return f"{value:.{_DIGITS}g}" if size >= 1e-4 else f"{value:.2e}"
    return f"{value:,.{0 if size >= 1000 else 1 if size >= 100 else 2}f}"


def _figure(value: float, within: Within, digits: int = 0) -> str:
    """Return so many digits; with an interval, those down to the second one of half its width."""
    if within is not None and _bounded(within):
        place = 1 - math.floor(math.log10((within[1] - within[0]) / 2))
        size = math.floor(math.log10(abs(value))) if value else 0
        if value and (within[0] > 0 or within[1] < 0):
            place = max(place, 1 - size)  # 468 in 440 to 36,000 is not 0
        place = min(place, _MOST - 1 - size)
        return f"{round(value, place):,.{max(place, 0)}f}"
    digits = digits or _DIGITS
    if value == 0:
        return "0"
    if not math.isfinite(value):  # of a number too large to be scaled
        return "∞"
    size = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))
    if size < -4:
        return f"{value:.{digits - 1}e}"
    text = f"{value:,.{max(digits - 1 - size, 0)}f}"
    return _trimmed(text) if float(text.replace(",", "")) == value else text


def _end(end: float, within: tuple[float, float]) -> str:
    return _signed(_figure(end, within)) if math.isfinite(end) else number(end)


def _bounded(within: Within) -> bool:
    return within is not None and 1e-300 < within[1] - within[0] < math.inf


def _whole_number(value: float) -> bool:
    return value == math.floor(value) and abs(value) < 1e15


def _rounded(value: float) -> float:
    return float(f"{abs(value):.{_BRIEF}g}")


def _trimmed(text: str) -> str:
    """Return a number without zeros at its end: they say that they were measured."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def _plain(value: float) -> str:
    return _trimmed(f"{value:,.{max(0, 3 - math.floor(math.log10(abs(value) or 1)))}f}")


def _signed(text: str) -> str:
    return re.sub(r"(?<!e)-", "−", text) if "-" in text else text


def _share(value: float, within: Within, digits: int) -> tuple[str, str]:
    """Write a share of 1 as whole per cent, which is never 0 or 100 by rounding alone."""
    percent = 100 * value
    if within is not None and _bounded(within):
        return _figure(percent, (100 * within[0], 100 * within[1])), "%"
    if digits:
        return _figure(percent, None, digits), "%"
    if 0 < abs(percent) < 0.5:
        return ("<1" if percent > 0 else "> -1"), "%"
    return (">99" if 99.5 <= percent < 100 else f"{percent:,.0f}"), "%"


def _change(ratio: float, within: Within, digits: int) -> tuple[str, str]:
    """Write a ratio as a change: a factor beyond 1.5, else per cent."""
    if ratio <= 0:
        return ("-100" if ratio == 0 else f"{100 * (ratio - 1):,.0f}"), "%"
    if 1 / 1.5 < ratio < 1.5:
        if ratio == 1:
            return "0", "%"
        change = 100 * (ratio - 1)
        text = _figure(change, _times(within), digits or 2) if abs(change) < 10 else f"{change:.0f}"
        return (text if change < 0 else f"+{text}"), "%"
    factor, word = (ratio, "more") if ratio > 1 else (1 / ratio, "less")
    return f"{_figure(factor, None, digits or (2 if factor < 100 else 3))}×", word


def _times(within: Within) -> Within:
    """Return the interval of a change in per cent, where it is narrow enough to matter."""
    if within is None or not _bounded(within):
        return None
    return 100 * (within[0] - 1), 100 * (within[1] - 1)


def _multiple(ratio: float) -> str:
    if ratio <= 0 or ratio == 1:
        return "same" if ratio == 1 else "0"
    if ratio < 1 and abs(1 / ratio - round(1 / ratio)) < 1e-6 / ratio:
        return f"1/{round(1 / ratio):,}"
    return f"{_plain(ratio)}×"


def _chance(value: float, _: Within, digits: int) -> tuple[str, str]:
    return ("<1e-9" if value < 1e-9 else f"{value:.{digits or 2}g}"), ""


def _spread(value: float, _: Within, digits: int) -> tuple[str, str]:
    return f"± {_figure(100 * value, None, digits or 2)}", "%"


def _correlation(value: float, _: Within, digits: int) -> tuple[str, str]:
    return f"{value:+.{digits or 2}f}", ""


def _cpus(value: float, within: Within, digits: int) -> tuple[str, str]:
    """Write CPU time per elapsed time, in ns per s, as a number of CPUs."""
    ends = None if within is None else (within[0] / 1e9, within[1] / 1e9)
    return _figure(value / 1e9, ends, digits or _BRIEF), "CPUs"


UNITS = {
    "": Unit(),
    "ns": Unit(_TIME),
    "B": Unit(_BINARY),
    "B/s": Unit((*((size, f"{name}B/s") for size, name in _SI), (1.0, "B/s"))),
    "/s": Unit((*((size, f"{name}/s") for size, name in _SI), (1.0, "/s"))),
    "Hz": Unit((*((size, f"{name}Hz") for size, name in _SI), (1.0, "Hz"))),
    "%": Unit(own=_share),  # of 1
    "±": Unit(own=_spread),  # relative
    "x": Unit(own=_change),  # a ratio of B to A
    "p": Unit(own=_chance),
    "r": Unit(own=_correlation),
    "CPUs": Unit(own=_cpus),
}
"""All units that are scaled or written in a way of their own."""
