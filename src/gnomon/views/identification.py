"""How identified processes look."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TextIO

from gnomon.views.table import Column, Table

if TYPE_CHECKING:
    from gnomon.analysis.estimate.identify import Closure, Identification


def print_identification(
    found: Identification, closures: Mapping[str, Closure], stream: TextIO
) -> None:
    """Write a line for each event."""
    label = "SIMULATED " if found.simulated else ""
    stream.write(
        f"{label}{found.workload} on {found.machine}, read every {found.interval * 1e3:.4g} ms\n\n"
    )
    table = Table(
        (
            Column("event"),
            Column("mean /s", right=True),
            Column("sigma /s", right=True),
            Column("beta 1/s", right=True),
            Column("noise /s", right=True),
            Column("lags", right=True),
            Column("readings", right=True),
            Column("found again", right=True),
            Column("doubt"),
        )
    )
    for name, each in found.processes.items():
        again = closures.get(name)
        table.add(
            name,
            _number(each.mean),
            _number(each.sigma),
            _number(each.beta),
            _number(each.noise),
            str(each.lags),
            f"{each.samples:,}",
            ""
            if again is None
            else f"sigma {again.sigma:.4g} ± {again.sigma_error:.2g}, "
            f"beta {again.beta:.4g} ± {again.beta_error:.2g}",
            each.doubt,
        )
    table.print(stream)


def identification_as_json(
    found: Identification, closures: Mapping[str, Closure]
) -> dict[str, Any]:
    """Return the same in the form that scripts read."""
    return {
        "machine": found.machine,
        "workload": found.workload,
        "interval_s": found.interval,
        "events": {
            name: {
                **{key: _finite(value) for key, value in asdict(each).items()},
                **({"closure": asdict(closures[name])} if name in closures else {}),
            }
            for name, each in found.processes.items()
        },
    }


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "-"
