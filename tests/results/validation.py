"""As much of JSON Schema as the schemas of results use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
}


def complaints(value: Any, schema: dict[str, Any]) -> list[str]:
    """Return what does not fit, with its place."""
    return list(_check(value, schema, schema.get("$defs", {}), "$"))


def _check(value: Any, schema: dict[str, Any], known: dict[str, Any], at: str) -> Iterator[str]:
    if "$ref" in schema:
        schema = known[schema["$ref"].removeprefix("#/$defs/")]
    if "anyOf" in schema and all(list(_check(value, s, known, at)) for s in schema["anyOf"]):
        yield f"{at}: fits none of its types"
    wanted = schema.get("type", [])
    if wanted and not any(
        _is(value, name) for name in ([wanted], wanted)[isinstance(wanted, list)]
    ):
        yield f"{at}: {value!r} is not {wanted}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is not allowed"
    if "const" in schema and value != schema["const"]:
        yield f"{at}: {value!r} is not {schema['const']!r}"
    if isinstance(value, dict):
        yield from (
            f"{at} lacks {name}" for name in schema.get("required", ()) if name not in value
        )
        properties, others = schema.get("properties"), schema.get("additionalProperties")
        for name, each in value.items():
            if properties is not None and name not in properties:
                yield f"{at}: {name} is not in the schema"
            elif inner := (properties or {}).get(name, others):
                yield from _check(each, inner, known, f"{at}.{name}")
    if isinstance(value, list):
        rows = schema.get("prefixItems")
        if rows is not None and len(rows) != len(value):
            yield f"{at}: {len(value)} items instead of {len(rows)}"
        for place, each in enumerate(value):
            inner = rows[place] if rows is not None and place < len(rows) else schema.get("items")
            if inner is not None:
                yield from _check(each, inner, known, f"{at}[{place}]")


def _is(value: Any, name: str) -> bool:
    if name in ("number", "integer"):
        whole = isinstance(value, int) and not isinstance(value, bool)
        return whole or (name == "number" and isinstance(value, float))
    return isinstance(value, _TYPES[name])
