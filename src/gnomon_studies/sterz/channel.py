"""The channel of the document's test host that its experiments on links load, simulated.

Two figures of the document went into the description of the machine: what one generator reads,
as plain reads, and what a link carries at most. They are inputs here and no findings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from gnomon.analysis.links import (
    CrossTalk,
    Saturation,
    SimulatedLoader,
    crosstalk,
    idle_busy,
    saturate,
)
from gnomon.analysis.study import Row, Verdict
from gnomon.machines import Execution, RunOptions, build, load_machine
from gnomon.stress import MOST_GENERATORS, Channel, Stream
from gnomon_studies.verdicts import exact, factor, holds, shape, within

MACHINE = "haswell-ex-4s"
CHANNEL = Channel(0, 1)
PLATEAU = 14.3
"""GiB/s that the document found a link to carry."""
READS = "generators read only, which the machine's description fits to the published 5.2 GiB/s"


def loader(stream: Stream, seed: int) -> SimulatedLoader:
    """Return generators for the channels of the simulated machine."""
    return SimulatedLoader(load_machine(MACHINE), stream=stream, seed=seed)


def gib(rate: float) -> float:
    """Return bytes a second in GiB/s, as the document has them."""
    return rate / 2**30


def calibrated(id: str, quantity: str, published: float, ours: float, what: str) -> Row:  # noqa: A002
    """Return the row of an input: that it comes out again shows only that it went in."""
    note = f"an input, not a finding: {what} was chosen to give it"
    return Row(id, quantity, published, ours, "calibrated", Verdict.SHAPE_ONLY, note)


# E8: what one load generator reads over a link, as a triad and as a copy.
#
# The simulated core has its ten fill buffers for loads and stores together and no prefetcher, so
# that stores of a generator cost it reads. The document's core hides that by prefetching.

_PUBLISHED = {Stream.TRIAD: 5.2, Stream.COPY: 4.3}
_NEAR = 0.05


def run_generator(seed: int) -> Iterator[Row]:
    """Run one generator of each kind."""
    found = {stream: single(stream, seed) for stream in (Stream.READ, *_PUBLISHED)}
    yield calibrated(
        "E8", "plain reads of one generator, GiB/s", 5.2, found[Stream.READ], "a link's latency"
    )
    for stream, published in _PUBLISHED.items():
        yield within(
            "E8",
            f"{stream} of one generator, GiB/s of remote reads",
            published,
            found[stream],
            relative=_NEAR,
            note="ten fill buffers serve loads and stores; there is no prefetcher",
        )
    triad, copy = (found[stream] for stream in _PUBLISHED)
    yield holds(
        "E8",
        "a triad reads more than a copy",
        "5.2 to 4.3",
        f"{triad:.2f} to {copy:.2f}",
        "triad above copy",
        true=triad > copy,
        note="a third of a triad's references are stores, half of a copy's",
    )


def single(stream: Stream, seed: int) -> float:
    """Return what one generator reads, in GiB/s."""
    with loader(stream, seed) as load:
        load.set(CHANNEL, 1)
        return gib(sum(load.measure(0)[CHANNEL]))


# E9: more and more generators on one channel, and what another program gets over it.

MOST = 8
_FAIR = 0.03
_AGREE = 0.03
_OTHER_THREADS = 8  # of another program, enough for a link
_SIDE = 1024  # of the matrix that it sums


def run_saturation(seed: int) -> Iterator[Row]:
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


# E10: does it matter whether the node that is read is idle or waits busily?
#
# The simulated machine has no states of sleep, so that nothing can wake up. What it can show is
# that busy CPUs take nothing from a channel: they share neither its link nor its memory.

_TURNS = 6
_NOTHING = 0.1  # GiB/s


def run_receivers(seed: int) -> Iterator[Row]:
    """Measure in turns with an idle and a busy receiver."""
    with loader(Stream.READ, seed) as load:
        found = idle_busy(load, CHANNEL, count=3, repeats=_TURNS)
    change = found.difference
    low, high = map(gib, change.interval)
    yield shape(
        "E10",
        "change with a busy receiver, GiB/s",
        "none; sometimes a little less",
        f"{gib(change.value):+.3f} ({low:+.3f} to {high:+.3f})",
        true=low > -_NOTHING and high < _NOTHING,
        tolerance="95 % interval within ± 0.1",
        note=f"{_TURNS} turns, {found.spinners} busy CPUs; no sleep is simulated, so no wake-up",
    )


# E11: a channel at its most while the other direction is loaded more and more.
#
# Requests of one direction travel with the data of the other, and take 8 bytes of a link each. With
# 6 bytes the published loss would come out: this figure of the description was not fitted to it.


DROP = 1.0
"""GiB/s that the document lost to cross-talk, about."""
_REPEATS = 5


def run_crosstalk(seed: int) -> Iterator[Row]:
    """Load the other direction step by step."""
    found = measured(seed)
    totals = [gib(step.total) for step in found.steps]
    yield holds(
        "E11",
        "falls gradually, then stays",
        "gradual fall, then constant",
        f"{', '.join(f'{total:.2f}' for total in totals)} GiB/s",
        "never rises; flat at the end",
        true=found.monotone and found.flat_from is not None and found.flat_from > 1,
        note=f"flat from {found.flat_from} generators against {found.forward} on; {READS}",
    )
    low, high = map(gib, found.drop.interval)
    yield factor(
        "E11",
        "what is lost to cross-talk, GiB/s",
        DROP,
        -gib(found.drop.value),
        most=1.5,
        note=f"95 % interval {-high:.2f} to {-low:.2f}; requests of 8 bytes; 6 would give 1",
    )


def measured(seed: int) -> CrossTalk:
    """Return what the channel gets."""
    with loader(Stream.READ, seed) as load:
        return crosstalk(load, CHANNEL, forward=4, most=MOST, repeats=_REPEATS)


# E12: the least that load alone can leave to a thread.
#
# The document computes it: a fair share among all 36 threads of a socket of what cross-talk leaves.
# Here the shares are measured as well, with as many generators a channel as there may be.

THREADS = 36
PUBLISHED = 0.36


def run_worst(seed: int) -> Iterator[Row]:
    """Compute the share from published figures and from ours."""
    yield within(
        "E12",
        "worst share of a thread, GiB/s, from published figures",
        PUBLISHED,
        (PLATEAU - DROP) / THREADS,
        absolute=0.01,
        note=f"arithmetic: ({PLATEAU} - {DROP:g}) / {THREADS}",
    )
    shares = [gib(share) for share in loaded(seed)]
    total, count = sum(shares), len(shares)
    yield within(
        "E12",
        "worst share of a thread, GiB/s, from what is left here",
        PUBLISHED,
        total / THREADS,
        absolute=0.02,
        note=f"{total:.2f} GiB/s under cross-talk / {THREADS}; what a channel carries is an input",
    )
    spread = (max(shares) - min(shares)) * count / total
    yield holds(
        "E12",
        "load alone cannot make it worse: shares stay fair",
        "a 36th each",
        f"{min(shares):.3f} to {max(shares):.3f} GiB/s of {count}",
        "within 3 %",
        true=spread < _FAIR,
        note=f"{count} generators a direction, the most that a channel takes",
    )


def loaded(seed: int) -> tuple[float, ...]:
    """Return the share of each generator while both directions are as full as can be."""
    with loader(Stream.READ, seed) as load:
        load.set(CHANNEL, MOST_GENERATORS)
        load.set(CHANNEL.reverse, MOST_GENERATORS)
        return load.measure(0)[CHANNEL]
