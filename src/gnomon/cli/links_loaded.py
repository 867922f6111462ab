"""A program beside load on channels: what `gnomon links --load` and `emulate ... -- CMD` do."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gnomon.cli.links_setting import (
    loader_of,
    machine_of,
    print_json,
    print_title,
    seconds_of,
    seed_of,
    shown_progress,
    write_report,
)
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.analysis.links.loader import Loader
    from gnomon.analysis.links.results import Emulation, Level
    from gnomon.analysis.links.running import LoadedRun
    from gnomon.machines.machine import Machine
    from gnomon.stress.nodes import Channel
    from gnomon.views.report.page import Page


def parse_load(text: str) -> tuple[Channel, int | float]:
    """Return a channel with its generators (int) or its share of what it carries (float)."""
    from gnomon.stress.nodes import check_count, parse_channel

    name, colon, amount = text.rpartition(":")
    channel = parse_channel(name if colon else text)
    if not colon:
        return channel, 1.0
    try:
        if amount.endswith("%"):
            share = float(amount.removesuffix("%")) / 100
            if not 0 < share <= 1:
                raise UsageError(f"--load {text}: a share is above 0 and at most 100 %.")
            return channel, share
        count = int(amount)
    except ValueError:
        raise UsageError(
            f"--load {text}: '{amount}' is neither a share such as 80% nor a number of generators."
        ) from None
    check_count(channel, count)
    return channel, count


def set_loads(
    loader: Loader,
    texts: list[str],
    seconds: float,
    progress: Callable[[str], None] | None,
) -> list[Level]:
    """Load channels as the options say, and return what was reached."""
    wanted = [parse_load(text) for text in texts]
    for channel, _ in wanted:
        loader.check(channel)
    return [_set(loader, channel, amount, seconds, progress) for channel, amount in wanted]


def _set(
    loader: Loader,
    channel: Channel,
    amount: int | float,
    seconds: float,
    progress: Callable[[str], None] | None,
) -> Level:
    from gnomon.analysis.links.experiments import load_to
    from gnomon.analysis.links.results import Level

    if isinstance(amount, float):
        return load_to(loader, channel, amount, seconds=seconds, progress=progress)
    loader.set(channel, amount)
    reached = sum(loader.measure(seconds).get(channel, ()))
    return Level(channel, amount, 1.0, None, reached, reached)


def levels_of(loader: Loader) -> list[Level]:
    """Return the load that there is, with what it read lately."""
    from gnomon.analysis.links.results import Level

    rates = {channel: sum(each) for channel, each in loader.latest().items()}
    return [
        Level(channel, count, 1.0, None, rates.get(channel, 0.0), rates.get(channel, 0.0))
        for channel, count in loader.loads.items()
    ]


def run_loaded(options: argparse.Namespace) -> int:
    """Load the channels that --load names, and run the program."""
    from gnomon.views.links_experiments import levels_table

    machine = machine_of(options)
    with loader_of(options, machine) as loader:
        with shown_progress() as progress:
            levels = set_loads(loader, options.load, seconds_of(options), progress)
        if not options.json:
            print_title(options, loader, "load")
            levels_table(levels).print(sys.stdout)
            sys.stdout.flush()
        return run_beside(options, loader, machine, levels, {})


def run_beside(
    options: argparse.Namespace,
    loader: Loader,
    machine: Machine | None,
    levels: list[Level],
    emulated: Mapping[str, Emulation],
) -> int:
    """Run the program beside the load and show how it fared; `emulated` has titles as keys."""
    from gnomon.views.links_experiments import levels_as_json, print_run, result_as_json

    done = _run(options, loader, machine, levels)
    if options.json:
        results: dict[str, Any] = {"loads": levels_as_json(levels), "run": result_as_json(done)}
        for each in emulated.values():
            results["emulation"] = result_as_json(each)
        print_json(options, results)
    else:
        print_run(done, sys.stdout)
    from gnomon.views.report.links_experiments import experiment_section, loaded_page

    def page() -> Page:
        before = [experiment_section(title, each) for title, each in emulated.items()]
        return loaded_page(loader.name, levels, done, before, simulated=loader.simulated)

    write_report(options, page)
    return done.exit_status


def _run(
    options: argparse.Namespace, loader: Loader, machine: Machine | None, levels: list[Level]
) -> LoadedRun:
    """Run the program of the command line, here or on the simulated machine."""
    from gnomon.analysis.links.running import run_loaded, run_loaded_on

    if machine is not None:
        return run_loaded_on(machine, options.argv, levels, seed=seed_of(options))
    # What is printed as JSON stays alone on standard output.
    return run_loaded(loader, options.argv, stdout=2 if options.json else None)
