"""What the three outputs of perf stat have in common."""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING

from gnomon.recording.contents import Status
from gnomon.recording.importers.draft import Row, decimal_of

if TYPE_CHECKING:
    from gnomon.recording.importers.draft import Draft

_RAW = re.compile(r"(?:[\w-]+/.+/|r[0-9a-f]{2,16})[A-Za-z]*")
_MODIFIERS = re.compile(r"(?<=[\w/]):[A-Za-z]+$")

MISSING = {"<not counted>": Status.NOT_COUNTED, "<not supported>": Status.NOT_SUPPORTED}

_PLACES = (
    (re.compile(r"CPU(\d+)"), "cpu/{}"),
    (re.compile(r"S(\d+)-D(\d+)-C(\d+)"), "core/{}-{}-{}"),
    (re.compile(r"S(\d+)-D(\d+)-L(\d+)-ID(\d+)"), "cache/{}-{}-{}-{}"),
    (re.compile(r"S(\d+)-D(\d+)-CLS(\d+)"), "cluster/{}-{}-{}"),
    (re.compile(r"S(\d+)-C(\d+)"), "core/{}-{}"),
    (re.compile(r"S(\d+)-D(\d+)"), "die/{}-{}"),
    (re.compile(r"S(\d+)"), "socket/{}"),
    (re.compile(r"N(\d+)"), "node/{}"),
    (re.compile(r".*-(\d+)"), "thread/{}"),
)


@cache
def _kernel_names() -> frozenset[str]:
    from gnomon.events.kernel import cache_events, hardware_events, software_events

    events = (*hardware_events(), *software_events(), *cache_events())
    tool = {"duration_time", "user_time", "system_time", "mem-loads", "mem-stores", "slots"}
    return frozenset(name for event in events for name in (event.name, *event.aliases)) | tool


def is_known(event: str) -> bool:
    """Whether a name is one of the kernel's events, or spelled as only an event is."""
    bare = _MODIFIERS.sub("", event)
    return bare in _kernel_names() or _RAW.fullmatch(event) is not None


def may_be_event(event: str) -> bool:
    """Whether a name may be an event of some processor: a plain word of prose is none."""
    return is_known(event) or re.search(r"\w[._:/-]\w|\d", event) is not None


def scope_of(place: str) -> str | None:
    """Return the scope for a place as perf prints it: CPU3, S0-D0-C1, N0, bash-1234."""
    for pattern, scope in _PLACES:
        if match := pattern.fullmatch(place.strip()):
            return scope.format(*match.groups())
    return None


def number(text: str) -> Decimal | None:
    """Return the number in a text without thousands; a comma is taken for the point."""
    return decimal_of(text.replace(",", "."))


def nanoseconds(seconds: str) -> int:
    """Return a time in seconds, as perf prints it, in nanoseconds."""
    return int(Decimal(seconds.strip().replace(",", ".")) * 10**9)


def add(
    draft: Draft,
    event: str,
    printed: str,
    *,
    unit: str = "",
    scope: str = "process",
    time: int = 0,
    running: int = 0,
    percent: Decimal | None = None,
    run: int = 0,
) -> bool:
    """Add a reading of which perf told the running time; false if `printed` is no value.

    perf has already extrapolated the value of an event that ran for less than 100 %.
    """
    value = None if printed in MISSING else number(printed)
    if printed not in MISSING and value is None:
        return False
    status, enabled = MISSING.get(printed, Status.COUNTED), running
    if percent is not None and percent < 100:
        enabled = round(running * 100 / percent) if percent else 0
        status = MISSING.get(printed, Status.SCALED)
    draft.rows.append(Row(event, value, status, unit, scope, time, enabled, running, run))
    return True


def note_mean(draft: Draft, event: str, noise: str, runs: int | None = None) -> None:
    """Say that a value is the mean of repeated runs, which are not in the file one by one."""
    several = f"{runs} runs" if runs else "several runs"
    draft.caveat(
        event, f"mean of {several} (+- {noise.strip()}%)" if noise else f"mean of {several}"
    )
    draft.warn(f"the values are means of {several}: the file does not contain single runs")


def started_on(line: str) -> str | None:
    """Return when perf was started if a line tells it, as an ISO time where possible."""
    match = re.match(r"#\s*started on\s+(.*\S)", line)
    if match is None:
        return None
    try:
        return datetime.strptime(match[1], "%a %b %d %H:%M:%S %Y").isoformat()
    except ValueError:
        return match[1]
