"""Plans for machines that people know, and the words for what does not fit."""

from __future__ import annotations

import pytest

from gnomon.errors import UsageError
from gnomon.events.event import (
    Constraint,
    Event,
    Fields,
    Kind,
    Modifiers,
    PerfEncoding,
    Request,
)
from gnomon.events.planner import Counter, Pmu, Watchdog, explain_fit, plan

OFFCORE = (0x1A6, 0x1A7)
USER = Modifiers(kernel=False, hypervisor=False)
SYSTEM = Modifiers(user=False, hypervisor=False)

NIAGARA = Pmu("cpu", general=2, width=32, same_modes=True)
PENTIUM3 = Pmu("cpu", general=2, width=40)
HASWELL = Pmu("cpu", general=8, fixed=3, smt_halved=True)
HASWELL_SMT_OFF = Pmu("cpu", general=8, fixed=3)
FOUR = Pmu("cpu", general=4, fixed=3)

INSTRUCTIONS = Event("instructions", constraint=Constraint(None, fixed=0))
CYCLES = Event("cycles", constraint=Constraint(None, fixed=1))
REFERENCE = Event("ref-cycles", constraint=Constraint(0, fixed=2))


def anywhere(count: int, prefix: str = "e") -> list[Event]:
    return [Event(f"{prefix}{number}") for number in range(count)]


def pinned(name: str, *counters: int) -> Event:
    return Event(name, constraint=Constraint(sum(1 << counter for counter in counters)))


def alone(name: str, counters: int | None = None) -> Event:
    return Event(name, constraint=Constraint(counters, taken_alone=True))


def offcore(name: str, value: int) -> Event:
    return Event(
        name, constraint=Constraint(0xF), fields=Fields(0xB7, 1, msrs=OFFCORE, msr_value=value)
    )


def latency(name: str, cycles: int, counters: int | None = None) -> Event:
    return Event(name, constraint=Constraint(counters), fields=Fields(0xCD, 1, ldlat=cycles))


