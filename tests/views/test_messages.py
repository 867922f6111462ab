"""Timelines of message programs as text, drawing and page."""

from __future__ import annotations

import io
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gnomon.errors import GnomonError
from gnomon.messaging.uln.ping_pongs import PING, Style, run_ping_pong
from gnomon.views.messages import _ticks as ticks_of
from gnomon.views.messages import print_timeline, timeline_svg, write_timeline


def test_text_counts_from_the_first_mark_of_a_message() -> None:
    stream = io.StringIO()
    print_timeline(run_ping_pong(Style.NOTIFIED).timeline, stream, PING)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "SIMULATED uln, 2 nodes"
    assert lines[-1].split() == ["458", "ns", "1", "main", "3", "receive", "returns"]


def test_drawing_has_a_lane_for_each_thread_and_a_band_for_each_message() -> None:
    timeline = run_ping_pong(Style.THREADED).timeline
    root = ElementTree.fromstring(timeline_svg(timeline))
    texts = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"node 0 main", "node 0 receiver", "node 0 NIC", "node 1 main"} <= set(texts)
    bands = list(root.iter("{http://www.w3.org/2000/svg}polygon"))
    assert len(bands) == len(timeline.flights) == 4


def test_a_part_of_the_time_has_only_its_messages() -> None:
    timeline = run_ping_pong(Style.NOTIFIED).timeline
    ping = next(flight for flight in timeline.flights if flight.number == PING)
    root = ElementTree.fromstring(timeline_svg(timeline, start=ping.left, end=timeline.end))
    assert len(list(root.iter("{http://www.w3.org/2000/svg}polygon"))) == 2


def test_files(tmp_path: Path) -> None:
    timeline = run_ping_pong(Style.NOTIFIED).timeline
    write_timeline(timeline, tmp_path / "run.svg")
    write_timeline(timeline, tmp_path / "run.html")
    assert (tmp_path / "run.svg").read_text().startswith("<svg")
    page = (tmp_path / "run.html").read_text()
    assert "Simulated" in page
    assert "exchange reaches the NIC" in page


def test_a_cut_counts_from_its_start_and_shows_what_is_in_it() -> None:
    found = run_ping_pong(Style.NOTIFIED)
    start = found.timeline.time_of("send is called", PING)
    part = found.timeline.cut(start, start + found.results[0])
    assert part.time_of("first byte arrives", PING) == 345
    assert [flight.number for flight in part.flights] == [PING, PING + 1]
    assert {span.what for span in part.spans} == {"send", "sleep_recv", "asleep"}
    assert part.end == found.results[0] == 916


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(GnomonError, match="cannot write"):
        write_timeline(run_ping_pong(Style.NOTIFIED).timeline, tmp_path / "none" / "run.svg")
    assert not list(tmp_path.iterdir())


def test_an_axis_has_round_times_and_its_end() -> None:
    assert ticks_of(0, 916) == [0, 200, 400, 600, 800, 916]
    assert ticks_of(0, 6896) == [0, 1000, 2000, 3000, 4000, 5000, 6000, 6896]
    assert ticks_of(430, 440) == [430, 432, 434, 436, 438, 440]
    assert ticks_of(5, 5) == [5]
