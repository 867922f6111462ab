"""Which CPUs the two processes of each regime are put on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from gnomon.analysis.notify.model import LeftOut, Regime
from gnomon.errors import NotSupportedError, UsageError
from gnomon.events.sysfs import parse_cpu_list

_TOPOLOGY = Path("/sys/devices/system/cpu")

Places = dict[Regime, tuple[int, int]]


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
                    "leave it away, or allow more CPUs."
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
