"""What a reader should conclude from an account, as data: at most four findings, doubts first."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.analysis.time.result import (
    AccountRow,
    Cause,
    Claim,
    Efficiency,
    Finding,
    LockRow,
    Meanwhile,
    ThreadRow,
    Trust,
)

_LEAST = 0.05
_MOST = 4
_STOLEN = 0.02
_EFFICIENT = 0.8
_WELL = 0.01
_STAGE = 0.5  # of its row that one thread computes, and that another waits for it
_STREAMS = (Cause.OWN_PIPE, Cause.OWN_SOCKET)
_CLAIMS = {
    Meanwhile.LOCK: Claim.LOCK,
    Meanwhile.GIL: Claim.LOCK,
    Meanwhile.BARRIER: Claim.IMBALANCE,
    Meanwhile.SPIN: Claim.SPINNING,
    Meanwhile.JOIN: Claim.SERIAL,
}
_CAUSES = {
    Meanwhile.LOCK: Cause.LOCK,
    Meanwhile.GIL: Cause.GIL,
    Meanwhile.BARRIER: Cause.BARRIER,
    Meanwhile.SPIN: Cause.SPINNING,
    Meanwhile.JOIN: Cause.JOIN,
}
_SILENT = {Cause.COMPUTING, Cause.EDGE, Cause.WAKING, Cause.NO_CPU, Cause.UNKNOWN, Cause.STOPPED}
_LOOKED_AT = (
    ("disk", {Cause.DISK}),
    ("page-ins", {Cause.PAGE_IN}),
    ("network", {Cause.NETWORK}),
    ("locks", {Cause.LOCK, Cause.GIL}),
    ("free CPUs", {Cause.NO_CPU}),
)


def findings_of(
    account: tuple[AccountRow, ...],
    threads: tuple[ThreadRow, ...],
    locks: tuple[LockRow, ...],
    efficiency: Efficiency | None,
    trust: Trust,
    elapsed: float,
    cpus: float,
    command: tuple[str, ...],
) -> tuple[Finding, ...]:
    """Return what stands out: each at least 5 % of elapsed time, and more than its doubt."""
    if elapsed <= 0:
        return ()
    doubts = list(_doubts(account, trust, elapsed, cpus))
    rest: list[Finding] = []
    for row in account:
        found = _of_row(row, locks, cpus, command)
        if found is not None and _loud(found, elapsed):
            rest.append(found)
    rest += filter(lambda each: _loud(each, elapsed), _stages(account, threads))
    balance = _balance(efficiency, elapsed)
    if balance is not None and not any(each.claim is Claim.IMBALANCE for each in rest):
        rest.append(balance)
    rest = _once(rest)
    rest.sort(key=lambda each: -(each.saves_at_most or 0.0))
    return tuple((doubts + rest)[:_MOST])


def _once(found: list[Finding]) -> list[Finding]:
    """Keep one finding of each lock: that of the largest row."""
    kept: dict[tuple[Claim, str], Finding] = {}
    rest = []
    for each in sorted(found, key=lambda finding: -finding.time):
        if each.claim is Claim.LOCK and each.object:
            kept.setdefault((each.claim, each.object), each)
        else:
            rest.append(each)
    return [*kept.values(), *rest]


def _loud(found: Finding, elapsed: float) -> bool:
    if found.time < _LEAST * elapsed or (found.saves_at_most or 0.0) < _LEAST * elapsed:
        return False
    if found.interval is None:
        return True
    low, high = found.interval
    return found.time > (high - low) / 2


def _doubts(
    account: tuple[AccountRow, ...], trust: Trust, elapsed: float, cpus: float
) -> Iterator[Finding]:
    others = sum(
        row.time for row in account if row.cause is Cause.NO_CPU and row.object == "other programs"
    )
    if others >= _LEAST * elapsed:
        value = trust.others / elapsed if trust.others is not None else None
        yield Finding(Claim.BUSY_MACHINE, Cause.NO_CPU, others, None, None, value=value, doubt=True)
    if trust.stolen is not None and trust.stolen > _STOLEN * elapsed * cpus:
        share = trust.stolen / elapsed / cpus
        yield Finding(
            Claim.STOLEN, Cause.NO_CPU, trust.stolen / cpus, None, None, value=share, doubt=True
        )
    if trust.lost:
        yield Finding(
            Claim.LOST_RECORDS, Cause.UNKNOWN, 0.0, None, None, value=float(trust.lost), doubt=True
        )
    unknown = sum(row.time for row in account if row.cause is Cause.UNKNOWN)
    if unknown >= _LEAST * elapsed:
        share = unknown / elapsed
        yield Finding(Claim.FEW_LOOKS, Cause.UNKNOWN, unknown, None, None, value=share, doubt=True)


def _of_row(
    row: AccountRow, locks: tuple[LockRow, ...], cpus: float, command: tuple[str, ...]
) -> Finding | None:
    place = row.places[0].place if row.places else None
    if row.cause is Cause.NO_CPU and row.object == "quota":
        return Finding(Claim.QUOTA, row.cause, row.time, row.interval, row.time, value=cpus)
    if row.cause is Cause.COMPUTING and row.meanwhile in _CLAIMS:
        saves = row.time * (1 - 1 / max(2.0, cpus))
        lock = _first(locks, _CAUSES[row.meanwhile]) if row.meanwhile in _LOCKS else None
        return Finding(
            _CLAIMS[row.meanwhile],
            _CAUSES[row.meanwhile],
            row.time,
            row.interval,
            saves,
            row.who,
            lock.name if lock else "",
            place,
            lock.holders[0] if lock and lock.holders else None,
            command=("gnomon", "profile", "-e", "cpu-clock", "--", *command) if command else (),
        )
    if row.cause in _SILENT or row.idle:
        return None
    if row.cause is Cause.SPINNING:
        return Finding(
            Claim.SPINNING, row.cause, row.time, row.interval, row.time, row.who, "", place
        )
    for lock in locks:
        holder = lock.holders[0] if lock.holders else None
        if holder and holder.state == row.cause.value and lock.total >= row.time / 2:
            return Finding(
                Claim.LOCK, row.cause, row.time, row.interval, row.time, row.who, lock.name,
                place, holder, value=lock.total,
            )  # fmt: skip
    return Finding(
        Claim.WAITS, row.cause, row.time, row.interval, row.time, row.who, row.object, place
    )


_LOCKS = (Meanwhile.LOCK, Meanwhile.GIL)


def _first(locks: tuple[LockRow, ...], cause: Cause) -> LockRow | None:
    return next((lock for lock in locks if lock.cause is cause), None)


def _stages(account: tuple[AccountRow, ...], threads: tuple[ThreadRow, ...]) -> Iterator[Finding]:
    """Find the stage of a pipe that computes while another process waits for its end."""
    computing = [row for row in account if row.cause is Cause.COMPUTING and not row.meanwhile]
    if not computing:
        return
    row = computing[0]
    stage = next((each for each in threads if each.name == row.who), None)
    if stage is None or stage.running < _STAGE * row.time:
        return
    waiters = {
        each.name
        for each in threads
        if each.pid != stage.pid
        and sum(w.time for w in each.waits if w.cause in _STREAMS) >= _STAGE * row.time
    }
    if waiters:
        following = max((each.time for each in computing if each.who != row.who), default=0.0)
        yield Finding(
            Claim.SLOW_STAGE,
            row.cause,
            row.time,
            row.interval,
            row.time - following,
            row.who,
            "",
            row.places[0].place if row.places else None,
            others=tuple(sorted(waiters)),
        )


def _balance(efficiency: Efficiency | None, elapsed: float) -> Finding | None:
    if efficiency is None or efficiency.load_balance >= _EFFICIENT:
        return None
    saves = efficiency.useful * (1 - efficiency.load_balance)
    if saves < _LEAST * elapsed:
        return None
    return Finding(
        Claim.IMBALANCE,
        Cause.COMPUTING,
        saves,
        None,
        saves,
        efficiency.slowest,
        value=efficiency.load_balance,
    )


def healthy_of(account: tuple[AccountRow, ...], elapsed: float) -> tuple[str, ...]:
    """Return what was looked at and cost under 1 % of elapsed time."""
    if not account:
        return ()
    return tuple(
        word
        for word, causes in _LOOKED_AT
        if sum(row.time for row in account if row.cause in causes) < _WELL * elapsed
    )
