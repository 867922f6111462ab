"""E3: how threads share a core (table 4), and when polling would be worth it (section 4.5)."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.analysis.study import Curve, Curves, Row
from gnomon.messaging import Saturation, fit_saturation
from gnomon_studies.verdicts import within

ISSUED = (0.778, 1.36, 1.67, 2.00, 1.95, 2.35, 2.24, 2.39)
"""Instructions a cycle of 1 to 8 threads, measured on the document's simulator (table 4)."""
_PER_THREAD = (1, 0.876, 0.717, 0.644, 0.502, 0.504, 0.412, 0.384)
# Table 3, which section 4.5 goes by: send initiation, wire, latency of receiving, wake latency.
_SEND, _INITIATION, _WIRE, _POLLED, _NOTIFIED, _WAKE = 26, 45, 300, 93, 103, 5
_POLL_OVERHEAD = 31
_FOUND = "the document does not say how: this arithmetic fits"


def run(seed: int) -> Iterator[Row]:
    """Fit the law, then weigh polling against notification."""
    yield from _law(seed)
    yield from _polling(Saturation())
    yield from _core()


def _law(seed: int) -> Iterator[Row]:
    threads = range(1, len(ISSUED) + 1)
    for number, (rate, published) in enumerate(zip(ISSUED, _PER_THREAD, strict=True), 1):
        ours = rate / ISSUED[0] / number
        yield within(
            "E3", f"speed of each of {number} threads", published, round(ours, 4), absolute=0.003
        )
    fit = fit_saturation(threads, ISSUED, seed=seed)
    free = fit_saturation(threads, ISSUED, constrained=False, seed=seed)
    for name, value, held, other in (
        ("height", 3.20, fit.height, free.height),
        ("knee", 2.67, fit.knee, free.knee),
    ):
        yield within(
            "E3",
            f"{name} of the saturation law",
            value,
            round(held.value, 4),
            absolute=0.006,
            note=f"least squares with one thread at exactly 1; 95 % interval {held.low:.2f} to "
            f"{held.high:.2f}; without that {other.value:.2f}",
        )


def _polling(law: Saturation) -> Iterator[Row]:
    one, seven = law.polling_penalty(1), law.polling_penalty(7)
    yield within("E3", "polling beside 1 compute thread", 18.5, 100 * one, absolute=0.1, note="%")
    yield within(
        "E3", "polling beside 7 compute threads", 11.6, 100 * seven, absolute=0.1, note="%"
    )
    polled = 2 * (_INITIATION + _WIRE + _POLLED) + _WAKE
    notified = 2 * (_INITIATION + _WIRE + _NOTIFIED) + _WAKE
    note = "ns; with 93 and 103 of table 3, which tables 1 and 2 contradict"
    yield within("E3", "round trip, polled", 881, polled, absolute=1, note=note)
    contended = polled + _SEND * one
    yield within(
        "E3", "round trip, polled beside compute", 886, contended, absolute=1,
        note=f"ns; {_FOUND}", calibrated=True,
    )  # fmt: skip
    yield within("E3", "round trip, notified", 901, notified, absolute=1, note=note)
    gain = notified - contended
    yield within("E3", "polling faster by", 1.66, 100 * gain / notified, absolute=0.05, note="%")
    even = gain / one
    yield within(
        "E3", "compute per message below which polling wins", 81, even, absolute=1.5, note="ns"
    )
    for published, period in ((3.16, notified + 81), (3.50, contended)):
        yield within(
            "E3",
            "share of time that receiving takes",
            published,
            100 * _POLL_OVERHEAD / period,
            absolute=0.01,
            note=f"%; {_FOUND}",
            calibrated=True,
        )


def _core() -> Iterator[Row]:
    old, new = 1956, 312
    yield within("E3", "present core over that of the cluster", 6.27, old / new, absolute=0.005)
    per_clock = old / new * 2.4 / 3.4
    yield within("E3", "the same, clock by clock", 4.43, per_clock, absolute=0.005)
    yield within("E3", "the same, at 3 GHz", 5.53, per_clock * 3.0 / 2.4, absolute=0.005)


def pictures(seed: int) -> list[Curves]:  # noqa: ARG001 - nothing here is random
    """Return the throughput of a core over its threads, and the law fitted to it."""
    law = Saturation()
    measured = tuple((n, rate / ISSUED[0]) for n, rate in enumerate(ISSUED, 1))
    drawn = tuple((n, law.throughput(n)) for n in range(1, 9))
    fitted = Curve("3.20 (1 - exp(-n / 2.67))", drawn, measured)
    unshared = Curve("as many cores as threads", ((1.0, 1.0), (3.5, 3.5)))
    return [
        Curves(
            "What n threads of a core get done in the time of one; points are table 4",
            "threads",
            "throughput",
            (fitted, unshared),
        )
    ]