class TestMachines:
    def test_niagara_2_counts_any_two_events_at_a_time(self) -> None:
        found = plan(anywhere(39), NIAGARA)
        assert len(found.batches) == 20
        assert found.minimal
        assert all(len(batch.requests) == 2 for batch in found.batches[:-1])

    def test_niagara_2_counts_only_one_set_of_privilege_levels_at_a_time(self) -> None:
        events = anywhere(3)
        requests = [Request(e, USER) for e in events] + [Request(e, SYSTEM) for e in events]
        found = plan(requests, NIAGARA)
        assert len(found.batches) == found.lower_bound == 4
        assert "cannot be mixed" in found.bound_reason
        for batch in found.batches:
            assert len({request.modifiers for request in batch.requests}) == 1

    def test_pentium_3_events_pinned_to_one_register_set_the_pace(self) -> None:
        first = [pinned(f"FLOPS{n}", 0) for n in range(5)]
        found = plan([*first, *[pinned(f"DIV{n}", 1) for n in range(2)], *anywhere(3)], PENTIUM3)
        assert len(found.batches) == found.lower_bound == 5
        for batch in found.batches:
            for request, counter in batch.assignment.items():
                if request.label.startswith("FLOPS"):
                    assert counter == Counter(0)

    def test_haswell_has_half_the_counters_with_hyper_threading(self) -> None:
        events = anywhere(240)
        assert len(plan(events, HASWELL).batches) == 60
        assert len(plan(events, HASWELL_SMT_OFF).batches) == 30

    def test_haswell_keeps_events_on_the_lower_counters_without_hyper_threading(self) -> None:
        low = [Event(f"low{n}", constraint=Constraint(0xF)) for n in range(12)]
        high = [Event(f"any{n}", constraint=Constraint(0xFF)) for n in range(12)]
        assert len(plan([*low, *high], HASWELL_SMT_OFF).batches) == 3
        assert len(plan([*low, *high], HASWELL).batches) == 6

    def test_ivy_bridge_has_one_counter_and_one_threshold_for_load_latency(self) -> None:
        loads = [latency(f"LOADS_GT_{2**n}", 2**n, counters=0x8) for n in range(2, 10)]
        found = plan([*loads, *anywhere(24)], FOUR)
        assert len(found.batches) == found.lower_bound == 8
        for batch in found.batches:
            assert sum(request.event.fields is not None for request in batch.requests) == 1

    def test_one_threshold_serves_several_events(self) -> None:
        loads = [latency("a", 30), latency("b", 30), latency("c", 100)]
        found = plan(loads, FOUR)
        assert len(found.batches) == 2
        assert {seat.registers for batch in found.batches for seat in batch.seats} == {(0x3F6,)}

    def test_offcore_responses_go_in_pairs(self) -> None:
        found = plan([offcore(f"OCR{n}", n) for n in range(9)], FOUR)
        assert len(found.batches) == found.lower_bound == 5
        assert "9 values must go through the offcore-response registers 0x1a6 and 0x1a7" in (
            found.bound_reason
        )
        for batch in found.batches:
            registers = [seat.registers for seat in batch.seats]
            assert len(set(registers)) == len(registers)

    def test_offcore_responses_with_one_value_share_a_register(self) -> None:
        requests = [Request(offcore(f"OCR{n}", n), m) for n in range(40) for m in (USER, SYSTEM)]
        found = plan(requests, FOUR)
        assert len(found.batches) == found.lower_bound == 20
        for batch in found.batches:
            assert len({seat.registers for seat in batch.seats}) == 2

    def test_taken_alone_events_leave_the_fixed_counters_to_others(self) -> None:
        found = plan([alone("X"), alone("Y"), INSTRUCTIONS, REFERENCE, *anywhere(4)], FOUR)
        assert len(found.batches) == found.lower_bound == 3
        together = plan([alone("X"), INSTRUCTIONS, CYCLES, REFERENCE], FOUR)
        assert len(together.batches) == 1
        assert together.batches[0].assignment == {
            Request(alone("X")): Counter(0),
            Request(INSTRUCTIONS): Counter(0, fixed=True),
            Request(CYCLES): Counter(1, fixed=True),
            Request(REFERENCE): Counter(2, fixed=True),
        }

    def test_fixed_events_beyond_the_mixed_batches_run_beside_taken_alone_ones(self) -> None:
        fixed = [Event(f"f{n}", constraint=Constraint(0, fixed=0)) for n in range(3)]
        found = plan([alone("X"), alone("Y"), *fixed, *anywhere(4)], FOUR)
        assert len(found.batches) == found.lower_bound == 3

    def test_a_taken_alone_event_bothers_nobody_on_a_fixed_counter(self) -> None:
        quiet = Event("quiet", constraint=Constraint(0xF, fixed=0, taken_alone=True))
        assert len(plan([quiet, *anywhere(4)], FOUR).batches) == 1

    def test_the_watchdog_takes_a_general_counter(self) -> None:
        held = Pmu("cpu", general=4, watchdog=Watchdog.GENERAL)
        assert len(plan(anywhere(12), held).batches) == 4
        assert len(plan(anywhere(12), Pmu("cpu", general=4)).batches) == 3

    def test_the_watchdog_keeps_out_of_the_way_where_it_can(self) -> None:
        either = Pmu("cpu", general=4, fixed=3, watchdog=Watchdog.EITHER)
        assert len(plan(anywhere(4), either).batches) == 1
        cycles_only = Event("cycles", constraint=Constraint(0, fixed=1))
        assert len(plan([*anywhere(3), cycles_only], either).batches) == 1
        assert len(plan([*anywhere(4), cycles_only], either).batches) == 2

    def test_the_watchdog_does_not_forbid_taken_alone_events(self) -> None:
        found = plan([alone("X")], Pmu("cpu", general=4, watchdog=Watchdog.GENERAL))
        assert not found.unplaceable


