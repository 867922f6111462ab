"""The catalogue of the running kernel, on device trees of several machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gnomon.errors import GnomonError, UnknownEventError, UsageError
from gnomon.events import kernel
from gnomon.events.event import Event, Kind, PerfEncoding, Scope
from gnomon.events.kernel import KernelCatalogue
from gnomon.events.syntax import parse_events

MakePmu = Callable[[str, int, Mapping[str, str]], Path]

CORE = {"format/event": "config:0-7", "format/umask": "config:8-15"}


def encoding_of(event: Event) -> PerfEncoding:
    """Return an encoding that must be there."""
    assert event.encoding is not None
    return event.encoding


@pytest.fixture
def bare(make_pmu: MakePmu, devices: Path) -> KernelCatalogue:
    """A virtual machine without a PMU."""
    make_pmu("software", 1, {})
    make_pmu("msr", 10, {"format/event": "config:0-63", "events/tsc": "event=0x00"})
    return KernelCatalogue(devices)


@pytest.fixture
def xeon(make_pmu: MakePmu, devices: Path) -> KernelCatalogue:
    """A server with two sockets and four memory controllers."""
    make_pmu("software", 1, {})
    make_pmu(
        "cpu",
        4,
        {
            **CORE,
            "format/ldlat": "config1:0-15",
            "events/cpu-cycles": "event=0x3c",
            "events/mem-loads": "event=0xcd,umask=0x1,ldlat=3",
        },
    )
    for number in range(4):
        make_pmu(
            f"uncore_imc_{number}",
            12 + number,
            {
                **CORE,
                "cpumask": "0,18",
                "events/cas_count_read": "event=0x04,umask=0x03",
                "events/cas_count_read.scale": "6.103515625e-5",
                "events/cas_count_read.unit": "MiB",
            },
        )
    return KernelCatalogue(devices)


@pytest.fixture
def hybrid(make_pmu: MakePmu, devices: Path) -> KernelCatalogue:
    """A part with two kinds of core."""
    make_pmu("cpu_atom", 10, {**CORE, "cpus": "8-15", "events/cpu-cycles": "event=0x3c"})
    make_pmu("cpu_core", 4, {**CORE, "cpus": "0-7", "events/cpu-cycles": "event=0x3c"})
    return KernelCatalogue(devices)


@pytest.mark.parametrize(
    ("name", "kind", "numbers"),
    [
        ("cycles", Kind.HARDWARE, (0, 0)),
        ("cpu-cycles", Kind.HARDWARE, (0, 0)),
        ("page-faults", Kind.SOFTWARE, (1, 2)),
        ("faults", Kind.SOFTWARE, (1, 2)),
        ("cs", Kind.SOFTWARE, (1, 3)),
        ("LLC-load-misses", Kind.CACHE, (3, 0x10002)),
        ("llc-load-misses", Kind.CACHE, (3, 0x10002)),
        ("r1c2", Kind.RAW, (4, 0x1C2)),
        ("rFFFF", Kind.RAW, (4, 0xFFFF)),
    ],
)
def test_kernel_names_are_found_in_any_case_and_keep_their_spelling(
    bare: KernelCatalogue, name: str, kind: Kind, numbers: tuple[int, int]
) -> None:
    [event] = bare.resolve(name)
    assert event.name == name
    assert event.kind is kind
    assert (encoding_of(event).type, encoding_of(event).config) == numbers


def test_an_alias_still_knows_the_canonical_name(bare: KernelCatalogue) -> None:
    [event] = bare.resolve("faults")
    assert event.name == "faults"
    assert "page-faults" in event.aliases


def test_a_machine_without_pmu_has_no_core_unit(bare: KernelCatalogue) -> None:
    assert bare.core_pmus == ()
    assert set(bare.pmus) == {"software", "msr"}


def test_an_event_of_a_unit_is_found_with_and_without_its_unit(xeon: KernelCatalogue) -> None:
    [with_unit] = xeon.resolve("cpu/mem-loads/")
    [without] = xeon.resolve("mem-loads")
    assert with_unit == without
    assert encoding_of(without) == PerfEncoding("cpu", 4, 0x1CD, 3)


def test_terms_are_encoded_for_the_unit(xeon: KernelCatalogue) -> None:
    [event] = xeon.resolve("cpu/event=0xd1,umask=0x20/")
    assert event.name == "cpu/event=0xd1,umask=0x20/"
    assert encoding_of(event) == PerfEncoding("cpu", 4, 0x20D1)


def test_a_generic_event_may_be_named_within_its_unit(xeon: KernelCatalogue) -> None:
    [event] = xeon.resolve("cpu/instructions/")
    assert event.name == "cpu/instructions/"
    assert (encoding_of(event).type, encoding_of(event).config) == (0, 1)


def test_a_software_event_does_not_belong_to_a_core_unit(xeon: KernelCatalogue) -> None:
    with pytest.raises(UsageError, match="no term 'page-faults'"):
        xeon.resolve("cpu/page-faults/")


@pytest.mark.parametrize(
    "name", ["cas_count_read", "imc/cas_count_read/", "uncore_imc/cas_count_read/"]
)
def test_a_unit_with_several_instances_gives_an_event_for_each(
    xeon: KernelCatalogue, name: str
) -> None:
    events = xeon.resolve(name)
    assert [event.name for event in events] == [
        f"uncore_imc_{number}/cas_count_read/" for number in range(4)
    ]
    assert [encoding_of(event).type for event in events] == [12, 13, 14, 15]
    for event in events:
        assert event.unit == "MiB"
        assert event.scope is Scope.SOCKET
        assert event.cpus == (0, 18)


def test_one_instance_can_be_chosen(xeon: KernelCatalogue) -> None:
    [event] = xeon.resolve("uncore_imc_2/cas_count_read/")
    assert encoding_of(event).type == 14


def test_several_instances_become_requests_of_their_own(xeon: KernelCatalogue) -> None:
    groups = parse_events("imc/event=4/,cycles:u", xeon.resolve)
    assert [group[0].label for group in groups] == [
        *(f"uncore_imc_{number}/event=4/" for number in range(4)),
        "cycles:u",
    ]


def test_a_generic_event_is_opened_on_each_kind_of_core(hybrid: KernelCatalogue) -> None:
    events = hybrid.resolve("cycles")
    assert [event.name for event in events] == ["cpu_atom/cycles/", "cpu_core/cycles/"]
    assert [encoding_of(event).config for event in events] == [10 << 32, 4 << 32]
    assert [encoding_of(event).type for event in events] == [0, 0]
    for event in events:
        assert "cycles" in event.aliases
        assert any("counts only while on a core of kind" in caveat for caveat in event.caveats)


def test_the_names_on_each_kind_of_core_can_be_asked_for(hybrid: KernelCatalogue) -> None:
    for event in (*hybrid.resolve("cycles"), *hybrid.resolve("LLC-loads")):
        assert hybrid.resolve(event.name) == (event,)


def test_a_software_event_is_not_split_by_kind_of_core(hybrid: KernelCatalogue) -> None:
    [event] = hybrid.resolve("page-faults")
    assert event.name == "page-faults"


def test_a_raw_event_is_opened_on_each_kind_of_core(hybrid: KernelCatalogue) -> None:
    events = hybrid.resolve("r1c2")
    assert [(encoding_of(e).type, encoding_of(e).config) for e in events] == [
        (10, 0x1C2),
        (4, 0x1C2),
    ]
    for event in events:
        [again] = hybrid.resolve(event.name)
        assert encoding_of(again).config == 0x1C2


def test_a_unit_that_is_not_there_is_a_usage_error(bare: KernelCatalogue) -> None:
    with pytest.raises(UsageError) as caught:
        bare.resolve("cpu/event=0x3c/")
    assert str(caught.value) == (
        "'cpu/event=0x3c/' names a unit 'cpu' that this kernel does not have: it has msr, software."
    )


def test_no_units_at_all_are_said_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="it has none at all"):
        KernelCatalogue(tmp_path).resolve("cpu/event=0x3c/")


@pytest.mark.parametrize(
    ("name", "address", "length", "access"),
    [
        ("mem:0x1000", 0x1000, 4, 3),
        ("mem:4096:w", 4096, 4, 2),
        ("mem:0x1000/8:w", 0x1000, 8, 2),
        ("mem:0x1000/1:rw", 0x1000, 1, 3),
        ("mem:0x1000/2:wr", 0x1000, 2, 3),
        ("mem:0x1000:x", 0x1000, 8, 4),
        ("mem:0xffffffffffffffff", 2**64 - 1, 4, 3),
        ("mem:010:w", 10, 4, 2),
    ],
)
def test_breakpoints(
    bare: KernelCatalogue, name: str, address: int, length: int, access: int
) -> None:
    [event] = bare.resolve(name)
    assert event.kind is Kind.BREAKPOINT
    encoding = encoding_of(event)
    assert (encoding.config1, encoding.config2, encoding.bp_type) == (address, length, access)


def test_a_breakpoint_of_odd_length_is_a_usage_error(bare: KernelCatalogue) -> None:
    with pytest.raises(UsageError) as caught:
        bare.resolve("mem:0x1000/3:w")
    assert str(caught.value) == "'mem:0x1000/3:w' watches 3 bytes: hardware can do 1, 2, 4 or 8."


def test_a_breakpoint_beyond_memory_is_a_usage_error(bare: KernelCatalogue) -> None:
    with pytest.raises(UsageError, match="an address has 64 bits"):
        bare.resolve(f"mem:{2**64}:w")


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("cyclse", "cycles"),
        ("page-fault", "page-faults"),
        ("LLC-load-mises", "LLC-load-misses"),
        ("cas_count_raed", "cas_count_read"),
    ],
)
def test_a_slip_of_the_pen_brings_the_right_name(
    xeon: KernelCatalogue, slip: str, meant: str
) -> None:
    with pytest.raises(UnknownEventError) as caught:
        xeon.resolve(slip)
    assert meant in caught.value.suggestions
    assert str(caught.value).startswith(f"unknown event '{slip}': did you mean ")


def test_an_unlike_name_brings_a_hint_where_to_look(bare: KernelCatalogue) -> None:
    with pytest.raises(UnknownEventError) as caught:
        bare.resolve("qqqqqqqqqqq")
    assert str(caught.value) == (
        "unknown event 'qqqqqqqqqqq': `gnomon events` lists what there is."
    )


@pytest.mark.parametrize(
    "name", ["r", "rxyz", "r" + "0" * 17, "mem:", "mem:0xg", "mem:" + "1" * 50]
)
def test_almost_raw_events_and_breakpoints_are_unknown(bare: KernelCatalogue, name: str) -> None:
    with pytest.raises(GnomonError):
        bare.resolve(name)


def test_the_catalogue_lists_all_but_tracepoints(xeon: KernelCatalogue) -> None:
    names = [event.name for event in xeon]
    assert {"cycles", "page-faults", "LLC-loads", "cpu/mem-loads/"} <= set(names)
    assert sum(name.startswith("uncore_imc") for name in names) == 4
    assert len(set(names)) == len(names)


@pytest.fixture
def tracefs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small folder of tracepoints in place of the kernel's."""
    place = tmp_path / "tracing"
    for point, text in {"sched/switch": "311\n", "sched/wakeup": "312\n", "irq/odd": "?"}.items():
        folder = place / "events" / point
        folder.mkdir(parents=True)
        (folder / "id").write_text(text)
    (place / "events" / "header_page").write_text("")
    monkeypatch.setattr(kernel, "_TRACEFS", (place,))
    return place


