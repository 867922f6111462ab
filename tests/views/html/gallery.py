"""All blocks on one page, with numbers as a survey, a comparison or a memory curve has them."""

from __future__ import annotations

import math
import random

from gnomon.views.blocks import (
    Axis,
    Block,
    Cell,
    Chart,
    Column,
    Composition,
    Edge,
    Facts,
    Finding,
    Fold,
    Graph,
    Headline,
    Kind,
    Layer,
    Mark,
    Node,
    Part,
    Picture,
    Section,
    Table,
    Text,
    Tone,
    Zone,
)

ORIGIN = Facts(
    (
        ("command", "./ingest tree x.db"),
        ("machine", "AMD EPYC, 2 CPUs, virtual machine"),
        ("kernel", "Linux 6.12"),
        ("gnomon", "0.1.0"),
    ),
    "Provenance",
)
WARNINGS = (
    "The machine was busy: load average 7.7 on 2 CPUs.",
    "12 records were lost, 0.1 % of all.",
)


def survey() -> list[Block]:
    """What the survey of a program that waits for its disk looks like."""
    return [
        Headline(
            "14.5 s elapsed, 10 % of it on a CPU.",
            ("76 % ready to run without a CPU, 14 % waiting for the disk, mostly in commit.",),
        ),
        Composition(
            14.5e9,
            (
                Part("on a CPU, own code", 0.572e9, "user", "U"),
                Part("on a CPU, kernel", 0.912e9, "system", "S", 0.877e9, 0.947e9),
                Part("ready, waiting for a CPU", 9.03e9, "runnable", "R", tied=True),
                Part("waiting for the disk", 1.96e9, "disk", "D"),
                Part("waiting for a lock", 1.5e9, "lock", "l"),
                Part(
                    "other thread",
                    0.5e9,
                    "thread",
                    "t",
                    parts=(
                        Part("condition", 0.3e9, "condition"),
                        Part("join", 0.15e9, "join"),
                        Part("barrier", 0.05e9, "barrier"),
                    ),
                ),
                Part("asleep on purpose", 0.026e9, "sleep", "z"),
            ),
            "ns",
            "Elapsed time of this run",
        ),
        Finding(
            "The machine was busy: read the times with care. Threads that were ready waited 14.2 s "
            "for a CPU. On an idle machine these waits are shorter.",
            Tone.DOUBT,
            "Again, when it is idle: `gnomon survey --timeout 60s -r 5 -- ./ingest tree x.db`",
        ),
        Finding(
            "One commit per file holds everything up: 96 % of the elapsed time is inside "
            "`Store::commit`, one thread at a time. 13.9 s in Store::commit (ingest.cc:53): 10.7 s "
            "ready, 2.52 s disk, 698 ms CPU; 80 % of it in fsync.",
            remedy="gnomon compare -- ./ingest -b 1 tree x.db -- ./ingest -b 32 tree x.db",
        ),
        Finding("Of its CPU time 61 % is the kernel's. 912 ± 35 ms of 1.48 s."),
        Facts(
            (
                ("elapsed, this run", Cell(14.5e9, "ns")),
                ("CPU time, 0.10 of 2 CPUs", Cell(1.48e9, "ns", 1.45e9, 1.51e9)),
                ("threads, 1 process", 6),
                ("peak memory", Cell(9.96 * 2**20, "B")),
                ("written to disk", Cell(77.7 * 2**20, "B")),
            )
        ),
        Section("When: each thread over time"),
        _timeline(),
        Section("Events"),
        _events(),
        _course(),
        Fold(
            "7 more events (zero, constant or redundant)",
            (Text("alignment-faults and emulation-faults were 0 in every run."),),
        ),
        Section("Run-to-run variation"),
        _runs(),
        _clusters(),
    ]


def _events() -> Table:
    names = [
        ("task-clock", 1_480_000_000, "ns"),
        ("instructions", 3_981_224_017, ""),
        ("cycles", 4_817_330_119, ""),
        ("cache-misses", 9_120_455, ""),
        ("branch-misses", 2_410_091, ""),
        ("page-faults", 4_044, ""),
        ("context-switches", 28_611, ""),
        ("written", 81_491_968, "B"),
        *((f"node-{i}:prefetch-misses:demand-data-read", 1000 * i + 17, "") for i in range(6)),
    ]
    rng = random.Random(1)

    def course() -> tuple[float | None, ...]:
        return tuple(None if i == 9 else 1 + math.sin(i / 4) + rng.random() for i in range(40))

    statuses = ("", "", "estimated", "", "estimated", "", "", "")
    rows: list[tuple[str, float, str, str, tuple[float | None, ...]]] = [
        (n, v, u, statuses[i % 8], course()) for i, (n, v, u) in enumerate(names)
    ]
    return Table.of(
        rows,
        Column("event", lambda e: Cell(e[0], hint=f"counts {e[0]}")),
        Column(
            "mean",
            lambda e: Cell(e[1], e[2], e[1] * 0.96, e[1] * 1.04, e[3]),
            interval="95 % interval",
        ),
        Column("share", lambda e: e[1] / 5e9, "%", bar=True, drop=3),
        Column("course", lambda e: Cell(course=e[4]), drop=5),
        Column("time", lambda e: e[1] / 7, "ns", common=True),
        Column("missing", lambda e: Cell(None, status="not supported") if e[1] > 1e9 else 3),
        caption="Events by importance",
        tone=lambda e: (
            Tone.DOUBT if e[0] == "cycles" else Tone.FAINT if e[1] < 3000 else Tone.PLAIN
        ),
        name="events",
    )


