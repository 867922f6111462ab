"""Pictures of ping-pongs: from the call of send to the end of the round trip."""

from __future__ import annotations

from gnomon.analysis.study import Scene
from gnomon.messaging.uln import ProgramRun
from gnomon.messaging.uln.ping_pongs import PING


def ping_scene(title: str, found: ProgramRun) -> Scene:
    """Return the part of a ping-pong that is timed, after the two nodes have met."""
    timeline = found.timeline
    start = timeline.time_of("send is called", PING)
    return Scene(title, timeline.cut(start, start + found.results[0]))