def test_tracepoints_are_found_by_system_and_name(bare: KernelCatalogue, tracefs: Path) -> None:
    [event] = bare.resolve("sched:switch")
    assert event.kind is Kind.TRACEPOINT
    assert encoding_of(event) == PerfEncoding("tracepoint", 2, 311)
    assert [event.name for event in bare.tracepoints()] == ["sched:switch", "sched:wakeup"]


def test_a_tracepoint_may_carry_modifiers(bare: KernelCatalogue, tracefs: Path) -> None:
    [[request]] = parse_events("sched:switch:u", bare.resolve)
    assert request.label == "sched:switch:u"
    assert not request.modifiers.kernel


@pytest.mark.parametrize(
    "name", ["sched:swich", "irq:odd", "sched:", ":switch", "a:" + "x" * 500, "header_page:id"]
)
def test_what_is_no_tracepoint_is_unknown(bare: KernelCatalogue, tracefs: Path, name: str) -> None:
    with pytest.raises(UnknownEventError):
        bare.resolve(name)


def test_a_slip_in_a_tracepoint_brings_the_right_one(bare: KernelCatalogue, tracefs: Path) -> None:
    with pytest.raises(UnknownEventError) as caught:
        bare.resolve("sched:swithc")
    assert caught.value.suggestions[0] == "sched:switch"


def test_without_tracefs_the_remedy_is_named(
    bare: KernelCatalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "_TRACEFS", (tmp_path / "nowhere",))
    with pytest.raises(GnomonError) as caught:
        bare.resolve("sched:switch")
    assert str(caught.value) == (
        "tracepoints cannot be read: tracefs is not mounted; as root, `mount -t tracefs tracefs "
        "/sys/kernel/tracing`, if the kernel was built with it."
    )
    [[request]] = parse_events("cycles:u", bare.resolve)
    assert request.label == "cycles:u"


def test_tracefs_that_only_root_may_read_is_said_so(
    bare: KernelCatalogue, tracefs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(_: Path) -> bool:
        raise PermissionError

    monkeypatch.setattr(Path, "is_dir", forbidden)
    with pytest.raises(GnomonError, match="is open to root only; run as root") as caught:
        kernel.tracefs()
    assert str(tracefs) in str(caught.value)


def test_a_wrong_modifier_is_not_looked_up_among_tracepoints(
    bare: KernelCatalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "_TRACEFS", (tmp_path / "not-mounted",))
    with pytest.raises(UnknownEventError):
        bare.resolve("task-clock:z")
    with pytest.raises(UnknownEventError):
        bare.resolve("valgrind::Ir")
