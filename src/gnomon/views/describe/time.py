"""How the account of a run looks: the answer, elapsed time by cause, findings, threads, trust."""

from __future__ import annotations

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
_MEANWHILE = {
    "lock": "while others wait for a lock",
    "GIL": "while others wait for the GIL",
    "barrier": "while others wait at a barrier",
    "spin": "while others spin",
    "join": "while joined",
}
_CLAIMS = {
    Claim.BUSY_MACHINE: "The machine was busy: no CPU was free",
    Claim.STOLEN: "The hypervisor took CPU time",
    Claim.QUOTA: "A CPU quota held the program back",
    Claim.LOST_RECORDS: "The kernel lost records",
    Claim.FEW_LOOKS: "Most waits were too short to be looked at; their causes are estimated",
    Claim.WAITS: "Everything waits",
    Claim.SERIAL: "One thread computes while others wait for it",
    Claim.LOCK: "Threads wait for what one holds",
    Claim.SPINNING: "Threads spin",
    Claim.IMBALANCE: "Threads wait for the slowest",
    Claim.SLOW_STAGE: "One stage holds up the others",
    Claim.COLD: "Data came from the disk for the first time",
}
_LETTERS = {Cause.CONDITION: "n", Cause.JOIN: "j", Cause.BARRIER: "b", Cause.SEMAPHORE: "m"}


def describe(result: TimeResult) -> Iterator[b.Block]:
    """Yield what there is to see of an account, from the result alone."""
    yield b.Headline(_title(result), tuple(_answer(result)))
    if result.parts:
        yield b.Composition(
            result.elapsed, tuple(map(_part, result.parts)), "ns", "elapsed time by cause"
        )
    for finding in result.findings:
        yield _finding(finding)
    if result.healthy:
        yield b.Text(f"Looked at and well: {', '.join(result.healthy)}.")
    yield b.Facts(tuple(_facts(result)))
    yield b.Table.of(result.account, *_rows(), most=_MOST, name="account")
    if result.threads:
        yield b.Section("Threads")
        yield b.Table.of(result.threads, *_threads(), most=_MOST, name="threads")
    if result.locks:
        yield b.Section("Locks")
        yield b.Table.of(result.locks, *_locks(), most=_MOST, name="locks")
    if result.functions:
        yield b.Section("Functions")
        yield b.Table.of(result.functions, *_functions(), most=_MOST, name="functions")
    yield b.Fold(_trust_line(result), (b.Facts(tuple(_trust(result))), *_unseen(result)))


def _title(result: TimeResult) -> str:
    return (
        f"{units.brief(result.elapsed, 'ns')} elapsed, "
        f"{units.number(result.on_cpu, '%')} of it on a CPU"
    )


def _answer(result: TimeResult) -> Iterator[str]:
    for row in result.account[:3]:
        if row.share >= 0.05:
            yield f"{units.brief(row.time, 'ns')} {_row_words(row)}"


def _row_words(row: AccountRow) -> str:
    words = [row.cause.value]
    if row.who:
        words.append(f"in {row.who}")
    if row.object:
        words.append(f"({row.object})")
    if row.meanwhile:
        words.append(_MEANWHILE[row.meanwhile.value])
    if row.places:
        words.append(f"at {row.places[0].place.label}")
    return " ".join(words)


def _part(part: CausePart) -> b.Part:
    low, high = part.interval or (None, None)
    tone = "spinning" if part.cause is Cause.SPINNING else part.cause.family.value
    letter = _LETTERS.get(part.cause, "")
    return b.Part(part.cause.value, part.time, tone, letter, low, high, tied=part.tied)


def _finding(finding: Finding) -> b.Finding:
    words = _CLAIMS[finding.claim]
    if finding.claim is Claim.WAITS:
        words = f"{words} for: {finding.cause.value}"
    amount = units.brief(finding.time, "ns")
    place = f" at {finding.place.label}" if finding.place else ""
    who = f" in {finding.who}" if finding.who else ""
    thing = f" ({finding.object})" if finding.object else ""
    saves = ""
    if finding.saves_at_most is not None and not finding.doubt:
        saves = f"; saves at most {units.brief(finding.saves_at_most, 'ns')}"
    tone = b.Tone.DOUBT if finding.doubt else b.Tone.PLAIN
    remedy = f"Next: {' '.join(finding.command)}" if finding.command else ""
    return b.Finding(f"{words}{who}{thing}{place}: {amount}{saves}.", tone, remedy)


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
        b.Column("share", lambda row: b.Cell(row.share), "%", bar=True),
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
    return (
        f"How far to trust this: {counted(trust.samples, 'sample')}, "
        f"{units.number(trust.unnamed_share, '%')} without a name, "
        f"{trust.lost:,} records lost"
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
