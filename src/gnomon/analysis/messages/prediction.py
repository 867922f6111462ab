"""What the model of messages answers: what other ways would bring, and laws fitted to files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from gnomon.analysis.messages.application import read_application, speeds_of
from gnomon.analysis.messages.recorded import bench_of
from gnomon.analysis.messages.result import Bench
from gnomon.analysis.messages.ways import Way, measured_ways, user_level
from gnomon.errors import UsageError
from gnomon.events.tomlfile import suggestion
from gnomon.messaging.cluster_model import Exchange, Solution, solve
from gnomon.messaging.fitting import fit_imbalance, fit_misses, fit_saturation, read_columns
from gnomon.messaging.result import Application, Fit, Law, Point, Predicted, Prediction, Slowdowns
from gnomon.result import Quantity
from gnomon.units import format_bytes

if TYPE_CHECKING:
    import os

    import numpy as np

    from gnomon.recording.contents import Provenance

DRAWS = 120
_CURVE_POINTS = 25
_CURVE_ENDS = 100.0, 1e7  # ns of compute per message
_NOT_WORTH_IT = 1.05


def predict(
    bench: Bench | str | os.PathLike[str],
    app: Application | str | os.PathLike[str],
    *,
    mechanism: str | None = None,
    regime: str | None = None,
    seed: int = 0,
) -> Prediction:
    """Predict what user-level notification would bring an application.

    `bench` is a benchmark of this host or its recording, `app` the application or its TOML
    file. `mechanism` is what it uses now, in place of what its file says; `regime` is whose
    costs to take, `awake` where it was measured. `seed` is that of the intervals.

    >>> found = gn.messages.bench(mechanisms="poll,futex", sizes="64,4096", duration="300ms")
    >>> app = "[application]\\ncompute = '12us'\\nmechanism = 'futex'\\n"
    >>> written = Path("app.toml").write_text(app)
    >>> "user-level" in gn.messages.predict(found, "app.toml").sentence
    True
    """
    application = app if isinstance(app, Application) else read_application(app)
    measured = bench if isinstance(bench, Bench) else bench_of(bench)
    known = measured_ways(measured, regime)
    return predict_with(
        application,
        known.ways,
        regime=known.regime,
        mechanism=mechanism,
        polling=known.polling,
        warnings=known.warnings,
        provenance=measured.provenance,
        seed=seed,
    )


def predict_with(
    application: Application,
    ways: Sequence[Way],
    *,
    regime: str = "",
    mechanism: str | None = None,
    polling: Way | None = None,
    warnings: Sequence[str] = (),
    provenance: Provenance | None = None,
    seed: int = 0,
    draws: int = DRAWS,
) -> Prediction:
    """Predict from what each way of being told costs.

    `ways` are those that were measured in one regime; user-level sending is that of `polling`,
    or of the first of them that polls. `warnings` of the benchmark go into the answer.
    Intervals come from drawing all costs and times within theirs.
    """
    polling = polling or next((way for way in ways if way.polls), None)
    if polling is None:
        raise UsageError(
            "the benchmark has no polling, which user-level sending is taken from: run "
            "`gnomon messages bench` with the mechanism poll as well."
        )
    named = mechanism or application.mechanism
    now = _current(ways, named)
    target = user_level(polling)
    ordered = [now, *(way for way in ways if way is not now)]
    solved = {way.name: solve_for(application, way) for way in (*ordered, target)}
    spread = _drawn(application, [*ordered, target], seed, draws)
    best = solved[target.name].cycle

    def predicted(way: Way) -> Predicted:
        found = solved[way.name]
        cycles = spread[way.name]
        gains = [a / b for a, b in zip(cycles, spread[target.name], strict=True)]
        return Predicted(
            way.name,
            way.measured,
            way.polls,
            _interval(found.cycle, cycles),
            _interval(found.cycle / best, gains),
            running=found.compute / found.cycle,
            waiting=found.wait / found.cycle,
            load=found.load,
        )

    rows = tuple(map(predicted, ordered))
    doubts = list(warnings)
    if named is None:
        doubts.append(
            f"nothing says what the application uses now: {now.name} is taken; name another (-m, "
            "or `mechanism` in its file)"
        )
    if any(size and not way.sizes for way in ordered for size in _sizes(application)) and (
        application.network is None
    ):
        doubts.append(
            "the benchmark has no sizes for some mechanisms: what the bytes themselves take is "
            "left out there"
        )
    beyond = ""
    if application.network is None:
        beyond = _beyond((now, target), max(_sizes(application)))
    if beyond:
        doubts.append(f"{beyond}: what their bytes take goes on as measured up to there")
    return Prediction(
        application,
        regime,
        rows,
        predicted(target),
        tuple(_curve(application, way, target) for way in ordered),
        _break_even(application, now, target),
        _NOT_WORTH_IT - 1,
        beyond,
        provenance=provenance,
        warnings=tuple(doubts),
    )


def _current(ways: Sequence[Way], name: str | None) -> Way:
    if name is None:
        blocking = [way for way in ways if not way.polls and way.name != "spin-block"]
        return next((way for way in blocking if way.name == "futex"), (blocking or list(ways))[0])
    for way in ways:
        if way.name == name:
            return way
    names = [way.name for way in ways]
    hint = suggestion(name, names) or f": it has {', '.join(names)}."
    raise UsageError(f"the benchmark has no mechanism '{name}' in this regime{hint}")


def _beyond(ways: Sequence[Way], size: int) -> str:
    """Say that messages are larger than any that was measured, if they are."""
    largest = min((way.sizes[-1][0] for way in ways if way.sizes), default=size)
    if size <= largest:
        return ""
    return (
        f"messages of {format_bytes(size)} are larger than any that was measured "
        f"({format_bytes(largest)})"
    )


def _sizes(application: Application) -> tuple[int, int]:
    return application.request, application.response


def exchange_of(
    application: Application, way: Way, pick: Callable[[Quantity], float] = lambda q: q.value
) -> Exchange:
    """Return what one request and its answer cost, by a way of being told.

    Both sides of an exchange send once and receive once. Waking a receiver is work where its
    processor was busy, and otherwise time that passes.
    """
    send, receive, wake = pick(way.send), pick(way.receive), pick(way.wake)
    notice, delay = (wake, 0.0) if way.wake_is_work else (0.0, wake)
    link = application.network
    if link is None:
        wire, bytes_time = 2 * pick(way.wire), sum(map(way.transfer, _sizes(application)))
        occupancy = 0.0
    else:
        wire = 2 * link.latency
        bytes_time = occupancy = sum(_sizes(application)) / link.bytes_per_ns
    run = pick(application.compute) + send
    handle = pick(application.handler) + send + receive + notice
    latency = wire + 2 * delay + bytes_time
    if application.communicator:
        # The response is received by the communicator, which then wakes the thread.
        handle += receive + notice + pick(way.wake_call)
        latency += pick(way.wake_latency)
    else:
        run += receive + notice
    if way.polls and application.communicator:
        run *= 1 + speeds_of(application.sharing).polling_penalty(application.threads)
    return Exchange(run, max(handle, 1e-3), latency, occupancy)


def solve_for(
    application: Application, way: Way, pick: Callable[[Quantity], float] = lambda q: q.value
) -> Solution:
    """Return the cycle of an application by a way of being told."""
    return solve(
        exchange_of(application, way, pick),
        application.threads,
        speeds=speeds_of(application.sharing),
    )


def _drawn(
    application: Application, ways: Sequence[Way], seed: int, draws: int
) -> dict[str, list[float]]:
    import numpy as np

    found: dict[str, list[float]] = {way.name: [] for way in ways}
    # User-level notification shares what was measured with polling, and so its chance.
    alike = next((index for index, way in enumerate(ways) if way.polls), len(ways))
    for number in range(draws):
        random = np.random.default_rng((seed, number))
        drawn = replace(
            application,
            compute=Quantity.exactly(_draw(application.compute, random)),
            handler=Quantity.exactly(_draw(application.handler, random)),
        )
        for index, way in enumerate(ways):
            own = np.random.default_rng((seed, number, index if way.measured else alike))
            cycle = solve_for(drawn, way, partial(_draw, random=own)).cycle
            found[way.name].append(cycle)
    return found


def _draw(quantity: Quantity, random: np.random.Generator) -> float:
    """Return a value by chance, wider on the side whose end is farther away."""
    z = float(random.standard_normal())
    side = quantity.high - quantity.value if z > 0 else quantity.value - quantity.low
    return max(quantity.value + z * side / 1.96, 0.0)


def _interval(value: float, drawn: Sequence[float]) -> Quantity:
    import numpy as np

    low, high = np.quantile(drawn, (0.025, 0.975))
    return Quantity(value, min(float(low), value), max(float(high), value))


def _curve(application: Application, way: Way, target: Way) -> Slowdowns:
    low, high = _CURVE_ENDS
    points = [low * (high / low) ** (i / (_CURVE_POINTS - 1)) for i in range(_CURVE_POINTS)]
    slowdowns = [_slowdown(application, way, target, compute) for compute in points]
    return Slowdowns(way.name, tuple(points), tuple(slowdowns))


def _slowdown(application: Application, way: Way, target: Way, compute: float) -> float:
    changed = replace(application, compute=Quantity.exactly(compute))
    return solve_for(changed, way).cycle / solve_for(changed, target).cycle


def _break_even(application: Application, way: Way, target: Way) -> float | None:
    """Return the compute per message beyond which there is little to gain, if there is one."""
    low, high = 1.0, 1e9
    if _slowdown(application, way, target, low) < _NOT_WORTH_IT:
        return None
    if _slowdown(application, way, target, high) > _NOT_WORTH_IT:
        return None
    for _ in range(60):
        middle = (low * high) ** 0.5
        worth = _slowdown(application, way, target, middle) > _NOT_WORTH_IT
        low, high = (middle, high) if worth else (low, middle)
    return low


# ---- laws of the model, fitted to measurements ----------------------------------------------

_MORE_NODES = (2, 8, 16)  # times as many as were measured
_THREADS = 8


def fit(law: str, file: str | os.PathLike[str], *, seed: int = 0) -> Fit:
    """Fit a law of the model to measurements in a CSV file with a header.

    `sharing` takes the columns `threads` and `throughput`, `misses` takes `nodes`, `threads`
    and `misses`, and `imbalance` a column per node with a row per step. `seed` is that of the
    intervals.

    >>> rows = "1,0.778\\n2,1.36\\n3,1.67\\n4,2\\n8,2.39\\n"
    >>> written = Path("threads.csv").write_text(f"threads,throughput\\n{rows}")
    >>> sorted(gn.messages.fit("sharing", "threads.csv").parameters)
    ['height', 'knee']
    """
    if law not in set(Law):
        raise UsageError(f"'{law}' is not a law: choose from {', '.join(Law)}.")
    return {Law.SHARING: _sharing, Law.MISSES: _misses, Law.IMBALANCE: _imbalance}[Law(law)](
        file, seed
    )


def _sharing(file: str | os.PathLike[str], seed: int) -> Fit:
    threads, throughput = read_columns(str(file), "threads", "throughput")
    found = fit_saturation(threads, throughput, seed=seed)
    alone = [rate for n, rate in zip(threads, throughput, strict=True) if n == 1]
    one = sum(alone) / len(alone)
    return Fit(
        Law.SHARING,
        "throughput of n threads, that of one being 1: height * (1 - exp(-n / knee))",
        {"height": found.height, "knee": found.knee},
        tuple(
            Point(n, rate / one, found.law.throughput(round(n)))
            for n, rate in sorted(zip(threads, throughput, strict=True))
        ),
        error=found.error,
        speeds=tuple(found.law.speed(n) for n in range(1, _THREADS + 1)),
        doubt=found.doubt,
    )


def _misses(file: str | os.PathLike[str], seed: int) -> Fit:
    nodes, threads, misses = read_columns(str(file), "nodes", "threads", "misses")
    found = fit_misses(nodes, threads, misses, seed=seed)
    return Fit(
        Law.MISSES,
        "misses: constant + per_node * nodes + per_log_thread * ln(threads)",
        {
            "constant": found.constant,
            "per_node": found.per_node,
            "per_log_thread": found.per_log_thread,
        },
        tuple(
            Point(n, count, found.predict(n, t))
            for n, t, count in sorted(zip(nodes, threads, misses, strict=True))
        ),
        r_squared=found.r_squared,
    )


def _imbalance(file: str | os.PathLike[str], seed: int) -> Fit:
    found = fit_imbalance(list(zip(*read_columns(str(file)), strict=True)), seed=seed)
    return Fit(
        Law.IMBALANCE,
        f"how much later than the mean the last of {found.nodes} nodes is, as a share",
        {
            "deviation": found.deviation,
            "measured": found.measured,
            "expected": found.expected,
        },
        nodes=found.nodes,
        late={times * found.nodes: found.at(times * found.nodes) for times in _MORE_NODES},
    )
