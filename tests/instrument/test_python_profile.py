"""Events of a Python program belong to the functions that it was in."""

from __future__ import annotations

import sys
import threading

import pytest

from gnomon import _native
from gnomon.errors import NotSupportedError, StateError
from gnomon.instrument.profile import PythonProfile
from gnomon.sources.perf.source import PerfSource

pytestmark = [
    pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning"),
    pytest.mark.usefixtures("countable"),
]


def _often() -> None:
    for _ in range(200):
        _native.known_faults(50)


def _seldom() -> None:
    for _ in range(20):
        _native.known_faults(50)


def test_page_faults_belong_to_the_function_that_makes_them() -> None:
    with PythonProfile("page-faults", 50) as profile:
        _often()
        _seldom()
    found = profile.result()
    assert found.counted is not None and found.counted >= 11_000
    assert found.samples == found.counted // 50
    functions = {hit.function: hit for hit in found.by_function()}
    assert found.by_function()[0].function == "_often"
    assert functions["_often"].events > 0.7 * 10_000
    place = found.by_line()[0]
    assert place.source == __file__
    assert place.line in range(_often.__code__.co_firstlineno, _often.__code__.co_firstlineno + 3)
    assert place.module == "[python]"


def test_what_arrives_at_the_end_belongs_to_the_block() -> None:
    with PythonProfile("page-faults", 1) as profile:
        _native.known_faults(100)
    names = {hit.function for hit in profile.result().by_function()}
    mine = {"test_what_arrives_at_the_end_belongs_to_the_block"}
    # None of it to the machinery of stopping, which is the last thing that happens.
    assert not {name for name in names - mine if name.startswith(("EventSet", "Overflow", "Thr"))}
    assert mine <= names


def test_another_thread_is_not_profiled() -> None:
    with PythonProfile("page-faults", 50) as profile:
        thread = threading.Thread(target=_often)
        thread.start()
        thread.join()
    found = profile.result()
    assert (found.counted or 0) < 5000
    assert "_often" not in {hit.function for hit in found.by_function()}


def test_it_can_be_used_again_and_begins_anew() -> None:
    profile = PythonProfile("page-faults", 50)
    with profile:
        _often()
    with profile:
        _seldom()
    assert 1000 <= (profile.result().counted or 0) < 5000
    assert "_often" not in {hit.function for hit in profile.result().by_function()}


def test_an_exception_goes_through_and_the_profile_is_there() -> None:
    with pytest.raises(ZeroDivisionError), PythonProfile("page-faults", 50) as profile:
        _often()
        _ = 1 // 0
    assert profile.result().samples > 0


def test_the_interpreter_is_left_as_it_was() -> None:
    before = sys.getswitchinterval(), threading.active_count()
    with PythonProfile("page-faults", 50):
        _seldom()
    assert (sys.getswitchinterval(), threading.active_count()) == before
    if not PerfSource().has_core_pmu:
        profile = PythonProfile("cycles")
        with pytest.raises(NotSupportedError), profile:
            pass
        assert (sys.getswitchinterval(), threading.active_count()) == before


def test_there_is_no_result_before_the_end() -> None:
    profile = PythonProfile("page-faults", 50)
    with pytest.raises(StateError, match="not finished"):
        profile.result()
    with profile, pytest.raises(StateError, match="not finished"):
        profile.result()


def test_time_is_profiled_by_a_timer() -> None:
    with PythonProfile("time", 1_000_000) as profile:
        _often()
    found = profile.result()
    assert found.threshold == 1_000_000
    assert found.samples >= (found.counted or 0) // 1_000_000
