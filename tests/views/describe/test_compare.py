"""How comparisons look: effect first, unchanged rows folded, simulated labelled."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from tests.results.cases import compare as cases

from gnomon.analysis.compare import Comparison, compare_tables
from gnomon.analysis.runs import RunTable
from gnomon.recording.contents import EventInfo, Provenance, RunInfo
from gnomon.views.blocks import Table, Tone
from gnomon.views.show import blocks, show

ORIGIN = Provenance("toy", simulated=True, command=("./x",), machine="toy")


@pytest.fixture
def comparison() -> Comparison:
    generator = np.random.default_rng(0)
    names = ("much", "same", "still", "zero")
    a = generator.normal(100, 1, (6, 4))
    b = generator.normal(100, 1, (6, 4))
    a[:, 2] = b[:, 2] = 5
    a[:, 3] = 0
    b[:, 0] *= 12
    runs = tuple(RunInfo(i) for i in range(6))
    infos = tuple(EventInfo(name) for name in names)
    return compare_tables(RunTable(ORIGIN, infos, runs, a), RunTable(ORIGIN, infos, runs, b))


def _shown(result: Comparison, *, everything: bool = False) -> str:
    stream = io.StringIO()
    show(result, stream, everything=everything)
    return stream.getvalue()


def test_changes_come_first_and_the_rest_is_folded(comparison: Comparison) -> None:
    text = _shown(comparison)
    lines = text.splitlines()
    assert lines[0] == "SIMULATED 2 of 4 events changed from A to B"
    assert lines[1] == "A: ./x: counted by toy, SIMULATED, 6 runs"
    at = next(i for i, line in enumerate(lines) if line.startswith("event "))
    assert [line.split()[0] for line in lines[at + 1 : at + 3]] == ["much", "zero"]
    assert "12× more" in text
    assert "A has only zeros: no ratio" in text
    assert "2 of 4 events changed (q ≤ 0.05)" in text
    assert "1 unchanged, 1 equal: same, still (within ± " in text
    assert "\n  still" in _shown(comparison, everything=True)


def test_the_json_has_no_infinities(comparison: Comparison) -> None:
    content = json.dumps(comparison.to_json(), allow_nan=False)
    rows = {row["event"]: row for row in json.loads(content)["rows"]}
    assert rows["zero"]["ratio"] is None
    assert rows["still"]["verdict"] == "equal"
    assert rows["much"]["ratio_interval"][0] > 11


def test_the_time_of_a_run_is_the_answer() -> None:
    first = _shown(cases.small()).splitlines()[0]
    assert first == "B takes 400 ns, A 1 µs: 2.5 times as fast (95 % interval 2.4× to 2.6× less)"


def test_a_comparison_marks_what_changed() -> None:
    table = next(block for block in blocks(cases.small()) if isinstance(block, Table))
    tones = {row[0].value: row[3].tone for row in table.rows}
    assert tones["elapsed"] is Tone.GOOD
    assert tones["event-5"] is Tone.BAD
    assert tones["event-1"] is Tone.DOUBT


def test_many_drifts_and_outliers_are_folded() -> None:
    text = _shown(cases.small())
    assert text.count("! drift: event-1 changes +1.0 % per run") == 6
    assert "2 more drifts and outliers" in text
    assert "! outlier: event-2 in run 0 of A is 5,000, 3,000 in the others" in text
    assert "only in B: only-b-0" in text
    assert "and 3 more" in text
