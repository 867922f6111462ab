"""How laws fitted to measurements look in a terminal and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

from gnomon.messaging.fitting import ImbalanceFit, MissFit, SaturationFit
from gnomon.result import Quantity
from gnomon.views.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

Fit: TypeAlias = SaturationFit | MissFit | ImbalanceFit

_MORE_NODES = (2, 8, 16)  # times as many as were measured


def print_fit(fit: Fit, stream: TextIO) -> None:
    """Write the law, its parameters with intervals, and what it says."""
    stream.write(f"ESTIMATED {_law(fit)}\n\n")
    table = Table([Column("parameter"), Column("value", right=True), Column("95 %", right=True)])
    for name, each in _parameters(fit).items():
        table.add(name, f"{each.value:.5g}", f"[{each.low:.5g}, {each.high:.5g}]")
    table.print(stream)
    stream.write(f"\n  {_says(fit)}\n")
    if isinstance(fit, SaturationFit) and fit.doubt:
        stream.write(f"  {fit.doubt}\n")


def fit_as_json(law: str, fit: Fit) -> dict[str, Any]:
    """Return everything in the form that scripts read."""
    parameters = {
        name: {"value": each.value, "low": each.low, "high": each.high}
        for name, each in _parameters(fit).items()
    }
    return {"law": law, "formula": _law(fit), "parameters": parameters, **_more(fit)}


def _law(fit: Fit) -> str:
    match fit:
        case SaturationFit():
            return "throughput of n threads, that of one being 1: height * (1 - exp(-n / knee))"
        case MissFit():
            return "misses: constant + per_node * nodes + per_log_thread * ln(threads)"
        case ImbalanceFit():
            return f"how much later than the mean the last of {fit.nodes} nodes is, as a share"


def _parameters(fit: Fit) -> Mapping[str, Quantity]:
    match fit:
        case SaturationFit():
            return {"height": fit.height, "knee": fit.knee}
        case MissFit():
            return {
                "constant": fit.constant,
                "per_node": fit.per_node,
                "per_log_thread": fit.per_log_thread,
            }
        case ImbalanceFit():
            return {
                "deviation": fit.deviation,
                "measured": fit.measured,
                "expected": fit.expected,
            }


def _says(fit: Fit) -> str:
    match fit:
        case SaturationFit():
            speeds = ", ".join(f"{fit.law.speed(n):.2f}" for n in range(1, 9))
            return f"speed of each of 1 to 8 threads: {speeds}; misfit {fit.error:.2g}"
        case MissFit():
            return f"explains {fit.r_squared:.1%} of what differs between runs"
        case ImbalanceFit():
            later = ", ".join(
                f"{fit.at(times * fit.nodes):.1%} of {times * fit.nodes}" for times in _MORE_NODES
            )
            return f"with more nodes, if times are normal: {later}"


def _more(fit: Fit) -> dict[str, Any]:
    match fit:
        case SaturationFit():
            return {"error": fit.error, "doubt": fit.doubt}
        case MissFit():
            return {"r_squared": fit.r_squared}
        case ImbalanceFit():
            return {
                "nodes": fit.nodes,
                "more": {str(t * fit.nodes): fit.at(t * fit.nodes) for t in _MORE_NODES},
            }
