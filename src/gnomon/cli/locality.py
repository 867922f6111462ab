"""Find which memory a program accesses from which node, with few counters.

An array of counters follows the accesses that leave their node: a counter covers a range
that grows with neighbouring accesses, and is flushed as a record of 16 bytes when another
range needs it. On a simulated machine every remote access is seen. On this host accesses are
sampled where the PMU gives addresses; a program compiled by `gnomon sim compile` reports all loads
and stores; for any other, the kernel's page tables show which pages it writes. With --by pages
a static counter is a breakpoint register that counts a few bytes or a variable exactly.
A process is watched until it ends, or until Ctrl-C. --advise tries other placements of a program's
objects on the simulated machine and proposes those that save time. With --json the
program's output goes to stderr.

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gnomon.cli import options, present
from gnomon.errors import UsageError

# Of the counters, of the ring buffer, of the accesses: name, what it takes, help.
_OWN = {
    "counters": (
        ("counters", "K", "dynamic counters per node (32)"),
        ("range", "SIZE", "largest range of a counter (a page)"),
        ("page", "SIZE", "ranges do not cross pages of this size (the machine's)"),
        ("scheme", ("plain", "hybrid"), "hybrid: rarely accessed pages share counters"),
        ("gap", "SIZE", "hybrid: largest gap a range grows across (64)"),
        ("reach", "SIZE", "hybrid: largest gap a shared range grows across (16MiB)"),
        ("static", "RANGE", "count START-END, START+SIZE or a variable; may be repeated"),
    ),
    "ring buffer": (
        ("ring", "SIZE", "size of the ring buffer of a node (1MiB)"),
        ("empty-every", "TIME", "empty it at this interval (only when full)"),
        ("fetch-delay", "TIME", "delay from a full ring to an empty one (none)"),
    ),
    "accesses": (
        (
            "scope",
            ("remote", "memory"),
            "accesses to other nodes, or all that reach memory (remote)",
        ),
        (
            "by",
            ("auto", "samples", "trace", "pages"),
            "how accesses are observed on this host (auto)",
        ),
        ("period", "N", "sample one access in N (1009)"),
    ),
    "advice": (("margin", "PERCENT", "drop proposals that save less of the time (3)"),),
}
_MEASURING = ("on", "seed", "pid", "duration", "interval", "input", "output")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon locality`."""
    parser.usage = (
        "gnomon locality [OPTIONS] REC\n       gnomon locality [OPTIONS] -- CMD\n"
        "       gnomon locality [OPTIONS] -p PID"
    )
    parser.add_argument("recording", nargs="?", metavar="REC", help="a .gnomon folder")
    options.add(parser, "on", "seed", on="host, or a simulated machine or its .toml file")
    for title, table in _OWN.items():
        group = parser.add_argument_group(title)
        for name, takes, text in table:
            if isinstance(takes, tuple):
                group.add_argument(f"--{name}", choices=takes, help=text)
            else:
                action = "append" if name == "static" else "store"
                group.add_argument(f"--{name}", metavar=takes, action=action, help=text)
        if title == "accesses":
            options.add(
                group,
                "pid",
                "duration",
                "input",
                "interval",
                interval="scan pages every TIME (50ms)",
            )
        if title == "advice":
            text = "try other placements on the simulated machine and propose the best"
            group.add_argument("--advise", action="store_true", help=text)
    options.add(parser, "top", "recorded", "looks", top="show N pages and objects (12)")
    parser.set_defaults(argv=None)


def run(given: argparse.Namespace) -> int:
    """Run or open, count, show; returns the program's exit status."""
    present.check(given)
    if given.advise:
        return _advise(given)
    if given.margin is not None:
        raise UsageError("--margin needs --advise.")
    from gnomon.analysis.locality import locality

    result = options.call(locality, given, _subject(given))
    notes = []
    if given.output:
        notes = [f"recorded; `gnomon locality {options.with_ending(given.output)}` shows it again"]
    present.present("locality", given, result, *notes)
    return result.exit_status or (130 if result.interrupted and given.argv else 0)


def _subject(given: argparse.Namespace) -> object:
    """Return the recording, the command or the process that this is about."""
    from gnomon.sources.base import Process

    measured = given.pid is not None or given.argv is not None
    if given.recording is not None:
        if measured:
            raise UsageError("a recording and something to measure were given: choose one.")
        for name in _given(given):
            raise UsageError(f"--{name} is for a program to run: give one after --.")
        return given.recording
    if not measured:
        raise UsageError("nothing to look at: give a recording, -p PID, or a command after --.")
    if given.pid is None:
        return options.command(given)
    if given.argv:
        raise UsageError("-p watches a running process: omit the command.")
    return Process(given.pid)


def _given(given: argparse.Namespace) -> Iterator[str]:
    """Yield the options of measuring that were given."""
    for name in (*_MEASURING, *(row[0] for table in _OWN.values() for row in table)):
        if getattr(given, name.replace("-", "_")) is not None:
            yield name


@contextmanager
def _runs_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Show which run goes on, on a terminal only."""
    from gnomon.views.progress import steps_bar

    with steps_bar("runs", timed=False) as bar:
        yield lambda text, done, total: bar(done, total, text)


def _advise(given: argparse.Namespace) -> int:
    """Profile, try, show; returns the program's exit status."""
    for name in _given(given):
        if name not in ("on", "seed", "input", "margin"):
            raise UsageError(f"--{name} is for counters: omit it with --advise.")
    if given.recording is not None or not given.argv:
        raise UsageError("advice needs a program to run: give a workload or a command after --.")
    if given.on is None:
        raise UsageError(
            "placements are tried on a simulated machine: name one with --on, as in --on ring-4."
        )
    from gnomon.analysis.locality.advisor import advise

    with _runs_bar() as show:
        advice = options.call(advise, given, options.command(given), on_progress=show)
    present.present("locality", given, advice)
    return advice.exit_status or 0
