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
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeVar

from gnomon.errors import GnomonError, ResultError
from gnomon.result import KINDS, Fetch, Interval, Reference, Result, derived_names, digest

R = TypeVar("R", bound=Result)
_SCALARS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
_JSON = {str: "string", int: "integer", float: ["number", "null"], bool: "boolean"}
Schema = dict[str, Any]


class MisfitError(Exception):
    """A value that its type does not allow, and where it stands."""

    place = ""

    def at(self, place: str) -> MisfitError:
        """Return this error, with the place that the value was found in."""
        self.place = place + self.place
        return self


@dataclass(slots=True)
class _Context:
    """How references are resolved, and which could not be."""

    fetch: Fetch | None
    lost: dict[str, list[str]]  # names of arrays by where they should be


Read = Callable[[Any, _Context], Any]
"""Turns content of JSON into a value of one type."""


@dataclass(frozen=True, slots=True)
class _Form:
    """What values of a type are in JSON: how they are read, and what their schema is.

    The schema of a dataclass is kept in the definitions that are given.
    """

    read: Read
    schema: Callable[[Schema], Schema]


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
        result = _object(cls).read(content, context)
    except MisfitError as misfit:
        raise ResultError(f"{kind}{misfit.place} {misfit}.") from None
    if not isinstance(result, wanted):
        raise ResultError(f"'{kind}' is not a result that can be read here.")
    texts = [
        f"not shown, as '{place}' is missing or has changed: {', '.join(names)}"
        for place, names in context.lost.items()
    ]
    return replace(result, warnings=(*result.warnings, *texts)) if texts else result


def _unwrapped(content: Any) -> Any:
    """Return the result inside the object that commands print with --json, or the content."""
    if isinstance(content, dict) and "kind" not in content and "results" in content:
        if content.get("error"):
            raise ResultError(f"the command failed: {content['error']}")
        return content["results"]
    return content


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


