"""Latency between two points: from each record of one kind to the next of another that matches it.

`packet`: the same packet, seen again by another probe or board with a synchronised clock.
`transaction`: what answers it, in a transaction of SCI or in a conversation of a network.
`thread`: what comes next in the same thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gnomon.analysis.traces.result import Bar, Share, Slowest, TraceLatency
from gnomon.errors import UsageError
from gnomon.recording.traces.matches import Matches, gather
from gnomon.recording.traces.types import REQUESTS
from gnomon.result import Interval

if TYPE_CHECKING:
    from gnomon.recording.traces.reader import Trace

KEYS = ("packet", "transaction", "thread")
SHARES = (0.5, 0.9, 0.99, 0.999)
_NETWORK = ("source", "destination", "sport", "dport")
_NEEDED = ("time", "type", "src", "dst", "tx", "addr", "tid", "seq", "length", *_NETWORK)


def latency(
    traces: Sequence[Trace], begins: str, ends: str, *, by: str = "transaction", top: int = 10
) -> TraceLatency:
    """Return the times from records that one filter keeps to those of another."""
    import numpy as np

    if by not in KEYS:
        raise UsageError(f"records cannot belong together by '{by}': choose {', '.join(KEYS)}.")
    if not begins.strip() or not ends.strip():
        raise UsageError("two points are needed: filters for --from and --to.")
    if top < 0:
        raise UsageError("--top must be at least 0.")
    numbers: dict[str, int] = {}
    parts = []
    for side, text in enumerate((begins, ends)):
        for number, trace in enumerate(traces, 1):
            ids = Matches(trace, text).all()
            columns = gather(trace, ids, _NEEDED)
            keys = _keys(columns, _common(trace, numbers), by)
            rows = np.stack((np.full(len(ids), number), ids, np.full(len(ids), side)))
            parts.append((columns["time"], rows, keys))
    time = np.concatenate([part[0] for part in parts])
    rows = np.concatenate([part[1] for part in parts], axis=1)
    keys = np.concatenate([part[2] for part in parts], axis=1)
    order = np.lexsort((rows[1], rows[2], time, *keys))
    time, rows, keys = time[order], rows[:, order], keys[:, order]
    same = (keys[:, 1:] == keys[:, :-1]).all(axis=0)
    pair = np.flatnonzero(same & (rows[2, :-1] == 0) & (rows[2, 1:] == 1))
    found = time[pair + 1] - time[pair]
    return _result(found, rows, pair, (begins, ends, by), top)


def _common(trace: Trace, numbers: dict[str, int]) -> Any:
    """Return numbers for the names of a trace that are the same for all traces."""
    import numpy as np

    return np.array([numbers.setdefault(name, len(numbers)) for name in trace.names], "i8")


def _keys(columns: Any, names: Any, by: str) -> Any:
    """Return what must be equal of two records that belong together, as rows of numbers."""
    import numpy as np

    if by == "thread":
        return np.stack([columns["tid"].astype("i8")])
    sci = columns["type"] < 64
    whence, whither = (names[columns[name]] for name in ("source", "destination"))
    whence, whither = np.where(sci, columns["src"], whence), np.where(sci, columns["dst"], whither)
    ports = (columns["sport"].astype("i8"), columns["dport"].astype("i8"))
    if by == "packet":
        kept = [columns[name].astype("i8") for name in ("type", "tx", "addr", "seq", "length")]
        return np.stack([whence, whither, *ports, *kept])
    # Responses and their echoes name the responder first, the others the requester.
    back = sci & ~np.isin(columns["type"], (9, *REQUESTS))
    a, b = whence << 16 | ports[0], whither << 16 | ports[1]
    network = ~sci & (a > b)
    turned = back | network
    return np.stack([np.where(turned, b, a), np.where(turned, a, b), columns["tx"].astype("i8")])


def _result(
    found: Any, rows: Any, pair: Any, words: tuple[str, str, str], top: int
) -> TraceLatency:
    import numpy as np

    begins = int((rows[2] == 0).sum())
    ends = int((rows[2] == 1).sum())
    count = len(found)
    if not count:
        return TraceLatency(*words, 0, begins, ends)
    values = np.quantile(found, SHARES)
    worst = np.argsort(-found, kind="stable")[:top]
    slowest = tuple(
        Slowest(
            int(found[at]),
            int(rows[1, pair[at]]),
            int(rows[1, pair[at] + 1]),
            int(rows[0, pair[at]]),
            int(rows[0, pair[at] + 1]),
        )
        for at in worst.tolist()
    )
    return TraceLatency(
        *words,
        count,
        begins - count,
        ends - count,
        float(found.mean()),
        int(found.min()),
        int(found.max()),
        tuple(Share(share, float(value)) for share, value in zip(SHARES, values, strict=True)),
        _bars(found),
        slowest,
    )


def _bars(found: Any) -> tuple[Bar, ...]:
    """Return a histogram with four bars an octave."""
    import numpy as np

    low, high = int(found.min()), int(found.max())
    octaves = np.log2([max(low, 1), max(high, 1)])
    steps = np.round(2 ** (np.arange(octaves[0] * 4 // 1, octaves[1] * 4 + 1) / 4))
    inner = np.unique(steps[(steps > low) & (steps <= high)])
    edges = np.concatenate(([low], inner, [high + 1]))
    counts, _ = np.histogram(found, edges)
    return tuple(
        Bar(Interval(float(a), float(b)), int(n))
        for a, b, n in zip(edges, edges[1:], counts, strict=False)
    )
