"""Diagnoses: what is fine, what is limited and what is missing, with and without a remedy."""

from __future__ import annotations

from gnomon.analysis.doctor.result import Diagnosis, Finding, State
from gnomon.recording.contents import Provenance

_AREAS = ("host", "PMU", "events", "tools")


def _of(number: int, text: str = "") -> Diagnosis:
    findings = tuple(
        Finding(
            text or _AREAS[each * len(_AREAS) // max(number, 1)],
            text or f"thing {each}",
            (*State,)[each % 3],
            text or "what was found, in a sentence of some length that wraps where it must",
            text or ("run `sysctl kernel.nmi_watchdog=0` as root" if each % 3 == 2 else ""),
        )
        for each in range(number)
    )
    return Diagnosis(
        findings,
        number // 2,
        number,
        provenance=Provenance(text or "host"),
        warnings=(text,) if text else (),
    )


def small() -> Diagnosis:
    return _of(12)


def empty() -> Diagnosis:
    return _of(0)


def hostile(text: str) -> Diagnosis:
    return _of(6, text)


def huge(rows: int) -> Diagnosis:
    return _of(rows)
