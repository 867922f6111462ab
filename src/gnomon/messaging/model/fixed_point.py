"""Solving the model: the wait for an answer and the speeds of threads depend on each other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from gnomon.messaging.model.chain import States, communicator_chain
from gnomon.messaging.model.exchange import Exchange, ModelError
from gnomon.messaging.model.queueing import response_time
from gnomon.messaging.model.smt import Saturation, SpeedLaw

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
