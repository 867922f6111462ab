"""The totals of a recording in the OpenMetrics text format, for Prometheus and its kin."""

from __future__ import annotations

import re
from decimal import Decimal, localcontext
from itertools import groupby
from typing import TYPE_CHECKING

from gnomon.recording.model import EventInfo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gnomon.recording.model import Total
    from gnomon.recording.reader import Recording

# The format wants base units, spelt out at the end of the name.
_UNITS = {
    "ns": ("seconds", Decimal("1e-9")),
    "us": ("seconds", Decimal("1e-6")),
    "msec": ("seconds", Decimal("1e-3")),
    "ms": ("seconds", Decimal("1e-3")),
    "sec": ("seconds", Decimal(1)),
    "s": ("seconds", Decimal(1)),
    "J": ("joules", Decimal(1)),
    "W": ("watts", Decimal(1)),
    "B": ("bytes", Decimal(1)),
    "KiB": ("bytes", Decimal(2**10)),
    "MiB": ("bytes", Decimal(2**20)),
    "GiB": ("bytes", Decimal(2**30)),
    "%": ("ratio", Decimal("1e-2")),
}
_SUFFIXES = ("_total", "_created", "_info", "_bucket", "_count", "_sum")


def lines(recording: Recording) -> Iterator[str]:
    """Yield a metric family for each event; an event without a value has none.

    Two further families tell for how long each event was enabled and running, with the
    status of its total, so that a metric that is not there is explained.
    """
    yield from _info(recording)
    taken = {"gnomon_recording"}
    totals = recording.totals()
    for what in ("enabled", "running"):
        name = _family(what, "seconds", taken)
        yield from _head(name, "counter", "seconds", f"time for which an event was {what}")
        for total in totals:
            seconds = _exact(total.enabled if what == "enabled" else total.running, "1e-9")
            yield f"{name}_total{_labels(total)} {seconds}\n"
    events = {event.name: event for event in recording.events}
    by_event = sorted(totals, key=lambda total: total.event)
    for name, group in groupby(by_event, key=lambda total: total.event):
        present = [total for total in group if total.value is not None]
        if present:
            yield from _event(events.get(name) or EventInfo(name), present, taken)
    yield "# EOF\n"


def _info(recording: Recording) -> Iterator[str]:
    provenance = recording.provenance
    facts = {
        "source": provenance.source,
        "simulated": str(provenance.simulated).lower(),
        "complete": str(recording.complete).lower(),
        "command": " ".join(provenance.command),
        "host": provenance.host,
        "cpu": provenance.cpu,
        "machine": provenance.machine,
    }
    text = ",".join(f'{key}="{_escaped(value)}"' for key, value in facts.items() if value)
    yield from _head("gnomon_recording", "info", "", "where the counts come from")
    yield f"gnomon_recording_info{{{text}}} 1\n"


def _event(event: EventInfo, totals: list[Total], taken: set[str]) -> Iterator[str]:
    unit, factor = _UNITS.get(event.unit, (_word(event.unit).lower(), Decimal(1)))
    name = _family(event.name, unit, taken)
    # A counter cannot be negative; what can is of unknown type.
    is_counter = all(total.value is not None and total.value >= 0 for total in totals)
    kind, suffix = ("counter", "_total") if is_counter else ("unknown", "")
    yield from _head(name, kind, unit, event.description or event.name)
    for total in totals:
        assert total.value is not None
        yield f"{name}{suffix}{_labels(total)} {_exact(total.value, repr(event.scale), factor)}\n"


def _head(name: str, kind: str, unit: str, text: str) -> Iterator[str]:
    yield f"# TYPE {name} {kind}\n"
    if unit:
        yield f"# UNIT {name} {unit}\n"
    yield f"# HELP {name} {_escaped(text)}\n"


def _family(text: str, unit: str, taken: set[str]) -> str:
    """Return a name for a family that no other one has and that ends in its unit."""
    base = f"gnomon_{_word(text) or 'event'}"
    for suffix in _SUFFIXES:
        base = base.removesuffix(suffix)
    if unit:
        base = base.removesuffix(f"_{unit}")
    number = 1
    while True:
        name = base + (f"_{number}" if number > 1 else "") + (f"_{unit}" if unit else "")
        if name not in taken:
            taken.add(name)
            return name
        number += 1


def _word(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")


def _labels(total: Total) -> str:
    labels = {
        "event": total.event,
        "scope": total.scope,
        "run": str(total.run),
        "batch": str(total.batch),
        "status": total.status.value,
    }
    return "{" + ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _exact(value: int, scale: str, factor: Decimal = Decimal(1)) -> str:
    """Return value x scale x factor with all its digits and none too many."""
    with localcontext() as context:
        context.prec = 100
        product = Decimal(value) * Decimal(scale) * factor
        if product == product.to_integral_value():
            return format(product.to_integral_value(), "f")
        return format(product.normalize(), "f")
