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
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from gnomon.analysis import messages
    from gnomon.analysis.compare import compare
    from gnomon.analysis.count import count
    from gnomon.analysis.diagnosis import diagnose
    from gnomon.analysis.estimate.observe import observe
    from gnomon.analysis.estimate.recorded import estimate, state_of
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
    from gnomon.instrument.regions import region
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
    "diagnose": "gnomon.analysis.diagnosis",
    "estimate": "gnomon.analysis.estimate.recorded",
    "links": "gnomon.analysis.links",
    "locality": "gnomon.analysis.locality",
    "latency": "gnomon.analysis.latency",
    "latency_of": "gnomon.analysis.latency",
    "memory": "gnomon.analysis.memory",
    "observe": "gnomon.analysis.estimate.observe",
    "phases": "gnomon.analysis.phases",
    "profile": "gnomon.instrument.profile",
    "region": "gnomon.instrument.regions",
    "report": "gnomon.analysis.recorded",
    "scale": "gnomon.analysis.scaling",
    "scale_models": "gnomon.analysis.scaling",
    "show": "gnomon.views.show",
    "source": "gnomon.sources.registry",
    "state_of": "gnomon.analysis.estimate.recorded",
    "survey": "gnomon.analysis.survey",
}

# Commands of several words: their functions are those of a package, as in `gn.messages.bench`.
_PACKAGES = {
    "messages": "gnomon.analysis.messages",
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
    "diagnose",
    "estimate",
    "latency",
    "latency_of",
    "links",
    "locality",
    "memory",
    "messages",
    "observe",
    "phases",
    "profile",
    "region",
    "report",
    "scale",
    "scale_models",
    "show",
    "source",
    "state_of",
    "survey",
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
    if name == "PerfSource":
        raise AttributeError("gnomon.PerfSource() is now gnomon.source('host')")
    if name in _PACKAGES:
        return import_module(_PACKAGES[name])
    if name not in _HOMES:
        raise AttributeError(f"module 'gnomon' has no attribute '{name}'")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted((*__all__, "__version__"))
