"""What all words of `gnomon links` share: the machine, its loader, and ways to show things."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gnomon.cli.html import write_html
from gnomon.cli.options import checked_seed, chosen_machine
from gnomon.units import parse_duration, parse_size

if TYPE_CHECKING:
    from gnomon.analysis.links.loader import Loader
    from gnomon.analysis.links.topology import Topology
    from gnomon.machines.machine import Machine
    from gnomon.stress.streams import Stream
    from gnomon.views.report.page import Page


def machine_of(options: argparse.Namespace) -> Machine | None:
    """Return the simulated machine; None means this host."""
    simulated = chosen_machine(options)
    return None if simulated is None else simulated.machine


def stream_of(options: argparse.Namespace) -> Stream:
    """Return what generators do."""
    from gnomon.stress.streams import Stream

    plain = options.measure or (options.on is not None and options.load)
    return Stream(options.stream or ("read" if plain else "triad"))


@contextmanager
def loader_of(options: argparse.Namespace, machine: Machine | None) -> Iterator[Loader]:
    """Yield what loads channels; all load has ended afterwards, also after SIGTERM."""
    stream = stream_of(options)
    if machine is not None:
        from gnomon.analysis.links.simulated import SimulatedLoader

        with SimulatedLoader(machine, stream=stream, seed=seed_of(options)) as simulated:
            yield simulated
        return
    from gnomon.stress.host_loader import HostLoader

    with HostLoader(stream=stream, size=parse_size(options.size)) as host:
        yield host


def seed_of(options: argparse.Namespace) -> int:
    """Return the seed of the simulation."""
    return 1 if options.seed is None else checked_seed(options.seed)


def topology_of(machine: Machine | None) -> Topology:
    """Return nodes and links as they are reported, or described."""
    from gnomon.analysis.links.topology import host_topology, machine_topology

    if machine is not None:
        return machine_topology(machine)
    from gnomon.stress.nodes import read_nodes

    return host_topology(read_nodes())


def seconds_of(options: argparse.Namespace) -> float:
    """Return how long one measurement takes."""
    return parse_duration(options.time, "--time") / 1e9


def print_title(options: argparse.Namespace, loader: Loader, text: str) -> None:
    """Print where something is done, what, and what generators do meanwhile."""
    from gnomon.views.links import heading

    where = heading(loader.name, simulated=loader.simulated)
    print(f"{where}: {text}; generators: {stream_of(options)}\n")


def write_report(options: argparse.Namespace, page: Callable[[], Page]) -> None:
    """Write the report when one was asked for, with where its numbers come from."""
    write_html(options, lambda: replace(page(), facts=_facts(options)))


def _facts(options: argparse.Namespace) -> tuple[tuple[str, str], ...]:
    from gnomon import __version__
    from gnomon.sources.host import Host
    from gnomon.units import utc_now

    host = Host()
    loaded = options.measure or options.load or options.word is not None
    simulated = options.on is not None
    found = (
        ("command", " ".join(options.argv or ())),
        ("machine", f"{options.on} (simulated)" if simulated else ""),
        ("host", os.uname().nodename),
        ("CPU", "" if simulated else f"{host.cpu_model}, {len(host.online_cpus)} CPUs"),
        ("kernel", "" if simulated else host.kernel),
        ("recorded", utc_now()),
        ("generators", str(stream_of(options)) if loaded else ""),
        ("a measurement takes", options.time if loaded and not simulated else ""),
        ("a generator reads a pass of", options.size if loaded and not simulated else ""),
        ("seed", str(seed_of(options)) if simulated and loaded else ""),
        ("gnomon", __version__),
    )
    return tuple((name, text) for name, text in found if text)


def print_json(options: argparse.Namespace, results: Any) -> None:
    """Print results as the one object on standard output."""
    from gnomon.views.envelope import envelope

    source = options.on or "host"
    print(envelope("links", results, source=source, simulated=options.on is not None))


@contextmanager
def shown_progress() -> Iterator[Any]:
    """Show what is being done on a terminal, and nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        yield status.update