class TestAnchors:
    def test_anchors_are_in_every_batch(self) -> None:
        found = plan(anywhere(9), FOUR, anchors=[INSTRUCTIONS, CYCLES])
        assert len(found.batches) == 3
        for batch in found.batches:
            assert [request.label for request in batch.requests[:2]] == ["instructions", "cycles"]

    def test_anchors_without_a_fixed_counter_cost_places(self) -> None:
        found = plan(anywhere(9), Pmu("cpu", general=4), anchors=[INSTRUCTIONS])
        assert len(found.batches) == 3
        assert found.bound_reason.endswith("3 a batch beside the anchors")

    def test_a_requested_anchor_is_counted_once_a_batch(self) -> None:
        found = plan([INSTRUCTIONS, *anywhere(8)], FOUR, anchors=[INSTRUCTIONS])
        assert [len(batch.requests) for batch in found.batches] == [5, 5]
        assert len(plan([INSTRUCTIONS], FOUR, anchors=[INSTRUCTIONS]).batches) == 1

    def test_anchors_that_need_general_counters_exclude_taken_alone_events(self) -> None:
        found = plan([alone("X"), *anywhere(2)], Pmu("cpu", general=4), anchors=[INSTRUCTIONS])
        assert [miss.request.label for miss in found.unplaceable] == ["X"]
        assert found.unplaceable[0].reason == (
            "it does not fit beside instructions: X must have the general counters alone,"
            " but instructions needs one of them"
        )

    def test_an_anchor_that_is_taken_alone_leaves_fixed_counters_only(self) -> None:
        found = plan([REFERENCE, *anywhere(1)], FOUR, anchors=[alone("X")])
        assert [batch.requests[1].label for batch in found.batches] == ["ref-cycles"]
        assert [miss.request.label for miss in found.unplaceable] == ["e0"]

    def test_an_anchor_with_a_register_leaves_the_other_one(self) -> None:
        anchor = offcore("anchor", 0)
        found = plan([anchor, *[offcore(f"OCR{n}", n) for n in range(5)]], FOUR, anchors=[anchor])
        # The one with the anchor's value shares its register.
        assert len(found.batches) == found.lower_bound == 4

    def test_anchors_that_do_not_fit_together_are_an_error(self) -> None:
        with pytest.raises(UsageError, match="anchors do not fit into one batch on cpu: e0, e1"):
            plan([], NIAGARA, anchors=anywhere(3))

    def test_an_anchor_of_an_unknown_unit_is_an_error(self) -> None:
        event = Event("reads", encoding=PerfEncoding("uncore_imc", 20, 1))
        with pytest.raises(UsageError, match="cannot anchor reads: nothing is known"):
            plan([], FOUR, anchors=[event])


class TestSeveralUnits:
    IMC = Pmu("uncore_imc", general=4, fixed=1)

    @staticmethod
    def memory(count: int) -> list[Event]:
        encoding = PerfEncoding("uncore_imc", 20, 1)
        return [Event(f"imc{n}", encoding=encoding) for n in range(count)]

    def test_units_run_side_by_side(self) -> None:
        found = plan([*anywhere(16), *self.memory(8)], FOUR, self.IMC)
        assert len(found.batches) == found.lower_bound == 4
        assert [len(batch.requests) for batch in found.batches] == [8, 8, 4, 4]
        assert {seat.pmu for seat in found.batches[0].seats} == {"cpu", "uncore_imc"}

    def test_anchors_of_a_unit_outlast_its_batches(self) -> None:
        anchor = self.memory(1)[0]
        found = plan([*anywhere(16), *self.memory(4)], FOUR, self.IMC, anchors=[anchor])
        assert len(found.batches) == 4
        assert all(batch.requests[0].event == anchor for batch in found.batches)

    def test_software_events_and_tracepoints_do_not_compete(self) -> None:
        software = [Event(f"sw{n}", kind=Kind.SOFTWARE) for n in range(20)]
        traces = [Event(f"sched:{n}", kind=Kind.TRACEPOINT) for n in range(20)]
        found = plan([*anywhere(4), *software, *traces], FOUR)
        assert len(found.batches) == found.lower_bound == 1
        assert sum(counter is None for counter in found.batches[0].assignment.values()) == 40
        assert len(plan(software, FOUR, anchors=software[:2]).batches) == 1

    def test_free_running_units_do_not_compete(self) -> None:
        energy = [Event(f"j{n}", encoding=PerfEncoding("power", 9, n)) for n in range(5)]
        assert len(plan(energy, FOUR).batches) == 1

    def test_breakpoints_have_four_registers(self) -> None:
        events = [Event(f"mem:{n}", kind=Kind.BREAKPOINT) for n in range(5)]
        assert len(plan(events, FOUR).batches) == 2
        assert len(plan(events, FOUR, Pmu("breakpoint", general=6)).batches) == 1

    def test_generic_events_belong_to_the_first_unit(self) -> None:
        event = Event("cycles", kind=Kind.HARDWARE, encoding=PerfEncoding("cpu", 0, 0))
        found = plan([event], Pmu("cpu_core", general=8))
        assert found.batches[0].seats[0].pmu == "cpu_core"

    def test_events_of_an_unknown_unit_are_not_placed(self) -> None:
        found = plan([*self.memory(1), *anywhere(1)], FOUR)
        assert [miss.reason for miss in found.unplaceable] == [
            "nothing is known of the counters of uncore_imc"
        ]
        assert len(found.batches) == 1


