"""E9: the counters of both processors in one state vector."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gnomon.analysis.estimate import close
from gnomon.analysis.study import Row
from gnomon.machines import load_pmu
from gnomon_studies.manzke.machine import MODELS, Course, course, errors, estimated, held, over
from gnomon_studies.manzke.processes import INTERVAL, block_filter, noise, published
from gnomon_studies.verdicts import holds, shape

_CODES = (*range(11, 26), *range(28, 35))
_SETS = (
    ("L2_LD_MESI", "L2_LD_I_STATE"),
    ("L2_ST_MESI", "L2_ST_I_STATE"),
    ("L2_M_LINES_INM", "BUS_HITM_DRV"),
)
_WORDS = ("workload:false-sharing", "threads=2", "cpus=0,1")
_TICK_NS = 2_000


def run(seed: int) -> Iterator[Row]:
    """Identify table 6.3 again, and follow both processors while they share lines."""
    yield _mesi(seed)
    yield _one_state(seed)
    yield from smp_rows(course(_WORDS, _SETS, seed, tick_ns=_TICK_NS, by_place=True, scaled=False))


def mesi_events() -> list[str]:
    """Return the events of table 6.3 that have data."""
    pmu = load_pmu("pentium3")
    names = [name for name, event in pmu.events.items() if event.code in _CODES]
    return [name for name in names if any(key[0] == name for key in published())]


def _mesi(seed: int) -> Row:
    table = published()
    keys = [(event, cpu) for event in mesi_events() for cpu in (0, 1) if (event, cpu) in table]
    good = 0
    for number, key in enumerate(keys):
        again = close(table[key], INTERVAL, seed=seed + 1000 + number)
        allowed = 0.05 if table[key].beta < 60 else 0.25
        good += (
            abs(again.sigma / table[key].sigma - 1) <= 0.02
            and abs(again.beta / table[key].beta - 1) <= allowed
        )
    return holds(
        "E9",
        "processes of MESI events (table 6.3) found again",
        len(keys),
        good,
        "95 of 100",
        true=good >= 0.95 * len(keys),
        note="sigma within 2 %, beta within 5 % (25 % from 60/s on)",
    )


def _one_state(seed: int) -> Row:
    """Both processors in one vector are what each would be alone: they are independent."""
    events = mesi_events()[:8]
    keys = [(event, cpu) for cpu in (0, 1) for event in events]
    both = [published()[key] for key in keys if key in published()]
    half = len(both) // 2
    together = block_filter("integrated", both, [noise(each) for each in both])
    apart = [
        block_filter("integrated", part, [noise(each) for each in part])
        for part in (both[:half], both[half:])
    ]
    random = np.random.default_rng(seed)
    for tick in range(300):
        z = np.array([each.mean + each.sigma * random.standard_normal() for each in both])
        which = np.arange(tick % 3, len(both), 3)
        together.step(INTERVAL, which, z[which])
        for part, first in zip(apart, (0, half), strict=True):
            own = which[(which >= first) & (which < first + len(part))]
            part.step(INTERVAL, own - first, z[own])
    same = [together.block(i) for i in range(len(both))] == [
        part.block(i) for part in apart for i in range(len(part))
    ]
    return holds(
        "E9",
        f"one state of both processors ({2 * len(both)} states) and two of one",
        "the same filter",
        "identical" if same else "different",
        "identical",
        true=same,
    )


def smp_rows(found: Course) -> Iterator[Row]:
    """Yield errors on both processors."""
    busy = found.counts.sum(axis=0) > 0
    hold = errors(held(found), found)
    yield shape(
        "E9",
        "counters of two processors in one filter",
        "counters of all CPUs",
        f"{len(found.events)}, of which {int(busy.sum())} count",
        true=bool(busy.any()),
        note=f"false sharing, {len(found.counts)} ticks of {_TICK_NS / 1e3:g} us; no result was "
        "published",
    )
    for name in ("integrated, as published", "random walk"):
        each = errors(estimated(MODELS[name], found), found)
        ratio = over(each, hold)
        yield holds(
            "E9",
            f"{name}: error over that of hold, both processors",
            None,
            f"{ratio:.2f}",
            "at most 1",
            true=ratio <= 1,
            note=f"hold {np.nanmean(hold):.1%} on average",
        )
