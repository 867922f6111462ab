"""Probes of memory as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from gnomon import __version__
from gnomon.analysis.memory.model import LatencyCurve, MemoryResult
from gnomon.stress.nodes import NodeAccess
from gnomon.stress.samples import Samples


def latencies_as_json(result: MemoryResult) -> dict[str, Any]:
    """Return the file that names latencies of this machine for other commands."""
    return {
        "gnomon": __version__,
        "kind": "latencies",
        "machine": result.machine,
        "created": result.created,
        "cycles_per_ns": result.clock,
        "latencies": [asdict(each) for each in result.latencies],
    }


def memory_as_json(result: MemoryResult) -> dict[str, Any]:
    """Return everything in the form that scripts read; times in ns, rates in bytes/s."""
    return {
        "machine": result.machine,
        "cpu": result.cpu,
        "cycles_per_ns": result.clock,
        "cpus": list(result.cpus),
        "siblings": [list(each) for each in result.siblings],
        "classes": [{"name": each.name, "cpus": list(each.cpus)} for each in result.classes],
        "load": asdict(result.load),
        "pages_confirmed": result.pages_confirmed,
        "nodes": [
            {
                "number": node.number,
                "cpus": list(node.cpus),
                "memory": node.memory,
                "free": node.free,
                "distances": {str(to): distance for to, distance in node.distances.items()},
                "access": _access_as_json(node.access),
            }
            for node in result.nodes.nodes
        ],
        "caches": [asdict(each) for each in result.measured],
        "curves": [_curve_as_json(curve) for curve in result.curves],
        "bandwidth": [
            {"stream": str(row.stream), "cpus": list(row.cpus), **_rates(row.rates)}
            for row in result.bandwidth
        ],
        "cores": [
            {
                "first": pair.first,
                "second": pair.second,
                "relation": pair.relation,
                **_times(pair.latency),
            }
            for pair in result.cores
        ],
        "kinds": [
            {
                "class": kind.name,
                "cpu": kind.cpu,
                "cycles_per_ns": kind.clock,
                "first_cache": _times(kind.near),
                "memory": _times(kind.memory),
                "read": _rates(kind.rates),
            }
            for kind in result.kinds
        ],
        "shared_cores": [
            {
                "cpus": list(core.cpus),
                "one_reads": _rates(core.one),
                "all_read": _rates(core.all),
                "first_cache_alone": _times(core.alone),
                "first_cache_beside": _times(core.beside),
            }
            for core in result.shared
        ],
        "loaded": [
            {"duty": row.duty, "bandwidth": row.bandwidth, **_times(row.latency)}
            for row in result.loaded
        ],
        "matrix": [
            {
                "cpus": pair.cpus,
                "memory": pair.memory,
                "latency": _times(pair.latency),
                "bandwidth": _rates(pair.rates),
                "verified": pair.verified,
            }
            for pair in result.matrix
        ],
        "latencies": [asdict(each) for each in result.latencies],
        "notes": list(result.notes),
    }


def _access_as_json(access: NodeAccess | None) -> dict[str, Any] | None:
    return None if access is None else asdict(access)


def _curve_as_json(curve: LatencyCurve) -> dict[str, Any]:
    return {
        "page": curve.page,
        "points": [{"size": point.size, **_times(point.latency)} for point in curve.points],
        "levels": [
            {"name": name, **asdict(level)}
            for name, level in zip(curve.names, curve.plateaus.levels, strict=True)
        ],
        "breakpoints": [asdict(ramp) for ramp in curve.plateaus.ramps],
    }


def _times(samples: Samples) -> dict[str, float]:
    return {"best": samples.least, "median": samples.median}


def _rates(samples: Samples) -> dict[str, float]:
    return {"best": samples.most, "median": samples.median}
