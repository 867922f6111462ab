"""The native generators against plain Python twins, operation for operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from gnomon.errors import UsageError
from gnomon.machines.operations import drained
from gnomon.machines.workloads import build, describe, workload_names
from gnomon.machines.workloads.definition import PLACES
from gnomon.machines.workloads.layout import layout

from . import twins_bytemark, twins_image, twins_loops, twins_numeric, twins_sort, twins_sparse
from .log import Log, Op, Places, Values

Twin = Callable[[Values, Places, int], list[Log]]

TWINS: dict[str, Twin] = {
    "assignment": twins_bytemark.assignment,
    "bfs": twins_sparse.bfs,
    "chase": twins_loops.chase,
    "copy": twins_loops.stream,
    "false-sharing": twins_loops.false_sharing,
    "fft": twins_numeric.fft,
    "hot-table": twins_loops.hot_table,
    "matmul": twins_loops.matmul,
    "matrix-update": twins_numeric.matrix_update,
    "parallel-sort": twins_sort.parallel_sort,
    "producer-consumer": twins_loops.producer_consumer,
    "pyramid": twins_image.pyramid,
    "radix": twins_sort.radix,
    "ramp-compute": twins_loops.ramp_compute,
    "random": twins_loops.random,
    "relay": twins_loops.relay,
    "spmv": twins_sparse.spmv,
    "strided-sum": twins_loops.strided_sum,
    "string-sort": twins_bytemark.string_sort,
    "triad": twins_loops.stream,
    "vector-update": twins_numeric.vector_update,
    "zipf": twins_loops.zipf,
}

# Small values of the parameters that are numbers; choices are drawn from what there is.
SMALL: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "assignment": {"size": st.integers(2, 7)},
    "bfs": {
        "size": st.sampled_from([16, 32, 64]),
        "degree": st.integers(1, 4),
        "source": st.integers(0, 15),
    },
    "chase": {"size": st.integers(128, 2000), "spacing": st.sampled_from([8, 24, 64])},
    "copy": {"size": st.integers(64, 900), "unroll": st.integers(1, 9)},
    "false-sharing": {"size": st.integers(8, 40), "spacing": st.sampled_from([8, 16, 64])},
    "fft": {"size": st.sampled_from([4, 16, 64]), "threads": st.sampled_from([1, 2])},
    "hot-table": {
        "size": st.integers(64, 900),
        "touch": st.sampled_from([8, 64, 4096]),
        "accesses": st.integers(1, 40),
        "writes": st.sampled_from([0, 30, 100]),
    },
    "matmul": {"size": st.sampled_from([4, 6, 8]), "block": st.sampled_from([1, 2])},
    "matrix-update": {
        "size": st.integers(2, 7),
        "spread": st.sampled_from([0.0, 0.5, 0.999]),
        "lag": st.integers(0, 5),
        "bookkeeping": st.integers(0, 5),
        "iterations": st.sampled_from([1, 2, 14]),
    },
    "parallel-sort": {"size": st.integers(64, 900)},
    "producer-consumer": {
        "size": st.integers(8, 200),
        "slots": st.integers(2, 4),
        "threads": st.sampled_from([2, 4]),
    },
    "pyramid": {
        "size": st.integers(4, 12),
        "width": st.integers(1, 20),
        "radius": st.integers(0, 3),
        "scales": st.integers(1, 3),
        "features": st.integers(0, 2),
        "touch": st.sampled_from([4, 64, 4096]),
    },
    "radix": {
        "size": st.integers(1, 200),
        "radix": st.sampled_from([2, 8, 64]),
        "max_key": st.integers(2, 700),
    },
    "ramp-compute": {
        "size": st.integers(4096, 9000),
        "steps": st.integers(1, 8),
        "touch": st.sampled_from([64, 128, 512]),
        "pause": st.integers(0, 5).map(lambda n: f"{n}us" if n else "0"),
        "working": st.integers(64, 300),
    },
    "random": {
        "size": st.integers(64, 5000),
        "accesses": st.integers(1, 60),
        "writes": st.sampled_from([0, 30, 100]),
    },
    "relay": {"size": st.integers(64, 300), "spacing": st.sampled_from([8, 64])},
    "spmv": {
        "size": st.integers(16, 60),
        "row_length": st.integers(1, 9),
        "chunk": st.integers(1, 20),
        "skew": st.sampled_from([0.0, 0.3, 0.9]),
        "band": st.sampled_from([0, 5, 1000]),
    },
    "strided-sum": {"size": st.integers(16, 24), "stride": st.integers(1, 16)},
    "string-sort": {"size": st.integers(64, 300)},
    "triad": {"size": st.integers(64, 900), "unroll": st.integers(1, 9)},
    "vector-update": {"size": st.integers(8, 150), "bookkeeping": st.integers(0, 5)},
    "zipf": {
        "size": st.integers(64, 3000),
        "spacing": st.sampled_from([8, 32]),
        "exponent": st.sampled_from([0.0, 0.8, 2.0]),
        "accesses": st.integers(1, 60),
        "writes": st.sampled_from([0, 30, 100]),
    },
}


@st.composite
def parameters(draw: st.DrawFn, name: str) -> dict[str, str]:
    """Small parameters of a workload, as a user would write them."""
    own = {
        "threads": st.integers(1, 4),
        "iterations": st.integers(1, 2),
        "seed": st.integers(0, 2**63 - 1),
        **SMALL[name],
    }
    drawn = {}
    for parameter in describe(name).parameters:
        if parameter.choices:
            drawn[parameter.name] = draw(st.sampled_from(parameter.choices))
        elif parameter.type not in PLACES:
            drawn[parameter.name] = str(draw(own[parameter.name]))
    return drawn


def plain(name: str, texts: dict[str, str]) -> dict[str, Any]:
    """The same parameters as numbers and words."""
    return {
        parameter.name: texts[parameter.name]
        if parameter.choices
        else parameter.number(texts[parameter.name])
        for parameter in describe(name).parameters
        if parameter.name in texts
    }


def stride_of(name: str, texts: dict[str, str]) -> int:
    """How far apart the private parts of threads are."""
    numbers = {
        each.name: each.number(texts[each.name])
        for each in describe(name).parameters
        if each.name in texts
    }
    whole = {key: value for key, value in numbers.items() if isinstance(value, int)}
    real = {key: value for key, value in numbers.items() if isinstance(value, float)}
    return layout(name, numbers, whole, real).private_stride


def native(feed: Any) -> list[Op]:
    """All operations of a feed as a twin logs them."""
    ops = drained(feed)
    columns = (ops[field].tolist() for field in ("code", "value", "size", "site", "flags"))
    return list(zip(*columns, strict=True))


def test_every_workload_has_a_twin() -> None:
    assert tuple(sorted(TWINS)) == workload_names()


@pytest.mark.parametrize("name", sorted(TWINS))
@settings(
    max_examples=16,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(data=st.data())
def test_native_operations_equal_those_of_the_twin(name: str, data: st.DataObject) -> None:
    texts = data.draw(parameters(name))
    try:
        program = build(name, texts)
    except UsageError:
        reject()  # parameters that do not fit together have tests of their own
    at = {each.name: each.start for each in program.ranges}
    expected = TWINS[name](plain(name, texts), at, stride_of(name, texts))
    assert len(program.feeds) == len(expected)
    for feed, log in zip(program.feeds, expected, strict=True):
        ops = native(feed)
        assert len(ops) == len(log)
        for i, (ours, theirs) in enumerate(zip(ops, log, strict=True)):
            assert ours == theirs, f"operation {i}"
