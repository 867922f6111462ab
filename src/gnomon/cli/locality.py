"""Find out which memory a program accesses from where, with few counters.

An array of counters follows the accesses that leave their node: a counter covers a range
that grows with neighbouring accesses, and is flushed as a record of 16 bytes when another
range needs it. On a simulated machine every remote access is seen. On this host accesses are
sampled where the PMU tells addresses; a program compiled by `gnomon sim compile` tells all loads
and stores; of any other one the kernel's page tables tell which pages it writes. With --by pages
a static counter is a breakpoint register: few bytes, or a variable by its name, counted exactly.
With --advise other placements of a program's objects are tried on the simulated machine, and those
that save time are proposed. With --json the program's output goes to stderr.

examples:
  gnomon locality --on smile-4 -- workload:fft
  gnomon locality --on ring-4 --scope memory -- ./program arg
  gnomon locality --counters 16 --range 64 -o fft.gnomon --on smile-4 -- workload:fft
  gnomon locality --scheme hybrid --on smile-4 -- workload:zipf size=64MB
  gnomon locality --by trace -- ./program arg
  gnomon locality --by pages -i 20ms --static total -- ./program arg
  gnomon locality -p 1234 -d 10s
  gnomon locality fft.gnomon --html fft.html
  gnomon locality --advise --on ring-4 -- ./program arg
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from gnomon.cli.html import add_html_option, check_html, write_html
from gnomon.cli.locality_advice import add_advice_options, check_margin, run_advice
from gnomon.cli.options import add_on_option, chosen_machine
from gnomon.errors import UsageError
from gnomon.launch import Command
from gnomon.units import parse_count, parse_duration, parse_size

if TYPE_CHECKING:
    from gnomon.analysis.locality import LocalityResult
    from gnomon.analysis.locality.counters import CounterSetup
    from gnomon.analysis.locality.feeds import Feed
    from gnomon.sources.base import Process
    from gnomon.sources.simulated.simulator import Simulator

_FOR_PROGRAMS: dict[str, object] = {
    "on": None,
    "seed": None,
    "counters": None,
    "range": None,
    "page": None,
    "scheme": "plain",
    "gap": None,
    "reach": None,
    "static": None,
    "ring": None,
    "empty_every": None,
    "fetch_delay": None,
    "scope": "remote",
    "by": "auto",
    "period": None,
    "interval": None,
    "pid": None,
    "duration": None,
    "output": None,
}
"""Options that make no sense for a recording, with their defaults."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon locality`."""
    parser.usage = (
        "gnomon locality [OPTIONS] REC\n       gnomon locality [OPTIONS] -- CMD\n"
        "       gnomon locality [OPTIONS] -p PID"
    )
    parser.add_argument("recording", nargs="?", metavar="REC", help="a .gnomon folder")
    add_on_option(parser, "host, or a simulated machine or its .toml file")
    parser.add_argument("--seed", type=int, metavar="N", help="of the simulation (1)")
    counters = parser.add_argument_group("counters")
    counters.add_argument("--counters", metavar="K", help="dynamic counters a node (32)")
    counters.add_argument("--range", metavar="SIZE", help="most that a counter covers (a page)")
    counters.add_argument(
        "--page", metavar="SIZE", help="what a range may not cross (a page of the machine)"
    )
    counters.add_argument(
        "--scheme",
        choices=("plain", "hybrid"),
        default="plain",
        help="hybrid: pages that are seldom accessed share counters",
    )
    counters.add_argument("--gap", metavar="SIZE", help="hybrid: a range grows over this (64)")
    counters.add_argument(
        "--reach", metavar="SIZE", help="hybrid: a shared range grows over this (16MiB)"
    )
    counters.add_argument(
        "--static",
        metavar="RANGE",
        action="append",
        help="a static counter on START-END, START+SIZE or a variable; may be given again",
    )
    ring = parser.add_argument_group("ring buffer")
    ring.add_argument("--ring", metavar="SIZE", help="of the ring buffer of a node (1MiB)")
    ring.add_argument(
        "--empty-every", metavar="TIME", help="empty it in turns (only when it is full)"
    )
    ring.add_argument(
        "--fetch-delay", metavar="TIME", help="from a full ring until it is empty (none)"
    )
    stream = parser.add_argument_group("accesses")
    stream.add_argument(
        "--scope",
        choices=("remote", "memory"),
        default="remote",
        help="those that other nodes answer, or all that memory answers",
    )
    stream.add_argument(
        "--by",
        choices=("auto", "samples", "trace", "pages"),
        default="auto",
        help="how accesses are found on this host",
    )
    stream.add_argument("-p", "--pid", type=int, help="of a running process")
    stream.add_argument("-d", "--duration", metavar="TIME", help="stop after TIME, as in 10s")
    stream.add_argument("-i", "--interval", metavar="TIME", help="look at pages every TIME (50ms)")
    stream.add_argument("--period", metavar="N", help="sample one access of N (1009)")
    parser.add_argument("--top", metavar="N", type=int, default=12, help="show N pages (12)")
    parser.add_argument("-o", "--output", metavar="REC", help="keep every record")
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    add_html_option(parser)
    add_advice_options(parser)
    parser.set_defaults(argv=None)


