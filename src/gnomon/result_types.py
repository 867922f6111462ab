"""What the types of a result's fields mean: how JSON is read by them, and its schema.

Types are looked at once per class. A value that does not fit is named by its place, as in
`links.nodes[0] lacks 'number'`.
"""

from __future__ import annotations

import json
import math
import os
import sys
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeVar

from gnomon.errors import GnomonError, ResultError
from gnomon.result import KINDS, Fetch, Interval, Reference, Result, derived_names, digest

R = TypeVar("R", bound=Result)
_SCALARS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
_JSON = {str: "string", int: "integer", float: "number", bool: "boolean"}


class MisfitError(Exception):
    """A value that its type does not allow, and where it stands, from the inside out."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text
        self.places: list[str] = []

    def at(self, place: str) -> MisfitError:
        """Return this error, with the place that the value was found in."""
        self.places.append(place)
        return self

    def sentence(self, kind: str) -> str:
        """Return what does not fit, and where."""
        return f"{kind}{''.join(reversed(self.places))} {self.text}"


@dataclass(slots=True)
class _Context:
    """How references are resolved, and which could not be."""

    fetch: Fetch | None
    lost: dict[str, list[str]]  # names of arrays by where they should be


Read = Callable[[Any, _Context], Any]
"""Turns content of JSON into a value of one type."""


# ---- results --------------------------------------------------------------------------------


def is_result(path: str | os.PathLike[str]) -> bool:
    """Whether a file looks like JSON; what it holds is then told by reading it."""
    place = Path(path)
    if not place.is_file():
        return False
    with place.open("rb") as stream:
        return place.suffix == ".json" or stream.read(64).lstrip().startswith(b"{")


def load_result(path: str | os.PathLike[str], fetch: Fetch | None = None) -> Result:
    """Return the result that a file holds: one saved, or what a command printed with --json."""
    try:
        content = json.loads(Path(path).read_text("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise ResultError(f"'{path}' is not JSON: save a result with --json.") from None
    except OSError as error:
        raise ResultError(f"'{path}' cannot be read: {error.strerror}.") from None
    try:
        return read_result(content, Result, fetch)
    except ResultError as error:
        raise ResultError(f"'{path}' cannot be shown: {error}") from None


def read_result(content: Any, wanted: type[R], fetch: Fetch | None = None) -> R:
    """Return the result in plain content; one that is not of the class wanted is an error."""
    content = _unwrapped(content)
    kind = content.get("kind") if isinstance(content, dict) else None
    if not isinstance(kind, str):
        raise ResultError("it has no 'kind', so it is not a result of gnomon.")
    if wanted.kind and kind != wanted.kind:
        raise ResultError(f"it is a result of kind '{kind}', not '{wanted.kind}'.")
    cls = wanted if wanted.kind else class_of(kind)
    version = content.get("version")
    if version != cls.version:
        raise ResultError(
            f"'{kind}' is of version {version}, and this gnomon reads {cls.version}: "
            "measure again, or use the gnomon that wrote it."
        )
    context = _Context(fetch, {})
    try:
        result = _object(cls)(content, context)
    except MisfitError as misfit:
        raise ResultError(f"{misfit.sentence(kind)}.") from None
    if not isinstance(result, wanted):
        raise ResultError(f"'{kind}' is not a result that can be read here.")
    return _with_losses(result, context.lost)


def _unwrapped(content: Any) -> Any:
    """Return the result inside the object that commands print with --json, or the content."""
    if isinstance(content, dict) and "kind" not in content and "results" in content:
        if content.get("error"):
            raise ResultError(f"the command failed: {content['error']}")
        return content["results"]
    return content


def _with_losses(result: R, lost: Mapping[str, list[str]]) -> R:
    if not lost:
        return result
    from dataclasses import replace

    texts = [
        f"not shown, as '{place}' is missing or has changed: {', '.join(names)}"
        for place, names in lost.items()
    ]
    return replace(result, warnings=(*result.warnings, *texts))


@cache
def class_of(kind: str) -> type[Result]:
    """Return the class of results of a kind, ours or a plugin's."""
    if kind in KINDS:
        home = import_module(KINDS[kind])
    else:
        from gnomon import plugins

        try:
            home = plugins.load("results", kind, "kind of result")
        except GnomonError as error:
            raise ResultError(str(error)) from None
        if home is None:
            raise ResultError(
                f"'{kind}' is not a kind of result that this gnomon knows: install the package "
                "that made it."
            )
    for each in (home,) if isinstance(home, type) else vars(home).values():
        if isinstance(each, type) and issubclass(each, Result) and vars(each).get("kind") == kind:
            return each
    raise ResultError(f"{home.__name__} has no result of kind '{kind}'.")


# ---- reading --------------------------------------------------------------------------------