def _timeline() -> Chart:
    rng = random.Random(2)
    threads = ("main", "worker-1", "worker-2", "worker-with-a-long-name-3", "progress")
    rows, low, high, texts, tones = [], [], [], [], []
    for thread in threads:
        at = 0.0
        while at < 14e9:
            long = rng.expovariate(1 / 0.6e9)
            rows.append(thread)
            low.append(at)
            high.append(min(at + long, 14.5e9))
            texts.append(rng.choice(["commit", "parse", "lock", "read"]))
            tones.append(rng.choice([Tone.PLAIN, Tone.PLAIN, Tone.BAD, Tone.FAINT]))
            at += long + rng.expovariate(1 / 0.2e9)
    spans = Layer(
        Kind.SPANS, (), tuple(rows), "", tuple(low), tuple(high), tuple(tones), tuple(texts)
    )
    begun = [rng.random() * 13e9 for _ in range(12)]
    pairs = [rng.sample(threads, 2) for _ in begun]
    arrows = Layer(
        Kind.ARROWS,
        tuple(begun),
        tuple(a for a, _ in pairs),
        "messages",
        tuple(at + 0.4e9 for at in begun),
        tuple(b for _, b in pairs),
    )
    return Chart(
        "What each thread did, and the messages between them.",
        Axis("time", "ns", zero=True),
        Axis("thread", names=threads),
        (spans, arrows),
        marks=(Mark(7e9, "first commit"),),
        key=((Tone.BAD, "waiting"), (Tone.FAINT, "idle")),
    )


def _course() -> Chart:
    rng = random.Random(3)
    times = tuple(i * 1e7 for i in range(1450))
    rate = tuple(2e9 + 6e8 * math.sin(i / 60) + rng.gauss(0, 1e8) for i in range(1450))
    return Chart(
        "Instructions per second over the run, with its phases.",
        Axis("time", "ns"),
        Axis("instructions", "/s", zero=True),
        (
            Layer(
                Kind.BAND,
                times,
                (),
                "",
                tuple(r * 0.9 for r in rate),
                tuple(r * 1.1 for r in rate),
            ),
            Layer(Kind.LINE, times, rate),
        ),
        marks=(Mark(1.5e9, "mean", "y"),),
        zones=(Zone(0, 4e9, "load"), Zone(4e9, 9e9, "compute"), Zone(9e9, 14.5e9, "write")),
    )


def _runs() -> Chart:
    values = (1.91e9, 2.01e9, 2.11e9, 1.91e9, 1.9e9, 4.91e9, 1.95e9, 2.0e9, 1.93e9, 2.05e9)
    from gnomon import units

    return Chart(
        "Elapsed time of every run, in order.",
        Axis("run"),
        Axis("elapsed", "ns", zero=True),
        (
            Layer(
                Kind.DOTS,
                tuple(range(1, 11)),
                values,
                texts=tuple(units.brief(v, "ns") for v in values),
                tones=tuple(Tone.DOUBT if v > 3e9 else Tone.PLAIN for v in values),
            ),
        ),
        key=((Tone.DOUBT, "outlier"),),
    )


def _clusters() -> Chart:
    rng = random.Random(4)
    return Chart(
        "Bins of latencies.",
        Axis("latency", "ns", log=10),
        Axis("readings"),
        (
            Layer(
                Kind.BARS,
                tuple(10 ** (i / 10 + 0.05) for i in range(40)),
                tuple(
                    int(800 * math.exp(-(((i - 18) / 7) ** 2))) + rng.randrange(9)
                    for i in range(40)
                ),
                low=tuple(10 ** (i / 10) for i in range(40)),
                high=tuple(10 ** ((i + 1) / 10) for i in range(40)),
            ),
        ),
    )


