"""What can be counted of a simulated cluster, node by node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gnomon.events.event import Scope
from gnomon.machines.pmu.events import Pmu, PmuEvent, Unit

_PS_IN_NS = 1000


@dataclass(frozen=True, slots=True)
class _Count:
    """A count of the simulator: its name there, and what it is; times are counted in ps."""

    name: str
    description: str
    time: bool = False


_COUNTS = {
    "messages-sent": _Count("sent", "messages that threads of the node sent"),
    "messages-received": _Count("received", "messages that were delivered to the node"),
    "bytes-sent": _Count("bytes_sent", "bytes of the messages that were sent"),
    "bytes-received": _Count("bytes_received", "bytes of the messages that were delivered"),
    "notifications": _Count("notifications", "waiting threads that were told of a message"),
    "signals": _Count("signals", "wake-ups of threads by other threads of the node"),
    "polls": _Count("polls", "looks at an empty mailbox until there was a message"),
    "interrupts": _Count("interrupts", "messages that interrupted the node"),
    "context-switches": _Count("context_switches", "threads that were given a context"),
    "late-wakes": _Count("not_resident", "wake-ups of threads that had no context"),
    "dropped-hints": _Count("dropped_hints", "of these, those that were dropped"),
    "task-clock": _Count("thread_time", "time that threads had the core, polling included", True),
    "busy-time": _Count("busy", "time in which any thread had the core", True),
    "poll-time": _Count("poll_time", "time that threads had the core and only polled", True),
    "work-time": _Count("work", "work done, in time of a thread that is alone", True),
    "send-port-time": _Count("send_port", "time in which the sending port was taken", True),
    "receive-port-time": _Count("receive_port", "time in which the receiving port was taken", True),
}
DEFAULT_EVENTS = (
    "task-clock",
    "messages-sent",
    "messages-received",
    "bytes-sent",
    "notifications",
    "context-switches",
)


def cluster_pmu(name: str, title: str) -> Pmu:
    """Return the counters of a cluster: there is one for each event, and none takes turns."""
    events = {
        event: PmuEvent(
            name=event,
            description=count.description,
            unit=Unit.SOFTWARE,
            scope=Scope.NODE,
            measure="ns" if count.time else "",
        )
        for event, count in _COUNTS.items()
    }
    return Pmu(name, title, general=0, width=64, events=events, default_events=DEFAULT_EVENTS)


def counted(event: str, counts: Mapping[str, float]) -> int:
    """Return how often an event happened, from what a node has counted."""
    count = _COUNTS[event]
    value = counts[count.name]
    return int(value / _PS_IN_NS) if count.time else int(value)
