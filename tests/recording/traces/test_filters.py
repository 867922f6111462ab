"""The display filter: what it accepts, where it complains, and that its three forms agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.recording.traces.making import HOSTS, records, written

from gnomon.recording.traces import Filter, FilterError, Matches, Trace, TraceDatabase, compact
from gnomon.recording.traces.filters import FIELDS, KINDS, parse
from gnomon.recording.traces.sql import expressions
from gnomon.recording.traces.types import COLUMNS

COUNT = 30_000


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return written(tmp_path_factory.mktemp("t") / "a", records(COUNT, 7))


@pytest.fixture(scope="module")
def cold(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    trace = written(tmp_path_factory.mktemp("t") / "a", records(COUNT, 7))
    compact(trace.path)
    return trace.refreshed()


@pytest.fixture(scope="module")
def database(trace: Trace) -> TraceDatabase:
    return TraceDatabase((trace,))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("tcp.port = 80", "unexpected '=' at position 10"),
        ("tcp.port ==", "expected a number after its end at position 12"),
        ("tcp.port == 80 and", "expected a field after its end at position 19"),
        ("(tcp", r"expected '\)' after its end at position 5"),
        ("tcp udp", "expected 'and', 'or' or the end instead of 'udp' at position 5"),
        ("tcp.prt == 80", "no field 'tcp.prt' .did you mean tcp.port?.* at position 1"),
        ("sci.dst in {1, 2", "expected ',' or '}' after its end at position 17"),
        ("ip.src < 10.0.0.1", "names are only equal or not.* at position 8"),
        ("tcp.port contains 80", "contains is for fields with names.* at position 10"),
        ("sci.dst == 5ms", "a whole number is expected, not '5ms' at position 12"),
        ("ip.src == 10.0.0.999", "no address '10.0.0.999' at position 11"),
        ("sci.dst == %", "unexpected '%' at position 12"),
        ("not " * 300 + "tcp", "more than 200 levels deep"),
        ("tcp or " * 2000 + "tcp", "longer than 10,000 characters"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_position(text: str, complaint: str) -> None:
    with pytest.raises(FilterError, match=complaint) as told:
        parse(text)
    assert 1 <= told.value.position <= len(text) + 1


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("sci.echo", "type in (9, 18)"),
        ("!sci.echo && sci", "type in (1, 5, 14)"),
        ("tcp.port == 80", "type == 68 and 80 in (sport, dport)"),
        ("tcp.port != 80", "type == 68 and 80 not in (sport, dport)"),
        ("not tcp.port == 80", "not (type == 68 and 80 in (sport, dport))"),
        ("sci.dst in {3, 7..9}", "type in (1, 5, 9, 14, 18) and dst in (3, 7, 8, 9)"),
        ("sci.latency >= 0.5us", "type in (1, 5, 9, 14, 18) and dt >= 500"),
        ("sci.addr > 0x800000000000", "type in (1, 5, 14) and addr > 0x800000000000"),
        ("ip.src == 10.0.0.1", "type in (68, 69) and source == 1"),
        ('host contains "0.0.1"', "type in (68, 69) and {1, 4} & {source, destination}"),
        ("ip.addr == 2001:DB8::7", "type in (68, 69) and 3 in (source, destination)"),
        ("ip.src", "type in (68, 69) and source > 0"),
        ("sci.flags == 1 or udp", "type in (1, 5, 9, 14, 18) and flags == 1 or type == 69"),
        ("frame.time < 1ms and lc == 5", "time < 10**6 and lc == 5"),
        ("roce.qp == 1", "False"),
        ("", "True"),
    ],
)
def test_it_means_what_it_says(trace: Trace, cold: Trace, text: str, python: str) -> None:
    columns = records(COUNT, 7)
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    code = compile(python, "filter", "eval")
    wanted = [
        number
        for number, row in enumerate(rows)
        if eval(code, {}, dict(zip(columns, row, strict=True)))
    ]
    assert Matches(trace, text).all().tolist() == wanted
    assert Matches(cold, text).all().tolist() == wanted


_NUMERIC = sorted(name for name, f in FIELDS.items() if not COLUMNS[f.columns[0]].names)
_NAMED = sorted(FIELDS.keys() - set(_NUMERIC))
_VALUES = st.one_of(st.integers(0, 130), st.sampled_from([80, 6379, 2**47, 2**64, -1, 600_000]))
_TESTS = st.one_of(
    st.sampled_from(sorted(KINDS)),
    st.sampled_from(sorted(FIELDS)),
    st.builds(
        "{} {} {}".format,
        st.sampled_from(_NUMERIC),
        st.sampled_from(["==", "!=", "<", "<=", ">", ">="]),
        _VALUES,
    ),
    st.builds("{} in {{{}, {}..{}}}".format, st.sampled_from(_NUMERIC), _VALUES, _VALUES, _VALUES),
    st.builds(
        '{} {} "{}"'.format,
        st.sampled_from(_NAMED),
        st.sampled_from(["==", "!=", "contains"]),
        st.sampled_from([*HOSTS, "10", "nobody"]),
    ),
)
_FILTERS = st.recursive(
    _TESTS,
    lambda part: st.one_of(
        st.builds("({} and {})".format, part, part),
        st.builds("({} or {})".format, part, part),
        st.builds("not {}".format, part),
    ),
    max_leaves=5,
)


@settings(max_examples=60)
@given(text=_FILTERS)
def test_masks_blocks_and_sql_agree(
    trace: Trace, cold: Trace, database: TraceDatabase, text: str
) -> None:
    chosen = Filter(text, trace.names)
    columns = {name: name for name in (*COLUMNS,) if name != "payload"}
    oracle = database.arrays(f"SELECT id FROM rows WHERE {chosen.sql(columns)} ORDER BY id")
    wanted = np.asarray(oracle["id"]).astype("i8")
    assert (Matches(trace, text).all() == wanted).all()
    for part in trace.parts:
        mask = chosen.rows(part.some(0, part.rows))
        inside = wanted[(wanted >= part.first) & (wanted < part.end)] - part.first
        assert (np.flatnonzero(mask) == inside).all()
    in_files = database_ids(cold, chosen)
    assert (in_files == wanted).all()


def database_ids(cold: Trace, chosen: Filter) -> object:
    found = [number for part in cold.parts for number in _ids(part, chosen)]
    return np.array(found, "i8")


def _ids(part: object, chosen: Filter) -> list[int]:
    from gnomon.recording.parquet import connect
    from gnomon.recording.traces.reader import Cold

    assert isinstance(part, Cold)
    query = f"SELECT id FROM read_parquet('{part.path}') WHERE {chosen.sql(expressions(part))}"
    return [row[0] for row in connect().execute(f"{query} ORDER BY id").fetchall()]


@settings(max_examples=300)
@given(st.text(max_size=40) | st.text("tcp.port=!<>(){}&|0123456789 \"'in", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        Filter(text)
    except FilterError as error:
        assert "position" in str(error)


def test_pages_are_slices_of_all_matches(trace: Trace) -> None:
    every = Matches(trace, "sci.echo").all()
    pages = Matches(trace, "sci.echo")
    assert (pages.page(3, 50) == every[150:200]).all()
    assert pages._count < len(every)
    assert (pages.page(0, 50) == every[:50]).all()
    assert len(pages.page(10**6, 50)) == 0
    assert Matches(trace, "").page(2, 200).tolist() == [*range(400, 600)]
