"""E9: more and more generators on one channel, and what another program gets over it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from gnomon.analysis.links.experiments import saturate
from gnomon.analysis.links.results import Saturation
from gnomon.analysis.study import Row
from gnomon.machines.description import load_machine
from gnomon.machines.execution import Execution, RunOptions
from gnomon.machines.workloads import build
from gnomon.stress.streams import Stream
from gnomon_studies.sterz.channel import (
    CHANNEL,
    MACHINE,
    PLATEAU,
    READS,
    calibrated,
    gib,
    loader,
)
from gnomon_studies.verdicts import exact, holds, shape

MOST = 8
_FAIR = 0.03
_AGREE = 0.03
_OTHER_THREADS = 8  # of another program, enough for a link
_SIDE = 1024  # of the matrix that it sums


def run(seed: int) -> Iterator[Row]:
    """Saturate the channel with generators of two kinds, then with another program."""
    reads, triads = (saturated(stream, seed) for stream in (Stream.READ, Stream.TRIAD))
    plateau = gib(reads.plateau)
    yield calibrated(
        "E9", "most that a channel carries, GiB/s", PLATEAU, plateau, "the header of a line"
    )
    other = summed(seed)
    apart = abs(plateau / other - 1)
    yield holds(
        "E9",
        "generators beside an independent measure, GiB/s",
        "14.3 beside 14.0",
        f"{plateau:.2f} beside {other:.2f}",
        "within 3 %",
        true=apart <= _AGREE,
        note=f"a program of {_OTHER_THREADS} threads that sums a matrix on the other node",
    )
    yield exact("E9", "generators that saturate a channel", 3, reads.at, READS)
    yield shape(
        "E9",
        "triads that saturate a channel",
        3,
        triads.at,
        tolerance="the most / what one reads, rounded up",
        true=triads.at == math.ceil(triads.plateau * (1 - _AGREE) / triads.single),
        note=f"a triad reads {gib(triads.single):.2f} GiB/s here, so that it takes more of them",
    )
    one, two = (gib(step.total) for step in reads.steps[:2])
    yield holds(
        "E9",
        "one and two generators do not saturate",
        "below 14.3 GiB/s",
        f"{one:.2f} and {two:.2f} GiB/s",
        "below 97 % of the most",
        true=max(one, two) < (1 - _FAIR) * plateau,
    )
    spread = max(step.spread for found in (reads, triads) for step in found.steps)
    yield holds(
        "E9",
        "how far generators on a channel are apart",
        "below 3 %",
        f"{spread:.2%}",
        "below 3 %",
        true=spread < _FAIR,
        note=f"1 to {MOST} generators; nothing in the model shares a link but its queue",
    )


def saturated(stream: Stream, seed: int) -> Saturation:
    """Return how a channel fills."""
    with loader(stream, seed) as load:
        return saturate(load, CHANNEL, most=MOST)


def summed(seed: int) -> float:
    """Return what a program of threads on one node reads of a matrix on the other, in GiB/s."""
    machine = load_machine(MACHINE)
    parameters = {
        "size": str(_SIDE),
        "threads": str(_OTHER_THREADS),
        "placement": f"bind:{CHANNEL.home}",
    }
    program = build("strided-sum", parameters, seed=seed)
    cores = machine.threads_of(CHANNEL.reader)[:: machine.core.threads]
    bound = replace(program, binding=tuple(cores[:_OTHER_THREADS]))
    with Execution(machine, bound, seed=seed, options=RunOptions(quantum_ns=100.0)) as running:
        running.advance()
        return gib(_SIDE * _SIDE * 4 / (running.now_ns / 1e9))
