"""A message program on a simulated cluster while it is counted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING

from gnomon.messaging.simulator.run import MessageRun
from gnomon.sources.cluster.events import counted
from gnomon.sources.simulated.simulator import Run

if TYPE_CHECKING:
    from gnomon.machines.pmu.programming import Programmed
    from gnomon.messaging.simulator import Cluster, Layout

_PIECE = 20_000  # events between looks at the clock


class ClusterRun(Run):
    """Goes on in simulated time when it is told to."""

    def __init__(self, cluster: Cluster, layout: Layout, *, seed: int) -> None:
        self._cluster = cluster
        self._layout = layout
        self._seed = seed
        self._run: MessageRun | None = None

    @property
    def now_ns(self) -> int:
        """The simulated time since the start."""
        return int(self._run.now) if self._run is not None else 0

    def begin(self) -> None:
        """Set the cluster up."""
        self._run = MessageRun(self._cluster, self._layout, seed=self._seed)

    def advance(self, until_ns: int | None = None, *, seconds: float | None = None) -> bool:
        """Go on to a moment, for about so many seconds of real time; tell whether it has ended."""
        if self.exit_status is not None or self._run is None:
            return self.exit_status is not None
        until = math.inf if until_ns is None else float(until_ns)
        deadline = math.inf if seconds is None else monotonic() + seconds
        while not self._run.go_on(until, most_events=_PIECE):
            if self._run.now >= until or monotonic() >= deadline:
                return False
        self.exit_status = 0
        return True

    def refusal(self, programmed: Programmed) -> str:
        """Return why an event cannot be counted: all can."""
        del programmed
        return ""

    def look(self, programmed: Programmed) -> Mapping[str, int]:
        """Return how often an event happened so far, on each node."""
        if self._run is None:
            return {}
        return {
            f"node/{node}": counted(programmed.event.name, counts)
            for node, counts in enumerate(self._run.counts())
        }

    def close(self) -> None:
        """Give everything back; may be called again."""
        self._run = None
