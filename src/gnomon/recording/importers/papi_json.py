"""The output of PAPI's high-level interface: papi_hl_output/rank_*.json of PAPI 6 and 7."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from gnomon.recording.contents import Status
from gnomon.recording.importers.draft import Draft, ImportedData, Row, decimal_of

if TYPE_CHECKING:
    from collections.abc import Iterator

TITLE = "PAPI high-level JSON"

_NOT_EVENTS = ("name", "parent_region_id", "region_count")


class _Region(NamedTuple):
    """One pass through a region of the program by one thread."""

    thread: str
    name: str
    values: dict[str, Any]


def sniff(head: str) -> bool:
    """Tell whether it is JSON with threads and regions."""
    return head.lstrip().startswith("{") and '"threads"' in head and '"regions"' in head


def parse(text: str, file: str) -> ImportedData:
    """Take in each region as a scope of its own; a region within another counts in both.

    PAPI tells how long a region took but not when it began: the time of a reading is
    what its region took together with its earlier passes.
    """
    draft = Draft(file, TITLE)
    try:
        document = json.loads(text)
        regions = list(_regions(document))
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        draft.warn(f"the file is not in PAPI's format: {error}")
        return draft.finish("papi")
    clocks: dict[str, int] = {}
    for region in regions:
        _add(draft, region, clocks)
    if any(str(region.values.get("parent_region_id", "-1")) != "-1" for region in regions):
        draft.warn("some regions are nested: their counts are included in both")
    rank = re.search(r"rank_(\d+)", file)
    return draft.finish(
        "papi",
        cpu=str(document.get("cpu_info", "")),
        target=f"rank {int(rank[1])}" if rank else "",
        environment=_versions(document),
    )


def _regions(document: dict[str, Any]) -> Iterator[_Region]:
    threads = document["threads"]
    if isinstance(threads, dict):  # PAPI 7
        for thread, content in threads.items():
            for values in content["regions"].values():
                yield _Region(str(thread), str(values["name"]), values)
    else:  # PAPI 6
        for content in threads:
            for named in content["regions"]:
                for name, values in named.items():
                    yield _Region(str(content["id"]), str(name), values)


def _add(draft: Draft, region: _Region, clocks: dict[str, int]) -> None:
    scope = f"region/{region.name}/thread/{region.thread}"
    took = _number(region.values.get("real_time_nsec"))
    duration = int(took) if took is not None else 0
    clocks[scope] = time = clocks.get(scope, 0) + duration
    passes = _number(region.values.get("region_count"))
    for event, printed in region.values.items():
        if event in _NOT_EVENTS:
            continue
        value = _number(printed)
        if value is None:
            draft.warn(f"{event} in {scope} has no valid value: {printed}")
            continue
        unit = "ns" if event == "real_time_nsec" else ""
        status = Status.COUNTED
        draft.rows.append(Row(event, value, status, unit, scope, time, duration, duration))
        if isinstance(printed, dict):
            draft.warn("readings of PAPI_hl_read within a region were dropped")
        if passes is not None and passes > 1:
            draft.caveat(event, "sum over all passes of a region")


def _number(printed: Any) -> Decimal | None:
    if isinstance(printed, dict):  # the value of the region, and those of reads within it
        printed = printed.get("region_value", printed.get("total"))
    return decimal_of(str(printed))


def _versions(document: dict[str, Any]) -> dict[str, str]:
    version = document.get("papi_version")
    return {"papi_version": str(version)} if version else {}
