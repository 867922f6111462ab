"""How many batches the planner needs for Intel's event lists, and how long it takes.

Run with `python benchmarks/planner.py [folder of event lists]`.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.events.perfmon import load
from gnomon.events.planner import Pmu, Watchdog, plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnomon.events.event import Event
    from gnomon.events.planner import Plan

FOLDER = Path(__file__).resolve().parent.parent / ".." / "shared" / "data" / "perfmon"
ANCHORS = ("INST_RETIRED.ANY", "CPU_CLK_UNHALTED.THREAD")
SUBSETS = 50
SIZE = 300
HALVED = Pmu("cpu", general=8, fixed=3, smt_halved=True)
WHOLE = Pmu("cpu", general=8, fixed=4)
CPUS = {"HSX": HALVED, "SKX": HALVED, "ICX": WHOLE, "SPR": WHOLE}


def timed(events: Sequence[Event], pmu: Pmu, anchors: Sequence[Event] = ()) -> tuple[Plan, float]:
    """Return a plan and the seconds it took, the best of three."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        found = plan(events, pmu, anchors=anchors)
        seconds.append(time.perf_counter() - start)
    return found, min(seconds)


def row(name: str, found: Plan, events: int, seconds: float) -> None:
    """Print one line of the table."""
    lost = len(found.unplaceable)
    print(
        f"{name:28} {events:6} {len(found.batches):7} {found.lower_bound:5} {lost:5}"
        f" {seconds * 1e3:8.1f} ms"
    )


def whole_lists(cpu: str, pmu: Pmu, folder: Path) -> None:
    """Plan the whole list of a CPU, plainly, with anchors, and with anchors and watchdog."""
    events = load(folder, cpu, uncore=False).events
    anchors = [event for event in events if event.name in ANCHORS]
    watched = Pmu(
        "cpu", pmu.general, pmu.fixed, watchdog=Watchdog.EITHER, smt_halved=pmu.smt_halved
    )
    row(cpu, *_counted(timed(events, pmu), events))
    row(f"{cpu}, anchors", *_counted(timed(events, pmu, anchors), events))
    row(f"{cpu}, anchors, watchdog", *_counted(timed(events, watched, anchors), events))
    if pmu.smt_halved:
        free = load(folder, cpu, uncore=False, smt=False).events
        row(f"{cpu}, SMT off", *_counted(timed(free, Pmu("cpu", 8, pmu.fixed)), free))


def random_subsets(cpu: str, pmu: Pmu, folder: Path) -> None:
    """Plan random parts of the list of a CPU and print the worst of them."""
    events = load(folder, cpu, uncore=False).events
    draw = random.Random(cpu)
    gaps, seconds = [], []
    for _ in range(SUBSETS):
        subset = draw.sample(events, min(SIZE, len(events)))
        start = time.perf_counter()
        found = plan(subset, pmu)
        seconds.append(time.perf_counter() - start)
        gaps.append(len(found.batches) - found.lower_bound)
    print(
        f"{cpu}: {SUBSETS} random subsets of {SIZE}: at the bound {gaps.count(0)} times,"
        f" at worst {max(gaps)} beyond it, at most {max(seconds) * 1e3:.1f} ms"
    )


def _counted(timing: tuple[Plan, float], events: Sequence[Event]) -> tuple[Plan, int, float]:
    return timing[0], len(events), timing[1]


def main() -> int:
    """Print the tables, or say what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    folder = parser.parse_args().folder
    if not folder.is_dir():
        print(f"{folder}: there are no event lists here; name a copy of Intel's perfmon folder")
        return 1
    print(f"{'list':28} {'events':>6} {'batches':>7} {'bound':>5} {'lost':>5} {'time':>11}")
    for cpu, pmu in CPUS.items():
        whole_lists(cpu, pmu, folder)
    for cpu, pmu in CPUS.items():
        random_subsets(cpu, pmu, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
