"""Benchmarks of messages: mechanisms in two regimes, with a curve, counts and what is missing."""

from __future__ import annotations

from dataclasses import replace

from gnomon.analysis.messages.costs import bench_of_rows
from gnomon.analysis.messages.result import (
    Bench,
    Bins,
    Curve,
    Hockney,
    LeftOut,
    LogGP,
    Passes,
    PLogP,
    Regime,
    Row,
    Segment,
    Timing,
)
from gnomon.recording.contents import Provenance
from gnomon.result import Quantity

SIZES = (0, 64, 1024, 65536)


def _about(value: float) -> Quantity:
    return Quantity(value, 0.98 * value, 1.03 * value)


def _timing(size: int, value: float, samples: int = 12_345) -> Timing:
    edges = tuple(value * (0.9 + 0.03 * i) for i in range(8))
    bins = Bins(edges, tuple(edge * 1.03 for edge in edges), tuple(range(1, 9)))
    tail = None if samples < 1000 else 3 * value
    return Timing(size, samples, _about(value), 1.2 * value, 1.5 * value, tail, 1.1 * value, bins)


def _row(name: str, regime: Regime, trip: float, sizes: tuple[int, ...] = (0,)) -> Row:
    def calls(part: float) -> tuple[Timing, ...]:
        return tuple(_timing(size, part * trip) for size in sizes)

    return Row(
        name,
        regime,
        (0, 0 if regime is Regime.SAME else 1),
        tuple(_timing(size, trip + 0.5 * size) for size in sizes),
        calls(0.2),
        calls(0.0001),
        calls(0.1),
        counts_per_message={"context-switches": 0.997, "page-faults": 0.0003, "cycles": None},
        messages=24_690,
        clock=21.5,
    )


def _curve(name: str) -> Curve:
    times = tuple(_about(1000 + 0.25 * size) for size in SIZES)
    segments = (
        Segment(0, 64, _about(1000), Quantity(0.0, 0.0, 0.1)),
        Segment(1024, 65536, _about(1200), Quantity(0.25, 0.0, 0.3)),
    )
    loggp = LogGP(_about(500), _about(200), _about(0.2), None, _about(0.25), 0.05)
    plogp = PLogP(_about(400), SIZES, times, times, times, 0.04)
    passes = Passes(7, 5, 0.25)
    return Curve(name, Regime.AWAKE, SIZES, times, Hockney(segments, 0.03), loggp, plogp, passes)


def _of(rows: tuple[Row, ...], curves: tuple[Curve, ...], text: str = "") -> Bench:
    return bench_of_rows(
        rows,
        _timing(0, 168.1),
        curves,
        left_out=(
            LeftOut(text or "uintr", text or "the CPU has no user interrupts (UINTR)"),
            LeftOut("umwait", "the CPU has no WAITPKG"),
            LeftOut("tpause", "the CPU has no WAITPKG"),
        ),
        spin=5000,
        provenance=Provenance("notify", host=text or "box", target="notify bench"),
        warnings=(text or "this machine was not quiet",),
    )


def small() -> Bench:
    awake = {"poll": 400, "futex": 50_000, "unix-stream": 50_100, "tcp": 80_000}
    same = {"futex": 6000, "unix-datagram": 10_000, "poll": 2e6}
    rows = [_row(name, Regime.AWAKE, trip, SIZES) for name, trip in awake.items()]
    rows += [_row(name, Regime.SAME, trip) for name, trip in same.items()]
    few = replace(rows[-1], round_trips=(_timing(0, 2e6, 2),), sends=(), receives=(), gaps=())
    return _of((*rows[:-1], few), (_curve("poll"), replace(_curve("tcp"), loggp=None, plogp=None)))


def empty() -> Bench:
    return Bench(())


def hostile(text: str) -> Bench:
    row = replace(_row(text, Regime.IDLE, 900.0), counts_per_message={text: 1.0})
    return _of((row, _row("futex", Regime.IDLE, 9000.0)), (_curve(text),), text)


def huge(rows: int) -> Bench:
    some = tuple(_row(f"mechanism-{n}", Regime.IDLE, 500.0 + n) for n in range(rows))
    return _of(some, (_curve("poll"),))
