"""A machine with user-level notification in simulated time, and two that lack it.

    from gnomon.messaging.uln import KERNEL_NIC, ULN, Descriptor, Doorbell, run

    outcome = run(ping, pong, machine=ULN)
    print(outcome.results[0])

Programs are `async def` functions that take a `Thread`.
"""

from gnomon.messaging.protocol import Descriptor, Doorbell
from gnomon.messaging.uln.engine import (
    MEMORY_BASE,
    MEMORY_BYTES,
    DeadlockError,
    Run,
    TimeLimitError,
    run,
)
from gnomon.messaging.uln.injection import Placement
from gnomon.messaging.uln.machine import (
    KERNEL_NIC,
    MACHINES,
    ULN,
    USER_LEVEL_NIC,
    Costs,
    Fallback,
    MachineKind,
    machine_kind,
)
from gnomon.messaging.uln.nic import Note
from gnomon.messaging.uln.programming import Thread, ThreadHandle
from gnomon.messaging.uln.timeline import Timeline

__all__ = [
    "KERNEL_NIC",
    "MACHINES",
    "MEMORY_BASE",
    "MEMORY_BYTES",
    "ULN",
    "USER_LEVEL_NIC",
    "Costs",
    "DeadlockError",
    "Descriptor",
    "Doorbell",
    "Fallback",
    "MachineKind",
    "Note",
    "Placement",
    "Run",
    "Thread",
    "ThreadHandle",
    "TimeLimitError",
    "Timeline",
    "machine_kind",
    "run",
]