class TestPlan:
    def test_an_empty_request_gives_an_empty_plan(self) -> None:
        assert plan([], FOUR).batches == ()
        assert plan([], FOUR).minimal
        assert plan([], FOUR, anchors=[CYCLES]).batches == ()

    def test_a_request_made_twice_is_counted_once(self) -> None:
        event = anywhere(1)[0]
        assert plan([event, Request(event), event], FOUR).batches[0].requests == (Request(event),)

    def test_an_event_at_two_privilege_levels_is_two_requests(self) -> None:
        event = anywhere(1)[0]
        found = plan([Request(event, USER), Request(event, SYSTEM)], FOUR)
        assert set(found.batches[0].assignment.values()) == {Counter(0), Counter(1)}

    def test_exclusive_requests_have_the_unit_to_themselves(self) -> None:
        request = Request(CYCLES, Modifiers(exclusive=True))
        found = plan([request, *anywhere(4)], FOUR)
        assert len(found.batches) == found.lower_bound == 2
        assert found.batches[0].requests == (request,)
        anchored = plan([request, *anywhere(4)], FOUR, anchors=[INSTRUCTIONS])
        assert "exclusively" in anchored.unplaceable[0].reason

    def test_batches_follow_the_order_of_the_requests(self) -> None:
        found = plan(anywhere(8), FOUR)
        assert found.batches[0].requests[0].label == "e0"

    def test_a_seed_shuffles_the_batches_and_nothing_else(self) -> None:
        events = anywhere(200)
        ordered, shuffled = plan(events, FOUR), plan(events, FOUR, seed=7)
        assert shuffled.batches != ordered.batches
        assert set(shuffled.batches) == set(ordered.batches)
        assert plan(events, FOUR, seed=7) == shuffled

    def test_it_explains_itself(self) -> None:
        events = [alone("X"), *anywhere(9), pinned("Z", 9)]
        assert plan(events, FOUR, anchors=[INSTRUCTIONS, CYCLES]).explain() == (
            "12 events in 4 batches, the fewest possible.\n"
            "Why not fewer: 1 event needs the general counters alone;"
            " 9 events can only be counted on counters 0 to 3, 4 a batch.\n"
            "In every batch: instructions and cycles.\n"
            "Not placed: Z: Z needs counter 9, but cpu has counters 0 to 3"
            " and fixed counters 0 to 2."
        )

    def test_three_hundred_events_with_every_kind_of_constraint(self) -> None:
        events = [
            *(alone(f"alone{n}") for n in range(20)),
            *(offcore(f"OCR{n}", n) for n in range(90)),
            *(pinned(f"low{n}", 0, 1, 2, 3) for n in range(90)),
            *(pinned(f"two{n}", 2) for n in range(9)),
            *anywhere(91),
        ]
        found = plan(events, Pmu("cpu", general=8, fixed=4), anchors=[INSTRUCTIONS, CYCLES])
        assert len(found.batches) == found.lower_bound == 20 + 48