def run(options: argparse.Namespace) -> int:
    """Run or open, count, show; returns the program's exit status."""
    check_html(options)
    if options.top < 0:
        raise UsageError(f"--top {options.top} shows nothing: choose 0 or more pages.")
    check_margin(options)
    if options.advise:
        return run_advice(options, _FOR_PROGRAMS)
    if options.argv is None and options.pid is None:
        from gnomon.analysis.locality import locality

        result = locality(_recording(options))
    else:
        result = _measured(options)
    _show(result, options)
    from gnomon.views.report.assemble import locality_page

    write_html(options, lambda: locality_page(result))
    return result.exit_status or (130 if result.interrupted and options.argv else 0)


def _measured(options: argparse.Namespace) -> LocalityResult:
    from gnomon.analysis.locality import locality

    target = _target(options)
    on = chosen_machine(options)
    return locality(
        target,
        on=on,
        setup=_setup(options, on),
        scope=options.scope,
        feed=_feed(options),
        output=options.output,
        overwrite=options.force,
    )


def _target(options: argparse.Namespace) -> Command | Process:
    from gnomon.sources.base import Process

    if options.recording is not None:
        raise UsageError("a recording and something to measure: choose one.")
    if options.pid is None:
        if options.duration is not None:
            raise UsageError("--duration is for a process that runs: give -p as well.")
        return Command(tuple(options.argv), stdout=2 if options.json else None)
    if options.argv:
        raise UsageError("-p watches a running process: leave the command away.")
    if options.duration is None and not sys.stdin.isatty():
        raise UsageError("nothing says when to stop: give --duration.")
    return Process(options.pid)


def _feed(options: argparse.Namespace) -> Feed:
    from gnomon.analysis.locality.feeds import PAGES, PERIOD, Feed

    if options.interval is not None and options.by not in ("auto", PAGES):
        raise UsageError("--interval is for looks at pages: give --by pages as well.")
    return Feed(
        by=options.by,
        period=PERIOD if options.period is None else parse_count(options.period, "--period"),
        interval_ns=_duration(options.interval, "--interval"),
        duration_ns=_duration(options.duration, "--duration"),
        watch=tuple(options.static or ()) if options.by == PAGES else (),
    )


def _duration(text: str | None, what: str) -> int | None:
    return None if text is None else parse_duration(text, what)


def _recording(options: argparse.Namespace) -> str:
    if options.recording is None:
        raise UsageError("nothing to look at: give a recording, -p PID, or a command after --.")
    for name, default in _FOR_PROGRAMS.items():
        if getattr(options, name) != default:
            raise UsageError(
                f"--{name.replace('_', '-')} is for a program to run: give one after --."
            )
    recording: str = options.recording
    return recording


def _setup(options: argparse.Namespace, on: Simulator | None) -> CounterSetup:
    from gnomon.analysis.locality.counters import CounterSetup
    from gnomon.analysis.locality.model import Scheme

    scheme = Scheme(options.scheme)
    for name in ("gap", "reach"):
        if getattr(options, name) is not None and scheme is Scheme.PLAIN:
            raise UsageError(f"--{name} is for the hybrid scheme: give --scheme hybrid as well.")

    def size(name: str, default: int) -> int:
        text = getattr(options, name)
        return default if text is None else parse_size(text, f"--{name}")

    def time(name: str) -> int:
        return _duration(getattr(options, name), f"--{name.replace('_', '-')}") or 0

    page = size("page", 4096 if on is None else on.machine.translation.page)
    return CounterSetup(
        counters=32 if options.counters is None else parse_count(options.counters, "--counters"),
        range_bytes=size("range", page),
        scheme=scheme,
        page_bytes=page,
        ring_bytes=size("ring", 1 << 20),
        empty_every_ns=time("empty_every"),
        fetch_delay_ns=time("fetch_delay"),
        static=() if options.by == "pages" else tuple(map(_range, options.static or ())),
        gap_bytes=size("gap", 64),
        reach_bytes=size("reach", 16 << 20),
    )


def _range(text: str) -> tuple[int, int]:
    from gnomon.analysis.locality.watched import parse_range

    found = parse_range(text)
    if found is None:
        raise UsageError(
            f"--static '{text}' is no range: write START-END or START+SIZE, as in 0x10000+4KiB. "
            "Names of variables need --by pages."
        )
    return found


def _show(result: LocalityResult, options: argparse.Namespace) -> None:
    from gnomon.views.locality import locality_as_json, print_locality

    if options.json:
        from gnomon.views.envelope import envelope

        origin = result.provenance
        print(
            envelope(
                "locality",
                locality_as_json(result),
                source=None if origin is None else origin.source,
                simulated=result.origin.simulated,
                warnings=result.warnings,
            )
        )
        return
    print_locality(result, sys.stdout, top=options.top)
    for text in result.warnings:
        print(f"warning: {text}", file=sys.stderr)
    if options.output:
        name = options.output.removesuffix(".gnomon") + ".gnomon"
        print(f"\n  recorded; `gnomon locality {name}` shows it again")
