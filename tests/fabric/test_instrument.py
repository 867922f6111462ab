"""The instrument: what probes see, triggers, limits of the memory, files, decoding, latency."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.errors import UsageError
from gnomon.fabric import Adapter, Columns, Fabric, FabricRun, Load, load_layout, operation, ring
from gnomon.fabric.instrument import (
    Acquisition,
    Decoded,
    Level,
    MatchRam,
    Point,
    Stream,
    acquire,
    acquire_together,
    between,
    decode,
    pattern,
    probe,
    read_trace,
    write_trace,
)
from gnomon.fabric.instrument.board import MOST_SAMPLES
from gnomon.fabric.instrument.trigger import fires
from gnomon.fabric.run import OWN, TO_RING

FORM = load_layout()
NS = 3.0


def _records(
    kind: str = "uniform", until: int = 60_000, *, sync: int = 0, mix: str = "read64"
) -> Columns:
    fabric = Fabric("r", "r", "ring", ring(4), sync_period=sync, adapter=Adapter(incoming=64))
    load = Load(kind, mix=((operation(mix), 1.0),))
    run = FabricRun(fabric, load, seed=1, records=True, blink=True)
    run.advance(until)
    return run.take()


@pytest.fixture(scope="module")
def quiet() -> Columns:
    """A ring with a light load of reads, all packets on links and Blinks."""
    return _records(sync=5000)


def _decoded(stream: Stream, folder: Path, how: Acquisition | None = None) -> Decoded:
    trace = acquire(stream, MatchRam(), how or Acquisition(), FORM)
    write_trace(trace, folder / "trace", FORM.name, force=True)
    return decode(read_trace(folder / "trace"), FORM)


# ---- what is seen where (Manzke, section 4.5) ---------------------------------------------------


def test_the_output_link_shows_what_the_documents_say(quiet: Columns, tmp_path: Path) -> None:
    """A request, but neither its echo nor its response; the echo that acknowledges the response."""
    seen = _decoded(probe(quiet, 0, Point.LINK, FORM, NS), tmp_path)
    requests = (seen.source == 0) & (seen.type == 5)
    assert requests.sum() > 10
    # An echo to node 0 would have it as its target; a response to it, too.
    assert not ((seen.target == 0) & np.isin(seen.type, (9, 16))).any()
    acknowledged = (seen.type == 18) & (seen.source == 0)
    assert acknowledged.sum() == pytest.approx(requests.sum(), abs=2)
    # What is for others goes by, and sync packets end at the next node.
    assert ((seen.type == 9) & (seen.target != 0)).any()
    assert (seen.type == 20).sum() == 60_000 // 5000 - 1 or (seen.type == 20).sum() == 12
    assert seen.crc_ok.all() and seen.incomplete == 0


def test_the_blink_shows_requests_and_responses_and_no_echoes(
    quiet: Columns, tmp_path: Path
) -> None:
    seen = _decoded(probe(quiet, 0, Point.BLINK, FORM, NS), tmp_path)
    assert set(np.unique(seen.type)) == {25, 35}  # Blink requests, responses of 64 B
    assert ((seen.source == 0) | (seen.target == 0)).all()  # nothing that only goes by
    for kind in (25, 35):
        assert ((seen.type == kind) & (seen.source == 0)).any()
        assert ((seen.type == kind) & (seen.target == 0)).any()
    assert seen.crc_ok.all()


@given(
    seed=st.integers(0, 1 << 30),
    mix=st.sampled_from(["read0", "read256", "write16", "write64", "message256"]),
    point=st.sampled_from(Point),
)
@settings(max_examples=12, deadline=None)
def test_what_was_sent_is_decoded(
    seed: int, mix: str, point: Point, tmp_path_factory: pytest.TempPathFactory
) -> None:
    fabric = Fabric("r", "r", "ring", ring(3), adapter=Adapter(incoming=2), service=60)
    load = Load("exponential", mean_ns=900.0, mix=((operation(mix), 1.0),))
    run = FabricRun(fabric, load, seed=seed, records=True, blink=True)
    run.advance(20_000)
    records = run.take()
    stream = probe(records, 1, point, FORM, NS)
    seen = _decoded(stream, tmp_path_factory.mktemp("t"))
    columns = seen.columns(1)
    there = records["lc"] == 1
    there &= (records["type"] >= 21) == (point is Point.BLINK)
    assert stream.lost == 0 and seen.incomplete == 0
    for name in ("type", "src", "dst", "tx"):
        assert (columns[name] == records[name][there]).all(), name
    mask = np.uint64((1 << 48) - 1)
    asks = (seen.type < 9) | ((seen.type >= 21) & (seen.type < 29))
    assert (columns["addr"][asks] == records["addr"][there][asks] & mask).all()
    if point is Point.LINK:
        assert (columns["flags"] == records["flags"][there] & 7).all()
    time = records["time"][there]
    assert (seen.earliest_ns <= time).all() and (time <= seen.latest_ns).all()
    assert (seen.latest_ns - seen.earliest_ns).max() < 1100


# ---- triggers and filters -----------------------------------------------------------------------


def test_match_rams_find_what_the_pattern_says(quiet: Columns) -> None:
    stream = probe(quiet, 0, Point.LINK, FORM, NS)
    ram = MatchRam()
    assert not ram.match(stream.words).any()
    ram.program(0, pattern(FORM, Point.LINK, 5, source_id=0))
    ram.program(1, pattern(FORM, Point.LINK, 9))
    ram.program(1, pattern(FORM, Point.LINK, 18))  # a channel can have several
    found = ram.match(stream.words)
    rows = quiet["lc"] == 0
    rows &= quiet["type"] < 21
    types, sources = quiet["type"][rows], quiet["src"][rows]
    begins = np.zeros(len(stream.words), np.uint8)
    begins[stream.start] = (types == 5) * (sources == 0) + 2 * np.isin(types, (9, 18))
    assert (found == begins).all()
    ram.wipe(1)
    assert (ram.match(stream.words) == begins & 1).all()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: pattern(FORM, Point.LINK, 5, address_offset=0x123), "only bits 47 to 32"),
        (lambda: pattern(FORM, Point.LINK, 16, address_offset=0), "not in the first sample"),
        (lambda: pattern(FORM, Point.LINK, 5, crc=3), "not in the first sample"),
        (lambda: pattern(FORM, Point.LINK, 5, target_id=1 << 16), "16 bits and can never be"),
        (lambda: pattern(FORM, Point.LINK, 25), "never seen on a link"),
        (lambda: pattern(FORM, Point.BLINK, 9), "never seen on a Blink"),
        (lambda: pattern(FORM, Point.LINK, 37), "no packet type 37"),
        (lambda: MatchRam().program(4, [(0, 0)] * 6), "no channel 4"),
        (lambda: MatchRam().program(0, [(0xF0, 0x11)] + [(0, 0)] * 5), "would match nothing"),
        (lambda: Level(0, 0), "1 match or more"),
        (lambda: Level(0, 1, back=0), "with the same channel"),
        (lambda: fires([Level(0)] * 5, np.zeros(3, np.uint8)), "1 to 4 levels"),
        (lambda: Acquisition(depth=MOST_SAMPLES + 1), "room for 1 to 2,097,152"),
        (lambda: Acquisition(before=10, depth=10), "leave none"),
        (lambda: Acquisition(keep=4), "no channel 4"),
    ],
)
def test_impossible_triggers_are_refused(make, said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError, match=said):
        make()


def _fires(levels: list[Level], matched: list[int]) -> int | None:
    """The twin of the sequencer: sample by sample."""
    level = count = 0
    for at, bits in enumerate(matched):
        wait = levels[level]
        if bits & 1 << wait.channel:
            count += 1
            if count == wait.count:
                level, count = level + 1, 0
                if level == len(levels):
                    return at
        elif wait.back is not None and bits & 1 << wait.back:
            level = count = 0
    return None


@given(
    levels=st.lists(
        st.builds(
            lambda c, n, b: Level(c, n, None if b is None or b == c else b),
            st.integers(0, 3),
            st.integers(1, 3),
            st.none() | st.integers(0, 3),
        ),
        min_size=1,
        max_size=4,
    ),
    matched=st.lists(st.integers(0, 15), max_size=60),
)
@settings(max_examples=300, deadline=None)
def test_four_levels_trigger_as_their_twin(levels: list[Level], matched: list[int]) -> None:
    assert fires(levels, np.array(matched, np.uint8)) == _fires(levels, matched)


def test_depth_before_and_after_the_trigger(quiet: Columns, tmp_path: Path) -> None:
    stream = probe(quiet, 0, Point.LINK, FORM, NS)
    ram = MatchRam()
    ram.program(0, pattern(FORM, Point.LINK, 5, source_id=0))
    how = Acquisition(levels=(Level(0, count=20),), before=40, depth=100)
    trace = acquire(stream, ram, how, FORM)
    assert trace.triggered and trace.trigger is not None
    assert len(trace.words) <= 100 and 0 < trace.trigger <= 40
    assert trace.packets + trace.too_early + trace.too_late == len(stream.start)
    write_trace(trace, tmp_path / "t", FORM.name)
    seen = decode(read_trace(tmp_path / "t"), FORM)
    assert len(seen) == trace.packets and seen.incomplete == 0
    whole = _decoded(stream, tmp_path)
    mine = np.flatnonzero((whole.type == 5) & (whole.source == 0))[19]
    assert trace.trigger_ns == stream.time_ns[mine]
    assert (seen.type == whole.type[trace.too_early : trace.too_early + trace.packets]).all()
    never = acquire(stream, ram, Acquisition(levels=(Level(0, count=10**6),), depth=100), FORM)
    assert not never.triggered and never.too_late == 0  # the ring has the last ones
    only = acquire(stream, ram, Acquisition(keep=0), FORM)
    assert only.left_out + only.packets == len(stream.start)
    assert only.packets == ((whole.type == 5) & (whole.source == 0)).sum()


def test_a_shared_trigger_is_that_of_whoever_is_first(quiet: Columns) -> None:
    streams = [probe(quiet, place, Point.LINK, FORM, NS) for place in (0, 2)]
    rams = [MatchRam(), MatchRam()]
    rams[1].program(0, pattern(FORM, Point.LINK, 5, source_id=2))
    how = [Acquisition(levels=(Level(0),)), Acquisition(levels=(Level(0, count=3),))]
    traces = acquire_together(streams, rams, how, FORM)
    alone = acquire(streams[1], rams[1], how[1], FORM)
    assert alone.trigger_ns is not None
    assert traces[1].trigger_ns == alone.trigger_ns
    assert traces[0].trigger_ns is not None and traces[0].trigger_ns >= alone.trigger_ns


# ---- limits, files, damage ----------------------------------------------------------------------


def test_a_full_link_overruns_the_probe_and_that_is_reported(tmp_path: Path) -> None:
    fabric = Fabric("r", "r", "ring", ring(4), go_bits=False, adapter=Adapter(incoming=1 << 16))
    load = Load("saturated", mix=((operation("message0"), 1.0),))
    run = FabricRun(fabric, load, records=True)
    run.advance(20_000)
    records = run.take()
    stream = probe(records, 0, Point.LINK, FORM, NS)
    there = (records["lc"] == 0).sum()
    assert stream.lost > 0.05 * there
    seen = _decoded(stream, tmp_path)
    assert len(seen) == there - stream.lost
    assert 0 < seen.after_loss.sum() <= stream.lost
    assert seen.crc_ok.all()


def test_the_memory_viewer_has_the_columns_of_the_documents(quiet: Columns) -> None:
    trace = acquire(probe(quiet, 0, Point.LINK, FORM, NS), MatchRam(), Acquisition(), FORM)
    row = trace.rows(0, 3, 5)[1]
    assert (row.address, row.sample, row.sub_bank, row.bank, row.row) == (32, 4, 0, 0, 0)
    assert row.contents == "".join(f"{word:04X}" for word in trace.words[4, :3])
    with pytest.raises(UsageError, match="samples are 0 to"):
        trace.rows(0, 0, len(trace.words) + 1)


def test_damaged_halves_are_told_of(quiet: Columns, tmp_path: Path) -> None:
    trace = acquire(probe(quiet, 0, Point.LINK, FORM, NS), MatchRam(), Acquisition(), FORM)
    prefix = tmp_path / "t"
    write_trace(trace, prefix, FORM.name)
    with pytest.raises(UsageError, match="exists"):
        write_trace(trace, prefix, FORM.name)
    one, two = tmp_path / "t.board1", tmp_path / "t.board2"
    whole = two.read_bytes()
    for content, said in (
        (whole[:-1], "cut short"),
        (whole[:-6], "one of them is cut short"),
        (one.read_bytes(), "is of board 1, not of board 2"),
        (b"", "is not a half"),
        (whole.replace(b"link", b"blink", 1), "not of one acquisition"),
    ):
        two.write_bytes(content)
        with pytest.raises(UsageError, match=said):
            read_trace(prefix)
    two.write_bytes(whole)
    random = np.random.default_rng(0)
    samples = read_trace(prefix)
    good = decode(samples, FORM)
    for _ in range(100):  # bits that fall over: a wrong CRC or an incomplete packet, no crash
        at, word, bit = random.integers(len(samples.words)), random.integers(5), random.integers(16)
        samples.words[at, word] ^= np.uint16(1 << bit)
        seen = decode(samples, FORM)
        assert len(seen) + seen.incomplete <= len(good) + 5
        samples.words[at, word] ^= np.uint16(1 << bit)
    samples.words[good.type.argmax() * 0, 4] ^= np.uint16(1)
    assert (~decode(samples, FORM).crc_ok).sum() <= 1
    two.unlink()
    with pytest.raises(UsageError, match="cannot be read"):
        read_trace(prefix)


def test_latency_between_two_points_is_that_of_the_simulator(
    quiet: Columns, tmp_path: Path
) -> None:
    """Requests from the Blink of node 0 to the Blink of node 2, with the stamps' uncertainty."""
    one = _decoded(probe(quiet, 0, Point.BLINK, FORM, NS), tmp_path)
    other = _decoded(probe(quiet, 2, Point.BLINK, FORM, NS), tmp_path)
    found = between(one, other)
    chosen = (one.type[found.first] == 25) & (one.source[found.first] == 0)
    chosen &= other.target[found.second] == 2
    assert chosen.sum() > 5

    def times(place: int, bits: int) -> dict[tuple[int, int], list[int]]:
        rows = (quiet["lc"] == place) & (quiet["type"] == 25) & (quiet["src"] == 0)
        rows &= (quiet["dst"] == 2) & (quiet["flags"] & TO_RING == bits)
        return {(0, 0): quiet["time"][rows].tolist()}

    begun, ended = times(0, TO_RING)[0, 0], times(2, 0)[0, 0]
    truth = np.array(ended) - np.array(begun[: len(ended)])
    assert (found.least_ns[chosen][: len(truth)] <= truth).all()
    assert (truth <= found.most_ns[chosen][: len(truth)]).all()
    assert found.unmatched > 0  # those to other nodes
    assert (quiet["flags"] & OWN).any()
