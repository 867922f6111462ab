"""Parker (2013): what telling a program that a message came costs, and what it need not cost."""

from __future__ import annotations

from gnomon.analysis.study import Experiment, Study

STUDY = Study(
    name="parker",
    title="User-level notification of messages",
    document="Parker 2013, Efficient user-level event notification",
    experiments=(
        Experiment("E1", "a message from end to end", f"{__name__}.timelines:timelines"),
        Experiment(
            "E2", "three ping-pongs, and three kinds of machine", f"{__name__}.timelines:trips"
        ),
        Experiment("E3", "threads that share a core, and polling beside them", f"{__name__}.smt"),
        Experiment(
            "E4", "the profile of a cluster ray tracer added up", f"{__name__}.accounts:accounts"
        ),
        Experiment("E5", "states of a core and uneven nodes", f"{__name__}.states:states"),
        Experiment("E6", "what overheads cost the ray tracer", f"{__name__}.overheads:overheads"),
        Experiment("E7", "smaller blocks, and responses that wake directly", f"{__name__}.whatifs"),
        Experiment("E8", "the ray tracer event by event", f"{__name__}.simulated"),
        Experiment("E9", "a ray tracer of our own, on this host", f"{__name__}.tracer"),
    ),
)