FITS_NOT = [
    pytest.param(
        [pinned("A", 0), pinned("B", 0, 1), pinned("C", 0, 1), Event("D")],
        FOUR,
        ["A, B and C can only be counted on counters 0 and 1: three events for two counters"],
        id="hall violator",
    ),
    pytest.param(
        [pinned("A", 0), pinned("B", 0), pinned("C", 3), pinned("D", 3)],
        FOUR,
        [
            "A and B can only be counted on counter 0: two events for one counter",
            "C and D can only be counted on counter 3: two events for one counter",
        ],
        id="two violators",
    ),
    pytest.param(
        anywhere(9),
        FOUR,
        [
            "e0, e1, e2, e3, e4 and 4 more can only be counted on counters 0 to 3:"
            " nine events for four counters"
        ],
        id="too many",
    ),
    pytest.param(
        [alone("X"), Event("A"), CYCLES],
        FOUR,
        ["X must have the general counters alone, but A needs one of them"],
        id="alone",
    ),
    pytest.param(
        [alone("X"), alone("Y"), Event("A"), Event("B")],
        FOUR,
        ["X and Y must each have the general counters alone, but A and B need some of them"],
        id="two alone",
    ),
    pytest.param(
        [latency("A", 30), latency("B", 100), Event("C")],
        FOUR,
        [
            "A and B use two load-latency thresholds (30 and 100 cycles),"
            " and the hardware has one at a time"
        ],
        id="thresholds",
    ),
    pytest.param(
        [offcore("A", 1), offcore("B", 2), offcore("C", 3), Event("D")],
        FOUR,
        [
            "A, B and C need three different values in the offcore-response registers"
            " 0x1a6 and 0x1a7, and each register holds one"
        ],
        id="offcore",
    ),
    pytest.param(
        [CYCLES, Event("unhalted", constraint=Constraint(0, fixed=1)), *anywhere(4)],
        FOUR,
        [
            "cycles, unhalted, e0, e1, e2 and e3 can only be counted on counters 0 to 3"
            " or fixed counter 1: six events for five counters"
        ],
        id="fixed",
    ),
    pytest.param(
        [Request(Event("A"), USER), Event("B")],
        NIAGARA,
        ["all events on cpu must count at the same privilege levels: B and A:u do not"],
        id="modes",
    ),
    pytest.param(
        [Event("A", constraint=Constraint(0)), Event("B")],
        FOUR,
        ["no counter of cpu can count A"],
        id="no counter",
    ),
    pytest.param(
        [Event("A", constraint=Constraint(0, fixed=3)), Event("B")],
        FOUR,
        ["A needs fixed counter 3, but cpu has counters 0 to 3 and fixed counters 0 to 2"],
        id="no such fixed counter",
    ),
    pytest.param(
        [Event("A")],
        Pmu("cpu", general=0, fixed=1),
        ["A needs a general counter, and cpu has none"],
        id="no general counters",
    ),
    pytest.param(
        [Event("A", encoding=PerfEncoding("uncore_imc", 20, 1)), Event("B")],
        FOUR,
        ["A: nothing is known of the counters of uncore_imc"],
        id="unknown unit",
    ),
]


