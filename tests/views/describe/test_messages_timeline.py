"""Timelines of message programs as blocks, page and text."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from gnomon.errors import GnomonError
from gnomon.messaging.uln.programming import PING, Style, run_ping_pong
from gnomon.views import show
from gnomon.views.blocks import Chart, Kind, Layer
from gnomon.views.timelines import drawing


def _layers(chart: Chart, kind: Kind) -> list[Layer]:
    return [layer for layer in chart.layers if layer.kind is kind]


def test_text_counts_from_the_first_mark_of_a_message() -> None:
    stream = io.StringIO()
    show.show(run_ping_pong(Style.NOTIFIED).timeline.of_message(PING), stream)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "SIMULATED 1 message in 458 ns on uln, 2 nodes"
    assert lines[-1].split() == ["458", "1", "main", "3", "receive", "returns"]


def test_drawing_has_a_lane_for_each_thread_and_an_arrow_for_each_message() -> None:
    timeline = run_ping_pong(Style.THREADED).timeline
    chart = drawing(timeline)
    lanes = {"node 0 main", "node 0 receiver", "node 0 NIC", "node 1 main"}
    assert lanes <= set(chart.y.names)
    [arrows] = _layers(chart, Kind.ARROWS)
    assert len(arrows.x) == len(timeline.flights) == 4
    assert set(arrows.y) | set(arrows.high) <= set(chart.y.names)


def test_a_part_of_the_time_has_only_its_messages() -> None:
    timeline = run_ping_pong(Style.NOTIFIED).timeline
    ping = next(flight for flight in timeline.flights if flight.number == PING)
    [arrows] = _layers(drawing(timeline.cut(ping.left, timeline.end)), Kind.ARROWS)
    assert len(arrows.x) == 2


def test_what_happens_within_something_else_is_drawn_above_it() -> None:
    names = [layer.name for layer in drawing(run_ping_pong(Style.NOTIFIED).timeline).layers]
    assert names.index("asleep") < names.index("send")


def test_a_page(tmp_path: Path) -> None:
    run_ping_pong(Style.NOTIFIED).timeline.to_html(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text()
    assert "SIMULATED" in page
    assert "exchange reaches the NIC" in page


def test_a_cut_counts_from_its_start_and_shows_what_is_in_it() -> None:
    found = run_ping_pong(Style.NOTIFIED)
    start = found.timeline.time_of("send is called", PING)
    part = found.timeline.cut(start, start + found.results[0])
    assert part.time_of("first byte arrives", PING) == 345
    assert [flight.number for flight in part.flights] == [PING, PING + 1]
    assert {span.what for span in part.spans} == {"send", "sleep_recv", "asleep"}
    assert part.end == found.results[0] == 916


def test_a_page_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(GnomonError, match="cannot write"):
        run_ping_pong(Style.NOTIFIED).timeline.to_html(tmp_path / "none" / "run.html")
    assert not list(tmp_path.iterdir())
