"""What threads of a core cost each other: ceilings that must come out of the rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gnomon.machines import Core, FieldError, InstructionCycles, Pipeline, load_machine
from gnomon.machines.operations import Code

from .running import PLAIN, Operations, executed, many, op, sequence

NIAGARA = load_machine("niagara2")
COUNT = 3000


def cycles_each(work: Operations, strands: range, instructions: int = COUNT) -> float:
    """Cycles an instruction of each strand of the first core takes when all do the same."""
    execution = executed(NIAGARA, *[work] * len(strands), binding=tuple(strands))
    return execution.now_ns * NIAGARA.core.clock_ghz / instructions


@pytest.mark.parametrize(
    ("code", "strands", "expected"),
    [
        (Code.INTEGER, range(1), 1),
        (Code.INTEGER, range(4), 4),  # a group: a quarter each
        (Code.INTEGER, range(8), 4),  # two groups with an integer unit each
        (Code.MULTIPLY, range(1), 5),
        (Code.MULTIPLY, range(4), 5),  # pipelined: others proceed
        (Code.FP_MULTIPLY, range(1), 6),
        (Code.FP_MULTIPLY, range(6), 6),
        (Code.FP_MULTIPLY, range(8), 8),  # one unit a core: an eighth each
        (Code.FP_DIVIDE, range(8), 33),
    ],
)
def test_ceilings_of_classes(code: Code, strands: range, expected: float) -> None:
    assert cycles_each(op(code, COUNT), strands) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(("strands", "expected"), [(range(1), 3), (range(2), 3), (range(8), 8)])
def test_ceilings_of_loads(strands: range, expected: float) -> None:
    hits = many(Code.LOAD, [0] * COUNT)
    assert cycles_each(hits, strands) == pytest.approx(expected, rel=0.1)


def test_a_unit_goes_to_the_groups_in_turn() -> None:
    work = op(Code.FP_ADD, COUNT)
    execution = executed(NIAGARA, *[work] * 8, binding=tuple(range(8)))
    ends = [each.end_ns or 0 for each in execution.threads]
    assert max(ends) - min(ends) < 10


def test_integer_work_goes_on_beside_strands_that_wait_for_memory() -> None:
    chase = many(Code.LOAD, [i * 4096 for i in range(200)])
    work = op(Code.INTEGER, 20_000)
    both = executed(NIAGARA, work, *[chase] * 3, binding=(0, 1, 2, 3))
    alone = executed(NIAGARA, work, binding=(0,))
    end = both.threads[0].end_ns
    assert end is not None
    assert end < 1.05 * alone.now_ns
    idle = both.ledger().idle_cycles
    assert idle[0] < 0.5 * idle[1]


def test_idle_cycles_are_those_without_a_strand_that_can_issue() -> None:
    execution = executed(NIAGARA, op(Code.MULTIPLY, 100), binding=(0,))
    idle = execution.ledger().idle_cycles.tolist()
    # The last multiplication ends the thread in its fifth cycle.
    assert idle == [400, *[500] * 7]


def test_threads_of_an_smt_core_share_its_speed() -> None:
    machine = load_machine("smt-4")
    work = op(Code.INTEGER, 1_000_000)
    alone = executed(machine, work, binding=(0,)).now_ns
    apart = executed(machine, work, work, binding=(0, 2)).now_ns
    together = executed(machine, work, work, binding=(0, 1)).now_ns
    assert apart == alone
    assert alone / together == pytest.approx(0.8435, abs=0.0005)  # Parker, table 4, the fit


def test_threads_of_an_smt_core_recover_from_wrong_predictions_at_its_speed() -> None:
    machine = load_machine("smt-4")
    turns = sequence(*(op(Code(Code.BRANCH_TAKEN + i % 2), 1, site=5) for i in range(10_000)))
    alone = executed(machine, turns, binding=(0,))
    together = executed(machine, turns, turns, binding=(0, 1))
    assert alone.ledger().total("branch_mispredicts") == 10_000
    assert alone.now_ns / together.now_ns == pytest.approx(0.8435, abs=0.002)


def test_the_speeds_of_smt_are_those_of_parker() -> None:
    published = (1.000, 0.8435, 0.7199, 0.6212, 0.5416, 0.4770, 0.4239, 0.3800)
    shape = Core(3.0, threads=8, pipeline=Pipeline.SMT)
    assert shape.shared_speeds == pytest.approx(published, abs=0.002)
    work = op(Code.INTEGER, 100_000)
    for running in (1, 3, 8):
        machine = replace(PLAIN, core=shape)
        execution = executed(machine, *[work] * running, binding=tuple(range(running)))
        speed = 100_000 / 3 / execution.now_ns
        assert speed == pytest.approx(shape.shared_speeds[running - 1], rel=0.001)


def test_a_thread_is_faster_when_the_other_one_has_ended() -> None:
    machine = replace(PLAIN, core=Core(1.0, threads=2, pipeline=Pipeline.SMT, speeds=(1.0, 0.5)))
    short, long = op(Code.INTEGER, 10_000), op(Code.INTEGER, 50_000)
    execution = executed(machine, short, long, binding=(0, 1))
    assert execution.threads[0].end_ns == pytest.approx(20_000, abs=600)
    assert execution.now_ns == pytest.approx(60_000, abs=600)


def test_classes_cost_what_the_machine_says() -> None:
    cycles = InstructionCycles(integer=0.25, fp_divide=20)
    machine = replace(PLAIN, core=replace(PLAIN.core, cycles=cycles))
    assert executed(machine, op(Code.INTEGER, 1000)).now_ns == 250
    assert executed(machine, op(Code.FP_DIVIDE, 10)).now_ns == 200


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"thread_groups": 2}, "thread_groups"),
        ({"pipeline": Pipeline.CMT, "threads": 3, "thread_groups": 2}, "thread_groups"),
        ({"speeds": (1.0,)}, "speeds"),
        ({"pipeline": Pipeline.SMT, "threads": 2, "speeds": (1.0,)}, "speeds"),
        ({"pipeline": Pipeline.SMT, "threads": 2, "speeds": (1.0, 1.5)}, "speeds"),
        ({"mispredict_cycles": -1.0}, "mispredict_cycles"),
        ({"trap_instructions": 0}, "trap_instructions"),
    ],
)
def test_impossible_cores_are_refused(change: dict[str, object], key: str) -> None:
    with pytest.raises(FieldError) as error:
        Core(1.0, **change)  # type: ignore[arg-type]
    assert error.value.key == key
