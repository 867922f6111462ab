"""How the account of a run looks: the answer, elapsed time by cause, findings, threads, trust."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gnomon import units
from gnomon.analysis.time.result import Cause, Claim
from gnomon.views import blocks as b
from gnomon.views.shared import counted

if TYPE_CHECKING:
    from gnomon.analysis.time.result import (
        AccountRow,
        CausePart,
        Finding,
        FunctionRow,
        LockRow,
        ThreadRow,
        TimeResult,
    )

_MOST = 12
_HOT = 6  # functions that a screen shows
_SMALL = 0.01  # of elapsed time: below it parts of the bar are shown as one
_CAPITALS = 2  # CPUs, from which it is worth saying why they were not used
_MEANWHILE = {
    "lock": "while others wait for a lock",
    "GIL": "while others wait for the GIL",
    "barrier": "while others wait at a barrier",
    "spin": "while others spin",
    "join": "while joined",
}
_LETTERS = {Cause.CONDITION: "n", Cause.JOIN: "j", Cause.BARRIER: "b", Cause.SEMAPHORE: "m"}


def describe(result: TimeResult) -> Iterator[b.Block]:
    """Yield what there is to see of an account, from the result alone."""
    yield from opening(result)
    yield from hottest(result)
    yield from details(result)
    yield trust(result)


def opening(result: TimeResult, recording: str = "") -> Iterator[b.Block]:
    """Yield the answer, the bar, findings, and what was looked at and is well.

    `recording` is where the run was recorded, for the commands that findings name.
    """
    yield b.Headline(result.headline, tuple(_used(result)))
    if result.parts:
        yield b.Composition(result.elapsed, _parts(result), "ns")
    for finding in result.findings:
        yield _finding(finding, recording)
    if result.healthy:
        yield b.Text(f"Looked at and healthy: {', '.join(result.healthy)}.", b.Tone.FAINT)


def hottest(result: TimeResult) -> Iterator[b.Block]:
    """Yield the functions that ran most."""
    if result.functions:
        yield b.Table.of(result.functions, *_functions(), most=_HOT, name="functions")


def details(result: TimeResult) -> Iterator[b.Block]:
    """Yield the account, threads and locks, in a fold."""
    tables: list[b.Block] = [
        b.Facts(tuple(_facts(result))),
        b.Table.of(result.account, *_rows(), name="account"),
    ]
    names = ["account by cause"]
    if result.threads:
        tables += [b.Section("Threads"), b.Table.of(result.threads, *_threads(), name="threads")]
        names.append(counted(len(result.threads), "thread"))
    if result.locks:
        tables += [b.Section("Locks"), b.Table.of(result.locks, *_locks(), name="locks")]
        names.append(counted(len(result.locks), "lock"))
    yield b.Fold(f"Where time went in detail: {', '.join(names)}", tuple(tables))


def trust(result: TimeResult, more: str = "") -> b.Block:
    """Return how far the account can be trusted; `more` is said in the same line."""
    brief = _trust_line(result) + (f", {more}" if more else "")
    return b.Fold(brief, (b.Facts(tuple(_trust(result))), *_unseen(result)))


def _used(result: TimeResult) -> Iterator[str]:
    """Yield how many CPUs were in use, and why the others were not."""
    allowed = result.cpus_allowed
    if not allowed:
        return
    used = f"{result.cpus_used:.2g} of {counted(round(allowed), 'CPU')} used"
    why = [f"{units.number(share, '%')} {name}" for name, share in result.unused.items()]
    named = [text for text, share in zip(why, result.unused.values(), strict=True) if share >= 0.05]
    if named and allowed >= _CAPITALS and result.cpus_used < 0.9 * allowed:
        used += f"; of the rest {', '.join(named[:3])}"
    ran = (
        [
            f"{counted(len(result.threads), 'thread')} in "
            f"{len(result.processes)} process{'es' * (len(result.processes) != 1)}"
        ]
        if result.processes
        else []
    )
    if result.peak_memory is not None:
        ran.append(f"peak memory {units.brief(result.peak_memory, 'B')}")
    for name, value in (("read", result.read), ("written", result.written)):
        if value:
            ran.append(f"{name} {units.brief(value, 'B')}")
    text = used + "." + (f" {', '.join(ran)}." if ran else "")
    found = result.efficiency
    if found is not None:
        text += (
            f" {found.threads} threads compute: load balance {found.load_balance:.2f}, serial and "
            f"waiting factor {found.serial_waiting:.2f}, parallel efficiency {found.parallel:.2f}."
        )
    yield text


def _parts(result: TimeResult) -> tuple[b.Part, ...]:
    """Return the parts of the bar, those that nobody would see as one."""
    seen = [part for part in result.parts if part.share >= _SMALL]
    small = [part for part in result.parts if part.share < _SMALL]
    if len(small) < 2:
        return tuple(map(_part, result.parts))
    rest = b.Part(
        "rest",
        sum(part.time for part in small),
        "other",
        "·",
        parts=tuple(map(_part, small)),
    )
    return (*map(_part, seen), rest)


def _part(part: CausePart) -> b.Part:
    low, high = part.interval or (None, None)
    tone = "spinning" if part.cause is Cause.SPINNING else part.cause.family.value
    letter = _LETTERS.get(part.cause, "")
    return b.Part(part.cause.value, part.time, tone, letter, low, high, tied=part.tied)


def _finding(finding: Finding, recording: str) -> b.Finding:
    text = _claim(finding)
    if finding.saves_at_most is not None and not finding.doubt:
        text += f"; saves at most {units.brief(finding.saves_at_most, 'ns')}"
    command = finding.command
    if not command and not finding.doubt and recording:
        command = ("gnomon", "show", recording, "--all")
    tone = b.Tone.DOUBT if finding.doubt else b.Tone.PLAIN
    return b.Finding(f"{text}.", tone, f"$ {shlex.join(command)}" if command else "")


def _claim(finding: Finding) -> str:
    """Return what a finding says: seconds, one cause, a place."""
    time, value = units.brief(finding.time, "ns"), finding.value
    who = f" in {finding.who}" if finding.who else ""
    place = f", {finding.place.label}" if finding.place else ""
    thing = f" ({finding.object})" if finding.object else ""
    match finding.claim:
        case Claim.BUSY_MACHINE:
            others = f"; other programs used {value:.2g} CPUs" if value is not None else ""
            return f"The machine was busy: {time} ready to run without a free CPU{others}"
        case Claim.STOLEN:
            share = units.number(value, "%")
            return f"The hypervisor took {share} of the CPU time: it looks like computing"
        case Claim.QUOTA:
            return f"A CPU quota held the program back for {time}"
        case Claim.LOST_RECORDS:
            return f"The kernel lost {counted(round(value or 0), 'record')} of this run"
        case Claim.FEW_LOOKS:
            return f"What {time} of waiting was for is not known: the waits were too short to see"
        case Claim.LOCK:
            holder = f", held by {finding.holder.name}" if finding.holder else ""
            return f"Threads wait for one lock{thing}{holder}: {time}{place}"
        case Claim.SERIAL:
            return f"One thread computes while others wait for its end: {time}{who}{place}"
        case Claim.SPINNING:
            return f"Spinning instead of waiting: {time}{who}{place}"
        case Claim.IMBALANCE:
            balance = f" (load balance {value:.2f})" if value is not None else ""
            return f"Threads wait for the slowest{balance}: {time}{who}{place}"
        case Claim.SLOW_STAGE:
            return f"One stage holds up the others: {time}{who}{place}"
        case Claim.COLD:
            return f"Data came from the disk for the first time: {time}{who}{thing}"
        case _:
            cause = finding.cause.value
            return f"{cause[:1].upper()}{cause[1:]}: {time}{who}{thing}{place}"


def _facts(result: TimeResult) -> Iterator[tuple[str, b.Cell | b.Value]]:
    yield "elapsed", b.Cell(result.elapsed, "ns")
    yield "CPU time", b.Cell(result.cpu, "ns")
    used = f"{result.cpus_used:.2f} of {result.cpus_allowed:g}"
    yield "CPUs used", used
    if result.processes:
        yield (
            "ran",
            f"{counted(len(result.threads), 'thread')} in "
            f"{len(result.processes)} process{'es' * (len(result.processes) != 1)}",
        )
    for name, value in (
        ("peak memory", result.peak_memory),
        ("read", result.read),
        ("written", result.written),
    ):
        if value is not None:
            yield name, b.Cell(value, "B")
    if result.efficiency is not None:
        found = result.efficiency
        yield f"load balance of {counted(found.threads, 'thread')}", round(found.load_balance, 2)
        yield "serial and waiting factor", round(found.serial_waiting, 2)
        yield "parallel efficiency", round(found.parallel, 2)


def _rows() -> tuple[b.Column, ...]:
    return (
        b.Column("cause", lambda row: row.cause.value),
        b.Column("who", lambda row: row.who),
        b.Column("elapsed", _row_time, interval="90 % interval"),
        b.Column("share", "share", "%", bar=True),
        b.Column("meanwhile", lambda row: _MEANWHILE.get(row.meanwhile.value, ""), drop=3),
        b.Column("of what", lambda row: row.object, flex=True, drop=2),
        b.Column("where", lambda row: row.places[0].place.label if row.places else "", flex=True),
    )


def _row_time(row: AccountRow) -> b.Cell:
    low, high = row.interval or (None, None)
    return b.Cell(row.time, "ns", low, high)


def _threads() -> tuple[b.Column, ...]:
    return (
        b.Column("thread", lambda row: row.name),
        b.Column("tid", lambda row: str(row.tid), drop=2),
        b.Column("user", lambda row: row.user, "ns"),
        b.Column("system", lambda row: row.system, "ns"),
        b.Column("ready", lambda row: row.runnable, "ns"),
        b.Column("waiting", lambda row: row.waiting, "ns"),
        b.Column("mostly for", _mostly, flex=True, drop=1),
        b.Column("life", lambda row: row.life, "ns"),
    )


def _mostly(row: ThreadRow) -> str:
    return row.waits[0].cause.value if row.waits else ""


def _locks() -> tuple[b.Column, ...]:
    return (
        b.Column("lock", lambda row: row.name, flex=True),
        b.Column("waits", lambda row: row.waits),
        b.Column("total", lambda row: row.total, "ns"),
        b.Column("longest", lambda row: row.longest, "ns"),
        b.Column("mostly held by", _held, flex=True),
    )


def _held(row: LockRow) -> str:
    if not row.holders:
        return ""
    holder = row.holders[0]
    return f"{holder.name} in {holder.path[0]}" if holder.path else holder.name


def _functions() -> tuple[b.Column, ...]:
    return (
        b.Column("function", lambda row: row.name, flex=True),
        b.Column("file", lambda row: row.object.rpartition("/")[2], drop=2),
        b.Column("CPU", _function_cpu, interval="90 % interval"),
        b.Column("wall", lambda row: row.wall, "ns"),
        b.Column("saves at most", lambda row: row.saves_at_most, "ns", drop=1),
    )


def _function_cpu(row: FunctionRow) -> b.Cell:
    low, high = row.interval or (None, None)
    return b.Cell(row.cpu, "ns", low, high)


def _trust_line(result: TimeResult) -> str:
    trust = result.trust
    named = [each.object.rpartition("/")[2] for each in trust.unnamed[:2]]
    files = f" (in {', '.join(named)})" if named else ""
    return (
        f"How far to trust this: {counted(trust.samples, 'sample')}, "
        f"{units.number(trust.unnamed_share, '%')} without a name{files}, "
        f"{trust.lost:,} records lost, recorded by {trust.rung or 'an unknown way'}"
    )


def _trust(result: TimeResult) -> Iterator[tuple[str, b.Cell | b.Value]]:
    trust = result.trust
    if trust.rung:
        yield "seen by", trust.rung
    yield "runs", trust.runs
    yield "looks at waiting threads", trust.looks
    if trust.looked is not None:
        yield "waiting time looked at", b.Cell(trust.looked, "%")
    for name, value in (
        ("CPU time of other programs", trust.others),
        ("taken by the hypervisor", trust.stolen),
        ("held back by a quota", trust.throttled),
    ):
        if value is not None:
            yield name, b.Cell(value, "ns")
    for each in trust.unnamed:
        yield f"without a name in {each.object}", each.samples


def _unseen(result: TimeResult) -> Iterator[b.Block]:
    for sentence in result.trust.unseen:
        yield b.Text(sentence, b.Tone.FAINT)
