"""What `gnomon links` does, as one function: topologies, experiments, and programs beside load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from gnomon.analysis.links import experiments
from gnomon.analysis.links.loader import Loader, all_nodes, channels
from gnomon.analysis.links.result import Level, LinksExperiment, LinksResult, LoadedRun, Matrices
from gnomon.analysis.links.topology import host_topology, machine_topology
from gnomon.errors import UsageError
from gnomon.sources.base import Command
from gnomon.sources.registry import source
from gnomon.stress.nodes import Channel, check_count, parse_channel
from gnomon.stress.streams import Stream
from gnomon.units import parse_duration, parse_size

if TYPE_CHECKING:
    from gnomon.analysis.links.experiments import Progress
    from gnomon.fabric import Fabric
    from gnomon.machines.machine import Machine
    from gnomon.recording.contents import Provenance
    from gnomon.sources.base import Source

Word = Literal["saturate", "crosstalk", "idle-busy", "emulate"]
_WORDS = get_args(Word)
_REPEATED = ("saturate", "crosstalk", "idle-busy")
TIME = "500ms"
SIZE = "256MiB"


@dataclass(frozen=True, slots=True)
class Place:
    """Where links are: this host, a simulated machine, or a fabric."""

    source: Source
    machine: Machine | None
    seed: int = 1
    fabric: Fabric | None = None

    @classmethod
    def of(cls, on: str | Source | None, seed: int | None = None) -> Place:
        """Return the place that a word chooses, this host without one."""
        from gnomon.sources.abilities import HasTraffic
        from gnomon.sources.simulated.simulator import Simulator

        found = source(on, seed=seed, usual_seed=1)
        if isinstance(found, Simulator):
            return cls(found, found.machine, found.seed)
        if isinstance(found, HasTraffic):
            return cls(found, None, fabric=found.fabric)
        if found.capabilities.simulated or not found.capabilities.samples:
            raise UsageError(
                f"'{on}' is not a machine: choose host, or a simulated machine as in --on ring-4."
            )
        return cls(found, None)

    def topology(
        self, measured: Matrices | None = None, provenance: Provenance | None = None
    ) -> LinksResult:
        """Return nodes and links as they are reported, or described, beside measured matrices."""
        if self.machine is not None:
            return machine_topology(self.machine, measured, provenance=provenance)
        if self.fabric is not None:
            from gnomon.analysis.links.topology import fabric_topology

            return fabric_topology(self.fabric, provenance=provenance)
        from gnomon.stress.nodes import read_nodes

        return host_topology(read_nodes(), measured, provenance=provenance)

    def loader(self, stream: Stream = Stream.TRIAD, size: str = SIZE) -> Loader:
        """Return what loads channels; leaving it as a context ends all load."""
        if self.machine is not None:
            from gnomon.analysis.links.simulated import SimulatedLoader

            return SimulatedLoader(self.machine, stream=stream, seed=self.seed)
        from gnomon.stress.host_loader import HostLoader

        return HostLoader(stream=stream, size=parse_size(size))


def links(
    word: Word | None = None,
    what: str | None = None,
    *,
    on: str | Source | None = None,
    seed: int | None = None,
    measure: bool = False,
    load: Sequence[str] = (),
    command: Sequence[str] | Command | None = None,
    stream: str | None = None,
    most: int | None = None,
    time: str = TIME,
    repeat: int | None = None,
    size: str = SIZE,
    on_progress: Progress | None = None,
) -> LinksResult | LinksExperiment:
    """Return the nodes of a machine and the links between them, or an experiment on these.

    Without a `word` nodes and links are as they are reported; with `measure` as measured too.
    A word is `saturate`, `crosstalk`, `idle-busy` or `emulate`, and `what` its channel or its
    topology. A `command` runs beside the `load`, or on what an emulation leaves.

        >>> import gnomon as gn
        >>> gn.links(on="ring-4").topology
        'ring'

    >>> len(gn.links(on="ring-4").nodes)
    4
    """
    place = Place.of(on, seed)
    if place.fabric is not None and (measure or load or word or command is not None):
        raise UsageError(
            f"the links of {place.source.name} are described only: load them with `gnomon count "
            f"--on {place.source.name} -- traffic:uniform`."
        )
    program = None
    if command is not None:
        program = command if isinstance(command, Command) else Command(tuple(command))
    _check(word, what, measure=measure, load=load, program=program)
    _check_unused(word, measure=measure, load=load, stream=stream, most=most, repeat=repeat)
    if load and place.machine is not None and stream not in (None, "read"):
        raise UsageError(
            "beside a workload on a simulated machine, generators read: --stream read."
        )
    if program is not None:
        _check_program(program, place)
    plain = measure or (place.machine is not None and load)
    how = _Setting(
        place,
        Stream(stream or ("read" if plain else "triad")),
        most,
        parse_duration(time, "--time") / 1e9,
        repeat,
        size,
        on_progress,
    )
    origin = how.provenance(program, time, loaded=measure or bool(load) or word is not None)
    if word is None and not load:
        return place.topology(_matrices(how) if measure else None, origin)
    with place.loader(how.stream, size) as loader:
        result = LinksExperiment(loader.name, str(how.stream), provenance=origin)
        result = _set(result, how, loader, load) if load else _try(result, how, loader, word, what)
        if program is not None:
            result = replace(result, run=_run(how, loader, program, result.loads))
    return result


@dataclass(frozen=True, slots=True)
class _Setting:
    """What all of a command's measurements share."""

    place: Place
    stream: Stream
    most: int | None
    seconds: float
    repeat: int | None
    size: str
    progress: Progress | None

    def provenance(self, program: Command | None, time: str, *, loaded: bool) -> Provenance:
        """Return where the numbers come from, and with which settings they were measured."""
        found = self.place.source.provenance(program or Command(()))
        settings = {"generators": str(self.stream)} if loaded else {}
        if loaded and self.place.machine is None:
            settings |= {"time": time, "size": self.size}
        return replace(found, environment={**found.environment, **settings})


