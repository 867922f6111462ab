"""Under what conditions messages are measured: CPUs, mechanisms and events that work, and load."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gnomon import _native
from gnomon.analysis.messages.result import LeftOut, Regime
from gnomon.errors import NotSupportedError, UsageError
from gnomon.events.sysfs import parse_cpu_list
from gnomon.messaging.sessions import Mechanism, find_mechanisms

_TOPOLOGY = Path("/sys/devices/system/cpu")

Places = dict[Regime, tuple[int, int]]


def listed(given: str | Sequence[str] | None, what: str) -> list[str] | None:
    """Return the words of a list, which may be a text with commas; None is None."""
    if given is None or not isinstance(given, str):
        return None if given is None else list(given)
    words = [word.strip() for word in given.split(",") if word.strip()]
    if not words:
        raise UsageError(f"{what} is empty: name something, or omit it.")
    return words


def listed_cpus(given: str | Sequence[int] | None) -> list[int] | None:
    """Return CPUs in the order in which they are named, as in `2,0-1`."""
    if given is None or not isinstance(given, str):
        return None if given is None else list(given)
    return [cpu for word in listed(given, "cpus") or () for cpu in parse_cpu_list(word)]


def allowed_cpus() -> tuple[int, ...]:
    """Return the CPUs that this process may use."""
    return tuple(sorted(os.sched_getaffinity(0)))


def siblings_of(cpu: int, topology: Path = _TOPOLOGY) -> frozenset[int]:
    """Return the hardware threads of the core of a CPU, itself among them."""
    try:
        text = (topology / f"cpu{cpu}/topology/thread_siblings_list").read_text().strip()
        return frozenset(parse_cpu_list(text)) | {cpu}
    except (OSError, UsageError):
        return frozenset({cpu})


def check_cpus(cpus: Sequence[int], allowed: Sequence[int] | None = None) -> None:
    """Raise what is wrong with CPUs that were asked for."""
    usable = allowed_cpus() if allowed is None else allowed
    for cpu in cpus:
        if cpu not in usable:
            listing = ",".join(map(str, usable))
            raise UsageError(f"CPU {cpu} cannot be used here: choose from {listing}.")


def places(
    cpus: Sequence[int] | None,
    wanted: Sequence[str] | None,
    *,
    allowed: Sequence[int] | None = None,
    topology: Path = _TOPOLOGY,
) -> tuple[Places, list[LeftOut]]:
    """Return the two CPUs of every regime that is possible, and which are not.

    `cpus` are one or two to stay on. Regimes that were asked for by name must be possible.
    """
    usable = allowed_cpus() if allowed is None else tuple(allowed)
    if cpus is not None:
        if not 1 <= len(cpus) <= 2 or len(set(cpus)) != len(cpus):
            raise UsageError("two different CPUs send each other messages: name them, as in 0,1.")
        check_cpus(cpus, usable)
    for name in wanted or ():
        if name not in set(Regime):
            raise UsageError(f"'{name}' is not a regime: choose from {', '.join(Regime)}.")
    candidates = tuple(cpus) if cpus is not None else usable
    found = _possible(candidates, topology)
    reasons = {
        Regime.IDLE: f"there is no second core among the CPUs to use ({_listed(candidates)})",
        Regime.AWAKE: f"there is no second core among the CPUs to use ({_listed(candidates)})",
        Regime.SIBLINGS: "no two CPUs to use are threads of one core",
    }
    if wanted is not None:
        for name in wanted:
            if name not in found:
                raise NotSupportedError(
                    f"regime {name} cannot be measured: {reasons[Regime(name)]}; "
                    "omit it, or allow more CPUs."
                )
        return {regime: found[regime] for regime in Regime if regime in wanted}, []
    missing = [LeftOut(f"regime {r}", reasons[r]) for r in Regime if r not in found]
    return found, missing


def _possible(cpus: tuple[int, ...], topology: Path) -> Places:
    first = cpus[0]
    together = siblings_of(first, topology)
    found: Places = {}
    apart = [cpu for cpu in cpus[1:] if cpu not in together]
    if apart:
        found[Regime.IDLE] = found[Regime.AWAKE] = (first, apart[0])
    beside = [cpu for cpu in cpus[1:] if cpu in together]
    if beside:
        found[Regime.SIBLINGS] = (first, beside[0])
    found[Regime.SAME] = (first, first)
    return {regime: found[regime] for regime in Regime if regime in found}


def _listed(cpus: Sequence[int]) -> str:
    return ",".join(map(str, cpus))


def usable_mechanisms(names: Sequence[str] | None) -> tuple[list[Mechanism], list[LeftOut]]:
    """Return the mechanisms of these names that work here, and why the others do not."""
    usable: list[Mechanism] = []
    left_out: list[LeftOut] = []
    for each in find_mechanisms(names):
        if reason := each.why_not():
            left_out.append(LeftOut(each.name, reason))
        else:
            usable.append(each)
    if not usable:
        raise NotSupportedError(f"nothing is left to measure: {'; '.join(map(str, left_out))}.")
    return usable, left_out


DEFAULT_EVENTS = ("context-switches", "page-faults", "instructions", "cycles")
_MOST_EVENTS = 12


@dataclass(frozen=True, slots=True)
class Counters:
    """An event and how the kernel is asked for it."""

    name: str
    spec: _native.EventSpec


def counters_of(names: Sequence[str]) -> tuple[list[Counters], list[LeftOut]]:
    """Return the events that can be counted here, and why the others cannot."""
    from gnomon.events.syntax import ask
    from gnomon.sources.registry import source as chosen_source

    source = chosen_source()
    requests = [r for name in names for g in ask(name, source.resolve).groups for r in g]
    if len(requests) > _MOST_EVENTS:
        raise UsageError(
            f"{len(requests)} events are too many for messages: at most {_MOST_EVENTS}."
        )
    found: list[Counters] = []
    missing: list[LeftOut] = []
    for verdict, request in zip(source.availability(requests), requests, strict=True):
        name = request.label
        if not verdict.countable:
            missing.append(LeftOut(f"event {name}", verdict.reason))
            continue
        found.append(Counters(name, _spec(request)))
    return found, missing


def _spec(request: object) -> _native.EventSpec:
    from gnomon.events.encoding import event_spec, separates_levels
    from gnomon.events.event import Request

    assert isinstance(request, Request)
    spec = event_spec(request)
    try:
        _native.Group([spec], 0, -1).close()
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM):
            raise
        # Without rights, what happens in the kernel stays hidden.
        spec = event_spec(request, user_only=separates_levels(request.event))
    return spec


_BUSY = 0.15  # CPUs of other programs
_STOLEN = 0.02


@contextmanager
def watching() -> Iterator[list[str]]:
    """Watch the load; at the end, the list has a warning where others were busy."""
    from gnomon.stress.samples import LoadWatch

    watch = LoadWatch()
    warnings: list[str] = []
    yield warnings
    load = watch.load()
    if load.others > _BUSY or load.steal > _STOLEN:
        warnings.append(
            f"the machine was busy ({load}): times are too long and intervals too wide; "
            "measure again on an idle machine"
        )
