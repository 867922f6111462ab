"""How simulated message programs look in a terminal and as JSON."""

from __future__ import annotations

from typing import Any, TextIO

from gnomon.messaging.simulator import (
    cluster_names,
    load_cluster,
    program_names,
    program_parameters,
    program_summary,
)
from gnomon.messaging.simulator.comparison import ClusterComparison, OnCluster
from gnomon.messaging.simulator.run import Timed
from gnomon.units import format_duration
from gnomon.views.table import Column, Table


def print_programs(stream: TextIO) -> None:
    """List the message programs with their parameters, and the clusters."""
    programs = Table([Column("program"), Column("what it does"), Column("parameters")])
    for name in program_names():
        parameters = program_parameters(name)
        programs.add(name, program_summary(name).split(";")[0], " ".join(parameters))
    programs.print(stream)
    stream.write("\n")
    clusters = Table([Column("cluster"), Column("what it is"), Column("threads wait by")])
    for name in cluster_names():
        cluster = load_cluster(name)
        clusters.add(name, cluster.title, cluster.waiting)
    clusters.print(stream)


def programs_as_json() -> dict[str, Any]:
    """Return programs with their parameters, and clusters, as plain values."""
    clusters = [load_cluster(name) for name in cluster_names()]
    return {
        "programs": [
            {"name": name, "what": program_summary(name), "parameters": program_parameters(name)}
            for name in program_names()
        ],
        "clusters": [
            {"name": each.name, "title": each.title, "waiting": each.waiting} for each in clusters
        ],
    }


def print_comparison(result: ClusterComparison, stream: TextIO, *, timelines: bool = True) -> None:
    """Write a line for each cluster, then what else was timed, then what was traced."""
    words = " ".join((result.program, *result.words))
    stream.write(f"SIMULATED {words}\n\n")
    headings, rows = comparison_table(result)
    table = Table([Column(headings[0]), *(Column(name, right=True) for name in headings[1:])])
    for row in rows:
        table.add(*row)
    table.print(stream)
    for name in list(result.results[0].run.timed)[1:]:
        stream.write("\n")
        _timed_table(result, name).print(stream)
    for each in result.results:
        if timelines and each.run.trace:
            _print_timeline(each, stream)


def comparison_table(result: ClusterComparison) -> tuple[tuple[str, ...], list[list[str]]]:
    """Return headings and a row of texts for each cluster."""
    names = list(result.results[0].run.timed)
    timed = (f"{names[0]}, mean", "p50", "p99") if names else ()
    counts = ("messages", "interrupts", "switches", "polling", "events")
    headings = ("cluster", "run time", "speedup", *timed, *counts)
    return headings, [_cells(result, each, bool(names)) for each in result.results]


def _cells(result: ClusterComparison, each: OnCluster, timed: bool) -> list[str]:
    run = each.run
    cells = [each.name, format_duration(run.duration), f"{result.speedup(each):.3f}x"]
    if timed:
        cells += _timed_cells(each.main)
    return [
        *cells,
        f"{run.total('sent'):,.0f}",
        f"{run.total('interrupts'):,.0f}",
        f"{run.total('context_switches'):,.0f}",
        f"{each.poll_share:.1%}",
        f"{run.events:,}",
    ]


def _timed_cells(timed: Timed | None) -> list[str]:
    if timed is None or not timed.count:
        return ["-", "-", "-"]
    values = (timed.mean, timed.quantile(0.5), timed.quantile(0.99))
    return [format_duration(value) for value in values]


def _timed_table(result: ClusterComparison, name: str) -> Table:
    table = Table(
        [Column("cluster"), *(Column(n, right=True) for n in (f"{name}, mean", "p50", "p99"))]
    )
    for each in result.results:
        table.add(each.name, *_timed_cells(each.run.timed[name]))
    return table


def _print_timeline(each: OnCluster, stream: TextIO) -> None:
    stream.write(f"\n{each.name}\n")
    table = Table(
        [Column("time", right=True), Column("what"), Column("who"), Column("bytes", True)]
    )
    for step in each.run.trace:
        table.add(f"{step.time:,.0f} ns", step.what, step.thread or "network", str(step.bytes))
    table.print(stream)


def comparison_as_json(result: ClusterComparison) -> dict[str, Any]:
    """Return everything as plain values; times in ns."""
    return {
        "program": result.program,
        "parameters": list(result.words),
        "seed": result.seed,
        "clusters": [_as_json(result, each) for each in result.results],
    }


def _as_json(result: ClusterComparison, each: OnCluster) -> dict[str, Any]:
    run = each.run
    return {
        "cluster": each.name,
        "title": each.title,
        "nodes": each.cluster.nodes,
        "contexts": each.cluster.contexts,
        "run_ns": run.duration,
        "speedup": result.speedup(each),
        "events": run.events,
        "poll_share": each.poll_share,
        "timed": {name: _timed_as_json(timed) for name, timed in run.timed.items()},
        "counts": [
            {key: value / 1000 if key in _TIMES else value for key, value in node.items()}
            for node in run.counts
        ],
        "timeline": [
            {
                "ns": step.time,
                "what": step.what,
                "node": step.node,
                "thread": step.thread,
                "message": step.message,
                "bytes": step.bytes,
            }
            for step in run.trace
        ],
    }


# Counts of the simulator that are times, in ps.
_TIMES = ("busy", "thread_time", "poll_time", "work", "send_port", "receive_port")


def _timed_as_json(timed: Timed) -> dict[str, Any]:
    if not timed.count:
        return {"count": 0}
    return {
        "count": timed.count,
        "mean_ns": timed.mean,
        "deviation_ns": timed.deviation if timed.count > 1 else None,
        "least_ns": timed.least,
        "most_ns": timed.most,
        **{f"p{share * 100:g}_ns": timed.quantile(share) for share in (0.5, 0.9, 0.99, 0.999)},
    }
