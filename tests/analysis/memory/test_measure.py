"""Probes of this host, brief ones: what they give, and what does not stop them."""

from __future__ import annotations

from dataclasses import replace

import pytest

import gnomon as gn
from gnomon.analysis.memory import measure
from gnomon.analysis.memory.measure import measure_memory
from gnomon.analysis.memory.plan import Plan, Request, plan_probes
from gnomon.analysis.memory.result import MemoryResult, Part
from gnomon.errors import GnomonError, NotPermittedError
from gnomon.stress.memory import Buffer
from gnomon.stress.nodes import Cpus, Nodes, usable_cpus

CPUS = sorted(usable_cpus())
two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")


def brief(*parts: Part) -> Plan:
    """Return a plan that takes little time."""
    return plan_probes(
        Request(
            parts=parts,
            largest=1 << 20,
            points=2,
            array=1 << 20,
            seconds=0.01,
            cpus=tuple(CPUS[:2]),
        )
    )


def test_all_parts_in_python() -> None:
    steps: list[tuple[int, int]] = []
    plan = brief(*Part)
    result = measure_memory(plan, lambda done, total: steps.append((done, total)))
    assert steps == [(done, plan.steps) for done in range(1, plan.steps + 1)]
    assert result.cycles_per_ns > 0
    for curve in result.curves:
        assert [point.size for point in curve.points] == sorted(
            point.size for point in curve.points
        )
        assert len(curve.levels) == len(curve.breakpoints) + 1
        assert all(level.name for level in curve.levels)
    assert {row.stream for row in result.bandwidth} == {
        "read",
        "copy",
        "triad",
        "copy-nt",
        "triad-nt",
    }
    assert all(row.rates.best >= row.rates.median > 0 for row in result.bandwidth)
    assert all(kind.first_cache.best <= kind.memory.median for kind in result.kinds)
    assert result.loaded[0].duty == 0
    assert all(pair.latency.best > 0 and pair.bandwidth.best > 0 for pair in result.matrix)
    assert len(result.cores) == len(CPUS[:2]) // 2


def test_placement_is_confirmed_by_the_kernel() -> None:
    result = measure_memory(brief(Part.MATRIX))
    if not any("placed" in warning for warning in result.warnings):
        assert all(pair.verified for pair in result.matrix)
        assert result.pages_confirmed == len(result.matrix) * (1 << 20) // 4096


def test_parts_that_are_not_asked_for_are_empty() -> None:
    result = gn.memory("bandwidth", threads=[1], array="1MiB", time="10ms")
    assert isinstance(result, MemoryResult)
    assert result.bandwidth
    assert not (result.curves or result.cores or result.loaded or result.matrix)
    assert "<table" in result._repr_html_()


@two_cpus
def test_threads_of_one_core_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = brief(Part.CORES)
    both = tuple(CPUS[:2])
    siblings = tuple(replace(cpu, siblings=both) for cpu in plan.cpus.cpus)
    result = measure_memory(replace(plan, cpus=Cpus(siblings)))
    (core,) = result.shared_cores
    assert core.cpus == both
    assert result.siblings == (both,)
    assert core.one_reads.best > 0
    assert core.all_read.best > 0
    assert core.first_cache_beside.best > 0


def test_a_container_that_forbids_placement_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(size: int, node: int | None = None, *, huge: bool = True) -> Buffer:
        if node is not None:
            raise NotPermittedError("memory cannot be placed on a node (mbind).")
        return Buffer(size, node, huge=huge)

    monkeypatch.setattr(measure, "Buffer", forbidden)
    result = measure_memory(brief(Part.MATRIX))
    assert any("kernel chose the placement" in warning for warning in result.warnings)
    assert not any(pair.verified for pair in result.matrix)
    assert result.pages_confirmed == 0


def test_pages_on_another_node_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Buffer, "placement", lambda self: {99: 256})
    result = measure_memory(brief(Part.MATRIX))
    assert not any(pair.verified for pair in result.matrix)
    assert any("256 pages on node 99" in warning for warning in result.warnings)


def test_a_node_that_cannot_be_used_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = brief(Part.MATRIX)
    (node, *_) = plan.nodes.with_memory
    gone = replace(node, number=63, cpus=())
    result = measure_memory(replace(plan, nodes=Nodes((*plan.nodes.nodes, gone))))
    assert result.matrix
    assert any("node 63" in warning and "skipped" in warning for warning in result.warnings)


def test_a_thread_that_cannot_start_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(measure, "stream_rounds", refused)
    with pytest.raises(GnomonError, match=r"thread could not be started .*Resource temporarily"):
        measure_memory(brief(Part.BANDWIDTH))


def test_one_kind_of_pages_is_one_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "page_size", lambda _: 4096)
    assert len(measure_memory(brief(Part.CURVE)).curves) == 1
