"""The tables of the reference page, from the definitions; run as a module, it writes them.

.venv/bin/python -m tests.machines.workloads.reference
"""

from __future__ import annotations

from pathlib import Path

from gnomon.machines.workloads import (
    Parameter,
    WorkloadDescription,
    build,
    describe,
    workload_names,
)
from gnomon.units import format_si

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "workloads.md"
BEGIN = "<!-- What follows is written by tests/machines/workloads/reference.py. -->"


def generated() -> str:
    """Everything of the page that follows from the definitions."""
    lines = ["| workload | what it is |", "|---|---|"]
    lines += [f"| [`{name}`](#{name}) | {describe(name).title} |" for name in workload_names()]
    common = describe(workload_names()[0]).parameters[-3:]
    lines += ["", "Every workload has these parameters, beside its own:", "", *_table(common)]
    for name in workload_names():
        lines += ["", *_section(describe(name), common)]
    return "\n".join(lines) + "\n"


def _section(workload: WorkloadDescription, common: tuple[Parameter, ...]) -> list[str]:
    program = build(workload.name)
    arrays = ", ".join(f"`{each.name}`" for each in program.ranges)
    own = tuple(each for each in workload.parameters if each not in common)
    return [
        f"### {workload.name}",
        "",
        f"{workload.title}. {' '.join(workload.text.split())} After: {workload.source}. "
        f"Arrays: {arrays}. As it is by default, it executes "
        f"{format_si(program.exact['instructions'])} instructions.".replace("  ", " "),
        "",
        *_table(own),
    ]


def _table(parameters: tuple[Parameter, ...]) -> list[str]:
    lines = ["| parameter | type | default | range | meaning |", "|---|---|---|---|---|"]
    lines += [
        f"| `{each.name}` | {each.type} | `{each.default}` | {_range(each)} | {each.help} |"
        for each in parameters
    ]
    return lines


def _range(parameter: Parameter) -> str:
    if parameter.choices:
        return ", ".join(f"`{choice}`" for choice in parameter.choices)
    limits = []
    if parameter.minimum is not None:
        limits.append(f"from {parameter.minimum}")
    if parameter.maximum is not None:
        limits.append(f"to {parameter.maximum}")
    return " ".join([*limits, parameter.unit]).strip() if limits else ""


def write() -> None:
    """Write the generated part of the page anew."""
    prose, _, _ = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{prose}{BEGIN}\n\n{generated()}", encoding="utf-8")


if __name__ == "__main__":
    write()
