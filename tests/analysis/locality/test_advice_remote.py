"""What the advisor says of memory that a machine does not cache."""

from __future__ import annotations

from gnomon.analysis.locality.advisor import advise


def test_accesses_that_no_cache_keeps_come_from_another_node() -> None:
    # One thread sets all of it up, so that three of four work on memory of another node.
    found = advise(["workload:triad", "size=64KB", "threads=4"], on="smile-4")
    assert 0.5 < found.remote_before <= 1
    assert found.remote_after is not None
    assert found.remote_after < found.remote_before / 2
    assert found.after_ns < found.before_ns
