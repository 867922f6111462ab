"""The base of all results, and the one rule by which they become JSON and come back.

The types of its fields are the rule, so that no result is written out by hand:

    dataclass               object          tuple, NamedTuple, set     array (a set is sorted)
    Enum                    its value       Mapping                    object; words or whole
    Interval                two ends, null where infinite                numbers are its keys
    float                   number, null for NaN                       array of numpy: nested
    X | None                null for None

A property marked as `derived` is written for readers of the JSON, and never read back. Only the
standard library is imported here: numpy is asked for when an array is met.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum, StrEnum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from gnomon.errors import ResultError
from gnomon.recording.contents import Provenance

if TYPE_CHECKING:
    derived = property
else:

    class derived(property):  # noqa: N801
        """A property that JSON carries for its readers: written, checked, never read back."""


LARGE = 4096
"""How many numbers an array may have to be written in full though a recording holds it."""

KINDS: dict[str, str] = {
    "advice": "gnomon.analysis.locality.result",
    "compare": "gnomon.analysis.compare.result",
    "count": "gnomon.analysis.count.result",
    "doctor": "gnomon.analysis.doctor.result",
    "events": "gnomon.analysis.events.result",
    "events-fit": "gnomon.analysis.events.result",
    "estimate": "gnomon.analysis.estimate.result",
    "fabrics": "gnomon.fabric.result",
    "identification": "gnomon.analysis.estimate.result",
    "latency": "gnomon.analysis.latency.result",
    "machine": "gnomon.machines.sim",
    "machines": "gnomon.machines.sim",
    "memory": "gnomon.analysis.memory.result",
    "links": "gnomon.analysis.links.result",
    "links-experiment": "gnomon.analysis.links.result",
    "locality": "gnomon.analysis.locality.result",
    "messages-bench": "gnomon.analysis.messages.result",
    "messages-dirt": "gnomon.analysis.messages.raytracer.result",
    "messages-fit": "gnomon.messaging.result",
    "messages-interference": "gnomon.analysis.messages.result",
    "messages-prediction": "gnomon.messaging.result",
    "messages-programs": "gnomon.messaging.result",
    "messages-simulation": "gnomon.messaging.result",
    "messages-timeline": "gnomon.messaging.result",
    "profile": "gnomon.instrument.result",
    "regions": "gnomon.instrument.result",
    "survey": "gnomon.analysis.survey.result",
    "phases": "gnomon.analysis.phases.result",
    "recording": "gnomon.analysis.recorded.result",
    "scale": "gnomon.analysis.scaling.result",
    "scores": "gnomon.analysis.estimate.scoring.result",
    "studies": "gnomon.analysis.study.result",
    "study": "gnomon.analysis.study.result",
    "time": "gnomon.analysis.time.result",
    "trace": "gnomon.analysis.traces.result",
    "trace-chain": "gnomon.analysis.traces.result",
    "trace-export": "gnomon.analysis.traces.result",
    "trace-latency": "gnomon.analysis.traces.result",
    "trace-rows": "gnomon.analysis.traces.result",
    "workloads": "gnomon.machines.workloads.definition",
}
"""The kinds of results of gnomon and their modules; those of plugins are entry points."""

Reference = dict[str, Any]  # Any: content of JSON
Keep = Callable[[Any], Reference | None]
"""Says where a recording holds an array: its `in` and `name`; None where none does."""
Fetch = Callable[[Reference], Any]
"""Returns the array that a reference names; None where it cannot be found."""


class Simulated(StrEnum):
    """Whether the numbers of a result are those of a simulated machine."""

    NO = "no"
    PARTLY = "partly"
    YES = "yes"

    def __bool__(self) -> bool:
        return self is not Simulated.NO


class Interval(NamedTuple):
    """Where a quantity lies; an end may be infinite, which JSON writes as null."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with the ends of the interval that holds it with 95 % confidence."""

    value: float
    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Quantity:
        """Return a number that is known."""
        return cls(value, value, value)

    def times(self, factor: float) -> Quantity:
        """Return it in another unit."""
        return Quantity(self.value * factor, self.low * factor, self.high * factor)

    def at_least_zero(self) -> Quantity:
        """Return it without what noise has made negative."""
        return Quantity(max(self.value, 0.0), max(self.low, 0.0), max(self.high, 0.0))

    def __str__(self) -> str:
        return f"{self.value:.6g} [{self.low:.6g}, {self.high:.6g}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What an analysis found. Its provenance and its warnings belong to every result."""

    kind: ClassVar[str] = ""
    version: ClassVar[int] = 1  # of the names and the meaning of its fields

    provenance: Provenance | None = None
    warnings: tuple[str, ...] = ()

    @derived
    def simulated(self) -> Simulated:
        """Whether its numbers are simulated: all, some or none of them."""
        origin = self.provenance
        return Simulated.YES if origin is not None and origin.simulated else Simulated.NO

    def provenances(self) -> tuple[tuple[str, Provenance], ...]:
        """Return where it comes from; a result of several sides names each of them."""
        return () if self.provenance is None else (("", self.provenance),)

    def to_json(self, keep: Keep | None = None) -> dict[str, Any]:
        """Return plain content: what `json.dumps` takes."""
        content: dict[str, Any] = _plain(self, keep)
        return {"kind": self.kind, "version": self.version} | content

    def text(self) -> str:
        """Return the JSON text of a file that `gnomon show` reads."""
        return json.dumps(self.to_json(), indent=2, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, content: Any, fetch: Fetch | None = None) -> Self:
        """Return the result in plain content, which may be what a command printed with --json."""
        from gnomon.result_types import read_result

        return read_result(content, cls, fetch)

    def to_html(self, path: str | Path) -> None:
        """Write a page of one file, in place of what may be there."""
        _show().write_page(path, self)

    def to_csv(self, table: str = "") -> str:
        """Return a table as CSV, or all of its tables, each below a line with its name."""
        text: str = _show().csv_of(self, table)
        return text

    def _repr_html_(self) -> str:
        html: str = _show().fragment(self)
        return html


