"""The experiments of `gnomon links`: saturate, crosstalk, idle-busy and emulate."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from gnomon.cli.links_setting import (
    loader_of,
    machine_of,
    print_json,
    print_title,
    seconds_of,
    shown_progress,
    topology_of,
    write_report,
)
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.analysis.links.loader import Loader
    from gnomon.stress.nodes import Channel
    from gnomon.views.links_experiments import Experiment


def run_saturate(options: argparse.Namespace) -> int:
    """Load a channel with more and more generators."""
    from gnomon.analysis.links.experiments import REPEATS, saturate

    with loader_of(options, machine_of(options)) as loader, shown_progress() as progress:
        channel = _channel(options, loader)
        result = saturate(
            loader,
            channel,
            most=options.most,
            seconds=seconds_of(options),
            repeats=options.repeat or REPEATS,
            progress=progress,
        )
    return _present(options, loader, f"saturating {channel}", result)


def run_crosstalk(options: argparse.Namespace) -> int:
    """Load a channel, and the other direction more and more."""
    from gnomon.analysis.links.experiments import REPEATS, crosstalk

    with loader_of(options, machine_of(options)) as loader, shown_progress() as progress:
        _need_two(loader, "crosstalk")
        channel = _channel(options, loader)
        result = crosstalk(
            loader,
            channel,
            most=options.most,
            seconds=seconds_of(options),
            repeats=options.repeat or REPEATS,
            progress=progress,
        )
    return _present(options, loader, f"{channel} while {channel.reverse} is loaded", result)


def run_idle_busy(options: argparse.Namespace) -> int:
    """Read a node that is idle, and one that is busy."""
    from gnomon.analysis.links.experiments import idle_busy

    with loader_of(options, machine_of(options)) as loader, shown_progress() as progress:
        _need_two(loader, "idle-busy")
        channel = _channel(options, loader)
        result = idle_busy(
            loader,
            channel,
            seconds=seconds_of(options),
            repeats=options.repeat or 10,
            progress=progress,
        )
    return _present(options, loader, f"{channel} with node {channel.home} idle and busy", result)


def run_emulate(options: argparse.Namespace) -> int:
    """Load what a topology does not have; a program may run on what is left."""
    from gnomon.analysis.links.experiments import emulate
    from gnomon.cli.links_loaded import levels_of, run_beside
    from gnomon.views.links_experiments import print_experiment

    machine = machine_of(options)
    topology = topology_of(machine)
    numbers = [node.number for node in topology.nodes]
    linked = None
    if topology.reported is not None:
        linked = frozenset((numbers[a], numbers[b]) for a, b in topology.reported.pairs)
    with loader_of(options, machine) as loader:
        _need_two(loader, "emulate")
        with shown_progress() as progress:
            result = emulate(
                loader,
                options.what,
                linked,
                most=options.most,
                seconds=seconds_of(options),
                progress=progress,
            )
        title = f"as a {result.topology}"
        if options.argv is None:
            return _present(options, loader, title, result)
        if not options.json:
            print_title(options, loader, title)
            print_experiment(result, sys.stdout)
        sys.stdout.flush()
        return run_beside(options, loader, machine, levels_of(loader), {title: result})


def _channel(options: argparse.Namespace, loader: Loader) -> Channel:
    """Return the channel that was named, or the first between different nodes."""
    from gnomon.analysis.links.loader import channels
    from gnomon.stress.nodes import Channel, parse_channel

    if options.what is not None:
        channel = parse_channel(options.what)
        loader.check(channel)
        return channel
    remote = channels(loader)
    return remote[0] if remote else Channel(loader.readers[0], loader.homes[0])


def _need_two(loader: Loader, word: str) -> None:
    from gnomon.analysis.links.loader import all_nodes

    if len(all_nodes(loader)) < 2:
        raise UsageError(
            f"{loader.name} has one NUMA node, and {word} needs two: `saturate 0-0` and --load 0-0 "
            "work on its local memory, or give --on a simulated machine such as ring-4."
        )


def _present(options: argparse.Namespace, loader: Loader, title: str, result: Experiment) -> int:
    from gnomon.views.links_experiments import print_experiment, result_as_json

    if options.json:
        print_json(options, result_as_json(result))
    else:
        print_title(options, loader, title)
        print_experiment(result, sys.stdout)
    from gnomon.views.report.links_experiments import experiment_page

    write_report(
        options, lambda: experiment_page(loader.name, title, result, simulated=loader.simulated)
    )
    return 0
