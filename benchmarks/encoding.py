"""Compares our encodings of Intel's event lists with those of libpfm4, event by event.

    python benchmarks/encoding.py [DATA_DIR]            what agrees, every disagreement, timings
    python benchmarks/encoding.py [DATA_DIR] --markdown the same as docs/encoding-differences.md

DATA_DIR holds lists as intel/perfmon lays them out. An event is compared when libpfm4 knows it
under the list's own name or under one that follows from it by the rules below; finding partners
by their encoding would prove nothing.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import GnomonError, UsageError
from gnomon.events import perfmon
from gnomon.events.encoding import explain
from gnomon.events.libpfm import Libpfm
from gnomon.events.names import NameIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gnomon.events.event import Event, PerfEncoding

FAMILIES = {"HSX": "hsw_ep", "SKX": "skx", "ICX": "icx", "SPR": "spr"}
DATA = Path(__file__).resolve().parents[2] / "shared/data/perfmon"

# The list's name, libpfm4's name; both as patterns, where they differ by more than punctuation.
RENAMED = (
    (r"INST_RETIRED\.ANY", "INSTRUCTION_RETIRED"),
    (r"INST_RETIRED\.TOTAL_CYCLES_PS", "INST_RETIRED:TOTAL_CYCLES"),
    (r"CPU_CLK_UNHALTED\.THREAD", "UNHALTED_CORE_CYCLES"),
    (r"CPU_CLK_UNHALTED\.THREAD(_P)?_ANY", "UNHALTED_CORE_CYCLES:t"),
    (r"CPU_CLK_UNHALTED\.REF_TSC", "UNHALTED_REFERENCE_CYCLES"),
    (r"IDQ\.(MITE|DSB|MS|MS_DSB)_CYCLES", r"IDQ:\1_UOPS_CYCLES"),
    (r"IDQ\.MITE_ALL_UOPS", "IDQ:ALL_MITE_UOPS"),
    (r"IDQ\.DSB_CYCLES_OK", "IDQ:ALL_DSB_CYCLES_4_UOPS"),
    (r"IDQ\.DSB_CYCLES_ANY", "IDQ:ALL_DSB_CYCLES_ANY_UOPS"),
    (r"IDQ_UOPS_NOT_DELIVERED\.(CYCLES_LE_.)_UOP_DELIV\.CORE",
     r"IDQ_UOPS_NOT_DELIVERED:\1_UOPS_DELIV_CORE"),
    (r"LSD\.CYCLES_OK", "LSD:CYCLES_4_UOPS"),
    (r"LSD\.CYCLES_ACTIVE", "LSD:ACTIVE"),
    (r"UOPS_EXECUTED\.(CYCLES_GE_.)_UOPS?_EXEC", r"UOPS_EXECUTED:THREAD_\1"),
    (r"OFFCORE_REQUESTS_OUTSTANDING\.CYCLES_WITH_DATA_RD",
     "OFFCORE_REQUESTS_OUTSTANDING:ALL_DATA_RD_CYCLES"),
    (r"OFFCORE_REQUESTS_OUTSTANDING\.CYCLES_WITH_(DEMAND_.*)",
     r"OFFCORE_REQUESTS_OUTSTANDING:\1_CYCLES"),
    (r"L1D_PEND_MISS\.PENDING_CYCLES_ANY", "L1D_PEND_MISS:PENDING_CYCLES:t"),
    (r"BR_INST_RETIRED\.COND_NTAKEN", "BR_INST_RETIRED:NOT_TAKEN"),
    (r"BR_MISP_RETIRED\.RET", "BR_MISP_RETIRED:NEAR_RETURN"),
    (r"FRONTEND_RETIRED\.LATENCY_GE_(\d+)", r"FRONTEND_RETIRED:IDQ_4_BUBBLES:fe_thres=\1"),
    (r"FRONTEND_RETIRED\.LATENCY_GE_(\d+)_BUBBLES_GE_1",
     r"FRONTEND_RETIRED:IDQ_1_BUBBLE:fe_thres=\1"),
    (r"FRONTEND_RETIRED\.LATENCY_GE_(\d+)_BUBBLES_GE_(\d)",
     r"FRONTEND_RETIRED:IDQ_\2_BUBBLES:fe_thres=\1"),
)  # fmt: skip

# Haswell and Skylake: libpfm4 puts an offcore response together from request, supplier and snoop.
REQUESTS = {
    "hsw_ep": {
        "ALL_CODE_RD": "ANY_CODE_RD",
        "ALL_DATA_RD": "ANY_DATA",
        "ALL_RFO": "ANY_RFO",
        "ALL_REQUESTS": "ANY_REQUEST",
        "PF_L2_CODE_RD": "PF_CODE_RD",
        "PF_L2_DATA_RD": "PF_DATA_RD",
        "PF_L2_RFO": "PF_RFO",
    },
    "skx": {
        "ALL_DATA_RD": "ANY_DATA_RD",
        "ALL_PF_DATA_RD": "ANY_DATA_PF",
        "ALL_PF_RFO": "PF_L2_RFO:PF_L3_RFO",
        "ALL_RFO": "ANY_RFO",
    },
}
SUPPLIERS = {"L3_MISS_LOCAL_DRAM": "L3_MISS_LOCAL"}
SNOOPS = {
    "ANY_RESPONSE": "SNP_ANY",
    "ANY_SNOOP": "SNP_ANY",
    "HITM_OTHER_CORE": "SNP_HITM",
    "HIT_OTHER_CORE_FWD": "SNP_HIT_WITH_FWD",
    "HIT_OTHER_CORE_NO_FWD": "SNP_HIT_NO_FWD",
    "NO_SNOOP_NEEDED": "SNP_NOT_NEEDED",
    "REMOTE_HITM": "SNP_HITM",
    "REMOTE_HIT_FORWARD": "SNP_HIT_WITH_FWD",
    "SNOOP_HIT_WITH_FWD": "SNP_HIT_WITH_FWD",
    "SNOOP_MISS_OR_NO_FWD": "SNP_MISS:SNP_HIT_NO_FWD",
}

# Why encodings differ: the CPUs, the events, and what was found when looking.
CAUSES = (
    ("*", r"INST_RETIRED\.ANY",
     "fixed counter: all kernels count it there when asked for 0xc0; libpfm4 has a select of"
     " INST_RETIRED.PREC_DIST"),
    ("*", r"CPU_CLK_UNHALTED\.THREAD",
     "fixed counter: all kernels count it there when asked for 0x3c, few when asked for 0x200"),
    ("HSX", r"L2_RQSTS\..*", "unit mask: the list and libpfm4 set different bits"),
    ("HSX", r"OFFCORE_RESPONSE\..*\.LLC_MISS\..*",
     "extra register: libpfm4's L3_MISS leaves out the supplier bits 23 to 26"),
    ("SKX", r"OFFCORE_RESPONSE\..*\.L3_MISS\..*",
     "extra register: libpfm4's L3_MISS stands for local memory only"),
    ("HSX", r"UOPS_RETIRED\.TOTAL_CYCLES",
     "counter mask: 16 in the list, 10 in libpfm4"),
    ("SKX", r"UOPS_RETIRED\.(STALL|TOTAL)_CYCLES",
     "unit mask: that of RETIRE_SLOTS in the list, that of ALL in libpfm4"),
    ("ICX SPR", r"TOPDOWN\..*",
     "event code: libpfm4 has that of the fixed counter, 0x00, for all unit masks of the event"),
    ("ICX", r"MEM_LOAD_MISC_RETIRED\.UC",
     "event code: libpfm4 has 0xc4, that of BR_INST_RETIRED"),
    ("SPR", r"INT_MISC\.UNKNOWN_BRANCH_CYCLES|UOPS_RETIRED\.MS",
     "extra register: libpfm4 has the value for register 0x3f7 in the place of the unit mask"),
    ("SPR", r"ARITH\.I(DIV|NT_DIVIDER)_ACTIVE",
     "counter mask: 1 in the list, none in libpfm4"),
    ("SPR", r"EXE\.AMX_BUSY",
     "extra register: libpfm4 sets one, as for code 0xb7 on earlier CPUs"),
    ("SPR", r"MEM_TRANS_RETIRED\.STORE_SAMPLE",
     "unit mask: libpfm4 adds that of LOAD_LATENCY"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Difference:
    """An event that both know and encode differently."""

    name: str
    partner: str
    ours: PerfEncoding
    theirs: PerfEncoding
    cause: str


@dataclass(slots=True)
class Comparison:
    """How the events of one CPU's list compare with libpfm4's."""

    cpu: str
    pmu: str
    listed: int = 0
    agreed: list[tuple[str, str]] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    elsewhere: list[tuple[str, str]] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)

    @property
    def compared(self) -> int:
        """How many events both know."""
        return len(self.agreed) + len(self.differences)

    @property
    def renamed(self) -> int:
        """How many of those that agree libpfm4 knows under a name of its own."""
        return sum(not _same_name(name, partner) for name, partner in self.agreed)


def compare(events: tuple[Event, ...], cpu: str, pmu: str, library: Libpfm) -> Comparison:
    """Encode every event both ways."""
    result = Comparison(cpu, pmu, len(events))
    by_words = {_words(event.encoding): event.name for event in library.events(pmu)}
    for event in events:
        partner = _partner(event, pmu, library)
        if partner is None:
            same = by_words.get(_words(event.encoding))
            if same is None:
                result.absent.append(event.name)
            else:
                result.elsewhere.append((event.name, same))
            continue
        name, theirs = partner
        if theirs.encoding is None or event.encoding is None:
            raise UsageError(f"{event.name} has no encoding to compare")
        if _words(theirs.encoding) == _words(event.encoding):
            result.agreed.append((event.name, name))
            continue
        cause = _cause(cpu, event.name)
        result.differences.append(
            Difference(event.name, name, event.encoding, theirs.encoding, cause)
        )
    return result


def compare_families(data: Path) -> list[Comparison]:
    """Compare the core events of the four CPU families."""
    with Libpfm() as library:
        return [
            compare(perfmon.load(data, cpu, uncore=False).events, cpu, pmu, library)
            for cpu, pmu in FAMILIES.items()
        ]


def _partner(event: Event, pmu: str, library: Libpfm) -> tuple[str, Event] | None:
    for name in _candidates(event, pmu):
        try:
            return name, library.encode(f"{pmu}::{name}")
        except UsageError:
            continue
    return None


def _candidates(event: Event, pmu: str) -> Iterator[str]:
    """Yield the names under which libpfm4 may know an event, the most literal first."""
    head, _, tail = event.name.partition(".")
    yield f"{head}:{tail}" if tail else head
    yield f"{head}:{tail.replace('.', '_')}"
    if event.fields and event.fields.ldlat is not None:
        yield f"{head}:{tail.rpartition('_GT_')[0]}:ldlat={event.fields.ldlat}"
    for pattern, replacement in RENAMED:
        if match := re.fullmatch(pattern, event.name):
            yield match.expand(replacement)
    if head == "OFFCORE_RESPONSE" and pmu in REQUESTS:
        yield from _offcore_names(tail.replace("LLC", "L3").split("."), pmu)


def _offcore_names(parts: list[str], pmu: str) -> Iterator[str]:
    request = REQUESTS[pmu].get(parts[0], parts[0].replace("DEMAND", "DMND"))
    if parts[1:] == ["ANY_RESPONSE"]:
        yield f"OFFCORE_RESPONSE_0:{request}:ANY_RESPONSE"
    if len(parts) != 3:
        return
    supplier, snoop = parts[1:]
    if snoop in ("LOCAL_DRAM", "REMOTE_DRAM"):
        # Data from memory: no other cache had it, or none passed it on.
        supplier, snoop = f"{supplier}_{snoop}", "SNOOP_MISS_OR_NO_FWD"
    supplier, snoop = SUPPLIERS.get(supplier, supplier), SNOOPS.get(snoop, snoop)
    if pmu == "hsw_ep":
        snoop = snoop.replace("SNP_HIT_NO", "SNP_NO").replace("SNP_HIT_WITH", "SNP")
    yield f"OFFCORE_RESPONSE_0:{request}:{supplier}:{snoop}"


def _words(encoding: PerfEncoding | None) -> tuple[int, int]:
    return (encoding.config, encoding.config1) if encoding else (-1, -1)


def _same_name(name: str, partner: str) -> bool:
    return name.replace(".", "_") == partner.replace(":", "_")


def _cause(cpu: str, name: str) -> str:
    for cpus, pattern, cause in CAUSES:
        if (cpus == "*" or cpu in cpus.split()) and re.fullmatch(pattern, name):
            return cause
    return "unexplained"


def _print_report(results: list[Comparison]) -> None:
    header = ("CPU", "listed", "compared", "agreed", "renamed", "disagreed", "elsewhere", "absent")
    print("".join(f"{cell:>10}" for cell in header))
    for row in _rows(results):
        print("".join(f"{cell:>10}" for cell in row))
    for result in results:
        print(f"\n{result.cpu} ({result.pmu}): {len(result.differences)} disagreements")
        for difference in result.differences:
            print(f"  {difference.name}\n    list    {explain(difference.ours)}")
            print(f"    libpfm4 {explain(difference.theirs)}  {difference.partner}")
            print(f"    {difference.cause}")


def _print_timings(data: Path) -> None:
    """Print how long it takes to load a list, and to index and search ten thousand names."""
    print("\nfastest of five, in milliseconds of CPU time")
    events: list[Event] = []
    for cpu in FAMILIES:
        seconds = _fastest(partial(perfmon.load, data, cpu, uncore=False))
        events.extend(perfmon.load(data, cpu).events)
        print(f"  load the core list of {cpu:<32} {seconds * 1e3:8.2f}")
    rounds = 10_000 // len(events) + 1
    many = [
        replace(event, name=f"{event.name}_{number}", aliases=tuple(
            alias if "/" in alias else f"{alias}_{number}" for alias in event.aliases))
        for number in range(rounds) for event in events
    ][:10_000]  # fmt: skip
    index = NameIndex(many)
    for what, action in {
        "index 10,000 events": lambda: NameIndex(many),
        "find an exact name": lambda: index.find("icx::MEM_LOAD_RETIRED:L3_MISS_1"),
        "suggest names for MEM_LOAD_RETIRD.L3_MIS": lambda: index.nearest("MEM_LOAD_RETIRD.L3_MIS"),
    }.items():
        print(f"  {what:<54}{_fastest(action) * 1e3:8.3f}")


def _fastest(action: Callable[[], object]) -> float:
    seconds = []
    for _ in range(5):
        start = time.process_time()
        action()
        seconds.append(time.process_time() - start)
    return min(seconds)


def _rows(results: list[Comparison]) -> Iterator[tuple[str | int, ...]]:
    totals: Counter[int] = Counter()
    for result in results:
        numbers = (
            result.listed,
            result.compared,
            len(result.agreed),
            result.renamed,
            len(result.differences),
            len(result.elsewhere),
            len(result.absent),
        )
        for column, number in enumerate(numbers):
            totals[column] += number
        yield result.cpu, *numbers
    yield "all", *(totals[column] for column in range(7))


def _print_markdown(results: list[Comparison], versions: dict[str, str]) -> None:
    print(INTRODUCTION)
    print("| CPU | list | libpfm4 PMU | listed | compared | agree | of these renamed | disagree |"
          " same select, unrelated name | not in libpfm4 |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|")
    pmus = {result.cpu: result.pmu for result in results}
    for cpu, *numbers in _rows(results):
        version, pmu = versions.get(str(cpu), ""), pmus.get(str(cpu), "")
        print(f"| {cpu} | {version} | {pmu} | {' | '.join(map(str, numbers))} |")
    print("\n## Disagreements\n")
    print("| CPU | event | list | libpfm4 | cause |\n|---|---|---|---|---|")
    for result in results:
        for each in result.differences:
            print(f"| {result.cpu} | {each.name} | `{explain(each.ours)}` |"
                  f" `{explain(each.theirs)}` | {each.cause} |")  # fmt: skip
    print("\n## The same select under an unrelated name\n")
    print("| CPU | event | libpfm4 |\n|---|---|---|")
    for result in results:
        for name, partner in result.elsewhere:
            print(f"| {result.cpu} | {name} | {partner.rpartition('::')[2]} |")
    print("\n## Not in libpfm4\n")
    for result in results:
        print(f"{result.cpu}: {', '.join(result.absent) or 'none'}.\n")
    print(REMARKS, end="")


REMARKS = """## An entry that contradicts itself

