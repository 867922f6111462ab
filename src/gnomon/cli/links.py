"""Show the nodes of a machine and the links between them, load them, and experiment on them.

Without a word, nodes are shown as firmware reports them; --measure adds measured latencies and
bandwidths, the links that these imply, and where the two disagree. A channel is written
0-1: CPUs of node 0 read memory of node 1. Words:

  saturate [CHANNEL]    add generators to a channel until it is saturated
  crosstalk [CHANNEL]   add generators in the opposite direction
  idle-busy [CHANNEL]   compare reading from an idle node and from a busy one
  emulate TOPOLOGY      load the channels that a topology lacks
  live                  add and remove generators on an interactive screen

With --load or emulate, a program can run under load. No generator outlives the
command, however it ends.

examples:
  gnomon links
  gnomon links --measure
  gnomon links --on haswell-ex-4s saturate 0-1 --html saturation.html
  gnomon links --on haswell-ex-4s crosstalk 0-1 --stream read
  gnomon links --load 0-1:80% -- ./program
  gnomon links --on haswell-ex-4s emulate ring
  gnomon links live
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gnomon.cli import options, present
from gnomon.errors import UsageError

WORDS = ("saturate", "crosstalk", "idle-busy", "emulate", "live")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon links`."""
    parser.usage = "gnomon links [OPTIONS] [WORD [CHANNEL or TOPOLOGY]] [-- CMD]"
    add = parser.add_argument
    add("word", nargs="?", choices=WORDS, metavar="WORD", help=", ".join(WORDS))
    add("what", nargs="?", metavar="WHAT", help="a channel, or a topology")
    options.add(parser, "on", "seed", on="host, or a simulated machine or its .toml file")
    add("--measure", action="store_true", help="measure all channels")
    text = "while CMD runs: 0-1:80%% is a share of what the channel carries, 0-1:3 three generators"
    add("--load", action="append", metavar="LOAD", help=f"{text}; may be repeated")
    streams = ("triad", "copy", "read")
    add("--stream", choices=streams, help="kernel of the generators (triad; with --measure read)")
    add("--most", type=int, metavar="N", help="at most N generators per channel")
    add("--time", metavar="TIME", help="time per measurement (500ms)")
    options.add(parser, "repeat", repeat="measure N times (3; idle-busy 10)")
    add("--size", metavar="SIZE", help="memory a generator reads per pass (256MiB)")
    options.add(parser, "overwrite", "looks")
    parser.set_defaults(argv=None)


def run(given: argparse.Namespace) -> int:
    """Show the topology, make an experiment, or run a program under load."""
    present.check(given)
    if given.word == "live":
        return _live(given)
    from gnomon.analysis.links import LinksExperiment, links
    from gnomon.sources.base import Command

    command = None
    if given.argv is not None:
        command = Command(tuple(given.argv), stdout=2 if present.takes_output(given) else None)
    with _progress() as show:
        result = options.call(
            links, given, given.word, given.what, command=command, on_progress=show
        )
    present.present("links", given, result)
    ran = result.run if isinstance(result, LinksExperiment) else None
    return 0 if ran is None else ran.exit_status


def _live(given: argparse.Namespace) -> int:
    if given.what is not None:
        raise UsageError("live takes no channel: choose it on the screen with the arrows.")
    for name in ("json", "csv", "html", "all", "measure", "load", "most", "repeat", "argv"):
        if getattr(given, name):
            what = "a program" if name == "argv" else f"--{name}"
            raise UsageError(
                f"live is an interactive screen and takes no such option: omit {what}."
            )
    from gnomon.analysis.links.measuring import SIZE, Place
    from gnomon.stress.streams import Stream
    from gnomon.views.links_live import run_live

    place = Place.of(given.on, given.seed)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("live needs a terminal: run it in one.")
    with place.loader(Stream(given.stream or "triad"), given.size or SIZE) as loader:
        run_live(loader, place.topology())
    return 0


@contextmanager
def _progress() -> Iterator[Callable[[str], None] | None]:
    """Show what is being done on a terminal, unless a program runs there; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    status = Console(stderr=True).status("")

    def show(text: str) -> None:
        if text:
            status.update(text)
            status.start()
        else:
            status.stop()

    try:
        yield show
    finally:
        status.stop()