# ---- types ----------------------------------------------------------------------------------


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
def _form(hint: Any) -> _Form:
    """Return the form of a type."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint in _SCALARS:
        return _scalar(hint)
    if origin in (typing.Union, types.UnionType):
        return _union(inner, hint)
    if origin is tuple and inner[1:] != (Ellipsis,):
        return _row(tuple, inner)
    if origin in (tuple, frozenset, set, list):
        return _many(inner[0], origin)
    if origin in (dict, Mapping):
        return _mapping(*inner)
    if origin is Literal:
        return _one_of({each: each for each in inner})
    if is_array(hint):
        return _array(inner)
    if isinstance(hint, type):
        if hint is Interval:
            return _INTERVAL
        if issubclass(hint, Enum):
            return _one_of({each.value: each for each in hint})
        if is_dataclass(hint):
            return _object(hint)
        if issubclass(hint, tuple) and hasattr(hint, "_fields"):
            return _row(lambda values: hint(*values), tuple(hints_of(hint).values()))
    raise TypeError(f"{hint} has no form in JSON: see the rule in gnomon/result.py")


def _scalar(kind: type) -> _Form:
    def read(value: Any, _: _Context) -> Any:
        if type(value) is kind:
            return value
        if kind is float and value is None:
            return math.nan
        if kind is float and type(value) is int:
            return float(value) if abs(value) < 2**53 else value
        raise _misfit(value, _SCALARS[kind])

    return _Form(read, lambda _: {"type": _JSON[kind]})


def _misfit(value: Any, wanted: str) -> MisfitError:
    text = json.dumps(value, ensure_ascii=False)
    return MisfitError(f"is {text if len(text) <= 40 else f'{text[:39]}…'}, not {wanted}")


def _union(inner: tuple[Any, ...], hint: Any) -> _Form:
    rest = [each for each in inner if each is not types.NoneType]
    optional = len(rest) < len(inner)
    forms = [_form(each) for each in rest]
    if len(rest) > 1 and not all(each in _SCALARS for each in rest):
        raise TypeError(f"{hint}: only plain values may be of several types")

    def read_any(value: Any, _: _Context) -> Any:
        if (value is None and optional) or type(value) in rest:
            return value
        raise _misfit(value, " or ".join(_SCALARS[each] for each in rest))

    def read_one(value: Any, context: _Context) -> Any:
        return None if value is None else forms[0].read(value, context)

    def schema_of(found: Schema) -> Schema:
        null = [{"type": "null"}] * optional
        return {"anyOf": [*(form.schema(found) for form in forms), *null]}

    return _Form(read_one if len(rest) == 1 else read_any, schema_of)


def _of_kind(value: Any, kind: type, wanted: str) -> Any:
    if not isinstance(value, kind):
        raise _misfit(value, wanted)
    return value


def _list(value: Any) -> list[Any]:
    found: list[Any] = _of_kind(value, list, "a list")
    return found


def _each(values: Iterable[tuple[str, Read, Any]], context: _Context) -> list[Any]:
    """Read values, each with its place and with what reads it."""
    found, place = [], ""
    try:
        for place, read, value in values:  # noqa: B007
            found.append(read(value, context))
    except MisfitError as misfit:
        raise misfit.at(place) from None
    return found


def _many(hint: Any, make: Callable[[Any], Any]) -> _Form:
    def read(value: Any, context: _Context) -> Any:
        read_one = _form(hint).read
        return make(_each(((f"[{i}]", read_one, v) for i, v in enumerate(_list(value))), context))

    return _Form(read, lambda found: {"type": "array", "items": _form(hint).schema(found)})


def _row(make: Callable[[list[Any]], Any], hints: tuple[Any, ...]) -> _Form:
    size = len(hints)

    def read(value: Any, context: _Context) -> Any:
        items = _list(value)
        if len(items) != size:
            raise MisfitError(f"has {len(items)} entries, not {size}")
        pairs = enumerate(zip(hints, items, strict=True))
        return make(_each(((f"[{i}]", _form(hint).read, v) for i, (hint, v) in pairs), context))

    def schema_of(found: Schema) -> Schema:
        items = [_form(hint).schema(found) for hint in hints]
        return {"type": "array", "prefixItems": items, "minItems": size, "maxItems": size}

    return _Form(read, schema_of)


def _mapping(key: Any, hint: Any) -> _Form:
    def read_entry(entry: tuple[str, Any], context: _Context) -> tuple[Any, Any]:
        name, value = entry
        known = _whole(name) if key is int else _form(key).read(name, context)
        return known, _form(hint).read(value, context)

    def read(value: Any, context: _Context) -> Any:
        entries = _of_kind(value, dict, "an object").items()
        return dict(_each(((f".{entry[0]}", read_entry, entry) for entry in entries), context))

    return _Form(
        read,
        lambda found: {"type": "object", "additionalProperties": _form(hint).schema(found)},
    )


def _whole(name: str) -> int:
    try:
        return int(name)
    except ValueError:
        raise MisfitError("is not under a whole number") from None


def _one_of(values: dict[Any, Any]) -> _Form:
    def read(value: Any, _: _Context) -> Any:
        try:
            return values[value]
        except (KeyError, TypeError):
            raise _misfit(value, f"one of {', '.join(map(str, values))}") from None

    return _Form(read, lambda _: {"enum": list(values)})


def _interval(value: Any, _: _Context) -> Interval:
    ends = _list(value)
    if len(ends) != 2 or not all(end is None or type(end) in (int, float) for end in ends):
        raise _misfit(value, "the two ends of an interval")
    low, high = ends
    return Interval(-math.inf if low is None else low, math.inf if high is None else high)


_INTERVAL = _Form(_interval, _row(tuple, (float, float)).schema)


@cache
def _members(cls: Any) -> tuple[tuple[str, Read, bool], ...]:
    """Return the fields of a dataclass: name, what reads it, and whether it must be there."""
    hints = hints_of(cls)
    return tuple((each.name, _form(hints[each.name]).read, _required(each)) for each in fields(cls))


def _required(each: Field[Any]) -> bool:
    return each.default is MISSING and each.default_factory is MISSING


def _object(cls: Any) -> _Form:
    def read(value: Any, context: _Context) -> Any:
        entries, found, name = _of_kind(value, dict, "an object"), {}, ""
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

    def schema_of(found: Schema) -> Schema:
        name, known = cls.__name__, found.setdefault("", {})
        if known.setdefault(name, cls) is not cls:
            name = f"{cls.__module__}.{name}"
        if name not in found:
            found[name] = {}  # it may hold others of its kind
            found[name] = _object_schema(cls, found)
        return {"$ref": f"#/$defs/{name}"}

    return _Form(read, schema_of)


def is_array(hint: Any) -> bool:
    """Whether a type is that of an array of numpy."""
    numpy = sys.modules.get("numpy")  # an annotation that names an array has imported it
    return numpy is not None and typing.get_origin(hint) is numpy.ndarray


def _array(inner: tuple[Any, ...]) -> _Form:
    import numpy as np

    dtype = np.dtype(typing.get_args(inner[1])[0])

    def read(value: Any, context: _Context) -> Any:
        try:
            if isinstance(value, dict) and "array" in value:
                return _fetched(value, dtype, context)
            if isinstance(value, dict):
                return np.zeros(value["shape"], dtype)
            return np.array(_list(value), dtype)  # None becomes NaN
        except (ValueError, TypeError, KeyError, OverflowError):
            raise MisfitError(f"is not an array of {dtype}") from None

    return _Form(read, lambda _: {"type": ["array", "object"]})


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


def schema(cls: type[Result]) -> Schema:
    """Return the JSON Schema of results of a class."""
    found: Schema = {}
    body = _object_schema(cls, found)
    head = {"kind": {"const": cls.kind}, "version": {"const": cls.version}}
    body["properties"] = head | body["properties"]
    body["required"] = ["kind", "version", *body["required"]]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": cls.kind,
        "description": (cls.__doc__ or "").strip().partition("\n")[0],
        **body,
        "$defs": {name: found[name] for name in sorted(found) if name},
    }


def _object_schema(cls: Any, found: Schema) -> Schema:
    hints = hints_of(cls)
    properties = {each.name: _form(hints[each.name]).schema(found) for each in fields(cls)}
    for name in derived_names(cls):
        hint = typing.get_type_hints(getattr(cls, name).fget)["return"]
        properties[name] = _form(hint).schema(found) | {"readOnly": True}
    required = [each.name for each in fields(cls) if _required(each)]
    return {"type": "object", "properties": properties, "required": required}
