"""Machines: two nodes with a link, one bare node; many events in the huge case."""

from __future__ import annotations

from gnomon.machines.machine import (
    Cache,
    Core,
    Link,
    Machine,
    MemoryController,
    Node,
    Tlb,
    Translation,
)
from gnomon.machines.sim import Counters, MachineResult
from gnomon.recording.contents import Provenance

_CACHE = Cache(1 << 15, 8, 64, 4.0)


def _of(events: int, text: str = "") -> MachineResult:
    machine = Machine(
        text or "pair",
        Core(2.0, threads=2),
        (Node(2, MemoryController(45.0, 30.0, 40.0, 2)), Node(2, None)),
        _CACHE,
        l1i=Cache(1 << 15, 8, 64, 4.0, 3.0, exclusive=True),
        l2=Cache(1 << 18, 8, 64, 12.0, writeback_allocate=False),
        translation=Translation(data=Tlb(64, 4), second=Tlb(512, 512)),
        links=(Link((0, 1), 15.0, 70.0),),
        title=text or "Two nodes",
        cache_remote=False,
    )
    return MachineResult(
        machine,
        Counters(text or "generic", 4, ("cycles",), 2, 48, tuple(map(str, range(events)))),
        ((30.0, None), (100.0, None)),
        ((45.0, None), (15.0, None)),
        provenance=Provenance(text or "machine", simulated=True),
    )


def small() -> MachineResult:
    return _of(12)


def empty() -> MachineResult:
    machine = Machine("", Core(1.0), (Node(1, MemoryController(1.0, 0.0)),), _CACHE)
    return MachineResult(machine, Counters("", 0, (), 0, 32, ()), ((0.0,),), ((1.0,),))


def hostile(text: str) -> MachineResult:
    return _of(2, text)


def huge(rows: int) -> MachineResult:
    return _of(rows)
