"""Counts of programs that valgrind runs: no PMU and no rights are needed."""

from __future__ import annotations

import shutil

from gnomon.sources.base import Capabilities, Choice, Registered, Source


def _make(choice: Choice) -> Source:
    del choice
    from gnomon.sources.valgrind.source import ValgrindSource

    return ValgrindSource()


SOURCE = Registered(
    name="valgrind",
    title="valgrind, exact for user space",
    capabilities=Capabilities(simulated=True, exact=True, slowdown=30.0, event_prefix="valgrind::"),
    make=_make,
    here=lambda: shutil.which("valgrind") is not None,
)
