"""What several runs of one program say: means of their shares, with what another run may show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, stdev

from gnomon.analysis.time.estimating import t_quantile
from gnomon.analysis.time.result import (
    AccountRow,
    Cause,
    CausePart,
    Claim,
    Finding,
    Meanwhile,
    TimeResult,
)
from gnomon.errors import UsageError
from gnomon.result import Interval

LEAST = 0.005
"""Half of the least width: rows that hardly vary differ by clocks and rare outliers."""
_MOST = 4  # findings
_READ = 1 << 20  # bytes


def share_interval(shares: Sequence[float], *, following: bool = False) -> tuple[float, float]:
    """Return a 90 % interval of the mean share of runs; `following` is for the next run's."""
    count = len(shares)
    mean = fmean(shares)
    half = t_quantile(count - 1) * stdev(shares) * math.sqrt(1 / count + (1 if following else 0))
    return max(0.0, mean - half - LEAST), min(1.0, mean + half + LEAST)


def over_runs(results: Sequence[TimeResult]) -> TimeResult:
    """Return the last run's account with means and intervals over all runs.

    A row that a run does not have counted for nothing there. Elapsed time is the mean; tables of
    threads, functions and locks stay those of the last run.
    """
    if not results:
        raise UsageError("no runs to account for: record at least one.")
    if len(results) == 1:
        return results[0]
    last = results[-1]
    elapsed = fmean(each.elapsed for each in results)
    runs = [{_key(row): row for row in each.account} for each in results]
    newest = {key: row for run in runs for key, row in run.items()}
    account = []
    for key, row in newest.items():
        shares = [run[key].share if key in run else 0.0 for run in runs]
        share, (low, high) = fmean(shares), share_interval(shares)
        account.append(
            replace(
                row,
                time=share * elapsed,
                share=share,
                interval=Interval(low * elapsed, high * elapsed),
                tied=None,
            )
        )
    cold = _cold(results)
    account.sort(key=lambda row: (-row.time, row.cause.value, row.who, row.object))
    return replace(
        last,
        elapsed=elapsed,
        user=fmean(each.user for each in results),
        system=None
        if any(each.system is None for each in results)
        else fmean(each.system or 0.0 for each in results),
        account=tuple(account),
        parts=_parts(results, elapsed),
        findings=(*cold, *last.findings)[:_MOST],
        trust=replace(last.trust, runs=len(results)),
    )


def _cold(results: Sequence[TimeResult]) -> tuple[Finding, ...]:
    """Say so if the first run alone read its data from the disk, and was longer for it."""
    first, later = results[0], results[1:]
    reads = [each.read for each in later if each.read is not None]
    if first.read is None or not reads or first.read < max(_READ, 2 * max(reads)):
        return ()
    longer = first.elapsed - fmean(each.elapsed for each in later)
    if longer < 0.05 * first.elapsed:
        return ()
    value = float(first.read)
    return (Finding(Claim.COLD, Cause.DISK, longer, None, None, value=value, doubt=True),)


def _key(row: AccountRow) -> tuple[Cause, str, Meanwhile, str, bool]:
    return row.cause, row.who, row.meanwhile, row.object, row.idle


def _parts(results: Sequence[TimeResult], elapsed: float) -> tuple[CausePart, ...]:
    runs = [{part.cause: part for part in each.parts} for each in results]
    found = []
    for cause in {cause for run in runs for cause in run}:
        shares = [run[cause].share if cause in run else 0.0 for run in runs]
        idle = fmean(run[cause].idle / r.elapsed if cause in run else 0.0
                     for run, r in zip(runs, results, strict=True))  # fmt: skip
        low, high = share_interval(shares)
        found.append(
            CausePart(
                cause,
                fmean(shares) * elapsed,
                fmean(shares),
                Interval(low * elapsed, high * elapsed),
                idle * elapsed,
            )
        )
    found.sort(key=lambda part: (-part.time, part.cause.value))
    for number in range(len(found) - 1):
        one, two = found[number].interval, found[number + 1].interval
        if one and two and one.low < two.high and found[number + 1].share >= 0.01:
            found[number] = replace(found[number], tied=True)
    return tuple(found)
