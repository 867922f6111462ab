"""The output of `perf stat -j`: one JSON object a line, in theory."""

from __future__ import annotations

import json
import re
from typing import Any

from gnomon.recording.importers import perf
from gnomon.recording.importers.draft import Draft, ImportedData

TITLE = "perf stat -j"

_PLACES = ("cpu", "core", "die", "socket", "node", "thread", "cache", "cluster")

# Some versions wrote what is no JSON: nan, a decimal comma, a comma too many or too few.
_PAIR = re.compile(r'"([\w-]+)"\s*:\s*(?:"([^"]*)"|([-+\w.]+(?:,\d+)?))')


def sniff(head: str) -> bool:
    """Tell whether there are the keys of perf."""
    return '"counter-value"' in head and '"event"' in head


def parse(text: str, file: str) -> ImportedData:
    """Take in the lines; a summary after intervals is left out, as they add up to it."""
    draft = Draft(file, TITLE)
    created, run = "", 0
    objects: list[tuple[int, str, int, dict[str, str]]] = []
    for count, line in enumerate(text.splitlines(), start=1):
        if started := perf.started_on(line):
            created = created or started
            run += bool(objects)  # perf was told to append to the file
        elif '"' in line:
            objects.append((count, line, run, _pairs(line)))
        elif line.strip(" \t{},") and not line.startswith("#"):
            draft.skip(count, line)
    has_intervals = any("interval" in pairs for *_, pairs in objects)
    for count, line, run, pairs in objects:
        if has_intervals and "interval" not in pairs:
            continue
        if not _add(draft, pairs, run) and not _is_metric(pairs):
            draft.skip(count, line)
    return draft.finish("perf", created=created)


def _pairs(line: str) -> dict[str, str]:
    """Return the keys and values of a line as texts, whether or not it is valid JSON."""
    try:
        found = json.loads(line.strip().rstrip(","), parse_float=str, parse_int=str)
        if isinstance(found, dict):
            return {key: _text(value) for key, value in found.items()}
    except ValueError:
        pass
    return {key: quoted or bare for key, quoted, bare in _PAIR.findall(line)}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _is_metric(pairs: dict[str, str]) -> bool:
    """Tell whether a line only holds a number that perf derived from others."""
    return "event" not in pairs and any(key.startswith("metric") for key in pairs)


def _add(draft: Draft, pairs: dict[str, str], run: int) -> bool:
    event = pairs.get("event", "")
    interval = perf.number(pairs.get("interval", "0"))
    running = perf.number(pairs.get("event-runtime", "0"))
    percent = perf.number(pairs.get("pcnt-running", "100"))
    if not event or interval is None or running is None or percent is None:
        return False
    added = perf.add(
        draft,
        event,
        pairs.get("counter-value", "").strip(),
        unit=pairs.get("unit", ""),
        scope=_scope(pairs),
        time=int(interval * 10**9),
        running=int(running),
        percent=percent,
        run=run,
    )
    if added and "variance" in pairs:
        perf.note_mean(draft, event, pairs["variance"])
    return added


def _scope(pairs: dict[str, str]) -> str:
    for key in _PLACES:
        if key in pairs:
            place = pairs[key]
            bare = f"{key}/{place}"
            return bare if place.isdecimal() else perf.scope_of(place) or bare
    return f"cgroup/{pairs['cgroup']}" if pairs.get("cgroup") else "process"
