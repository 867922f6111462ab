"""List the simulated machines and what can run on them, or show one with its topology.

NAME is a machine that comes with gnomon, or a .toml file of your own; after `workloads`
it is a workload, whose parameters are shown.

examples:
  gnomon machine list
  gnomon machine show ring-4
  gnomon machine show haswell-ex-4s --svg topology.svg
  gnomon machine show my-machine.toml --json
  gnomon machine workloads
  gnomon machine workloads triad
"""

from __future__ import annotations

import argparse
import sys

from gnomon.machines.description import load_machine, machine_names
from gnomon.machines.machine import Machine
from gnomon.machines.pmu.description import load_pmu
from gnomon.recording.exporters import free_name, write_file
from gnomon.views.envelope import envelope
from gnomon.views.machine import (
    machine_as_json,
    machines_as_json,
    print_machine,
    print_machines,
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of `gnomon machine`."""
    words = parser.add_subparsers(dest="word", metavar="WORD", required=True)
    listing = words.add_parser("list", help="all machines that come with gnomon")
    show = words.add_parser("show", help="one machine in full, with its topology")
    show.add_argument("name", metavar="NAME", help="a machine, or a .toml file")
    show.add_argument("--svg", metavar="FILE", help="write the topology as an SVG")
    show.add_argument("--force", action="store_true", help="replace an existing file")
    workloads = words.add_parser("workloads", help="what can run on them")
    workloads.add_argument("name", nargs="?", metavar="NAME", help="a workload, to be explained")
    for each in (listing, show, workloads):
        # The main parser has the option as well; there it must not be reset by its default here.
        each.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON object"
        )


def run(options: argparse.Namespace) -> int:
    """Do what the word says."""
    return {"list": _list, "show": _show, "workloads": _workloads}[options.word](options)


def _list(options: argparse.Namespace) -> int:
    machines = [load_machine(name) for name in machine_names()]
    if options.json:
        print(envelope("machine", machines_as_json(machines), source="machine", simulated=True))
    else:
        print_machines(machines, sys.stdout)
    return 0


def _show(options: argparse.Namespace) -> int:
    machine = load_machine(options.name)
    pmu = load_pmu(machine.pmu)
    if options.svg is not None:
        _draw(machine, options.svg, force=options.force)
    if options.json:
        results = machine_as_json(machine, pmu)
        print(envelope("machine", results, source="machine", simulated=True))
        return 0
    print_machine(machine, pmu, sys.stdout)
    if options.svg is not None:
        print(f"\n  drawn in {options.svg}")
    return 0


def _draw(machine: Machine, file: str, *, force: bool) -> None:
    from gnomon.views.describe.topology import graph_of
    from gnomon.views.html.graph import graph_file

    drawing = graph_file(graph_of(machine, machine.title), f"{machine.name}: simulated machine")
    write_file(free_name(file, force=force), [drawing])


def _workloads(options: argparse.Namespace) -> int:
    from gnomon.machines.workloads import describe, workload_names
    from gnomon.views import workloads as view

    one = None if options.name is None else describe(options.name)
    every = [describe(name) for name in workload_names()] if one is None else []
    if options.json:
        results = view.workload_as_json(one) if one else view.workloads_as_json(every)
        print(envelope("machine", results, source="machine", simulated=True))
    elif one is not None:
        view.print_workload(one, sys.stdout)
    else:
        view.print_workloads(every, sys.stdout)
    return 0
