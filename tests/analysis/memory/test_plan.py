"""What is probed on machines of many kinds, and what is refused."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.analysis.memory import plan
from gnomon.analysis.memory.plan import LARGEST, Request, curve_sizes, parts_of, plan_probes
from gnomon.analysis.memory.result import Part
from gnomon.errors import GnomonError, UsageError
from gnomon.stress.nodes import Cache, Cpu, Cpus, Node, Nodes

GIB = 1 << 30
LAST = Cache(3, 16 << 20, 64, (0, 1, 2, 3))


class Machine:
    """A made-up machine that plans are made for."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch

    def has(
        self,
        nodes: tuple[Node, ...],
        cpus: tuple[Cpu, ...],
        room: int = 64 * GIB,
    ) -> None:
        """Let the planner see this machine."""
        numbers = frozenset(cpu.number for cpu in cpus)
        self._patch.setattr(plan, "usable_cpus", lambda: numbers)
        self._patch.setattr(
            plan, "read_cpus", lambda chosen: Cpus(tuple(c for c in cpus if c.number in chosen))
        )
        self._patch.setattr(plan, "read_nodes", lambda usable: Nodes(nodes))
        self._patch.setattr(plan, "free_memory", lambda *_: room)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def cpu(number: int, siblings: tuple[int, ...] = (), kind: str = "") -> Cpu:
    """Return a CPU with a last cache."""
    return Cpu(number, siblings or (number,), 0, kind, (LAST,))


def node(number: int, cpus: tuple[int, ...], memory: int = 4 * GIB) -> Node:
    """Return a node, half free."""
    return Node(number, cpus, memory, memory // 2)


def test_one_node_says_what_still_works(machine: Machine) -> None:
    machine.has((node(0, (0, 1)),), (cpu(0), cpu(1)))
    found = plan_probes(Request())
    assert found.node_pairs == ((0, 0),)
    (note,) = found.notes
    assert "one NUMA node" in note
    assert "all other probes work" in note
    assert plan_probes(Request(parts=(Part.CURVE,))).notes == ()


def test_nodes_without_memory_or_cpus_are_sources_or_targets_alone(machine: Machine) -> None:
    machine.has((node(0, (0,)), node(1, (1,), 0), node(2, ())), (cpu(0), cpu(1)))
    found = plan_probes(Request())
    assert found.node_pairs == ((0, 0), (0, 2), (1, 0), (1, 2))
    assert any("node 2 has no CPUs" in note for note in found.notes)
    assert any("node 1 has no memory" in note for note in found.notes)


def test_a_cpu_of_a_node_without_memory_gets_what_the_kernel_chooses(machine: Machine) -> None:
    machine.has((node(0, (0,)), node(1, (1,), 0)), (cpu(0), cpu(1)))
    assert plan_probes(Request(cpus=(1,))).node is None
    assert plan_probes(Request(cpus=(0,))).node == 0


def test_one_cpu_has_no_pairs_and_is_told_so(machine: Machine) -> None:
    machine.has((node(0, (0,)),), (cpu(0),))
    found = plan_probes(Request(parts=(Part.CORES, Part.LOADED)))
    assert found.pairs == ()
    assert found.threads == (1,)
    assert any("one CPU to use" in note for note in found.notes)


def test_cores_are_filled_before_their_second_threads(machine: Machine) -> None:
    cpus = (cpu(0, (0, 2)), cpu(1, (1, 3)), cpu(2, (0, 2)), cpu(3, (1, 3)))
    machine.has((node(0, (0, 1, 2, 3)),), cpus)
    found = plan_probes(Request())
    assert found.order == (0, 1, 2, 3)
    assert found.threads == (1, 2, 4)
    assert found.shared_cores == ((0, 2),)
    assert plan_probes(Request(cpus=(0, 1))).shared_cores == ()


def test_a_core_of_each_class_is_probed(machine: Machine) -> None:
    cpus = (cpu(0, (0, 1), "performance"), cpu(1, (0, 1), "performance"), cpu(2, kind="efficiency"))
    machine.has((node(0, (0, 1, 2)),), cpus)
    found = plan_probes(Request(parts=(Part.CORES,)))
    assert {each.name for each in found.cpus.classes} == {"performance", "efficiency"}
    assert found.steps == 3 + 2 + 1  # pairs, classes, a shared core


def test_arrays_are_larger_than_all_last_caches(machine: Machine) -> None:
    machine.has((node(0, (0, 1)),), (cpu(0), cpu(1)))
    assert plan_probes(Request()).array == 64 << 20
    small = plan_probes(Request(array=1 << 20))
    assert small.array == 1 << 20
    assert any("less than 4 times the last caches" in note for note in small.notes)


def test_little_memory_shortens_and_says_so(machine: Machine) -> None:
    machine.has((node(0, (0,)),), (cpu(0),), room=64 << 20)
    found = plan_probes(Request())
    assert found.sizes[-1] == 32 << 20
    assert found.array == 8 << 20
    assert any("the curve ends at 32 MiB" in note for note in found.notes)
    assert any("8 MiB, less than" in note for note in found.notes)


def test_no_memory_is_an_error(machine: Machine) -> None:
    machine.has((node(0, (0,)),), (cpu(0),), room=1 << 20)
    with pytest.raises(GnomonError, match="too little free memory to probe: 1 MiB are available"):
        plan_probes(Request())


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # on a busy machine
@given(
    st.integers(4 << 10, 1 << 22),
    st.floats(1.5, 1 << 13),
    st.integers(1, 16),
)
def test_sizes_ascend_between_both_ends(smallest: int, factor: float, points: int) -> None:
    largest = int(smallest * factor)
    sizes = curve_sizes(smallest, largest, points)
    assert all(a < b for a, b in pairwise(sizes))
    assert all(size % 256 == 0 for size in sizes)
    assert sizes[0] == pytest.approx(smallest, abs=128)
    assert sizes[-1] == pytest.approx(largest, abs=128)
    assert len(sizes) <= max(2, math.ceil(points * math.log2(factor))) + 1


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (Request(smallest=0), "begin at 4 KiB"),
        (Request(largest=1 << 12), "cannot go from"),
        (Request(largest=1 << 50), "64 GiB at most"),
        (Request(points=0), "1 to 64 points"),
        (Request(points=100), "1 to 64 points"),
        (Request(cpus=(77,)), "CPU 77 is not there"),
        (Request(threads=(0,)), "0 threads cannot run"),
        (Request(threads=(3,)), "3 threads cannot run here: there are 2"),
        (Request(array=100), "4 KiB or more"),
        (Request(seconds=0), "above zero"),
        (Request(seconds=math.nan), "above zero"),
    ],
)
def test_what_cannot_be_is_refused(machine: Machine, request_: Request, words: str) -> None:
    machine.has((node(0, (0, 1)),), (cpu(0), cpu(1)))
    with pytest.raises(UsageError, match=words):
        plan_probes(request_)


def test_parts_come_in_the_order_of_probing() -> None:
    assert parts_of(["matrix", "curve"]) == (Part.CURVE, Part.MATRIX)
    assert parts_of([]) == tuple(Part)
    with pytest.raises(UsageError, match="unknown part 'x'"):
        parts_of(["x"])


def test_the_whole_curve_is_the_default(machine: Machine) -> None:
    machine.has((node(0, (0,)),), (cpu(0),))
    assert plan_probes(Request()).sizes[-1] == LARGEST
