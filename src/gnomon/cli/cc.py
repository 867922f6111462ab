"""Compile and link a program so that its memory references can be traced.

Everything after `cc` is gcc's: its options, -c and linking in separate calls. Only the options
below are gnomon's own, and they come first. A file whose name ends in .cc, .cpp, .cxx or .C
is compiled and linked as C++.

examples:
  gnomon cc -O2 -fopenmp prog.c -o prog
  gnomon cc --compiler g++-12 -O2 prog.cpp -o prog
  make CC="gnomon cc" CXX="gnomon cc --cxx"
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from gnomon.errors import UsageError
from gnomon.machines.tracing.compiler import compiler_command
from gnomon.views.envelope import envelope

PASSES_ARGUMENTS_ON = True
"""What comes after gnomon's own options is for the compiler, whatever it looks like."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon cc`."""
    parser.add_argument("--compiler", metavar="COMPILER", help="the gcc or g++ to call")
    parser.add_argument("--cxx", action="store_true", help="compile and link as C++")
    parser.add_argument(
        "argv", nargs=argparse.REMAINDER, metavar="ARGUMENTS", help="all that gcc takes"
    )


def run(options: argparse.Namespace) -> int:
    """Call the compiler; its messages and exit status are the answer."""
    if not options.argv:
        raise UsageError("nothing to compile: give gcc's arguments, as in -O2 prog.c -o prog.")
    command = compiler_command(options.argv, options.compiler, cxx=options.cxx)
    status = subprocess.call(command, stdout=sys.stderr if options.json else None)
    if options.json:
        print(envelope("cc", {"command": command, "exit_status": status}))
    return status if status >= 0 else 128 - status
