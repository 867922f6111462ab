"""Reads the hidden performance state of parallel machines from their event counters.

    import gnomon as gn

    result = gn.count(["./program"], "task-clock,page-faults", repeat=5)
    print(result["page-faults"].value)

The names below are the public interface; each is imported when it is first used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from gnomon import lab as lab
    from gnomon.analysis import messages
    from gnomon.analysis import traces as trace
    from gnomon.analysis.compare import compare
    from gnomon.analysis.count import count
    from gnomon.analysis.doctor import doctor
    from gnomon.analysis.estimate import estimate
    from gnomon.analysis.events import events
    from gnomon.analysis.latency import latency, latency_of
    from gnomon.analysis.links import links
    from gnomon.analysis.locality import locality
    from gnomon.analysis.locality.advisor import advise
    from gnomon.analysis.memory import memory
    from gnomon.analysis.phases import PhaseSeries, phases
    from gnomon.analysis.recorded import report
    from gnomon.analysis.scaling import scale, scale_models
    from gnomon.analysis.survey import survey
    from gnomon.errors import GnomonError
    from gnomon.instrument.eventset import EventSet
    from gnomon.instrument.profile import PythonProfile, profile
    from gnomon.instrument.region_report import regions
    from gnomon.instrument.regions import region
    from gnomon.machines import sim
    from gnomon.recording import Recording, RecordingWriter
    from gnomon.recording.converting import convert
    from gnomon.sources.base import Command, Cpus, Process, Thread
    from gnomon.sources.registry import source
    from gnomon.views.show import show

_HOMES = {
    "Command": "gnomon.sources.base",
    "Cpus": "gnomon.sources.base",
    "EventSet": "gnomon.instrument.eventset",
    "GnomonError": "gnomon.errors",
    "PhaseSeries": "gnomon.analysis.phases",
    "Process": "gnomon.sources.base",
    "PythonProfile": "gnomon.instrument.profile",
    "Recording": "gnomon.recording",
    "RecordingWriter": "gnomon.recording",
    "Thread": "gnomon.sources.base",
    "advise": "gnomon.analysis.locality.advisor",
    "compare": "gnomon.analysis.compare",
    "convert": "gnomon.recording.converting",
    "count": "gnomon.analysis.count",
    "doctor": "gnomon.analysis.doctor",
    "estimate": "gnomon.analysis.estimate",
    "events": "gnomon.analysis.events",
    "links": "gnomon.analysis.links",
    "locality": "gnomon.analysis.locality",
    "latency": "gnomon.analysis.latency",
    "latency_of": "gnomon.analysis.latency",
    "memory": "gnomon.analysis.memory",
    "phases": "gnomon.analysis.phases",
    "profile": "gnomon.instrument.profile",
    "region": "gnomon.instrument.regions",
    "regions": "gnomon.instrument.region_report",
    "report": "gnomon.analysis.recorded",
    "scale": "gnomon.analysis.scaling",
    "scale_models": "gnomon.analysis.scaling",
    "show": "gnomon.views.show",
    "source": "gnomon.sources.registry",
    "survey": "gnomon.analysis.survey",
}

_RENAMED = {
    "PerfSource": "source('host')",
    "diagnose": "doctor()",
    "observe": "estimate()",
    "state_of": "estimate(recording)",
}

# Commands of several words: their functions are those of a package, as in `gn.messages.bench`.
_PACKAGES = {
    "lab": "gnomon.lab",
    "messages": "gnomon.analysis.messages",
    "sim": "gnomon.machines.sim",
    "trace": "gnomon.analysis.traces",
}

__all__ = [
    "Command",
    "Cpus",
    "EventSet",
    "GnomonError",
    "PhaseSeries",
    "Process",
    "PythonProfile",
    "Recording",
    "RecordingWriter",
    "Thread",
    "advise",
    "compare",
    "convert",
    "count",
    "doctor",
    "estimate",
    "events",
    "lab",
    "latency",
    "latency_of",
    "links",
    "locality",
    "memory",
    "messages",
    "phases",
    "profile",
    "region",
    "regions",
    "report",
    "scale",
    "scale_models",
    "show",
    "sim",
    "source",
    "survey",
    "trace",
]


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package of gnomon, from the module of each name.

    Such a package imports nothing when it is loaded. No public name may be that of a module
    beside it: importing the module would hide it.
    """

    def fetch(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        value = getattr(import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return fetch, lambda: sorted(modules)


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        raise AttributeError(f"gnomon.{name}() is now gnomon.{_RENAMED[name]}")
    if name in _PACKAGES:
        return import_module(_PACKAGES[name])
    if name not in _HOMES:
        raise AttributeError(f"module 'gnomon' has no attribute '{name}'")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted((*__all__, "__version__"))


class _Package(ModuleType):
    """Keeps public names what they are: importing `gnomon.events` would hide the function."""

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _HOMES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
