"""List and show simulated machines, fabrics and what can run on them; compile programs.

  list [machines]    list the built-in machines
  list workloads     list the built-in workloads
  list fabrics       list the built-in interconnects, for --on fabric:NAME
  show NAME          describe a machine, built-in or from a .toml file
  show workload:NAME describe a workload and its parameters
  show fabric:NAME   describe an interconnect, built-in or from a .toml file, and its loads
  compile ARGS       compile and link a program so that its memory references can be traced

Arguments after compile are passed to gcc; compiling and linking may be separate calls. --compiler,
--cxx and --json, which come first, are gnomon's own. A file whose name ends in .cc, .cpp, .cxx or
.C is compiled and linked as C++.

examples:
  gnomon sim list
  gnomon sim show ring-4
  gnomon sim show haswell-ex-4s --svg topology.svg
  gnomon sim show my-machine.toml --json
  gnomon sim list workloads
  gnomon sim show workload:triad
  gnomon sim show fabric:torus-12x8
  gnomon sim compile -O2 -fopenmp prog.c -o prog
  gnomon sim compile --compiler g++-12 -O2 prog.cpp -o prog
  make CC="gnomon sim compile" CXX="gnomon sim compile --cxx"
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.cli import options as shared
from gnomon.cli import present
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.machines.machine import Machine

_WORDS = ("list", "show", "compile")
_OF_COMPILE = {"--json": False, "--cxx": False, "--compiler": True, "-h": False, "--help": False}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of `gnomon sim`."""
    parser.usage = "gnomon sim list | show | compile [OPTIONS] [NAME or ARGUMENTS]"
    parser.add_argument("word", choices=_WORDS, metavar="WORD", help=", ".join(_WORDS))
    parser.add_argument("what", nargs="?", metavar="NAME", help="what to list or show")
    parser.add_argument("--svg", metavar="FILE", help="write the topology as an SVG")
    parser.add_argument("--compiler", metavar="COMPILER", help="the gcc or g++ to call")
    parser.add_argument("--cxx", action="store_true", help="compile and link as C++")
    shared.add(parser, "overwrite")
    present.add_options(parser)
    parser.set_defaults(argv=[])


def separated(arguments: list[str]) -> list[str]:
    """Return the arguments with -- before those that are the compiler's."""
    words = [*arguments, ""]
    at = words.index("compile") + 1 if "compile" in words[:2] else len(arguments)
    while words[at].partition("=")[0] in _OF_COMPILE:
        at += 1 + (_OF_COMPILE.get(words[at], False) and at + 1 < len(arguments))
    return arguments if words[at] in ("", "--") else [*arguments[:at], "--", *arguments[at:]]


def run(options: argparse.Namespace) -> int:
    """Do what the word says."""
    from gnomon.machines import sim

    present.check(options)
    if options.word == "compile":
        return _compile(options)
    if options.argv:
        raise UsageError(f"`gnomon sim {options.word}` takes no program to run after --.")
    if options.word == "list":
        present.present("sim", options, sim.list(options.what or "machines"))
        return 0
    if options.what is None:
        raise UsageError("nothing to show: name a machine; `gnomon sim list` lists them.")
    found = sim.show(options.what)
    notes = []
    if options.svg is not None:
        if not isinstance(found, sim.MachineResult):
            raise UsageError("--svg draws machines only, not workloads or fabrics.")
        _draw(found.machine, options.svg, force=options.overwrite)
        notes = [f"drawn in {options.svg}"]
    present.present("sim", options, found, *notes)
    return 0


def _draw(machine: Machine, file: str, *, force: bool) -> None:
    from gnomon.recording.exporters import write_file
    from gnomon.recording.files import check_new
    from gnomon.views.describe.machine import graph_of
    from gnomon.views.html.graph import graph_file

    drawing = graph_file(graph_of(machine, machine.title), f"{machine.name}: simulated machine")
    check_new(Path(file), "the drawing", force=force)
    write_file(file, [drawing])


def _compile(options: argparse.Namespace) -> int:
    """Call the compiler; its messages and exit status are the answer."""
    from gnomon.machines import sim

    how = {"compiler": options.compiler, "cxx": options.cxx}
    status = sim.compile(options.argv, **how, stdout=sys.stderr if options.json else None)
    if options.json:
        from gnomon.views.envelope import envelope

        command = sim.command(options.argv, **how)
        print(envelope("sim", {"command": command, "exit_status": status}))
    return status