def compare() -> list[Block]:
    """What a comparison of two programs looks like."""
    effects = [
        ("elapsed", 0.29, 0.10, 0.37, Tone.GOOD),
        ("block-output", 0.13, 0.13, 0.131, Tone.GOOD),
        ("cpu-system", 0.17, 0.15, 0.20, Tone.GOOD),
        ("switches:voluntary", 0.18, 0.16, 0.18, Tone.GOOD),
        ("cpu-user", 0.82, 0.71, 0.88, Tone.GOOD),
        ("minor-faults", 1.09, 0.93, 1.16, Tone.FAINT),
        ("cache-misses", 1.6, 1.4, 1.9, Tone.BAD),
    ]
    rng = random.Random(5)
    a = [rng.choice([1.91, 2.01, 2.11, 4.91, 5.23, 6.93, 7.44, 1.91]) * 1e9 for _ in range(12)]
    b = [rng.choice([0.505, 0.606, 0.607, 0.607, 0.723, 0.818, 0.82]) * 1e9 for _ in range(12)]
    return [
        Headline(
            "B takes 608 ms instead of 2.11 s: 3.5 times as fast.",
            ("95 % interval 2.7 to 9.8; 12 runs each, interleaved.",),
        ),
        Finding("It waits less for other threads and for the disk. 9.52 s → 1.70 s.", Tone.GOOD),
        Finding("It misses the cache more often. 1.6 times as many misses.", Tone.BAD),
        Section("What changed, largest effect first"),
        Chart(
            "Ratio of medians, B to A, with its 95 % interval.",
            Axis("B against A", "x", log=10),
            Axis("event", names=tuple(e[0] for e in effects)),
            (
                Layer(
                    Kind.RANGES,
                    tuple(e[1] for e in effects),
                    tuple(e[0] for e in effects),
                    low=tuple(e[2] for e in effects),
                    high=tuple(e[3] for e in effects),
                    tones=tuple(e[4] for e in effects),
                ),
            ),
            marks=(Mark(1.0, "same"),),
            key=((Tone.GOOD, "less"), (Tone.BAD, "more"), (Tone.FAINT, "no change shown")),
        ),
        Table.of(
            effects,
            Column("event", lambda e: e[0]),
            Column("B against A", lambda e: Cell(e[1], "x", e[2], e[3]), interval="95 % interval"),
            tone=lambda e: e[4],
        ),
        Section("Every run"),
        Chart(
            "Elapsed time of each run.",
            Axis("elapsed", "ns", log=10),
            Axis("", names=("A", "B")),
            (
                Layer(Kind.DOTS, tuple(a), ("A",) * 12, "A"),
                Layer(Kind.DOTS, tuple(b), ("B",) * 12, "B"),
            ),
        ),
        Chart(
            "By function, thread time.",
            Axis("thread time", "ns"),
            Axis("", names=("Store::save_row", "Store::run", "Queue::put", "Queue::take")),
            (
                Layer(
                    Kind.BARS,
                    (42.2e9, 14e9, 14.3e9, 0.2e9),
                    ("Store::save_row", "Store::run", "Queue::put", "Queue::take"),
                    "A",
                ),
                Layer(
                    Kind.BARS,
                    (1.7e9, 0.64e9, 1.13e9, 0.7e9),
                    ("Store::save_row", "Store::run", "Queue::put", "Queue::take"),
                    "B",
                ),
            ),
        ),
        Chart(
            "One series in rows.",
            Axis("time", "ns"),
            Axis("", names=("copy", "scale", "add", "triad")),
            (Layer(Kind.BARS, (42.2e6, 14e6, 14.3e6, 2.2e6), ("copy", "scale", "add", "triad")),),
        ),
    ]


