"""What `perf stat` prints for people, of perf 4 to 6 and in any locale."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from gnomon.recording.contents import RunInfo, Status
from gnomon.recording.importers import perf
from gnomon.recording.importers.draft import Draft, ImportedData, Row

if TYPE_CHECKING:
    from collections.abc import Iterator

TITLE = "perf stat"

_SPACES = "\u00a0\u2009\u202f"
_NUMBER = rf"\d{{1,3}}(?:[ {_SPACES}]\d{{3}})+(?:[.,]\d+)?|\d[\d.,'’]*"
_LINE = re.compile(
    rf"""
    \s* (?: (?P<time> \d+[.,]\d{{9}} ) \s+ )?
    (?: (?: (?P<part> [SN]\d+(?:-\w+)* ) \s+ \d+
          | (?P<place> CPU\d+ | \S.{{0,30}}?-\d+ ) ) \s+ )?
    (?P<value> <not\ counted> | <not\ supported> | {_NUMBER} )
    (?: [ ] (?P<unit> [^\s\#(]\S* ) )?
    \s+ (?P<event> [^\s\#(\d]\S* )
    (?: \s+ \((?P<old_unit> msec )\) )?
    (?: \s+ (?P<cgroup> [^\s\#(]\S* ) )?
    \s* (?: \# (?P<metric> .*? ) )?
    (?: \s* \( \s* \+- \s* (?P<noise> [\d.,]+ ) \s* % \s* \) )?
    (?: \s* \( \s* (?P<percent> [\d.,]+ ) \s* % \s* \) )?
    \s*
    """,
    re.VERBOSE,
)
_HEADER = re.compile(
    r"\s*Performance counter stats for (?P<kind>[^']*)'(?P<what>.*)'"
    r"(?: \((?P<runs>\d{1,9}) runs?\))?\s*:\s*"
)
_ELAPSED = re.compile(r"\s*(?P<time>\d+[.,]\d+)(?:\s*\+-.*)?\s+seconds time elapsed.*")
_MORE = re.compile(
    r"""
    \s* (?: \d+[.,]\d{9} \s+ )? (?: (?: CPU\d+ | [SN]\d+(?:-\w+)* | \S+-\d+ ) \s+ (?: \d+ \s+ )? )?
    \# .*?
    (?: \( \s* \+- \s* (?P<noise> [\d.,]+ ) \s* % \s* \) \s* )?
    (?: \( \s* (?P<percent> [\d.,]+ ) \s* % \s* \) \s* )?
    """,
    re.VERBOSE,
)
_KNOWN = re.compile(
    r"""
    .* \s seconds\ (?: user | sys ) \s*
    | \s* \d+[.,]\d+ \s+ \([-+]\d+[.,]\d+\) .*   # the time of one of several runs
    """,
    re.VERBOSE,
)
_ESCAPES = re.compile(r"\x1b\[[\d;]*[A-Za-z]")


@dataclass(slots=True)
class _Line:
    """What was printed for one event in one place."""

    time: str
    place: str
    value: str
    unit: str
    event: str
    cgroup: str
    noise: str
    percent: str


@dataclass(slots=True)
class _Block:
    """What was printed for one measurement."""

    kind: str = ""
    what: str = ""
    runs: int = 1
    elapsed: int = 0
    lines: list[_Line] = field(default_factory=list)

    @property
    def scope(self) -> str:
        if "thread" in self.kind and self.what.isdecimal():
            return f"thread/{self.what}"
        is_wide = self.what == "system wide" or self.what.startswith("CPU(s)")
        return "system" if is_wide else "process"


def sniff(head: str) -> bool:
    """Tell whether there is the title of a table, or a line as in one with a known event."""
    if _is_titled(head):
        return True
    lines = _ESCAPES.sub("", head).splitlines()
    return any(
        "," not in line.strip()[-3:]
        and (match := _LINE.fullmatch(line)) is not None
        and perf.is_known(match["event"])
        for line in lines
    )


def _is_titled(text: str) -> bool:
    return "Performance counter stats for" in text or "counts unit events" in text


def parse(text: str, file: str) -> ImportedData:
    """Take in the blocks: each is a run, but a summary after intervals is left out.

    The output tells no times for single events: enabled and running are taken from the
    time elapsed, for all events alike, and from the percentage behind the event.
    """
    draft = Draft(file, TITLE)
    created = ""
    blocks = [_Block()]
    for count, raw in enumerate(text.splitlines(), start=1):
        line = _ESCAPES.sub("", raw)
        if not line.strip():
            continue
        created = created or perf.started_on(line) or ""
        if header := _HEADER.fullmatch(line):
            kind, what = header["kind"].strip(), header["what"]
            blocks.append(_Block(kind, what, int(header["runs"] or 1)))
        elif elapsed := _ELAPSED.fullmatch(line):
            blocks[-1].elapsed = perf.nanoseconds(elapsed["time"])
        elif _KNOWN.fullmatch(line):
            continue
        elif more := _MORE.fullmatch(line):
            # A title, or a number that perf derived; the latter may carry what belongs to
            # the event above it.
            for last in blocks[-1].lines[-1:]:
                last.noise = last.noise or more["noise"] or ""
                last.percent = last.percent or more["percent"] or ""
        elif (match := _LINE.fullmatch(line)) and perf.may_be_event(match["event"]):
            blocks[-1].lines.append(_line(match))
        else:
            draft.skip(count, line)
    return _finish(draft, blocks, created)


def _line(match: re.Match[str]) -> _Line:
    found = {name: text or "" for name, text in match.groupdict().items()}
    return _Line(
        time=found["time"],
        place=found["part"] or found["place"],
        value=found["value"],
        unit=found["unit"] or found["old_unit"],
        event=found["event"],
        cgroup=found["cgroup"],
        noise=found["noise"],
        percent=found["percent"],
    )


def _finish(draft: Draft, blocks: list[_Block], created: str) -> ImportedData:
    named = next((block for block in blocks if block.what), _Block())
    has_intervals = any(line.time for block in blocks for line in block.lines)
    if has_intervals:
        for block in blocks:
            block.lines = [line for line in block.lines if line.time]
        blocks[0].kind, blocks[0].what = named.kind, named.what
    blocks = [block for block in blocks if block.lines]
    for run, block in enumerate(blocks):
        _add_block(draft, block, run)
    is_command = not named.kind and named.scope == "process"
    runs = tuple(
        RunInfo(run, end=block.elapsed or _nanoseconds(block.lines[-1].time))
        for run, block in enumerate(blocks)
    )
    return draft.finish(
        "perf",
        runs,
        created=created,
        command=tuple(named.what.split()) if is_command else (),
        target="" if is_command else f"{named.kind} {named.what}".strip(),
    )


def _add_block(draft: Draft, block: _Block, run: int) -> None:
    for line, time, duration in _timed(block):
        value = None if line.value in perf.MISSING else _grouped(line.value)
        status = perf.MISSING.get(line.value, Status.COUNTED)
        percent = perf.number(line.percent) if line.percent else None
        enabled = running = duration
        if percent is not None and value is not None:
            status = Status.SCALED
            if not duration:
                enabled = 10_000
                draft.warn("the file has no elapsed time: only ratios of times are valid")
            running = round(enabled * percent / 100)
        elif value is None:
            running = 0
            enabled = duration if status is Status.NOT_COUNTED else 0
        scope = (perf.scope_of(line.place) if line.place else None) or block.scope
        if not line.place and line.cgroup:
            scope = f"cgroup/{line.cgroup}"
        where = (line.unit, scope, time, enabled, running, run)
        draft.rows.append(Row(line.event, value, status, *where))
        if block.runs > 1:
            perf.note_mean(draft, line.event, line.noise, block.runs)


def _timed(block: _Block) -> Iterator[tuple[_Line, int, int]]:
    """Yield the lines of a block, each with its time and the length of its interval."""
    before = now = 0
    for line in block.lines:
        if not line.time:
            yield line, block.elapsed, block.elapsed
            continue
        time = _nanoseconds(line.time)
        if time != now:
            before, now = now, time
        yield line, now, now - before


def _nanoseconds(seconds: str) -> int:
    return perf.nanoseconds(seconds) if seconds else 0


def _grouped(text: str) -> Decimal | None:
    """Return a number in which the thousands may be set apart, by whatever the locale uses.

    perf never prints three decimal places, so that three digits after the only
    or last mark are thousands, unless another mark came before it.
    """
    text = re.sub(rf"[ '’{_SPACES}]", "", text)
    marks = re.findall(r"[.,]", text)
    if not marks:
        return perf.number(text)
    whole, _, rest = text.rpartition(marks[-1])
    is_point = len(set(marks)) > 1 or (len(marks) == 1 and len(rest) != 3)
    digits = re.sub(r"[.,]", "", whole)
    return perf.number(f"{digits}.{rest}" if is_point else f"{digits}{rest}")
