"""How runs of the small ray tracer look: what its nodes asked each other for, and what it took."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon import units
from gnomon.analysis.messages.raytracer.result import DirtResult, DirtRun, Sweep
from gnomon.result import Quantity
from gnomon.views import blocks as b
from gnomon.views.shared import counted

_PARTS = {
    "renderer": "rendering a tile",
    "get_data": "an access to a brick",
    "send_request": "requesting a brick",
    "cache_down": "waiting for a brick",
    "handle_request": "a communicator handling a request",
    "handle_response": "a communicator handling a response",
}


def describe(result: DirtResult) -> Iterator[b.Block]:
    """Yield what there is to see of a run, or of a sweep and its law."""
    if not result.runs:
        yield b.Headline("nothing was drawn")
        return
    yield b.Headline(_law(result) if result.sweep else _one(result.runs[0]))
    yield b.Table.of(
        result.runs,
        b.Column("nodes", "settings.nodes"),
        b.Column("renderers", "settings.renderers"),
        b.Column("brick", "settings.brick"),
        b.Column("own", "home", drop=3),
        b.Column("hits", drop=2),
        b.Column("misses"),
        b.Column("requests", drop=2),
        b.Column("wrong wakes"),
        b.Column("hit rate", "hit_rate", "%", digits=3),
        b.Column("time", lambda run: run.seconds * 1e9, "ns", digits=3),
        b.Column("CPU time", lambda run: run.cpu_seconds * 1e9, "ns", digits=3, drop=1),
        b.Column("woken by", "settings.wakes"),
        name="runs",
    )
    if len(result.runs) == 1:
        yield b.Table.of(
            [(name, what) for name, what in _PARTS.items() if name in result.runs[0].parts],
            b.Column("part", lambda each: each[0]),
            b.Column("mean time", lambda each: result.runs[0].parts[each[0]], "ns"),
            b.Column("meaning", lambda each: each[1]),
            name="parts",
        )


def _one(run: DirtRun) -> str:
    s = run.settings
    return (
        f"{counted(s.frames, 'picture')} of {s.image}x{s.image} in "
        f"{_seconds(run.seconds)}: {s.volume}^3 voxels in bricks of {s.brick}^3, {s.nodes} "
        f"node{'s' * (s.nodes != 1)} with {counted(s.renderers, 'renderer')} each"
    )


def _law(result: DirtResult) -> str:
    law = {name: _with(value) for name, value in result.law.items()}
    if result.sweep is Sweep.MISSES:
        return (
            f"misses = {law['constant']} + {law['per_node']} * nodes + {law['per_log_thread']} * "
            f"ln(renderers), R2 {result.r_squared or 0:.2f}"
        )
    if result.sweep is Sweep.BRICKS:
        return (
            "misses are proportional to edge^-x for bricks of that edge, at equal cache size: "
            f"x = {law['exponent']}"
        )
    line, request = result.runs
    return (
        f"woken by cache line, the wrong renderer was woken {line.wrong_wakes:,} times: "
        f"{_seconds(line.seconds)} and {_seconds(line.cpu_seconds)} of CPU time, against "
        f"{_seconds(request.seconds)} and {_seconds(request.cpu_seconds)} when woken by request"
    )


def _seconds(value: float) -> str:
    return units.brief(value * 1e9, "ns")


def _with(value: Quantity) -> str:
    return f"{value.value:.3g} ({value.low:.3g} to {value.high:.3g})"