class TestExplainFit:
    @pytest.mark.parametrize(("events", "pmu", "reasons"), FITS_NOT)
    def test_it_says_why_not(
        self, events: list[Event | Request], pmu: Pmu, reasons: list[str]
    ) -> None:
        answer = explain_fit(events, pmu)
        assert not answer
        assert list(answer.reasons) == reasons

    def test_it_says_where_events_sit(self) -> None:
        answer = explain_fit([pinned("A", 1), Event("B"), CYCLES], FOUR)
        assert answer.fits
        assert answer.text == (
            "These events fit together: A on counter 1, B on counter 0, cycles on fixed counter 1."
        )

    def test_the_watchdog_is_named_and_can_be_switched_off(self) -> None:
        pmu = Pmu("cpu", general=4, fixed=3, watchdog=Watchdog.FIXED)
        answer = explain_fit([Event("cycles", constraint=Constraint(0, fixed=1))], pmu)
        assert answer.text == (
            "This event cannot be counted:\n"
            "  - cycles can only be counted on fixed counter 1, which the watchdog holds.\n"
            "Remedy: switch the watchdog off (sysctl kernel.nmi_watchdog=0)."
        )

    def test_hyper_threading_can_be_switched_off(self) -> None:
        answer = explain_fit(anywhere(6), HASWELL)
        assert answer.text == (
            "These events do not fit together:\n"
            "  - e0, e1, e2, e3, e4 and e5 can only be counted on counters 0 to 3:"
            " six events for four counters.\n"
            "Remedy: switch SMT off (echo off > /sys/devices/system/cpu/smt/control),"
            " which gives a thread all counters of its core.\n"
            "As they are, 2 batches count all of them."
        )
        assert explain_fit([pinned("A", 4)], HASWELL).reasons == (
            "A needs counter 4, but cpu has counters 0 to 3 and fixed counters 0 to 2"
            " while SMT is on",
        )

    def test_a_remedy_must_help_on_every_unit(self) -> None:
        imc = Pmu("uncore_imc", general=1)
        memory = [Event(f"imc{n}", encoding=PerfEncoding("uncore_imc", 20, n)) for n in range(2)]
        answer = explain_fit([*anywhere(6), *memory], HASWELL, imc)
        assert len(answer.reasons) == 2
        assert not answer.remedies

    def test_reasons_name_no_more_than_the_clash(self) -> None:
        events = [pinned("A", 0, 1), pinned("B", 0, 1), pinned("C", 0, 1), pinned("D", 2)]
        (reason,) = explain_fit(events, FOUR).reasons
        assert "D" not in reason


class TestBadInput:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"name": "", "general": 4}, "needs a name"),
            ({"name": "cpu", "general": -1}, "cpu: general is -1, but must be between 0 and 64"),
            ({"name": "cpu", "general": 4, "fixed": 65}, "cpu: fixed is 65"),
            ({"name": "cpu", "general": 4, "width": 0}, "cpu: width is 0"),
            ({"name": "cpu", "general": 4, "watchdog": "nmi"}, "cpu: watchdog is 'nmi'"),
            (
                {"name": "cpu", "general": 4, "fixed": 1, "watchdog": Watchdog.FIXED},
                "cannot hold fixed counter 1: there are 1 fixed counters",
            ),
            (
                {"name": "cpu", "general": 0, "watchdog": Watchdog.GENERAL},
                "no counter for the watch",
            ),
        ],
    )
    def test_units_that_cannot_be(self, settings: dict[str, object], message: str) -> None:
        with pytest.raises(UsageError, match=message):
            Pmu(**settings)  # type: ignore[arg-type]

    def test_no_unit_and_two_of_one_name(self) -> None:
        with pytest.raises(UsageError, match="no performance monitoring unit"):
            plan(anywhere(1))
        with pytest.raises(UsageError, match="the same name"):
            plan(anywhere(1), FOUR, NIAGARA)

    def test_what_is_no_event(self) -> None:
        with pytest.raises(UsageError, match="cannot plan 'cycles': it is neither"):
            plan(["cycles"], FOUR)  # type: ignore[list-item]
        with pytest.raises(UsageError, match="no events to fit"):
            explain_fit([], FOUR)

    def test_counters_that_cannot_be(self) -> None:
        with pytest.raises(UsageError, match="A: a set of counters cannot be -1"):
            plan([Event("A", constraint=Constraint(-1))], FOUR)
        with pytest.raises(UsageError, match="A: there can be no fixed counter 99"):
            plan([Event("A", constraint=Constraint(0, fixed=99))], FOUR)
