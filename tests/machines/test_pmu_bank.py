"""Counters of few bits: what fits on them, who is on when, and what they say."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.machines.ledger import Mode
from gnomon.machines.pmu.bank import Bank, Register
from gnomon.machines.pmu.description import load_pmu, parse_pmu
from gnomon.machines.pmu.events import Pmu
from gnomon.machines.pmu.programming import Programmed, Turns, misfit, why_not

USER = frozenset({Mode.USER})
TABLE = """
[counters]
general = {general}
width = 16
fixed = ["fixed"]
rotation_ms = 1
read_jitter_us = {jitter}
[events.fixed]
description = "on its own counter"
counts = ["cycles"]
[events.first]
description = "on the first counter only"
counts = ["loads"]
counters = [0]
"""


def _pmu(general: int = 2, jitter: int = 0, plain: int = 5) -> Pmu:
    text = TABLE.format(general=general, jitter=jitter)
    for number in range(plain):
        text += f'[events.e{number}]\ndescription = "anything"\ncounts = ["stores"]\n'
    return parse_pmu(text)


def _on(pmu: Pmu, name: str, modes: frozenset[Mode] = frozenset(Mode)) -> Programmed:
    return Programmed(name, pmu.events[name], modes)


@given(st.integers(16, 64), st.lists(st.integers(0, 1 << 18), max_size=20))
def test_a_register_counts_beyond_its_width(width: int, amounts: list[int]) -> None:
    register = Register(width)
    for amount in amounts:
        register.add(amount)
    assert register.value == sum(amounts)
    assert register.raw == sum(amounts) % (1 << width)


def test_a_register_of_32_bits_counts_past_its_range() -> None:
    register = Register(32)
    register.add((1 << 34) + 5)
    assert (register.value, register.raw) == ((1 << 34) + 5, 5)


def test_counters_are_matched_to_events() -> None:
    pmu = _pmu()
    assert not misfit(pmu, [_on(pmu, "e0"), _on(pmu, "first"), _on(pmu, "fixed")])
    reason = misfit(pmu, [_on(pmu, "e0"), _on(pmu, "e1"), _on(pmu, "first")])
    assert reason == (
        "'e0', 'e1' and 'first' do not fit on the 2 and 1 fixed counters of a hardware "
        "thread together"
    )


def test_multiplications_and_divisions_want_the_same_counter_of_a_pentium_3() -> None:
    pmu = load_pmu("pentium3")
    assert misfit(pmu, [_on(pmu, "MUL"), _on(pmu, "DIV")])
    assert not misfit(pmu, [_on(pmu, "MUL"), _on(pmu, "FLOPS")])


def test_both_counters_of_a_strand_share_their_privilege_bits() -> None:
    pmu = load_pmu("niagara2")
    both = [_on(pmu, "Instr_ld", USER), _on(pmu, "Instr_st")]
    assert "need different privilege levels; the counters share one" in misfit(pmu, both)
    assert not misfit(pmu, [_on(pmu, "Instr_ld", USER), _on(pmu, "Instr_st", USER)])


def test_one_latency_threshold_at_a_time() -> None:
    pmu = load_pmu("generic")
    event = pmu.events["mem-loads"]
    low, high = (Programmed(f"{n}", event.with_threshold(n, f"{n}")) for n in (8, 64))
    assert misfit(pmu, [low, high])
    assert not misfit(pmu, [low])
    assert "needs a threshold" in why_not(pmu, event, frozenset(Mode))


def test_what_has_no_privilege_level_cannot_be_asked_for_one() -> None:
    niagara, pentium = load_pmu("niagara2"), load_pmu("pentium3")
    assert "cannot separate privilege levels" in why_not(
        niagara, niagara.events["Idle_strands"], USER
    )
    hypervisor = frozenset({Mode.HYPERVISOR})
    assert "':h'" in why_not(pentium, pentium.events["INST_RETIRED"], hypervisor)
    assert not why_not(pentium, pentium.events["INST_RETIRED"], USER)


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 40))
def test_nobody_waits_for_ever(general: int, events: int, turns: int) -> None:
    pmu = _pmu(general)
    groups = [(_on(pmu, f"e{number}"),) for number in range(events)]
    rotation = Turns(pmu, groups)
    assert rotation.rotates == (events > general)
    often = dict.fromkeys((f"e{number}" for number in range(events)), 0)
    for _ in range(turns * events):
        assert len(rotation.now) == min(general, events)
        for each in rotation.now:
            often[each.label] += 1
        rotation.move_on()
    assert max(often.values()) - min(often.values()) <= max(2, turns)
    assert min(often.values()) > 0


class _Steady:
    """Things that happen at a steady rate, each at its own."""

    def __init__(self) -> None:
        self.now = 0

    def look(self, programmed: Programmed) -> Mapping[str, int]:
        rate = 1 + int(programmed.label[1:]) if programmed.label != "first" else 7
        return {"thread/0": self.now * rate // 1000}


@pytest.mark.parametrize("jitter", [0, 300])
def test_what_took_turns_is_estimated_well_when_it_is_steady(jitter: int) -> None:
    pmu = _pmu(jitter=jitter)
    world = _Steady()
    bank = Bank(pmu, [(_on(pmu, f"e{number}"),) for number in range(5)], world.look, seed=3)
    while world.now < 400_000_000:
        assert bank.next_turn is not None
        world.now = bank.next_turn
        bank.pass_to(world.now)
    for label, _, value, enabled, running in bank.counted():
        assert enabled == world.now
        assert 0.3 < running / enabled < 0.5
        truth = world.look(Programmed(label, pmu.events[label]))["thread/0"]
        assert value * enabled / running == pytest.approx(truth, rel=1e-3)


def test_jitter_moves_the_ends_of_turns_and_is_the_same_for_a_seed() -> None:
    def ends(seed: int) -> list[int | None]:
        pmu, world, found = _pmu(jitter=300), _Steady(), []
        groups = [(_on(pmu, f"e{number}"),) for number in range(5)]
        bank = Bank(pmu, groups, world.look, seed=seed)
        for _ in range(20):
            found.append(bank.next_turn)
            world.now = bank.next_turn or 0
            bank.pass_to(world.now)
        return found

    assert ends(1) == ends(1)
    assert ends(1) != ends(2)
    late = [(end or 0) - 1_000_000 * (number + 1) for number, end in enumerate(ends(1))]
    assert 0 <= min(late) < max(late) <= 300_000


def test_nothing_rotates_when_everything_fits() -> None:
    pmu, world = _pmu(), _Steady()
    bank = Bank(pmu, [(_on(pmu, "e0"),), (_on(pmu, "first"),)], world.look)
    assert bank.next_turn is None
    world.now = 10_000
    bank.pass_to(world.now)
    assert [(line.value, line.enabled, line.running) for line in bank.counted()] == [
        (10, 10_000, 10_000),
        (70, 10_000, 10_000),
    ]


def test_a_thread_that_begins_later_is_enabled_from_then_on() -> None:
    pmu = _pmu()
    places = {"thread/0": 5}
    bank = Bank(pmu, [(_on(pmu, "e0"),)], lambda _: dict(places))
    bank.pass_to(1000)
    places["thread/1"] = 3
    bank.pass_to(1500)
    assert {line.place: (line.value, line.enabled) for line in bank.counted()} == {
        "thread/0": (0, 1500),
        "thread/1": (3, 500),
    }


def test_a_pinned_event_takes_no_turns() -> None:
    pmu = _pmu()
    pinned = Programmed("e0", pmu.events["e0"], pinned=True)
    rotation = Turns(pmu, [*[(_on(pmu, f"e{number}"),) for number in (1, 2, 3)], (pinned,)])
    seen = []
    for _ in range(6):
        assert pinned in rotation.now
        seen += [each.label for each in rotation.now if each != pinned]
        rotation.move_on()
    assert seen == ["e1", "e2", "e3"] * 2
