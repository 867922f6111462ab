"""Events of the units that the cores of a socket share, from entries of an event list."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gnomon.errors import UsageError
from gnomon.events.encoding import DYNAMIC_TYPE, Layout, term_text, terms_of
from gnomon.events.model import Constraint, Fields, PerfEncoding, Scope
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
