"""Take traces of packets and events, and ask them: filter, query, follow, measure, give on.

  capture            packets of a network interface, by tcpdump, while a program runs
  import FILE...     pcap, pcapng; text of perf script, babeltrace2, otf2-print; CSV
  info TRACE         what is in it, over time and between whom
  list TRACE         records that a display filter keeps
  query SQL TRACE... one SELECT, or a query that has a name (types, pairs, conversations, ...)
  chain ID TRACE...  the transaction or conversation of a record, over all probes
  latency TRACE...   times from records of one kind to those of another that match
  export TRACE FILE  pcap, JSON for Chrome and Perfetto, or Parquet

A trace is a folder, NAME.trace. A display filter is a line such as
`tcp.port == 6379 and frame.len > 100`.

examples:
  gnomon trace capture -o redis --interface lo --packets 'port 6379' -- redis-benchmark -n 10000
  gnomon trace import dump.pcapng -o dump
  gnomon trace list redis --filter 'tcp.port == 6379 and frame.len > 100'
  gnomon trace query pairs redis
  gnomon trace query 'SELECT type, count(*) FROM packets GROUP BY type' redis
  gnomon trace chain 40 redis
  gnomon trace latency redis --from 'tcp.dstport == 6379' --to 'tcp.srcport == 6379'
  gnomon trace export redis redis.pcap --filter 'tcp.port == 6379'
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gnomon.cli import options, present
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.result import Result

WORDS = ("capture", "import", "info", "list", "query", "chain", "latency", "export")
_OF_WORDS = {
    "interface": "capture",
    "packets": "capture",
    "snap": "capture",
    "duration": "capture",
    "output": "capture import",
    "compact": "capture import",
    "format": "import",
    "sort": "import",
    "salvage": "import",
    "verify": "info",
    "filter": "list export",
    "param": "query",
    "queries": "query",
    "trace": "chain",
    "begins": "latency",
    "ends": "latency",
    "by": "latency",
    "to_format": "export",
    "top": "info list query chain latency",
    "overwrite": "capture import export",
}
"""Which words take an option."""
_FLAGS = {"begins": "--from", "ends": "--to", "to_format": "--as", "overwrite": "--force"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of `gnomon trace`."""
    parser.usage = "gnomon trace WORD [OPTIONS] [TRACE or FILE ...] [-- CMD]"
    add = parser.add_argument
    add("word", choices=WORDS, metavar="WORD", help=", ".join(WORDS))
    add("what", nargs="*", metavar="WHAT", help="what the word is about: traces, files, a query")
    options.add(parser, "output", "overwrite", output="the new trace")
    add("--compact", action="store_true", help="turn it into Parquet at the end")
    add("--interface", metavar="NAME", help="capture here, as in lo (any)")
    add("--packets", metavar="FILTER", help="capture these, as tcpdump has it: 'port 6379'")
    add("--snap", type=int, metavar="BYTES", help="of each packet, at most (262144)")
    options.add(parser, "duration")
    add("--format", metavar="NAME", help="of the files: pcap, perf, ctf, otf2, csv (found)")
    add("--sort", action="store_true", help="sort records by time, in memory")
    add("--salvage", action="store_true", help="keep what comes before damage")
    add("--verify", action="store_true", help="check every block of the trace")
    add("--filter", metavar="FILTER", help="records that a display filter keeps")
    add("--param", action="append", metavar="NAME=VALUE", help="a parameter, $NAME in the query")
    add("--queries", metavar="FILE", help="a .toml file of queries with names")
    add("--trace", type=int, metavar="N", help="the record is in the N-th trace (1)")
    add("--from", dest="begins", metavar="FILTER", help="where latencies begin")
    add("--to", dest="ends", metavar="FILTER", help="where they end")
    add("--by", metavar="WHAT", help="match by transaction, packet or thread (transaction)")
    add("--as", dest="to_format", metavar="NAME", help="pcap, json or parquet (by the ending)")
    options.add(parser, "top", "looks")
    parser.set_defaults(argv=None)


def run(given: argparse.Namespace) -> int:
    """Do what the word says."""
    present.check(given)
    for name, words in _OF_WORDS.items():
        if getattr(given, name) not in (None, False) and given.word not in words.split():
            flag = _FLAGS.get(name, f"--{name}")
            raise UsageError(f"{flag} is for {' and '.join(words.split())}, not {given.word}.")
    if given.argv is not None and given.word != "capture":
        raise UsageError(f"`gnomon trace {given.word}` takes no program to run after --.")
    result, note = _WORDS[given.word](given)
    present.present("trace", given, result, *([note] if note else []))
    return 0


def _need(given: argparse.Namespace, what: str, least: int, most: int | None = None) -> list[str]:
    """Return what was named; `what` says what should have been."""
    found = list(given.what)
    if len(found) < least or (most is not None and len(found) > most):
        raise UsageError(f"`gnomon trace {given.word}` needs {what}.")
    return found


def _capture(given: argparse.Namespace) -> tuple[Result, str]:
    from gnomon.analysis.traces import words

    _need(given, "no name but that of --output", 0, 0)
    if given.output is None:
        raise UsageError("name the new trace: -o NAME.")
    result = options.call(words.capture, given, given.output, command=given.argv)
    return result, f"captured; `gnomon trace list {given.output}` shows its packets"


def _import(given: argparse.Namespace) -> tuple[Result, str]:
    from gnomon.analysis.traces import words

    files = _need(given, "files to import", 1)
    if given.output is None:
        raise UsageError("name the new trace: -o NAME.")
    result = options.call(words.from_files, given, files, given.output)
    return result, f"imported; `gnomon trace list {given.output}` shows its records"


def _info(given: argparse.Namespace) -> tuple[Result, str]:
    from gnomon.analysis.traces import words

    return options.call(words.info, given, *_need(given, "one trace", 1, 1)), ""


def _list(given: argparse.Namespace) -> tuple[Result, str]:
    from gnomon.analysis.traces import words

    return options.call(words.records, given, *_need(given, "one trace", 1, 1)), ""


def _query(given: argparse.Namespace) -> tuple[Result, str]:
    from gnomon.analysis.traces import words

    text, *traces = _need(given, "a query and a trace", 2)
    params = dict(map(_parameter, given.param or ()))
    return options.call(words.query, given, text, traces, params=params), ""


def _parameter(text: str) -> tuple[str, int | float | str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise UsageError(f"--param '{text}' is not NAME=VALUE.")
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, value


def _chain(given: argparse.Namespace) -> tuple[Result, str]:
    from gnomon.analysis.traces import words

    number, *traces = _need(given, "the number of a record and a trace", 2)
    if not number.isdecimal() or len(number) > 15:
        raise UsageError(f"'{number}' is no number of a record: `gnomon trace list` shows them.")
    return options.call(words.chain, given, int(number), traces), ""


def _latency(given: argparse.Namespace) -> tuple[Result, str]:
    from gnomon.analysis.traces import words

    traces = _need(given, "a trace", 1)
    if given.begins is None or given.ends is None:
        raise UsageError("two points are needed: --from FILTER and --to FILTER.")
    return options.call(words.latency, given, traces, given.begins, given.ends), ""


def _export(given: argparse.Namespace) -> tuple[Result, str]:
    from gnomon.analysis.traces import words

    trace, file = _need(given, "a trace and a file", 2, 2)
    return options.call(words.export, given, trace, file, to=given.to_format), ""


_WORDS = {
    "capture": _capture,
    "import": _import,
    "info": _info,
    "list": _list,
    "query": _query,
    "chain": _chain,
    "latency": _latency,
    "export": _export,
}
