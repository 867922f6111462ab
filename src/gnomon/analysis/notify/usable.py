"""Which mechanisms there are on this host, and why not the others."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.analysis.notify.model import LeftOut
from gnomon.errors import NotSupportedError
from gnomon.messaging.host import Mechanism, find_mechanisms


def usable_mechanisms(names: Sequence[str] | None) -> tuple[list[Mechanism], list[LeftOut]]:
    """Return the mechanisms of these names that work here, and why the others do not."""
    usable: list[Mechanism] = []
    left_out: list[LeftOut] = []
    for each in find_mechanisms(names):
        if reason := each.why_not():
            left_out.append(LeftOut(each.name, reason))
        else:
            usable.append(each)
    if not usable:
        raise NotSupportedError(f"nothing is left to measure: {'; '.join(map(str, left_out))}.")
    return usable, left_out