The list of SKX gives FP_ARITH_INST_RETIRED.8_FLOPS the unit mask 0x18, which is that of 4_FLOPS; \
the instructions that it is said to count, 256B_PACKED_SINGLE and 512B_PACKED_DOUBLE, have 0x20 \
and 0x40, and the lists of ICX and SPR give it 0x60. It is encoded as listed.
"""

INTRODUCTION = """# Where our encodings and libpfm4's differ

Made by `python benchmarks/encoding.py DATA_DIR --markdown` from intel/perfmon's core lists and \
libpfm4 4.13.

An event is *compared* when libpfm4 knows it under the list's name, or under one that follows \
from it by the rules in `benchmarks/encoding.py` (*renamed*; on Haswell and Skylake libpfm4 puts \
offcore responses together from request, supplier and snoop). Compared are `config` and \
`config1`. Events with two alternative codes are encoded with the first. Events of fixed counters \
are encoded as Linux wants them, which is not what the list says: see the cause column.
"""


def main() -> int:
    """Compare and report; fail if a disagreement has no known cause."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", nargs="?", type=Path, default=DATA, metavar="DATA_DIR")
    parser.add_argument("--markdown", action="store_true", help="print the documentation's table")
    arguments = parser.parse_args()
    try:
        results = compare_families(arguments.data)
        versions = {
            cpu.code: next(file.version for file in cpu.lists if file.is_core)
            for cpu in perfmon.available_cpus(arguments.data)
        }
    except GnomonError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    if arguments.markdown:
        _print_markdown(results, versions)
    else:
        _print_report(results)
        _print_timings(arguments.data)
    unexplained = [d for result in results for d in result.differences if d.cause == "unexplained"]
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