@cache
def hints_of(cls: type) -> dict[str, Any]:
    """Return the types of fields; a name imported for type checkers alone is an error here."""
    try:
        return typing.get_type_hints(cls)
    except NameError as error:
        raise TypeError(
            f"{cls.__name__}: {error}; the module of a result imports what its fields name"
        ) from None


@cache
def _reader(hint: Any) -> Read:
    """Return what reads values of a type."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint in _SCALARS:
        return _scalar(hint)
    if origin in (typing.Union, types.UnionType):
        return _union(inner, hint)
    if origin is tuple:
        return _many(inner[0], tuple) if inner[1:] == (Ellipsis,) else _row(tuple, inner)
    if origin in (frozenset, set, list):
        return _many(inner[0], origin)
    if origin in (dict, Mapping):
        return _mapping(*inner)
    if origin is Literal:
        return _one_of({each: each for each in inner})
    if is_array(hint):
        return _array(inner)
    if isinstance(hint, type):
        if hint is Interval:
            return _interval
        if issubclass(hint, Enum):
            return _one_of({each.value: each for each in hint})
        if is_dataclass(hint):
            return _object(hint)
        if issubclass(hint, tuple) and hasattr(hint, "_fields"):
            return _row(lambda values: hint(*values), tuple(hints_of(hint).values()))
    raise TypeError(f"{hint} has no form in JSON: see the rule in gnomon/result.py")


def _scalar(kind: type) -> Read:
    def read(value: Any, _: _Context) -> Any:
        if type(value) is kind:
            return value
        if kind is float:
            if value is None:
                return math.nan
            if type(value) is int:
                return float(value) if abs(value) < 2**53 else value
        raise MisfitError(f"is {_told(value)}, not {_SCALARS[kind]}")

    return read


def _told(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _union(inner: tuple[Any, ...], hint: Any) -> Read:
    rest = [each for each in inner if each is not types.NoneType]
    optional = len(rest) < len(inner)
    if len(rest) == 1:
        read_one = _reader(rest[0])
        return lambda value, context: None if value is None else read_one(value, context)
    if not all(each in _SCALARS for each in rest):
        raise TypeError(f"{hint}: only plain values may be of several types")
    words = " or ".join(_SCALARS[each] for each in rest)

    def read(value: Any, _: _Context) -> Any:
        if (value is None and optional) or type(value) in rest:
            return value
        raise MisfitError(f"is {_told(value)}, not {words}")

    return read


def _items(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    raise MisfitError(f"is {_told(value)}, not a list")


def _many(hint: Any, make: Callable[[Any], Any]) -> Read:
    def read(value: Any, context: _Context) -> Any:
        read_one, place = _reader(hint), 0
        found = []
        try:
            for place, each in enumerate(_items(value)):  # noqa: B007
                found.append(read_one(each, context))
        except MisfitError as misfit:
            raise misfit.at(f"[{place}]" if isinstance(value, list) else "") from None
        return make(found)

    return read


def _row(make: Callable[[list[Any]], Any], hints: tuple[Any, ...]) -> Read:
    def read(value: Any, context: _Context) -> Any:
        items = _items(value)
        if len(items) != len(hints):
            raise MisfitError(f"has {len(items)} entries, not {len(hints)}")
        found = []
        for place, (each, hint) in enumerate(zip(items, hints, strict=True)):
            try:
                found.append(_reader(hint)(each, context))
            except MisfitError as misfit:
                raise misfit.at(f"[{place}]") from None
        return make(found)

    return read


def _mapping(key: Any, hint: Any) -> Read:
    keys = _reader(key) if key is not int else None

    def read(value: Any, context: _Context) -> Any:
        found = {}
        for name, each in _entries(value).items():
            try:
                if keys is None:
                    found[_whole(name)] = _reader(hint)(each, context)
                else:
                    found[keys(name, context)] = _reader(hint)(each, context)
            except MisfitError as misfit:
                raise misfit.at(f".{name}") from None
        return found

    return read


def _entries(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise MisfitError(f"is {_told(value)}, not an object")


def _whole(name: str) -> int:
    try:
        return int(name)
    except ValueError:
        raise MisfitError("is not under a whole number") from None


def _one_of(values: dict[Any, Any]) -> Read:
    def read(value: Any, _: _Context) -> Any:
        try:
            return values[value]
        except (KeyError, TypeError):
            known = ", ".join(map(str, values))
            raise MisfitError(f"is {_told(value)}, not one of {known}") from None

    return read


def _interval(value: Any, _: _Context) -> Interval:
    ends = _items(value)
    if len(ends) != 2 or not all(end is None or type(end) in (int, float) for end in ends):
        raise MisfitError(f"is {_told(value)}, not the two ends of an interval")
    low, high = ends
    return Interval(-math.inf if low is None else low, math.inf if high is None else high)


@cache
def _members(cls: Any) -> tuple[tuple[str, Read, bool], ...]:
    """Return the fields of a dataclass: name, what reads it, and whether it must be there."""
    hints = hints_of(cls)
    return tuple((each.name, _reader(hints[each.name]), _required(each)) for each in fields(cls))


def _required(each: Field[Any]) -> bool:
    return each.default is MISSING and each.default_factory is MISSING


def _object(cls: Any) -> Read:
    def read(value: Any, context: _Context) -> Any:
        entries, found, name = _entries(value), {}, ""
        try:
            for name, read_one, required in _members(cls):
                if name in entries:
                    found[name] = read_one(entries[name], context)
                elif required:
                    break
            else:
                return cls(**found)
        except MisfitError as misfit:
            raise misfit.at(f".{name}") from None
        except ValueError as error:  # from the checks of the class itself
            raise MisfitError(f"is refused: {error}") from None
        raise MisfitError(f"lacks '{name}'")

    return read


def is_array(hint: Any) -> bool:
    """Whether a type is that of an array of numpy."""
    numpy = sys.modules.get("numpy")  # an annotation that names an array has imported it
    return numpy is not None and typing.get_origin(hint) is numpy.ndarray


def _array(inner: tuple[Any, ...]) -> Read:
    import numpy as np

    dtype = np.dtype(typing.get_args(inner[1])[0])

    def read(value: Any, context: _Context) -> Any:
        try:
            if isinstance(value, dict) and "array" in value:
                return _fetched(value, dtype, context)
            if isinstance(value, dict):
                return np.zeros(value["shape"], dtype)
            return np.array(_items(value), dtype)  # None becomes NaN
        except (ValueError, TypeError, KeyError, OverflowError):
            raise MisfitError(f"is not an array of {dtype}") from None

    return read


def _fetched(value: Reference, dtype: Any, context: _Context) -> Any:
    """Return an array by reference; one that is not there has its shape and no numbers."""
    import numpy as np

    found = context.fetch(value) if context.fetch is not None else None
    if found is not None and digest(np.asarray(found, dtype)) == value["array"]:
        return np.asarray(found, dtype)
    name = str(value.get("name", "an array"))
    context.lost.setdefault(str(value.get("in", "its recording")), []).append(name)
    return np.full(value["shape"], np.nan) if dtype.kind == "f" else np.zeros(0, dtype)


# ---- schema ---------------------------------------------------------------------------------


def schema(cls: type[Result]) -> dict[str, Any]:
    """Return the JSON Schema of results of a class."""
    found: dict[str, Any] = {}
    body = _object_schema(cls, found)
    head = {"kind": {"const": cls.kind}, "version": {"const": cls.version}}
    body["properties"] = head | body["properties"]
    body["required"] = ["kind", "version", *body["required"]]
    summary = (cls.__doc__ or "").strip().partition("\n")[0]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": cls.kind,
        "description": summary,
        **body,
        "$defs": {name: found[name] for name in sorted(found) if name},
    }


def _object_schema(cls: Any, found: dict[str, Any]) -> dict[str, Any]:
    hints = hints_of(cls)
    properties = {each.name: _schema(hints[each.name], found) for each in fields(cls)}
    for name in derived_names(cls):
        getter = getattr(cls, name).fget
        hint = typing.get_type_hints(getter)["return"]
        properties[name] = _schema(hint, found) | {"readOnly": True}
    return {
        "type": "object",
        "properties": properties,
        "required": [each.name for each in fields(cls) if _required(each)],
    }


def _schema(hint: Any, found: dict[str, Any]) -> dict[str, Any]:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is float:
        return {"type": ["number", "null"]}
    if hint in _JSON:
        return {"type": _JSON[hint]}
    if hint is types.NoneType:
        return {"type": "null"}
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_schema(each, found) for each in inner]}
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (frozenset, set, list) or (origin is tuple and inner[1:] == (Ellipsis,)):
        return {"type": "array", "items": _schema(inner[0], found)}
    if origin is tuple:
        return _row_schema(inner, found)
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": _schema(inner[1], found)}
    if is_array(hint):
        return {"type": ["array", "object"]}
    if hint is Interval:
        end = {"type": ["number", "null"]}
        return {"type": "array", "prefixItems": [end, end], "minItems": 2, "maxItems": 2}
    if issubclass(hint, Enum):
        return {"enum": [each.value for each in hint]}
    if issubclass(hint, tuple):
        return _row_schema(tuple(hints_of(hint).values()), found)
    name, origin_of = hint.__name__, found.setdefault("", {})
    if origin_of.setdefault(name, hint) is not hint:
        name = f"{hint.__module__}.{name}"
    if name not in found:
        found[name] = {}  # it may hold others of its kind
        found[name] = _object_schema(hint, found)
    return {"$ref": f"#/$defs/{name}"}


def _row_schema(hints: tuple[Any, ...], found: dict[str, Any]) -> dict[str, Any]:
    items = [_schema(each, found) for each in hints]
    return {
        "type": "array",
        "prefixItems": items,
        "minItems": len(items),
        "maxItems": len(items),
    }
