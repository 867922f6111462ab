"""From a request to the numbers that the kernel wants."""

from __future__ import annotations

from gnomon import _native
from gnomon.events.event import Event, Kind, Request

_KEEPS_NO_LEVELS = frozenset({"msr", "power"})
# Context switches, migrations and control-group switches: only the kernel makes them, so
# that counted in user mode they would read zero, always.
_MADE_BY_THE_KERNEL = frozenset({3, 4, 11})


def event_spec(
    request: Request,
    *,
    inherit: bool = False,
    enable_on_exec: bool = False,
    user_only: bool = False,
    pinned: bool = False,
) -> _native.EventSpec:
    """Return the kernel's description of an event; `user_only` leaves out what needs rights."""
    encoding = request.event.encoding
    if encoding is None:
        raise ValueError(f"event {request.event.name} has no perf encoding")
    modifiers = request.modifiers
    spec = _native.EventSpec()
    spec.type = encoding.type
    spec.config = encoding.config
    spec.config1 = encoding.config1
    spec.config2 = encoding.config2
    spec.bp_type = encoding.bp_type
    spec.exclude_user = not modifiers.user
    spec.exclude_kernel = not modifiers.kernel or user_only
    spec.exclude_hv = not modifiers.hypervisor or user_only
    spec.exclude_host = not modifiers.host
    # Precise events cannot see into guests, and the kernel refuses to pretend otherwise.
    spec.exclude_guest = not modifiers.guest or modifiers.precise > 0
    spec.precise = modifiers.precise
    spec.pinned = modifiers.pinned or pinned
    spec.exclusive = modifiers.exclusive
    spec.inherit = inherit
    spec.enable_on_exec = enable_on_exec
    return spec


def separates_levels(event: Event) -> bool:
    """Whether the event can be counted in user mode only."""
    encoding = event.encoding
    if event.kind is Kind.SOFTWARE and encoding and encoding.config in _MADE_BY_THE_KERNEL:
        return False
    return (
        event.kind is not Kind.TRACEPOINT
        and event.cpus is None
        and (encoding is None or encoding.pmu not in _KEEPS_NO_LEVELS)
    )
