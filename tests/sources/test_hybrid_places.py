"""Events of one kind of core are opened only on CPUs of that kind."""

from __future__ import annotations

from gnomon.events.event import Event, Kind, PerfEncoding
from gnomon.sources.base import Cpus
from gnomon.sources.host import Host
from gnomon.sources.perf.opening import places


def test_an_event_of_one_kind_of_core_is_opened_on_that_kind_only() -> None:
    host = Host()
    first = host.online_cpus[0]
    event = Event(
        "cpu_core/cycles/",
        kind=Kind.HARDWARE,
        encoding=PerfEncoding("cpu_core", 0, 4 << 32),
        cores=(first,),
    )
    found = places(event, Cpus(), None, host)
    assert [place.cpu for place in found] == [first]