def _matrices(how: _Setting) -> Matrices:
    most = experiments.MOST if how.most is None else how.most
    with how.place.loader(how.stream, how.size) as loader:
        return experiments.measure_matrices(
            loader, seconds=how.seconds, most=most, progress=how.progress
        )


def _try(
    result: LinksExperiment, how: _Setting, loader: Loader, word: str | None, what: str | None
) -> LinksExperiment:
    """Return the result with what the experiment of that name found."""
    if word != "saturate":
        _need_two(loader, str(word))
    if word == "emulate":
        linked = how.place.topology().reported_pairs
        done = experiments.emulate(
            loader, str(what), linked, most=how.most, seconds=how.seconds, progress=how.progress
        )
        return replace(result, emulation=done, loads=_levels(loader))
    channel = _channel(what, loader)
    repeats = how.repeat or (experiments.TURNS if word == "idle-busy" else experiments.REPEATS)
    if word == "idle-busy":
        turns = experiments.idle_busy(
            loader, channel, seconds=how.seconds, repeats=repeats, progress=how.progress
        )
        return replace(result, idle_busy=turns)
    if word == "crosstalk":
        crossed = experiments.crosstalk(
            loader,
            channel,
            most=how.most,
            seconds=how.seconds,
            repeats=repeats,
            progress=how.progress,
        )
        return replace(result, crosstalk=crossed)
    saturated = experiments.saturate(
        loader, channel, most=how.most, seconds=how.seconds, repeats=repeats, progress=how.progress
    )
    return replace(result, saturation=saturated)


def _set(
    result: LinksExperiment, how: _Setting, loader: Loader, texts: Sequence[str]
) -> LinksExperiment:
    """Load channels as they are asked for, and return the result with what was reached."""
    wanted = [parse_load(text) for text in texts]
    for channel, _ in wanted:
        loader.check(channel)
    levels = []
    for channel, amount in wanted:
        if isinstance(amount, float):
            levels.append(
                experiments.load_to(
                    loader, channel, amount, seconds=how.seconds, progress=how.progress
                )
            )
            continue
        loader.set(channel, amount)
        reached = sum(loader.measure(how.seconds).get(channel, ()))
        levels.append(Level(channel, amount, 1.0, None, reached, reached))
    return replace(result, loads=tuple(levels))


