"""Queues in front of one server with exponential times: M/M/1 and, with bounded room, M/M/1/B."""

from __future__ import annotations

import math


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
