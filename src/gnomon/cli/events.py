"""List events, look one up, see which can be counted here, or which fit together.

PATTERN is a part of a name or description, or a glob such as 'LLC-*'. With --available
every event is tried: only those that counted known work are listed. A pattern that
names exactly one event shows all details of it. Tracepoints (there are thousands) are
listed when the pattern has a colon, as in 'sched:*'.

With --from the events come from a folder of Intel's event lists, or from libpfm4 for any
CPU it knows, instead of from this host. --fit shows whether events can be counted
together, and if not, why; --plan shows the least number of runs that count all of them.

examples:
  gnomon events
  gnomon events --available
  gnomon events cache
  gnomon events 'sched:*switch*'
  gnomon events page-faults
  gnomon events valgrind::
  gnomon events --presets
  gnomon events --metrics
  gnomon events --on niagara2 miss
  gnomon events --from perfmon --cpu ICX L3_MISS
  gnomon events --from libpfm:skx --fit INST_RETIRED:ANY_P,L2_RQSTS:MISS
  gnomon events --from perfmon --cpu SPR --plan
"""

from __future__ import annotations

import argparse

from gnomon.cli import options as shared
from gnomon.cli import present


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon events`."""
    parser.add_argument("pattern", nargs="?", help="part of a name or description, or a glob")
    parser.add_argument("--available", action="store_true", help="only events proved to count here")
    parser.add_argument("--from", dest="lists", metavar="LISTS", help="folder, or libpfm:PMU")
    shared.add(parser, "on", on="of which source, several with commas: host,laptop")
    parser.add_argument("--cpu", help="the CPU to take from the lists, as in ICX")
    parser.add_argument("--fit", metavar="EVENTS", help="whether these can be counted together")
    parser.add_argument(
        "--plan", action="store_true", help="least number of runs that count all events"
    )
    parser.add_argument("--metrics", action="store_true", help="metrics and their formulas")
    parser.add_argument("--presets", action="store_true", help="portable names and their meaning")
    present.add_options(parser)


def run(options: argparse.Namespace) -> int:
    """List the events; 1 when there is none or they do not fit together."""
    from gnomon.analysis.events import EventsResult, events

    present.check(options)
    found = shared.call(events, options)
    present.present("events", options, found)
    if isinstance(found, EventsResult):
        return 0 if found.rows else 1
    return 0 if (found.fits if found.together else not found.unplaceable) else 1
