"""Options of the commands that count: what is counted, on what, and where it is kept."""

from __future__ import annotations

import argparse
import sys

from gnomon.cli.options import add_source_options, source_asked_for
from gnomon.errors import UsageError
from gnomon.events.sysfs import parse_cpu_list
from gnomon.sources.base import Command, Cpus, Process, Source, Target
from gnomon.sources.registry import source_for


def add_counting_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that `gnomon count` and `gnomon record` have in common."""
    parser.add_argument("-e", "--events", metavar="EVENTS", help="events, as in a,b:u,{c,d}")
    add_source_options(parser)
    parser.add_argument("-r", "--repeat", metavar="N", type=int, default=1, help="run N times")
    parser.add_argument("-a", "--all-cpus", action="store_true", help="count on all CPUs")
    parser.add_argument("-C", "--cpus", metavar="CPUS", help="count on these CPUs, as in 0-3,8")
    parser.add_argument("-p", "--pid", type=int, help="count in a running process")
    parser.add_argument("-d", "--duration", metavar="TIME", help="stop after TIME, as in 5s")
    parser.add_argument("-o", "--output", metavar="REC", help="write a recording")
    parser.add_argument("--force", action="store_true", help="replace an existing recording")
    parser.add_argument("argv", nargs=argparse.REMAINDER, metavar="-- CMD", help="what to run")


def counting_target(options: argparse.Namespace) -> Target:
    """Return what is to be counted: a command, a process or CPUs."""
    command = None
    if options.argv:
        command = Command(tuple(options.argv), stdout=2 if options.json else None)
    if options.all_cpus or options.cpus is not None:
        if options.pid is not None:
            raise UsageError("-p follows a process and -a or -C whole CPUs: choose one.")
        if command is None and options.duration is None and not sys.stdin.isatty():
            raise UsageError("nothing says when to stop: give --duration or a command after --.")
        cpus = None if options.cpus is None else parse_cpu_list(options.cpus)
        return Cpus(cpus, command)
    if options.pid is not None:
        if command is not None:
            raise UsageError("-p counts in a running process: leave the command away.")
        return Process(options.pid)
    if command is None:
        raise UsageError("nothing to count: give a command after --, or -p PID, or -a.")
    return command


def counting_source(options: argparse.Namespace) -> Source:
    """Return what counts: the source that --on names, or the one that the events are of."""
    return source_for(options.events, on=source_asked_for(options))


def with_ending(name: str) -> str:
    """Return the name of a recording as it will be on disk."""
    return name.removesuffix(".gnomon") + ".gnomon"
