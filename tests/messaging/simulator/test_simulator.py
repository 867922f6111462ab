"""The compiled simulator: against its twin, against theory, and what it refuses."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.messaging.simulator import Cluster, Layout, MessageRun, Script, simulate
from gnomon.messaging.simulator.cluster import ClusterError
from gnomon.messaging.simulator.programs import (
    all_to_all,
    bulk_synchronous,
    dirt,
    key_value,
    open_service,
    parameter_server,
    ping_pong,
)

from .twin import Node, Step, Twin

_STEP = st.one_of(
    st.tuples(st.just("compute"), st.integers(0, 5000), st.just(0)),
    st.tuples(st.just("send"), st.integers(0, 2), st.integers(0, 300)),
    st.tuples(st.just("receive"), st.just(0), st.just(0)),
)


@given(
    steps=st.lists(st.lists(_STEP, max_size=12), min_size=3, max_size=3),
    costs=st.tuples(*[st.integers(0, 1000)] * 6),
)
@settings(max_examples=150, deadline=None)
def test_it_agrees_with_its_twin(steps: list[list[Step]], costs: tuple[int, ...]) -> None:
    """Whatever three nodes send each other, threads end at the same picosecond, or never."""
    latency, gap, per_byte, send, receive, wake = costs
    # A message to oneself stays on the node: the twin knows the network only.
    plans = [
        [(k, x if (k, x) != ("send", n) else (n + 1) % 3, y) for k, x, y in one]
        for n, one in enumerate(steps)
    ]
    twin = Twin([Node(list(one)) for one in plans], latency, gap, per_byte, send, receive, wake)
    layout = Layout(3)
    boxes = [layout.mailbox(node) for node in range(3)]
    for node, one in enumerate(plans):
        script = Script()
        for kind, x, y in one:
            if kind == "compute":
                script.compute(x / 1000)
            elif kind == "send":
                script.send(boxes[x], y)
            else:
                script.receive()
        layout.thread(f"thread {node}", script, boxes[node])
    cluster = Cluster(
        nodes=3,
        latency=latency / 1000,
        gap=gap / 1000,
        per_byte=per_byte / 1000,
        send_overhead=send / 1000,
        receive_overhead=receive / 1000,
        wake_latency=wake / 1000,
    )
    run = MessageRun(cluster, layout)
    try:
        while not run.go_on():
            pass
    except ClusterError as error:
        assert "deadlocked" in str(error)
    ended = [-1 if at is None else round(at * 1000) for at in run.result().ended]
    assert ended == twin.run()


@pytest.mark.parametrize("size", [1, 38, 1024, 1_000_000])
def test_a_ping_pong_costs_what_loggp_says(size: int) -> None:
    """2 (L + 2 o + (s - 1) G), to the picosecond."""
    cluster = Cluster(latency=1300, send_overhead=210, receive_overhead=210, per_byte=0.08)
    trip = simulate(cluster, ping_pong(rounds=20, size=size)).timed["round trip"]
    expected = 2 * (1300 + 2 * 210 + (size - 1) * 0.08)
    assert trip.least == trip.most == pytest.approx(expected, abs=0.001)


def test_the_published_round_trips_of_the_three_ways_to_wait() -> None:
    """Table 1 and 2 of Parker: 916 ns woken, 896 +- 20 polling."""
    from gnomon.messaging.simulator import load_cluster

    for name, expected, spread in (("uln", 916, 0.001), ("polling", 896, 20)):
        named = load_cluster(name)
        layout = ping_pong(rounds=1000, waiting=named.waiting)
        trip = simulate(named.sized(layout), layout).timed["round trip"]
        assert trip.mean == pytest.approx(expected, abs=spread)


def _sojourns(cluster: Cluster, threads: int, work: str) -> list[float]:
    return [
        simulate(
            cluster,
            open_service(threads=threads, requests=10_000, work=work),  # type: ignore[arg-type]
            seed=seed,
        )
        .timed["request"]
        .mean
        for seed in range(40)
    ]


def _covers(values: list[float], truth: float) -> bool:
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values))
    return abs(mean - truth) < 4 * spread


def test_a_queue_of_exponential_work_is_m_m_1() -> None:
    """Load 1/2, work of 1 us: 2 us in the system."""
    values = _sojourns(Cluster(contexts=1), 1, "exponential")
    assert _covers(values, 2000.0)


def test_a_queue_of_constant_work_is_m_d_1() -> None:
    """Pollaczek and Khinchine: half the waiting of exponential work."""
    assert _covers(_sojourns(Cluster(contexts=1), 1, "constant"), 1500.0)


@pytest.mark.parametrize("work", ["exponential", "constant"])
def test_a_shared_core_is_processor_sharing(work: str) -> None:
    """The mean time in the system does not depend on how work is distributed."""
    assert _covers(_sojourns(Cluster(contexts=64), 64, work), 2000.0)


def test_dirt_takes_as_long_as_an_independent_simulator_says() -> None:
    """Cycles that were computed for the digest of Parker: 19.2, 24.5 and 36.8 us."""
    speeds = tuple(3.2 * (1 - math.exp(-n / 2.67)) / n for n in range(1, 9))
    cluster = Cluster(nodes=32, contexts=8, speeds=(1.0, *speeds[1:]), latency=453, per_byte=1)
    for renderers, render, expected in ((1, 12_921, 19_200), (3, 11_778, 24_500)):
        layout = dirt(renderers=renderers, render_ns=render, misses=400)
        assert simulate(cluster, layout).timed["cycle"].mean == pytest.approx(expected, rel=0.03)


def test_the_same_seed_gives_the_same_bytes() -> None:
    """And another one does not."""
    cluster = Cluster(nodes=8, contexts=4, latency=300, per_byte=1)
    first, again, other = (
        simulate(cluster, dirt(nodes=8, misses=50), seed=seed, trace_limit=10_000)
        for seed in (7, 7, 8)
    )
    assert first == again
    assert first.duration != other.duration


def test_going_on_in_pieces_changes_nothing() -> None:
    """A run that is looked at is the run that is not."""
    cluster = Cluster(nodes=4, contexts=2, latency=300, quantum=500, context_switch=20)
    layout = dirt(nodes=4, misses=30)
    whole = simulate(cluster, layout)
    run = MessageRun(cluster, layout)
    moment = 0.0
    while not run.go_on(moment, most_events=7):
        run.counts()
        if run.now >= moment:
            moment += 137.0
    pieces = run.result()
    assert pieces.duration == whole.duration
    assert pieces.timed == whole.timed
    for one, other in zip(pieces.counts, whole.counts, strict=True):
        assert one == pytest.approx(other)


def test_an_all_to_all_of_many_ranks_is_matched_at_once() -> None:
    """Events grow with the number of messages: three each and a little."""
    run = simulate(Cluster(nodes=256, latency=1000, per_byte=0.1), all_to_all(ranks=256))
    assert run.total("received") == 256 * 255
    assert run.events < 4 * 256 * 255


def test_what_is_sent_is_received_and_work_is_done() -> None:
    """Counts of the nodes balance for every program."""
    cluster = Cluster(nodes=32, contexts=4, latency=500, per_byte=0.1)
    for layout in (bulk_synchronous(steps=10), parameter_server(steps=10), key_value(requests=20)):
        run = simulate(cluster, layout)
        assert run.total("sent") == run.total("received") > 0
        assert run.total("bytes_sent") == run.total("bytes_received")
        for node in run.counts:
            assert node["busy"] <= run.duration * 1000 * (1 + 1e-9)
            assert node["work"] <= node["thread_time"] * (1 + 1e-9)


def test_polling_takes_from_those_who_compute() -> None:
    """Beside a communicator that polls, threads of a shared core get on more slowly."""
    cluster = Cluster(nodes=4, contexts=4, speeds=(1.0, 0.8435, 0.7199, 0.6212), latency=453)
    cycles = {
        waiting: simulate(cluster, dirt(nodes=4, renderers=3, misses=300, waiting=waiting))
        .timed["cycle"]
        .mean
        for waiting in ("sleep", "poll")
    }
    assert cycles["poll"] > 1.05 * cycles["sleep"]


def test_interrupts_cost_work_whoever_waits() -> None:
    """Each message of a kernel's interface is an interrupt; a sleeper's needs none."""
    cluster = Cluster(nodes=2, interrupt=1000, signal_latency=500, latency=100)
    told = simulate(cluster, ping_pong(rounds=10, waiting="interrupt"))
    woken = simulate(cluster, ping_pong(rounds=10))
    assert told.total("interrupts") == 20
    assert woken.total("interrupts") == 0
    assert told.timed["round trip"].mean == woken.timed["round trip"].mean + 2 * 1500


@pytest.mark.parametrize(("policy", "late"), [("list", 2_000.0), ("hint", 1_000_000.0)])
def test_threads_without_a_context_are_woken_by_the_operating_system(
    policy: str, late: float
) -> None:
    """At once where it keeps a list, at its next tick where hints are dropped."""
    cluster = Cluster(
        nodes=2,
        contexts=1,
        latency=100,
        os_wake=late if policy == "list" else 0,
        os_tick=1_000_000,
        quantum=10_000,
        not_resident=policy,  # type: ignore[arg-type]
    )
    layout = Layout(2)
    box, other = layout.mailbox(0), layout.mailbox(1)
    sleeper, sender, busy = Script(), Script(), Script()
    sleeper.receive()
    busy.compute(500_000)
    sender.compute(50_000)
    sender.send(box, 1)
    woken = layout.thread("sleeper", sleeper, box)
    layout.thread("busy", busy, layout.mailbox(0))
    layout.thread("sender", sender, other)
    run = simulate(cluster, layout)
    assert run.total("not_resident") == 1
    assert run.total("dropped_hints") == (policy == "hint")
    ended = run.ended[woken]
    assert ended is not None
    if policy == "list":
        assert 50_100 + late <= ended <= 50_100 + late + 20_000  # a quantum or two
    else:
        assert ended == 1_000_000


def test_threads_that_poll_are_preempted() -> None:
    """On one context a thread that polls holds up the one that would answer it, for a quantum."""
    layout = Layout(1)
    first, second = layout.mailbox(0), layout.mailbox(0)
    asking, answering = Script(), Script()
    asking.send(second, 1)
    asking.receive()
    answering.receive()
    answering.reply(1)
    layout.thread("asking", asking, first, waiting="poll")
    layout.thread("answering", answering, second, waiting="poll")
    run = simulate(Cluster(nodes=1, contexts=1, quantum=1000), layout)
    assert run.duration == pytest.approx(1000, abs=5)


def test_a_program_that_waits_for_ever_is_told() -> None:
    """Who waits is named."""
    layout = Layout(1)
    script = Script()
    script.receive()
    layout.thread("listener", script, layout.mailbox(0))
    with pytest.raises(ClusterError, match="nothing is under way to listener"):
        simulate(Cluster(nodes=1), layout)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"nodes": 0}, "nodes must be 1 to 65,536, not 0"),
        ({"contexts": 65}, "contexts must be 1 to 64, not 65"),
        ({"latency": -1.0}, "latency must be a time from 0 to 1000 s, not -1 ns"),
        ({"per_byte": math.nan}, "per_byte must be a time .* not nan"),
        ({"speeds": ()}, "speed of at least one"),
        ({"speeds": (1.0, 0.0)}, "speed of a thread must be above 0 .* not 0"),
        ({"not_resident": "hint"}, "os_tick"),
    ],
)
def test_clusters_that_make_no_sense(fields: dict[str, object], said: str) -> None:
    """One sentence each."""
    with pytest.raises(ClusterError, match=said):
        Cluster(**fields)  # type: ignore[arg-type]


def test_programs_that_make_no_sense() -> None:
    """More nodes than there are, negative work, loops without end."""
    with pytest.raises(ClusterError, match="for 2 nodes"):
        simulate(Cluster(nodes=1), ping_pong())
    with pytest.raises(ClusterError, match="-1 ns"):
        Script().compute(-1)
    with pytest.raises(ClusterError, match="not 0 times"), Script().repeat(0):
        pass
    with pytest.raises(ClusterError, match="no node 5"):
        Layout(2).mailbox(5)


def test_quantiles_are_right_to_a_thirtysecond() -> None:
    """Of exponential work: the median is ln 2 of its mean."""
    cluster = Cluster(contexts=64, speeds=(1.0,) * 64)
    timed = simulate(cluster, open_service(threads=64, requests=50_000)).timed["request"]
    assert timed.quantile(0.5) == pytest.approx(1000 * math.log(2), rel=0.05)
    assert timed.quantile(0.99) == pytest.approx(1000 * math.log(100), rel=0.08)


def test_loops_without_time_and_answers_to_nobody_are_told() -> None:
    """Neither hangs nor crashes."""

    def alone(script: Script) -> Layout:
        layout = Layout(1)
        layout.thread("alone", script, layout.mailbox(0))
        return layout

    idle, answering, waking = Script(), Script(), Script()
    with idle.forever():
        idle.compute(0)
    answering.reply(1)
    waking.signal_named()
    waking.signal(5)
    for script, said in (
        (idle, "round for ever"),
        (answering, "before any message"),
        (waking, "no such thread"),
    ):
        with pytest.raises(ClusterError, match=said):
            simulate(Cluster(nodes=1), alone(script))


def test_a_message_that_names_a_thread_elsewhere_wakes_nobody() -> None:
    layout = Layout(2)
    here, there = layout.mailbox(0), layout.mailbox(1)
    sending, receiving = Script(), Script()
    sending.send(there, 1, user=1 << 40)
    receiving.receive()
    receiving.signal_named()
    layout.thread("sending", sending, here)
    layout.thread("receiving", receiving, there)
    with pytest.raises(ClusterError, match="not on the node"):
        simulate(Cluster(), layout)


def test_both_simulators_agree_on_what_a_message_costs() -> None:
    """Event by event and to the nanosecond, on machines of the same kinds."""
    from gnomon.messaging.simulator import load_cluster
    from gnomon.messaging.uln import MACHINES
    from gnomon.messaging.uln.programming import Style, run_ping_pong

    for name, kind in MACHINES.items():
        named = load_cluster(name)
        layout = ping_pong(rounds=3, waiting=named.waiting)
        trip = simulate(named.sized(layout), layout).timed["round trip"]
        assert trip.least == trip.most == run_ping_pong(Style.NOTIFIED, kind).results[0]


def test_traces_become_timelines() -> None:
    """With a band for every message whose whole way was traced."""
    from gnomon.analysis.messages.simulation import timeline_of

    cluster = Cluster(latency=300, per_byte=1, delivery=41, send_overhead=26)
    run = simulate(cluster, ping_pong(rounds=2), trace_limit=7)
    timeline = timeline_of("mine", cluster, run)
    assert len(timeline.marks) == 7
    [flight] = timeline.flights
    assert (flight.number, flight.source, flight.dest, flight.bytes) == (1, 0, 1, 38)
    assert (flight.left, flight.first, flight.last) == (26, 326, 363)
