"""Event selects to config words and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.errors import UsageError
from gnomon.events.encoding import (
    AMD_CORE,
    ARM_CORE,
    DYNAMIC_TYPE,
    FRONTEND_MSR,
    INTEL_CORE,
    INTEL_CORE_WIDE,
    LATENCY_MSR,
    OFFCORE_MSRS,
    RAW_TYPE,
    Layout,
    Term,
    decode,
    encode,
    explain,
    parse_terms,
    term_text,
    terms_of,
)
from gnomon.events.event import Fields, PerfEncoding

if TYPE_CHECKING:
    pass

WORD = st.integers(0, 2**64 - 1)
LAYOUTS = st.sampled_from([INTEL_CORE, INTEL_CORE_WIDE, AMD_CORE, ARM_CORE])


@st.composite
def selects(draw: st.DrawFn) -> Fields:
    """Draw any event select of an Intel core."""
    fields = Fields(
        code=draw(st.integers(0, 0xFF)),
        umask=draw(st.integers(0, 0xFF)),
        cmask=draw(st.integers(0, 0xFF)),
        invert=draw(st.booleans()),
        edge=draw(st.booleans()),
        any_thread=draw(st.booleans()),
    )
    kind = draw(st.sampled_from(["plain", "offcore", "latency", "frontend"]))
    plain = (fields.umask, fields.cmask, fields.invert, fields.edge, fields.any_thread)
    if kind == "offcore":
        value = draw(st.integers(1, 2**38 - 1))
        code = draw(st.sampled_from([0xB7, 0xBB, 0x2A, 0x2B]))
        return Fields(code, *plain, OFFCORE_MSRS, value)
    if kind == "latency":
        cycles = draw(st.integers(1, 2**16 - 1))
        return Fields(0xCD, *plain, (LATENCY_MSR,), cycles, cycles)
    if kind == "frontend":
        value = draw(st.integers(1, 2**23 - 1))
        return Fields(0xC6, 1, *plain[1:], (FRONTEND_MSR,), value)
    return fields


@given(selects())
def test_a_select_survives_encoding(fields: Fields) -> None:
    assert decode(encode(fields)) == fields


@given(LAYOUTS, st.tuples(WORD, WORD, WORD, WORD))
def test_words_survive_decoding(layout: Layout, words: tuple[int, int, int, int]) -> None:
    assert layout.words(layout.values(words)) == words


@given(LAYOUTS, WORD, WORD)
def test_an_explanation_means_the_same_words(layout: Layout, config: int, config1: int) -> None:
    encoding = PerfEncoding("cpu", RAW_TYPE, config, config1)
    pmu, values = parse_terms(explain(encoding, layout))
    assert PerfEncoding(pmu, RAW_TYPE, *layout.words(values)) == encoding


@st.composite
def bit_ranges(draw: st.DrawFn) -> str:
    """Draw ranges that do not overlap, as sysfs writes them."""
    edges = sorted(draw(st.sets(st.integers(0, 63), min_size=2, max_size=8)))
    pairs = zip(edges[::2], edges[1::2], strict=False)
    return ",".join(f"{low}-{high}" for low, high in pairs)


@given(bit_ranges(), WORD)
def test_a_term_finds_its_own_bits(ranges: str, value: int) -> None:
    term = Term.parse("any", f"config1:{ranges}")
    value &= (1 << term.width) - 1
    word = term.insert(value)
    assert term.extract(word) == value
    assert word & ~term.mask == 0
    assert Term.parse("any", str(term)) == term


@pytest.mark.parametrize(
    ("fields", "config", "config1"),
    [
        (Fields(0xD1, 0x20), 0x20D1, 0),
        (Fields(0xA3, 0x06, cmask=6), 0x60006A3, 0),
        (Fields(0x5E, 0x01, cmask=1, invert=True, edge=True), 0x184015E, 0),
        (Fields(0x3C, any_thread=True), 0x20003C, 0),
        (Fields(0xB7, 0x01, msrs=OFFCORE_MSRS, msr_value=0x10001), 0x1B7, 0x10001),
        (Fields(0xCD, 0x01, msrs=(LATENCY_MSR,), msr_value=128, ldlat=128), 0x1CD, 128),
        (Fields(0xCD, 0x01, ldlat=3), 0x1CD, 3),
        (Fields(0xC6, 0x01, msrs=(FRONTEND_MSR,), msr_value=0x500206), 0x1C6, 0x500206),
    ],
)
def test_intel_core_layout(fields: Fields, config: int, config1: int) -> None:
    assert encode(fields) == PerfEncoding("cpu", RAW_TYPE, config, config1)


def test_extended_umask_goes_to_the_high_bits() -> None:
    encoding = encode(Fields(0x24, 0x0301), INTEL_CORE_WIDE, extra={"eq": 1})
    assert encoding.config == 0x24 | 0x01 << 8 | 1 << 36 | 0x03 << 40
    assert decode(encoding, INTEL_CORE_WIDE).umask == 0x0301


def test_amd_and_arm_layouts() -> None:
    assert encode(Fields(0x1AB, 0x03), AMD_CORE).config == 0x1_0000_03AB
    assert decode(PerfEncoding("cpu", 4, 0x1_0000_03AB), AMD_CORE) == Fields(0x1AB, 0x03)
    assert encode(Fields(0x8006), ARM_CORE, pmu="armv8_pmuv3_0", type=8) == PerfEncoding(
        "armv8_pmuv3_0", 8, 0x8006
    )


def test_ranges_are_filled_from_the_lowest_bit_whatever_their_order() -> None:
    assert Term.parse("event", "config:32-35,0-7").insert(0x1AB) == 0x1_0000_00AB


def test_layout_written_as_in_sysfs() -> None:
    formats = {"event": "config:0-7", "thresh": "config:24-31", "umask": "config:8-15,32-55"}
    layout = Layout.from_text("uncore_cha_0", formats)
    fields = Fields(0x35, 0xC001FE01, cmask=2)
    encoding = encode(fields, layout, pmu="uncore_cha_0", type=DYNAMIC_TYPE)
    assert encoding.config == 0x00C001FE_02000135
    assert decode(encoding, layout) == fields
    assert explain(encoding, layout) == "uncore_cha_0/event=0x35,thresh=2,umask=0xc001fe01/"


def test_config1_means_what_its_event_makes_of_it() -> None:
    assert explain(PerfEncoding("cpu", 4, 0x1CD, 0x20)) == "cpu/event=0xcd,umask=1,ldlat=0x20/"
    assert explain(PerfEncoding("cpu", 4, 0x1B7, 0x20)).endswith("offcore_rsp=0x20/")
    assert explain(PerfEncoding("cpu", 4, 0x1C6, 0x11)).endswith("frontend=0x11/")
    # A value that is too wide for the expected meaning cannot have it.
    assert explain(PerfEncoding("cpu", 4, 0x1CD, 0x1000020)).endswith("offcore_rsp=0x1000020/")


def test_bits_that_no_term_claims_are_shown() -> None:
    assert explain(PerfEncoding("cpu", 4, 0x8000_0000_0000_00C0)) == (
        "cpu/event=0xc0,config=0x8000000000000000/"
    )


@pytest.mark.parametrize(
    ("fields", "layout", "message"),
    [
        (Fields(0x1FF), INTEL_CORE, r"term 'event': 0x1ff does not fit into the 8 bits.*0-7"),
        (Fields(1, umask=0x100), INTEL_CORE, "term 'umask'"),
        (Fields(1, cmask=256), INTEL_CORE, "term 'cmask'"),
        (Fields(1, umask=-1), INTEL_CORE, "term 'umask': -1"),
        (Fields(0xCD, 1, ldlat=0x10000), INTEL_CORE, "term 'ldlat'"),
        (Fields(0xC6, 1, msrs=(0x3F7,), msr_value=1 << 24), INTEL_CORE, "term 'frontend'"),
        (Fields(0xC0, any_thread=True), AMD_CORE, "term 'any': AMD core has none such"),
        (Fields(0x11, umask=1), ARM_CORE, "term 'umask': ARM core has none such, only event"),
        (Fields(0x11, msrs=(0x700,), msr_value=1), INTEL_CORE, "extra register 0x700"),
        (Fields(0x11, msr_value=0x10), INTEL_CORE, "no extra register is named for .* 0x10"),
        (Fields(0xCD, 1, ldlat=4, msr_value=5), INTEL_CORE, "term 'ldlat': 4 contradicts"),
    ],
)
def test_values_without_a_place_are_refused(fields: Fields, layout: Layout, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        encode(fields, layout)


@pytest.mark.parametrize("text", ["", "0-7", "config9:0-7", "config:a", "config:7-0", "config:64"])
def test_formats_that_make_no_sense(text: str) -> None:
    with pytest.raises(UsageError, match="format of term 'event'"):
        Term.parse("event", text)


def test_terms_as_text() -> None:
    assert terms_of(Fields(0xD1, 0x20)) == {"event": 0xD1, "umask": 0x20}
    assert term_text("cpu", {"event": 0xD1, "inv": 1}) == "cpu/event=0xd1,inv=1/"
    assert parse_terms("cpu/event=0xd1,umask=32,edge/") == (
        "cpu",
        {"event": 0xD1, "umask": 32, "edge": 1},
    )


@pytest.mark.parametrize("text", ["cycles", "cpu/event=0xd1", "cpu/event=many/"])
def test_terms_that_make_no_sense(text: str) -> None:
    with pytest.raises(UsageError):
        parse_terms(text)
