"""How long a cluster of SMT nodes takes when compute threads wait for messages: a closed model.

A compute thread runs for a while, asks another node for something and sleeps until the answer is
there. One thread of each node, the communicator, handles requests and answers. `solve` finds how
long a cycle takes when all that shares a core and a port. The wait for an answer and the speeds
of threads depend on each other; a core is a Markov chain of how many of its threads run.

    from gnomon.messaging import Exchange, Overheads, solve

    exchange = Exchange(run=12_000, handle=800, latency=4_000, occupancy=3_000)
    before = solve(exchange, threads=3)
    after = solve(Overheads(notification=2_000).added_to(exchange), threads=3)
    print(after.cycle / before.cycle)

All times are nanoseconds. The solutions of the chains are lost in the document. They follow from
detailed balance: the chains have no loops but those that are walked both ways.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import lru_cache
from math import comb
from typing import Protocol

from gnomon.errors import UsageError


class ModelError(UsageError):
    """Times that the model cannot be evaluated for."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer, in nanoseconds of a thread that has its core to itself.

    `run` (T_r) is what a compute thread works between two answers, the sending included.
    `handle` (T_h) is what communicators do for it: receive and send at the far node,
    receive and wake at the near one. `latency` (L) is the way there and back with the time
    that the bytes take. `occupancy` (b) is how long the port of a node is taken; a
    communicator cannot answer faster than that.
    """

    run: float
    handle: float
    latency: float
    occupancy: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not math.isfinite(value) or value < 0:
                raise ModelError(
                    f"the {field.name} time of an exchange is {value:g} ns: it must be 0 or more."
                )
        if self.handle + self.occupancy <= 0:
            raise ModelError("an exchange that nobody handles has no queue: give a handle time.")
        if self.run + self.latency <= 0:
            raise ModelError("an exchange needs time: give a run or a latency above zero.")


@dataclass(frozen=True, slots=True)
class Overheads:
    """Nanoseconds that each operation takes longer; a negative one is a gain.

    How they enter (section 8): a way is gone twice; a communicator receives, and is
    notified, twice and sends and wakes once; a compute thread sends once. It goes to sleep
    while its request is under way, so that `sleep` takes time but no latency.
    """

    latency: float = 0.0
    send: float = 0.0
    receive: float = 0.0
    notification: float = 0.0
    wake: float = 0.0
    sleep: float = 0.0

    def added_to(self, exchange: Exchange) -> Exchange:
        """Return the exchange with these overheads."""
        return replace(
            exchange,
            run=exchange.run + self.send + self.sleep,
            handle=exchange.handle + self.send + 2 * (self.receive + self.notification) + self.wake,
            latency=exchange.latency + 2 * self.latency - self.sleep,
        )


OS_NIC = Overheads(send=1000, receive=1000, notification=1000)
"""An efficient network interface that only the operating system may use (L2098)."""


class SpeedLaw(Protocol):
    """How fast each of n threads runs, and what a thread that polls beside them costs."""

    def speed(self, threads: int) -> float:
        """Return the speed of each of n threads, 1 for one that has its core to itself."""
        ...

    def polling_penalty(self, threads: int) -> float:
        """Return how much longer n threads take when one more polls beside them, as a share."""
        ...


@dataclass(frozen=True, slots=True)
class Saturation:
    """Throughput of n threads that share a core: `height * (1 - exp(-n / knee))`.

    The defaults are the law that Parker fitted to his SMT processor (section 4.4), with
    which one thread alone runs at speed 1.
    """

    height: float = 3.20
    knee: float = 2.67

    def throughput(self, threads: int) -> float:
        """Return what all threads together do, in units of one thread alone."""
        return self.height * -math.expm1(-threads / self.knee)

    def speed(self, threads: int) -> float:
        """Return the speed of each of n threads; of none it is taken to be 1."""
        return 1.0 if threads == 0 else self.throughput(threads) / threads

    def polling_penalty(self, threads: int) -> float:
        """Return how much longer n threads take when one more polls beside them, as a share."""
        return self.speed(threads) / self.speed(threads + 1) - 1


@dataclass(frozen=True, slots=True)
class Unshared:
    """Threads that have a core each, and take nothing from each other."""

    def speed(self, threads: int) -> float:  # noqa: ARG002
        """Return 1."""
        return 1.0

    def polling_penalty(self, threads: int) -> float:  # noqa: ARG002
        """Return 0: who polls has a core of its own, too."""
        return 0.0


Speed = Callable[[int], float]
"""The speed of each of n threads that share a core."""


@dataclass(frozen=True, slots=True)
class States:
    """The share of time with i compute threads running, without the communicator and with it."""

    without: tuple[float, ...]
    beside: tuple[float, ...]

    def compute_speed(self, speed: Speed) -> float:
        """Return the mean speed of a running compute thread (L1868)."""
        running = done = 0.0
        for i, (alone, shared) in enumerate(zip(self.without, self.beside, strict=True)):
            running += i * (alone + shared)
            done += i * (speed(i) * alone + speed(i + 1) * shared)
        return done / running if running > 0 else speed(1)

    def handler_speed(self, speed: Speed) -> float:
        """Return the mean speed of the communicator while it runs (L1872)."""
        running = sum(self.beside)
        if running <= 0:
            return speed(1)
        return sum(speed(i + 1) * share for i, share in enumerate(self.beside)) / running


def isomorphic_chain(threads: int, run: float, stall: float, speed: Speed) -> tuple[float, ...]:
    """Return the share of time in which i of n like threads run.

    A thread needs `run` of time alone, then stalls for `stall`: section 7.4, L1836 to L1846.
    """
    weights = []
    product = 1.0
    for i in range(threads + 1):
        product *= speed(i) if i else 1.0
        weights.append(comb(threads, i) * (run / stall) ** i / product)
    total = sum(weights)
    return tuple(weight / total for weight in weights)


def communicator_chain(
    threads: int, run: float, stall: float, handle: float, gap: float, speed: Speed
) -> States:
    """Return the states of a core on which a communicator works beside like threads.

    It handles for `handle` of time alone and rests for `gap`: L1854 to L1863.
    """
    without, beside = [], []
    product = 1.0
    for i in range(threads + 1):
        product *= speed(i) if i else 1.0
        weight = comb(threads, i) * (run / stall) ** i / product
        without.append(weight)
        beside.append(weight * (handle / gap) / speed(i + 1))
    total = sum(without) + sum(beside)
    return States(tuple(w / total for w in without), tuple(w / total for w in beside))


def in_system(load: float, room: int) -> float:
    """Return how many are in an M/M/1/B queue on average (L1804, with its minus sign)."""
    if math.isclose(load, 1.0, rel_tol=1e-9):
        return room / 2
    full = load ** (room + 1)
    return load / (1 - load) - (room + 1) * full / (1 - full)


def blocked(load: float, room: int) -> float:
    """Return the share of arrivals that find no room (p_B)."""
    if math.isclose(load, 1.0, rel_tol=1e-9):
        return 1 / (room + 1)
    return (1 - load) * load**room / (1 - load ** (room + 1))


def response_time(arrivals: float, service: float, room: int | None = None) -> float:
    """Return the time from arrival to the end of service, with `service` the mean time of one.

    Without a bound it is 1 / (1/service - arrivals), and endless where more arrive than leave.
    """
    load = arrivals * service
    if room is None:
        return service / (1 - load) if load < 1 else math.inf
    if arrivals == 0:
        return service
    return in_system(load, room) / (arrivals * (1 - blocked(load, room)))


_SETTLED = 1e-9  # nanoseconds, and share of a speed
_MOST_STEPS = 5000
_DAMPING = 0.5


class Queue(StrEnum):
    """Which queue stands before a communicator."""

    UNBOUNDED = "m/m/1"
    BOUNDED = "m/m/1/b"


@dataclass(frozen=True, slots=True)
class Solution:
    """A cycle of a compute thread, and what makes it up; times in nanoseconds.

    `wait` (T_c) is from asking to the answer, `compute` (t_R) from the answer to the next
    question. `load` is how busy the slower of communicator and port is.
    """

    exchange: Exchange
    threads: int
    wait: float
    compute: float
    gap: float
    load: float
    compute_speed: float
    handler_speed: float
    states: States
    steps: int

    @property
    def cycle(self) -> float:
        """The time from one request of a thread to its next."""
        return self.wait + self.compute


def solve(
    exchange: Exchange,
    threads: int,
    *,
    speeds: SpeedLaw | None = None,
    queue: Queue = Queue.UNBOUNDED,
    room: int | None = None,
) -> Solution:
    """Return the cycle of each of n compute threads that share a core with a communicator.

    `room` is how many requests there can be at most, for a bounded queue: the compute
    threads of all nodes. Items 5 to 11 of the model, each step half of the way.
    """
    if threads < 1:
        raise ModelError(f"{threads} compute threads make no requests: at least 1 is needed.")
    if queue is Queue.BOUNDED and (room is None or room < threads):
        raise ModelError("a bounded queue needs its room: as many as there are compute threads.")
    law = Saturation() if speeds is None else speeds
    bound = room if queue is Queue.BOUNDED else None
    compute_speed = handler_speed = 1.0
    before = math.inf
    for step in range(1, _MOST_STEPS + 1):
        compute = exchange.run / compute_speed
        service = max(exchange.handle / handler_speed, exchange.occupancy)
        wait = _wait(exchange.latency, compute, service, threads, bound)
        gap = (wait + compute) / threads - exchange.handle / handler_speed
        states = communicator_chain(threads, exchange.run, wait, exchange.handle, gap, law.speed)
        new = states.compute_speed(law.speed), states.handler_speed(law.speed)
        moved = abs(new[0] - compute_speed) + abs(new[1] - handler_speed)
        if moved < _SETTLED and abs(wait + compute - before) < _SETTLED * (wait + compute):
            return Solution(
                exchange=exchange,
                threads=threads,
                wait=wait,
                compute=compute,
                gap=gap,
                load=service * threads / (wait + compute),
                compute_speed=compute_speed,
                handler_speed=handler_speed,
                states=states,
                steps=step,
            )
        before = wait + compute
        compute_speed += _DAMPING * (new[0] - compute_speed)
        handler_speed += _DAMPING * (new[1] - handler_speed)
    raise ModelError("the model does not settle for these times: check their units (nanoseconds).")


def _wait(latency: float, compute: float, service: float, threads: int, room: int | None) -> float:
    """Return T_c, which satisfies T_c = L + E[r] with arrivals at N / (T_c + k)."""
    if room is None:
        # L1886: the larger root of the quadratic, at which less arrives than leaves.
        spread = compute - service * (threads + 1) - latency
        product = service * latency * threads - service * compute - latency * compute
        return 0.5 * (-spread + math.sqrt(max(spread * spread - 4 * product, 0.0)))
    low, high = latency, latency + service * (room + 1)
    for _ in range(200):
        middle = (low + high) / 2
        answer = latency + response_time(threads / (middle + compute), service, room)
        low, high = (middle, high) if answer > middle else (low, middle)
    return (low + high) / 2


_REACH = 12.0  # standard deviations: beyond them no double is above zero
_STEPS = 6000


@lru_cache(maxsize=256)
def expected_maximum(n: int) -> float:
    """Return I_n: the expected largest of n standard normal values (L1971, factor n restored).

    The trapezoidal rule is as good as exact for a smooth integrand that vanishes at both ends.
    """
    if n < 1:
        raise ValueError("the largest of no values is not defined")
    step = 2 * _REACH / _STEPS
    total = 0.0
    for index in range(_STEPS + 1):
        w = -_REACH + index * step
        below = 0.5 * math.erfc(-w)
        if below > 0.0:
            total += w * math.exp(-w * w) * below ** (n - 1)
    return n * math.sqrt(2 / math.pi) * total * step
