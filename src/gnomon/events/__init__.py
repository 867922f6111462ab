"""What can be counted, under every name that users know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.events.event import Request
    from gnomon.events.formula import Formula
    from gnomon.events.presets import Available, known_presets
    from gnomon.events.syntax import parse_events
    from gnomon.events.tomlfile import suggestion

__all__ = [
    "Available",
    "Formula",
    "Request",
    "known_presets",
    "parse_events",
    "suggestion",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Available": "presets",
        "Formula": "formula",
        "Request": "event",
        "known_presets": "presets",
        "parse_events": "syntax",
        "suggestion": "tomlfile",
    },
)