def memory() -> list[Block]:
    """What the memory of a machine looks like: curves, levels, links."""
    sizes = [2.0 ** (12 + i / 2) for i in range(36)]

    levels = ((2.0**12, 1.2), (2.0**16, 2.9), (2.0**20.5, 10.0), (2.0**25.3, 78.0))

    def latency(size: float, factor: float) -> float:
        rises = (
            more / (1 + math.exp(-3 * (math.log2(size) - math.log2(at)))) for at, more in levels
        )
        return factor * (0.2 + sum(rises))

    nodes = tuple(
        Node(f"node {i}", (("memory", Cell(64 * 2**30, "B")), "8 CPUs")) for i in range(4)
    )
    edges = tuple(
        Edge(a, b, (Cell(14.2e9 + 1e9 * a, "B/s"), Cell(130.0 + 10 * b, "ns")), loads)
        for a, b, loads in (
            (0, 1, (0.82, 0.1)),
            (1, 2, (0.31, 0.3)),
            (2, 3, (0.05, 0.6)),
            (3, 0, (0.5, 0.02)),
            (0, 2, (0.15, 0.25)),
            (1, 3, (0.4, 0.1)),
        )
    )
    plain_edges = tuple(Edge(e.a, e.b, e.facts) for e in edges)
    kernels = ("copy", "scale", "add", "triad")
    return [
        Headline("SIMULATED Memory of niagara2", ("three levels, 92 ns to memory",)),
        Section("Latency over size"),
        Chart(
            "Latency of a dependent load over the size of the set that is walked.",
            Axis("size", "B", log=2),
            Axis("latency", "ns", log=10),
            (
                Layer(Kind.LINE, tuple(sizes), tuple(latency(s, 1) for s in sizes), "4 KiB pages"),
                Layer(Kind.LINE, tuple(sizes), tuple(latency(s, 0.8) for s in sizes), "huge pages"),
                Layer(
                    Kind.LINE,
                    tuple(sizes),
                    tuple(latency(s, 1.3) for s in sizes),
                    "published",
                    reported=True,
                ),
            ),
            marks=(
                Mark(2.0**15, "L1 32 KiB"),
                Mark(2.0**20, "L2 1 MiB"),
                Mark(2.0**25, "L3 32 MiB", reported=True),
            ),
            alone=True,
        ),
        Section("Bandwidth"),
        Chart(
            "Bandwidth of kernels, read and written.",
            Axis("kernel", names=kernels),
            Axis("bandwidth", "B/s"),
            (
                Layer(Kind.BARS, kernels, (8e9, 8.1e9, 11e9, 11.2e9), "read", stack="s"),
                Layer(Kind.BARS, kernels, (8e9, 8.1e9, 5.5e9, 5.6e9), "written", stack="s"),
                Layer(
                    Kind.RANGES,
                    kernels,
                    (17e9, 17e9, 18e9, 18.5e9),
                    "published",
                    low=(16e9,) * 4,
                    high=(19e9,) * 4,
                    reported=True,
                ),
            ),
        ),
        Chart(
            "Six series of steps with names too long to stand at their ends.",
            Axis("threads", log=2),
            Axis("bandwidth", "B/s", zero=True),
            tuple(
                Layer(
                    Kind.STEPS,
                    tuple(2.0**i for i in range(7)),
                    tuple(2e9 * k * (1 - math.exp(-(2**i) / 9)) for i in range(7)),
                    f"kernel number {k} of six",
                )
                for k in range(1, 7)
            ),
        ),
        Chart(
            "Load of each CPU over time.",
            Axis("time", names=tuple(f"{i} s" for i in range(24))),
            Axis("", names=tuple(f"CPU {i}" for i in range(8))),
            (
                Layer(
                    Kind.HEAT,
                    tuple(f"{i} s" for i in range(24) for _ in range(8)),
                    tuple(f"CPU {k}" for _ in range(24) for k in range(8)),
                    shades=tuple(
                        None if (i, k) == (5, 3) else abs(math.sin(i / 5 + k))
                        for i in range(24)
                        for k in range(8)
                    ),
                ),
            ),
        ),
        Chart(
            "Principal components of events.",
            Axis("first component", "r"),
            Axis("second component", "r"),
            (
                Layer(
                    Kind.ARROWS,
                    (0.0,) * 4,
                    (0.0,) * 4,
                    low=(0.9, 0.7, -0.3, 0.2),
                    high=(0.1, 0.5, 0.8, -0.6),
                    texts=("cycles", "instructions", "faults", "switches"),
                ),
            ),
        ),
        Chart(
            "Many points.",
            Axis("address", "B", log=2),
            Axis("latency", "ns", log=10),
            (
                Layer(
                    Kind.DOTS,
                    tuple(2 ** random.Random(i).uniform(12, 30) for i in range(5000)),
                    tuple(10 ** random.Random(i + 9999).gauss(1.5, 0.3) for i in range(5000)),
                ),
            ),
        ),
        Section("Links"),
        Table.matrix(
            "from",
            [f"node {i}" for i in range(4)],
            [
                [
                    Cell(90.0 + 40 * ((i - j) % 4), low=88, high=93)
                    if (i, j) != (2, 1)
                    else Cell(None, status="lost")
                    for j in range(4)
                ]
                for i in range(4)
            ],
            "ns",
            caption="Latency between nodes",
        ),
        Graph(nodes, edges, "Load of the links.", ("bandwidth", "latency")),
        Graph(
            (*nodes, *(Node(f"node {i}") for i in range(4, 9))),
            tuple(Edge(i, (i + 1) % 9) for i in range(9)),
            "A ring.",
        ),
        Graph(nodes, plain_edges, "Without loads."),
        Picture("A drawing of its own.", _squares, lambda _: [], "a test"),
    ]


def _squares() -> str:
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="20" role="img" '
        'aria-label="two squares"><rect width="20" height="20" fill="gray"/>'
        '<rect x="30" width="20" height="20" fill="gray"/></svg>'
    )