def _show() -> Any:  # Any: a module that may not be imported from here
    return import_module("gnomon.views.show")


# ---- writing --------------------------------------------------------------------------------


def _plain(value: Any, keep: Keep | None) -> Any:
    """Return a value as JSON has it, by its type."""
    if value is None or value is True or value is False:
        return value
    kind = type(value)
    if kind in (str, int):
        return value
    if kind is float:
        return _finite(value)
    if is_dataclass(kind):
        return {name: _plain(getattr(value, name), keep) for name in written_names(kind)}
    if kind is Interval:
        return [_finite(end) if math.isfinite(end) else None for end in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {_key(key): _plain(each, keep) for key, each in value.items()}
    if isinstance(value, set | frozenset):
        value = sorted(value)
    if isinstance(value, tuple | list):
        return [_plain(each, keep) for each in value]
    if hasattr(value, "__array__"):
        return _array(value, keep)
    for plain in (str, int, float):
        if isinstance(value, plain):
            return _plain(plain(value), keep)
    raise ResultError(f"a {kind.__name__} has no form in JSON.")


def _array(value: Any, keep: Keep | None) -> Any:
    if value.ndim == 0:  # a scalar of numpy
        return _plain(value.item(), keep)
    form = {"dtype": value.dtype.str, "shape": list(value.shape)}
    if not value.size:  # nested lists would lose these
        return form
    place = keep(value) if keep is not None and value.size > LARGE else None
    if place is not None:
        return {"array": digest(value), **form, **place}
    rows = value.tolist()
    return _cleared(rows) if value.dtype.kind == "f" else rows


def _finite(value: float) -> float | None:
    if math.isinf(value):
        raise ResultError("an infinite number outside of an Interval: say what it means instead.")
    return None if math.isnan(value) else value


def _cleared(rows: Any) -> Any:
    return [_cleared(row) for row in rows] if isinstance(rows, list) else _finite(rows)


def _key(key: Any) -> str:
    if isinstance(key, Enum):
        key = key.value
    if not isinstance(key, str | int):
        raise ResultError("keys of a mapping are words or whole numbers: use a tuple of rows.")
    return str(key)


@cache
def written_names(cls: type) -> tuple[str, ...]:
    """Return the names that JSON has of a dataclass: its fields, then what is derived."""
    names = [each.name for each in fields(cls)]
    return (*names, *(name for name in derived_names(cls) if name not in names))


@cache
def derived_names(cls: type) -> tuple[str, ...]:
    """Return the names of the properties that JSON carries for its readers."""
    found = {
        name: None
        for base in reversed(cls.__mro__)
        for name, member in vars(base).items()
        if isinstance(member, derived)
    }
    return tuple(found)


def digest(value: Any) -> str:
    """Return the digest of the numbers in an array."""
    import hashlib

    import numpy as np

    return f"sha256:{hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"


def same(a: Any, b: Any) -> bool:
    """Whether two results are equal, their arrays too; NaN equals NaN."""
    if hasattr(a, "__array__") and hasattr(b, "__array__"):
        import numpy as np

        equal = np.array_equal(a, b, equal_nan=a.dtype.kind in "fc" and b.dtype.kind in "fc")
        return a.dtype == b.dtype and equal
    if is_dataclass(a):
        return type(a) is type(b) and all(
            same(getattr(a, each.name), getattr(b, each.name)) for each in fields(a)
        )
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return bool(a == b) or (_is_nan(a) and _is_nan(b))


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
