"""Entries of an event list as events: those of the cores, and of what the cores of a socket share.

The lists are Intel's, or perf's copies of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gnomon.errors import UsageError
from gnomon.events.encoding import (
    AMD_CORE,
    DYNAMIC_TYPE,
    INTEL_CORE,
    INTEL_CORE_WIDE,
    LATENCY_MSR,
    MSR_TERMS,
    RAW_TYPE,
    Layout,
    term_text,
    terms_of,
)
from gnomon.events.event import Constraint, Fields, PerfEncoding, Scope
from gnomon.events.perfmon.values import (
    BadEntryError,
    Context,
    Entry,
    Values,
    event_name,
    make_entry,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

# Linux counts these events on their fixed counters when it is asked for the general event that
# counts the same; the selects of the lists (code 0x00) mean nothing to most of its versions. By
# name, because the oldest lists number fixed counters from 1 and give all the same select.
_FIXED_BY_NAME: Mapping[str, tuple[int, int, int]] = {
    # name: fixed counter, event code, umask
    "INST_RETIRED.ANY": (0, 0xC0, 0x00),
    "CPU_CLK_UNHALTED.THREAD": (1, 0x3C, 0x00),
    "CPU_CLK_UNHALTED.CORE": (1, 0x3C, 0x00),
    "CPU_CLK_UNHALTED.THREAD_ANY": (1, 0x3C, 0x00),
    "CPU_CLK_UNHALTED.REF": (2, 0x00, 0x03),
    "CPU_CLK_UNHALTED.REF_TSC": (2, 0x00, 0x03),
}

_NEEDS_LOADS_AUX = frozenset({"SPR", "EMR", "ADL", "sapphirerapids", "emeraldrapids", "alderlake"})


def core_entry(values: Values, pmu: str, context: Context) -> Entry:
    """Return an event of a core PMU, or raise BadEntryError with the reason why not."""
    name, older = event_name(values)
    key = "CounterHTOff" if not context.smt and values.text("CounterHTOff") else "Counter"
    mask, fixed = values.counters(key) if values.text(key) else (None, None)
    codes = values.numbers("EventCode")
    if not codes:
        if fixed is None and not context.zeros_left_out:
            raise BadEntryError("EventCode is missing")
        if fixed is None and name.upper() in _FIXED_BY_NAME:
            fixed = _FIXED_BY_NAME[name.upper()][0]
    msrs = tuple(msr for msr in values.numbers("MSRIndex") if msr)
    msr_value = values.number("MSRValue") if msrs else 0
    latency = LATENCY_MSR in msrs
    fields = Fields(
        code=codes[0] if codes else 0,
        umask=values.umask,
        cmask=values.number("CounterMask"),
        invert=bool(values.number("Invert")),
        edge=bool(values.number("EdgeDetect")),
        any_thread=bool(values.number("AnyThread")),
        msrs=msrs,
        msr_value=msr_value,
        ldlat=msr_value if latency else None,
        precise=_precise(values, name),
    )
    kernel_fields, constraint = _on_linux(name, fields, mask, fixed, values)
    layout, extra = INTEL_CORE, {}
    if context.amd:
        layout = AMD_CORE
    elif values.has("UMaskExt") or values.has("Equal"):
        layout, extra = INTEL_CORE_WIDE, {"eq": values.number("Equal")}
    caveats = _core_caveats(values, fields, context)
    spellings = (*older, *_spellings(name, fields, context))
    scope = Scope.CORE if fields.any_thread else Scope.THREAD
    if not set(msrs) <= MSR_TERMS.keys():
        caveats = (*caveats, f"perf cannot set its extra register {values.text('MSRIndex')}")
        return make_entry(values, name, spellings, None, fields, scope, constraint, caveats)
    kernel_type = RAW_TYPE if pmu in ("cpu", "cpu_core") else DYNAMIC_TYPE
    try:
        terms = terms_of(kernel_fields, layout) | {k: v for k, v in extra.items() if v}
        encoding = PerfEncoding(pmu, kernel_type, *layout.words(terms))
    except UsageError as error:
        raise BadEntryError(str(error)) from None
    spellings = (*spellings, term_text(pmu, terms))
    return make_entry(
        values, name, spellings, encoding, fields, scope, constraint, caveats, terms, codes
    )


def _on_linux(
    name: str, fields: Fields, mask: int | None, fixed: int | None, values: Values
) -> tuple[Fields, Constraint]:
    """Return the select to hand to Linux and the counters on which Linux will count it."""
    alone = bool(values.number("TakenAlone"))
    if fixed is None or name.upper() not in _FIXED_BY_NAME:
        return fields, Constraint(mask, fixed, alone)
    number, code, umask = _FIXED_BY_NAME[name.upper()]
    select = Fields(code=code, umask=umask, any_thread=fields.any_thread)
    if code == 0:
        return select, Constraint(0, number, alone)
    # The general event may fall back to any general counter, as it must when the watchdog holds
    # the fixed one; and it never gets the fixed counter when it is to count for both threads.
    return select, Constraint(None, None if fields.any_thread else number, alone)


def _precise(values: Values, name: str) -> int:
    if not (values.number("PEBS") or values.number("Precise")):
        return 0
    # Level 3 asks for the counter with the precise distribution, which few events can use.
    return 3 if values.text("PDISTCounter") or name.endswith("PREC_DIST") else 2


def _spellings(name: str, fields: Fields, context: Context) -> tuple[str, ...]:
    names = [name.lower()]
    if context.libpfm:
        head, _, tail = name.partition(".")
        if fields.ldlat is not None:
            tail = f"{tail.rpartition('_GT_')[0] or tail}:ldlat={fields.ldlat}"
        tail = tail.replace(".", "_")
        names.append(f"{context.libpfm}::{head}:{tail}" if tail else f"{context.libpfm}::{head}")
    return tuple(names)


def _core_caveats(values: Values, fields: Fields, context: Context) -> tuple[str, ...]:
    caveats = []
    if values.number("PEBS") == 2:
        caveats.append("must be counted precisely (:pp)")
    if fields.any_thread:
        caveats.append("counts for all hardware threads of the core")
    if fields.ldlat is not None:
        caveats.append("the facility follows one load at a time: counts are a sample of all loads")
        if context.cpu in _NEEDS_LOADS_AUX and context.pmu != "cpu_atom":
            caveats.append("Linux wants mem-loads-aux as its group leader to sample data sources")
    return tuple(caveats)


_UNCORE_NAMES: Mapping[str, str] = {
    "CBO": "uncore_cbox",
    "SBO": "uncore_sbox",
    "QPI LL": "uncore_qpi",
    "UPI LL": "uncore_upi",
    "iMPH-U": "uncore_arb",
    "L3PMC": "amd_l3",
    "DFPMC": "amd_df",
    "UMCPMC": "amd_umc",
}
_FIXED_UNCORE_CODE = 0xFF

_UNCORE_FORMATS = {
    "event": "config:0-7,21",
    "umask": "config:8-15,32-63",
    "edge": "config:18",
    "inv": "config:23",
    "thresh": "config:24-31",
}
_UNCORE = Layout.from_text("Intel uncore", _UNCORE_FORMATS)
_UPI_SKYLAKE = Layout.from_text(
    "Skylake UPI", {**_UNCORE_FORMATS, "umask": "config:8-15,32-43,45-55"}
)
_IIO_FORMATS = {**_UNCORE_FORMATS, "umask": "config:8-15", "thresh": "config:24-35"}
_IIO = Layout.from_text(
    "IIO", {**_IIO_FORMATS, "ch_mask": "config:36-47", "fc_mask": "config:48-50"}
)
_IIO_SKYLAKE = Layout.from_text(
    "Skylake IIO", {**_IIO_FORMATS, "ch_mask": "config:36-43", "fc_mask": "config:44-46"}
)
_PCU = Layout.from_text(
    "PCU", {**_UNCORE_FORMATS, "umask": "config:8-13", "occ_sel": "config:14-15"}
)
_SKYLAKE_SERVERS = frozenset({"SKX", "CLX", "skylakex", "cascadelakex"})


def uncore_entry(values: Values, unit: str, context: Context) -> Entry:
    """Return an event of a unit outside the cores, or raise BadEntryError with the reason."""
    name, older = event_name(values)
    pmu = _UNCORE_NAMES.get(unit, f"uncore_{unit.removesuffix(' LL').lower()}")
    if unit == "NCU" and name == "UNC_CLOCK.SOCKET":
        pmu = "uncore_clock"
    constraint = Constraint()
    if values.text("Counter"):
        constraint = Constraint(*values.counters("Counter"))
    code, umask = values.number("EventCode") | values.number("ExtSel") << 8, values.umask
    if constraint.fixed is not None:
        code, umask, constraint = _FIXED_UNCORE_CODE, 0, Constraint(0, 0)
    reason = ""
    if pmu.startswith("amd_"):
        reason = "only sysfs of a host that has the unit says how its terms are encoded"
    if values.text("CounterType") == "FREERUN":
        pmu, select = _free_running(name, pmu)
        code, umask, constraint = _FIXED_UNCORE_CODE, select or 0, Constraint(0, select)
        if select is None:
            reason = f"which of the counters of {pmu} it is on Linux is not known"
    fields = Fields(
        code=code,
        umask=umask,
        cmask=values.number("CounterMask"),
        invert=bool(values.number("Invert")),
        edge=bool(values.number("EdgeDetect")),
    )
    layout = _uncore_layout(unit, context)
    extra = {"ch_mask": values.number("PortMask"), "fc_mask": values.number("FCMask")}
    select_fields = fields
    if unit == "PCU" and umask:
        # What the list calls a umask is the choice of an occupancy there.
        extra["occ_sel"] = umask >> 6
        select_fields = Fields(code=code, umask=umask & 0x3F, cmask=fields.cmask, edge=fields.edge)
    caveats = []
    if values.text("Filter").startswith("Filter1"):
        extra["config1"] = values.number("FILTER_VALUE")
    elif values.text("Filter") not in ("", "0"):
        caveats.append(f"counts only what its filter lets through: {values.text('Filter')}")
    terms = terms_of(select_fields, layout) | {k: v for k, v in extra.items() if v}
    encoding = None
    if reason:
        caveats.append(reason)
    else:
        try:
            encoding = PerfEncoding(pmu, DYNAMIC_TYPE, *layout.words(terms))
        except UsageError as error:
            raise BadEntryError(str(error)) from None
    return make_entry(
        values,
        name,
        (*older, name.lower(), term_text(pmu, terms)),
        encoding,
        fields,
        Scope.SOCKET,
        constraint,
        tuple(caveats),
        terms,
        (code,),
    )


def _uncore_layout(unit: str, context: Context) -> Layout:
    skylake = context.cpu in _SKYLAKE_SERVERS
    match unit.upper().removesuffix(" LL"):
        case "IIO":
            return _IIO_SKYLAKE if skylake else _IIO
        case "UPI":
            return _UPI_SKYLAKE if skylake else _UNCORE
        case "PCU":
            return _PCU
        case _:
            return _UNCORE


def _free_running(name: str, pmu: str) -> tuple[str, int | None]:
    """Return the kernel's unit for a counter that always runs, and its number there."""
    controller = re.search(r"_MC(\d+)_", name)
    unit = f"{pmu}_free_running{'_' + controller[1] if controller else ''}"
    part = re.search(r"PART(\d+)", name)
    kinds = (
        ("CLOCKTICKS", 1),
        ("TOTAL", 1),
        ("BANDWIDTH_IN", 2),
        ("RDCAS", 2),
        ("BANDWIDTH_OUT", 3),
        ("WRCAS", 3),
    )
    kind = next((number for word, number in kinds if word in name), None)
    return unit, None if kind is None else kind << 4 | (int(part[1]) if part else 0)
