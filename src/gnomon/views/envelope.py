"""The one JSON object that every command prints with --json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from gnomon import __version__


def envelope(
    command: str,
    results: Any,
    *,
    source: str | None = None,
    simulated: bool = False,
    warnings: Sequence[str] = (),
    error: str | None = None,
) -> str:
    """Return the object as text; `error` is there only when the command failed."""
    content: dict[str, Any] = {
        "gnomon": __version__,
        "command": command,
        "source": source,
        "simulated": simulated,
        "warnings": list(warnings),
        "results": results,
    }
    if error is not None:
        content["error"] = error
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
