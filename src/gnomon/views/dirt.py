"""How runs of the small ray tracer look in a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TextIO

from gnomon.analysis.raytracer.result import BrickSweep, DirtRun, MissSweep, WakeComparison
from gnomon.result import Quantity
from gnomon.units import format_duration
from gnomon.views.table import Column, Table

_REGIONS = {
    "renderer": "a tile, from task to pixels",
    "get_data": "an access to a brick",
    "send_request": "asking for a brick",
    "cache_down": "waiting for a brick",
    "handle_request": "a communicator's work for a request",
    "handle_response": "a communicator's work for a response",
}

Sweep = MissSweep | BrickSweep | WakeComparison


def print_run(run: DirtRun, stream: TextIO) -> None:
    """Write what a run did, and how long its parts took."""
    s = run.settings
    stream.write(
        f"{s.frames} pictures of {s.image}x{s.image}, {s.volume}^3 voxels in bricks of {s.brick}^3,"
        f" {s.nodes} nodes with {s.renderers} renderers each: {run.seconds:.2f} s\n\n"
    )
    _runs_table([run]).print(stream)
    table = Table([Column("part"), Column("mean time", right=True), Column("what it is")])
    for name, what in _REGIONS.items():
        mean = run.per_instance(name)
        if mean is not None:
            table.add(name, format_duration(mean), what)
    stream.write("\n")
    table.print(stream)


def print_sweep(sweep: Sweep, stream: TextIO) -> None:
    """Write the runs of a sweep and the law that they follow."""
    match sweep:
        case MissSweep(runs=runs, fit=fit):
            _runs_table(runs).print(stream)
            stream.write(
                f"\n  misses = {_with(fit.constant)} + {_with(fit.per_node)} a node"
                f" + {_with(fit.per_log_thread)} ln(renderers), R2 {fit.r_squared:.2f}\n"
            )
        case BrickSweep(runs=runs, exponent=exponent):
            _runs_table(runs).print(stream)
            stream.write(
                f"\n  misses go as the edge of a brick to the power of -{_with(exponent)}, with the"
                " same memory for them\n"
            )
        case WakeComparison(by_line=line, by_request=request):
            _runs_table([line, request]).print(stream)
            stream.write(
                f"\n  woken by cache line, {line.wrong_wakes:,} times the wrong renderer was woken:"
                f" {line.seconds:.2f} s and {line.cpu_seconds:.2f} s of CPU time, against"
                f" {request.seconds:.2f} s and {request.cpu_seconds:.2f} s when woken by request\n"
            )


def _runs_table(runs: Sequence[DirtRun]) -> Table:
    headings = ("nodes", "renderers", "brick", "own", "hits", "misses", "hit rate")
    last = ("requests", "wrong wakes", "time", "CPU time")
    table = Table([Column(h, right=True) for h in (*headings, *last)] + [Column("woken by")])
    for run in runs:
        s = run.settings
        table.add(
            *(str(n) for n in (s.nodes, s.renderers, s.brick)),
            *(f"{n:,}" for n in (run.home, run.hits, run.misses)),
            f"{run.hit_rate:.1%}",
            f"{run.requests:,}",
            f"{run.wrong_wakes:,}",
            f"{run.seconds:.2f} s",
            f"{run.cpu_seconds:.2f} s",
            s.wakes,
        )
    return table


def _with(parameter: Quantity) -> str:
    return f"{parameter.value:.3g} [{parameter.low:.3g}, {parameter.high:.3g}]"


def run_as_json(run: DirtRun) -> dict[str, Any]:
    """Return a run as plain values; times of parts in ns."""
    s = run.settings
    names = ("nodes", "renderers", "volume", "brick", "cache", "image", "frames", "wakes", "seed")
    counts = (
        "seconds",
        "cpu_seconds",
        "home",
        "hits",
        "misses",
        "requests",
        "wrong_wakes",
        "hit_rate",
    )
    return {
        **{name: getattr(s, name) for name in names},
        **{name: getattr(run, name) for name in counts},
        "mean_ns": {name: run.per_instance(name) for name in _REGIONS},
    }


def sweep_as_json(sweep: Sweep) -> dict[str, Any]:
    """Return a sweep as plain values."""
    match sweep:
        case MissSweep(runs=runs, fit=fit):
            law = {
                "constant": _as_json(fit.constant),
                "per_node": _as_json(fit.per_node),
                "per_log_renderer": _as_json(fit.per_log_thread),
                "r_squared": fit.r_squared,
            }
        case BrickSweep(runs=runs, exponent=exponent):
            law = {"exponent": _as_json(exponent)}
        case WakeComparison(by_line=line, by_request=request):
            runs, law = (line, request), {}
    return {"runs": [run_as_json(run) for run in runs], "law": law}


def _as_json(parameter: Quantity) -> dict[str, float]:
    return {"value": parameter.value, "low": parameter.low, "high": parameter.high}
