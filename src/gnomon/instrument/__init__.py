"""Measuring from inside a program: event sets, regions, overflow and profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.instrument.counts import TurnTaking
    from gnomon.instrument.eventset import EventSet
    from gnomon.instrument.profile import PythonProfile
    from gnomon.instrument.region_report import RegionReport
    from gnomon.instrument.regions import region

__all__ = [
    "EventSet",
    "PythonProfile",
    "RegionReport",
    "TurnTaking",
    "region",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "EventSet": "eventset",
        "PythonProfile": "profile",
        "RegionReport": "region_report",
        "TurnTaking": "counts",
        "region": "regions",
    },
)
