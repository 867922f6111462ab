"""Measuring from inside a program: event sets, regions, overflow and profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.instrument.accounts import Call, Entry, Probe, correct, roll_up
    from gnomon.instrument.counts import TurnTaking
    from gnomon.instrument.eventset import EventSet
    from gnomon.instrument.profile import PythonProfile
    from gnomon.instrument.regions import region
    from gnomon.instrument.result import RegionReport

__all__ = [
    "Call",
    "Entry",
    "EventSet",
    "Probe",
    "PythonProfile",
    "RegionReport",
    "TurnTaking",
    "correct",
    "region",
    "roll_up",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Call": "accounts",
        "Entry": "accounts",
        "EventSet": "eventset",
        "Probe": "accounts",
        "PythonProfile": "profile",
        "RegionReport": "result",
        "TurnTaking": "counts",
        "correct": "accounts",
        "region": "regions",
        "roll_up": "accounts",
    },
)
