"""How long packets take from one point to another, from the traces of synchronised instruments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.fabric.instrument.decoder import Decoded
from gnomon.fabric.layout import BLINK_REQUEST, BLINK_RESPONSE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Latencies:
    """Packets that were seen at both points, and between which times they took; in ns."""

    first: NDArray[np.int64]  # (packet): its number in the trace of the first point
    second: NDArray[np.int64]
    least_ns: NDArray[np.float64]
    most_ns: NDArray[np.float64]
    unmatched: int
    """Packets of the first point that the second did not see."""

    @property
    def middle_ns(self) -> NDArray[np.float64]:
        """The middle of what each may have taken."""
        return (self.least_ns + self.most_ns) / 2


def between(one: Decoded, other: Decoded) -> Latencies:
    """Return how long packets took from one point to another.

    A packet is known by its type, ends and transaction id. Ids come again after 64 transactions, so
    a packet is that of the same kind which comes next at the second point; one that was sent again
    counts from the last time.
    """
    import numpy as np

    waiting: dict[tuple[int, ...], int] = {}
    events = sorted(
        [(float(t), 0, i) for i, t in enumerate(one.earliest_ns.tolist())]
        + [(float(t), 1, i) for i, t in enumerate(other.latest_ns.tolist())]
    )
    firsts: list[int] = []
    seconds: list[int] = []
    keys = (_keys(one), _keys(other))
    for _, point, i in events:
        key = keys[point][i]
        if key[0] == 0:
            continue
        if point == 0:
            waiting[key] = i
        elif (begin := waiting.pop(key, None)) is not None:
            firsts.append(begin)
            seconds.append(i)
    first, second = np.array(firsts, np.int64), np.array(seconds, np.int64)
    return Latencies(
        first,
        second,
        np.maximum(other.earliest_ns[second] - one.latest_ns[first], 0.0),
        other.latest_ns[second] - one.earliest_ns[first],
        len(one) - len(first),
    )


def _keys(trace: Decoded) -> list[tuple[int, ...]]:
    import numpy as np

    kind = trace.type.astype(np.int64)
    kind = np.where(
        kind >= BLINK_RESPONSE,
        kind - (BLINK_RESPONSE - 10),
        np.where(kind >= BLINK_REQUEST, kind - (BLINK_REQUEST - 1), kind),
    )
    rows = (kind, trace.source, trace.target, trace.transaction)
    return list(zip(*(each.tolist() for each in rows), strict=True))