def _levels(loader: Loader) -> tuple[Level, ...]:
    """Return the load that there is, with what it read lately."""
    rates = {channel: sum(each) for channel, each in loader.latest().items()}
    return tuple(
        Level(channel, count, 1.0, None, rates.get(channel, 0.0), rates.get(channel, 0.0))
        for channel, count in loader.loads.items()
    )


def _run(how: _Setting, loader: Loader, program: Command, levels: Sequence[Level]) -> LoadedRun:
    """Run a program under load, here or on the simulated machine."""
    if how.progress is not None:
        how.progress("")  # the terminal is the program's now
    from gnomon.analysis.links.loader import run_loaded, run_loaded_on

    if how.place.machine is not None:
        return run_loaded_on(how.place.machine, program.argv, levels, seed=how.place.seed)
    return run_loaded(loader, program.argv, stdout=program.stdout)


def parse_load(text: str) -> tuple[Channel, int | float]:
    """Return a channel with its generators (int) or its share of what it carries (float)."""
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


def _channel(what: str | None, loader: Loader) -> Channel:
    """Return the channel that was named, or the first between different nodes."""
    if what is not None:
        channel = parse_channel(what)
        loader.check(channel)
        return channel
    remote = channels(loader)
    return remote[0] if remote else Channel(loader.readers[0], loader.homes[0])


def _need_two(loader: Loader, word: str) -> None:
    if len(all_nodes(loader)) < 2:
        raise UsageError(
            f"{loader.name} has one NUMA node, and {word} needs two: `saturate 0-0` and --load 0-0 "
            "work on its local memory, or give --on a simulated machine such as ring-4."
        )


def _check(
    word: str | None,
    what: str | None,
    *,
    measure: bool,
    load: Sequence[str],
    program: Command | None,
) -> None:
    """Complain about what cannot be done together."""
    if word not in (None, *_WORDS):
        raise UsageError(f"'{word}' is not an experiment: choose from {', '.join(_WORDS)}.")
    if load and word is not None:
        raise UsageError(f"--load is for a program after --, not for {word}.")
    if load and program is None:
        raise UsageError("--load loads while a program runs: give one after --.")
    if program is not None and not load and word != "emulate":
        raise UsageError(
            "a program runs beside load: say which, as in --load 0-1:80%, or emulate a topology."
        )
    if measure and (word is not None or load):
        raise UsageError("--measure is for showing the topology: omit the rest.")
    if word == "emulate" and what is None:
        raise UsageError("name the topology to emulate, as in `gnomon links emulate ring`.")
    if word is None and what is not None:
        raise UsageError(f"'{what}' needs a word before it, as in `gnomon links saturate {what}`.")


def _check_unused(
    word: str | None,
    *,
    measure: bool,
    load: Sequence[str],
    stream: str | None,
    most: int | None,
    repeat: int | None,
) -> None:
    """Complain about what would be asked for in vain."""
    if repeat is not None and word not in _REPEATED:
        raise UsageError("--repeat is for saturate, crosstalk and idle-busy.")
    if repeat is not None and repeat < 1:
        raise UsageError("--repeat must be at least 1.")
    if most is not None and word == "idle-busy":
        raise UsageError("idle-busy takes as many generators as saturate the channel: no --most.")
    if most is not None and not (measure or word):
        raise UsageError("--most is for --measure, saturate, crosstalk and emulate.")
    if stream is not None and not (measure or word or load):
        raise UsageError("--stream is for load: add --measure, or name an experiment.")
    if stream is not None and stream not in [*Stream]:
        raise UsageError(f"--stream is {', '.join(Stream)}, not '{stream}'.")


def _check_program(program: Command, place: Place) -> None:
    """Refuse a program now, and not after minutes of load that would have been for nothing."""
    if place.machine is None:
        from gnomon.launch import check_startable

        check_startable(program)
    else:
        from gnomon.machines.workloads import parse_workload

        parse_workload(program.argv)
