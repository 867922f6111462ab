"""Closed forms of SCI rings, in symbols; a packet takes its length and one attached idle.

`send` and `echo` are lengths without that idle; `rate` is sends per symbol and node.
"""

from __future__ import annotations

from gnomon.fabric.layout import ECHO_SYMBOLS


def saturation(send: int, echo: int = ECHO_SYMBOLS) -> float:
    """Return the sends per symbol of a whole uniform ring at saturation, whatever its size.

    A send and its echo together go round the ring once: half of the way as a send on average.
    """
    return 2 / ((send + 1) + (echo + 1))


def echo_share(send: int, echo: int = ECHO_SYMBOLS) -> float:
    """Return the share of the links that echoes take."""
    return (echo + 1) / ((send + 1) + (echo + 1))


def passing_load(rate: float, nodes: int, send: int, echo: int = ECHO_SYMBOLS) -> float:
    """Return the share of time in which a node passes others' packets on, on a uniform ring."""
    return rate * ((nodes - 2) / 2 * (send + 1) + nodes / 2 * (echo + 1))


def source_wait(rate: float, nodes: int, send: int, echo: int = ECHO_SYMBOLS) -> float:
    """Return the mean wait of a source packet on a uniform ring without go bits.

    A queue M/G/1 whose service is a delay cycle: while a packet is sent, others' packets gather in
    the bypass FIFO and go first. Trains of packets are left out, so the formula is exact for no
    load; with go bits it is a lower bound.
    """
    ls, le = send + 1, echo + 1
    rho = passing_load(rate, nodes, send, echo)
    squares = rate * ((nodes - 2) / 2 * ls**2 + nodes / 2 * le**2)
    service = ls / (1 - rho)
    service_squared = ls**2 / (1 - rho) ** 2 + ls * squares / (1 - rho) ** 3
    return squares / 2 + rate * service_squared / (2 * (1 - rate * service))


def most_accepted_before(senders: int, outstanding: int) -> int:
    """Return how many others a receiver accepts at most between a packet's busy and its own."""
    return 2 * senders * outstanding - 1
