"""From a workload's name and parameters to a program for a simulated machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gnomon import _native
from gnomon.errors import UsageError
from gnomon.events.sysfs import parse_cpu_list
from gnomon.events.tomlfile import suggestion
from gnomon.machines.machine import Placement
from gnomon.machines.program import Observed, Program, Range
from gnomon.machines.workloads.definition import PLACES, describe
from gnomon.machines.workloads.exact import NAMES, exact_counts
from gnomon.machines.workloads.layout import FIRST, MisfitError, layout, separate

if TYPE_CHECKING:
    from gnomon.machines.workloads.definition import WorkloadDescription

PREFIX = "workload:"
_OWN = "placement."  # of one array

_Where = tuple[Placement, tuple[int, ...] | None]


def parse_workload(argv: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return name and parameters from the words of a command: `workload:triad size=64MB`."""
    if not argv or not argv[0].startswith(PREFIX):
        raise UsageError(f"a workload is written {PREFIX}NAME, as in {PREFIX}triad size=64MB.")
    name = argv[0].removeprefix(PREFIX)
    describe(name)
    parameters: dict[str, str] = {}
    for word in argv[1:]:
        key, equals, value = word.partition("=")
        if not equals or not key or not value:
            raise UsageError(
                f"workload {name}: '{word}' is not a parameter: write NAME=VALUE, as in threads=8."
            )
        if key in parameters:
            raise UsageError(f"workload {name}: {key} is given twice.")
        parameters[key] = value
    return name, parameters


def build(name: str, parameters: Mapping[str, str] | None = None, *, seed: int = 1) -> Program:
    """Return a workload as a program; what is not given has the default of its description.

    The same parameters and seed give the same operations. A parameter `seed` goes before the
    argument.
    """
    description = describe(name)
    given = {"seed": str(seed), **(parameters or {})}
    places = {key: given.pop(key) for key in list(given) if key.startswith(_OWN)}
    whole, real = _values(description, given)
    try:
        arrays = layout(name, {**whole, **real}, whole, real)
    except MisfitError as error:
        raise _wrong(name, error.key, error.reason) from None
    whole["private_stride"] = arrays.private_stride
    ranges = _ranges(description, arrays.arrays, given.get("placement"), places)
    bases = [each.start for each in ranges]

    def feeds() -> tuple[_native.Feed, ...]:
        return tuple(_native.workload_feeds(name, whole, real, bases))

    made = feeds()
    observed = {Observed.INSTRUCTIONS, Observed.CLASSES, Observed.FETCHES}
    if not whole.get("detail"):
        observed.add(Observed.REFERENCES)
    return Program(
        name=name,
        feeds=made,
        observed=frozenset(observed),
        ranges=ranges,
        binding=_binding(name, given.get("cpus"), len(made)),
        sites=("unknown", *description.sites),
        exact=exact_counts(name, whole, arrays) or _Counted(feeds),
    )


class _Counted(Mapping[str, int]):
    """Counts that depend on data: a second run of the generators finds them when asked for."""

    def __init__(self, feeds: Callable[[], tuple[_native.Feed, ...]]) -> None:
        self._feeds = feeds
        self._counts: dict[str, int] | None = None

    def __getitem__(self, key: str) -> int:
        return self._all()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, int]:
        if self._counts is None:
            self._counts = dict.fromkeys(NAMES.values(), 0)
            for feed in self._feeds():
                sums = _native.count_operations(feed)
                for code, key in NAMES.items():
                    self._counts[key] += sums[code]
            self._counts["instructions"] = sum(self._counts.values())
        return self._counts


def _values(
    description: WorkloadDescription, given: Mapping[str, str]
) -> tuple[dict[str, int], dict[str, float]]:
    for key in given:
        description.parameter(key)
    whole: dict[str, int] = {}
    real: dict[str, float] = {}
    for parameter in description.parameters:
        if parameter.type in PLACES:
            continue
        try:
            number = parameter.number(given.get(parameter.name, parameter.default))
        except UsageError as error:
            raise _wrong(description.name, parameter.name, str(error)) from None
        if isinstance(number, int):
            whole[parameter.name] = number
        else:
            real[parameter.name] = number
    return whole, real


def _ranges(
    description: WorkloadDescription,
    arrays: Mapping[str, int],
    placement: str | None,
    places: Mapping[str, str],
) -> tuple[Range, ...]:
    for key in places:
        array = key.removeprefix(_OWN)
        if array not in arrays:
            hint = suggestion(array, arrays) or f": choose from {', '.join(arrays)}."
            raise UsageError(f"workload {description.name}: {key}: no array '{array}'{hint}")
    ranges = []
    start = FIRST
    for array, size in arrays.items():
        key = _OWN + array if _OWN + array in places else "placement"
        text = places.get(key, placement)
        try:
            policy, nodes = _placement(text) if text not in (None, "machine") else (None, None)
        except UsageError as error:
            raise _wrong(description.name, key, str(error)) from None
        ranges.append(Range(array, start, size, policy, nodes))
        start += separate(size)
    return tuple(ranges)


def _placement(text: str) -> _Where:
    word, colon, numbers = text.partition(":")
    known = [each.value for each in Placement]
    if word not in known:
        choices = f": choose from machine, {', '.join(known)}"
        raise UsageError(f"'{text}' is unknown{suggestion(word, known) or choices}")
    policy = Placement(word)
    if not colon:
        if policy is Placement.BIND:
            raise UsageError("'bind' needs a node, as in bind:0")
        return policy, None
    if policy is Placement.FIRST_TOUCH:
        raise UsageError("'first-touch' takes no node")
    nodes = numbers.split(",")
    if not all(each.isascii() and each.isdigit() and len(each) < 5 for each in nodes):
        raise UsageError(f"'{numbers}' is not a node: write a number, as in {word}:0")
    if policy is Placement.BIND and len(nodes) > 1:
        raise UsageError("'bind' takes one node: interleave takes several")
    return policy, tuple(int(each) for each in nodes)


def _binding(name: str, text: str | None, threads: int) -> tuple[int, ...] | None:
    """Return the hardware thread of each thread, None when the machine is to place them."""
    if text in (None, "machine"):
        return None
    try:
        cpus = parse_cpu_list(text)
    except UsageError as error:
        raise _wrong(name, "cpus", str(error)) from None
    if len(cpus) != threads:
        raise _wrong(name, "cpus", f"'{text}' names {len(cpus)}, and there are {threads} threads")
    return cpus


def _wrong(name: str, key: str, reason: str) -> UsageError:
    end = "" if reason.endswith(("?", ".")) else "."
    return UsageError(f"workload {name}: {key}: {reason}{end}")
