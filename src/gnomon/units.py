"""Reading and writing quantities as people do: 10ms, 64MB, 1.25 G."""

from __future__ import annotations

import re
import time
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


def format_rate(rate: float) -> str:
    """Return bytes a second with a decimal unit that fits."""
    number, _, prefix = format_si(rate).partition(" ")
    return f"{number} {prefix}B/s"
