"""Carrying out measurements: one run, sets that take turns in a run, and campaigns of many runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.measure.campaign import Campaign, OnProgress, Plan, Task, Terms
    from gnomon.measure.identity import folder_digest
    from gnomon.measure.run import Measurement, Noticed

_MODULES = {
    "Campaign": "campaign",
    "Measurement": "run",
    "Noticed": "run",
    "OnProgress": "campaign",
    "Plan": "campaign",
    "Task": "campaign",
    "Terms": "campaign",
    "folder_digest": "identity",
}

__all__ = [
    "Campaign",
    "Measurement",
    "Noticed",
    "OnProgress",
    "Plan",
    "Task",
    "Terms",
    "folder_digest",
]

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
