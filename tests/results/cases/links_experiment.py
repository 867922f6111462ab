"""Experiments on links: all four at once, which no command gives, and a program under load."""

from __future__ import annotations

import math

from gnomon.analysis.links.result import (
    Carried,
    CrossTalk,
    Difference,
    Emulation,
    IdleBusy,
    Left,
    Level,
    LinksExperiment,
    LoadedRun,
    Saturation,
    Step,
)
from gnomon.recording.contents import Provenance
from gnomon.result import Interval
from gnomon.stress.nodes import Channel

_CHANNEL = Channel(0, 1)


def _steps(count: int) -> tuple[Step, ...]:
    return tuple(
        Step(
            number,
            tuple(min(number, 3) * 5e9 + noise * 1e7 for noise in range(3)),
            tuple(5e9 + share * 1e6 for share in range(min(number, 20))),
        )
        for number in range(1, count + 1)
    )


def _of(count: int, text: str = "") -> LinksExperiment:
    certain = Difference(-1.384e9, Interval(-1.433e9, -1.335e9))
    channels = [Channel(a, a + 1 + b) for a in range(max(count // 4, 1)) for b in range(4)]
    return LinksExperiment(
        machine=text or "haswell-ex-4s",
        stream=text or "triad",
        saturation=Saturation(_CHANNEL, _steps(count), 15.36e9, 3),
        crosstalk=CrossTalk(_CHANNEL, 4, _steps(count), certain, True, None),
        idle_busy=IdleBusy(
            _CHANNEL,
            3,
            16,
            (15.3e9, 15.4e9),
            (15.3e9, 15.2e9),
            Difference(0.0, Interval(-math.inf, math.inf)),
        ),
        emulation=Emulation(
            text or "ring",
            tuple(
                Left(each, sum(each) % 3, 4.29e9, 1.99e9, sum(each) % 2 == 1) for each in channels
            ),
        ),
        loads=tuple(
            Level(each, 3, 0.71, 15e9 if sum(each) % 2 else None, 12.29e9, 12.47e9)
            for each in channels
        ),
        run=LoadedRun(
            (text or "./program",),
            1.78e-4,
            0,
            tuple(Carried(each, 1e10) for each in channels),
            1e-4,
        ),
        provenance=Provenance("haswell-ex-4s", simulated=True, machine=text or "haswell-ex-4s"),
        warnings=(text or "a warning",),
    )


def small() -> LinksExperiment:
    return _of(6)


def empty() -> LinksExperiment:
    never = Difference(math.nan, Interval(-math.inf, math.inf))
    return LinksExperiment(
        "",
        "",
        saturation=Saturation(_CHANNEL, (), 0.0, None),
        crosstalk=CrossTalk(_CHANNEL, 0, (), never, False, None),
        idle_busy=IdleBusy(_CHANNEL, 0, 0, (), (), never),
        emulation=Emulation("", ()),
        run=LoadedRun((), 0.0, 0, ()),
    )


def hostile(text: str) -> LinksExperiment:
    return _of(6, text)


def huge(rows: int) -> LinksExperiment:
    return _of(rows)
