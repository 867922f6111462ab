"""The one JSON object that every command prints with --json."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from gnomon import __version__

_HARMFUL = re.compile(r"[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What JSON may have as it is, and a terminal may not: it is escaped."""


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
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    return _HARMFUL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
