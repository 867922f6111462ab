"""What an application does between messages, from a TOML file and perhaps a recording."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.errors import UsageError
from gnomon.events.tomlfile import Section, read_definitions
from gnomon.messaging.cluster_model import Saturation, SpeedLaw, Unshared
from gnomon.messaging.result import Application, NetworkLink, Sharing
from gnomon.result import Quantity
from gnomon.units import parse_duration, parse_size

if TYPE_CHECKING:
    import os

    from gnomon.analysis.count import EventCount

_MOST_THREADS = 1024


def read_application(path: str | os.PathLike[str]) -> Application:
    """Return the application that a TOML file describes; mistakes are told with their place."""
    top = read_definitions(Path(path))
    section = top.section("application")
    threads = section.integer("threads")
    recorded = _from_recording(top.section("recording"), Path(path).parent, threads or 1)
    if recorded is None and "compute" not in section:
        raise section.error("is missing: say how long a thread computes, as in '12us'", "compute")
    for key in ("compute", *(("request", "response") if recorded and recorded.size else ())):
        if recorded is not None and key in section:
            raise section.error("is given, and a recording too: choose one", key)
    recorded = recorded or _Recorded(_time(section, "compute"))
    counted = section.integer("exchanges")
    if counted is not None and counted < 1:
        raise section.error("must be 1 or more", "exchanges")
    if threads is not None and not 1 <= threads <= _MOST_THREADS:
        raise section.error(f"must be from 1 to {_MOST_THREADS}", "threads")
    mechanism = section.text("mechanism", "")
    found = Application(
        name=section.text("name", Path(path).stem),
        compute=recorded.compute,
        handler=_time(section, "handler", zero=True),
        threads=threads or 1,
        request=recorded.size or _size(section, "request"),
        response=recorded.size or _size(section, "response"),
        exchanges=float(counted) if counted is not None else recorded.exchanges,
        mechanism=mechanism or None,
        communicator=_switch(section, "communicator"),
        network=_network(top.section("network")),
        sharing=_sharing(top.section("sharing")),
    )
    section.finish()
    top.finish()
    return found


def _value(section: Section, key: str) -> Any:
    section.asked.add(key)
    return section.data.get(key)


def _time(section: Section, key: str, *, zero: bool = False) -> Quantity:
    """Return a time such as '12us', or two for its bounds."""
    value = _value(section, key)
    if value is None:
        return Quantity.exactly(0.0)
    texts = value if isinstance(value, list) else [value]
    if len(texts) not in (1, 2) or not all(isinstance(text, str) for text in texts):
        raise section.error("must be a time such as '12us', or two for its bounds", key)
    times = []
    for text in texts:
        if text.lstrip().startswith("-"):
            raise section.error(f"is {text}: a time cannot be negative", key)
        if zero and text.strip().rstrip("nusmµ").strip("0. ") == "":
            times.append(0.0)
            continue
        try:
            times.append(float(parse_duration(text, key)))
        except UsageError as error:
            raise section.error(str(error).rstrip("."), key) from None
    low, high = times[0], times[-1]
    if low > high:
        raise section.error("has its upper bound first", key)
    return Quantity((low + high) / 2, low, high)


def _size(section: Section, key: str) -> int:
    value = _value(section, key)
    if value is None:
        return 0
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if not isinstance(value, str):
        raise section.error("must be a size of zero or more, such as 4096 or '4KiB'", key)
    try:
        return parse_size(value, key)
    except UsageError as error:
        raise section.error(str(error).rstrip("."), key) from None


def _switch(section: Section, key: str) -> bool:
    value = _value(section, key)
    if value is not None and not isinstance(value, bool):
        raise section.error("must be true or false", key)
    return bool(value)


def _positive(section: Section, key: str) -> float:
    value = _value(section, key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e12:
        raise section.error("must be a number above zero", key)
    return float(value)


def _network(section: Section) -> NetworkLink | None:
    if not section.data:
        return None
    latency = _time(section, "latency", zero=True)
    rate = section.text("bandwidth")
    if not rate.endswith("/s"):
        raise section.error(f"'{rate}' is not a rate: write it as in '1GB/s'", "bandwidth")
    try:
        size = parse_size(rate.removesuffix("/s"), "bandwidth")
    except UsageError as error:
        raise section.error(str(error).rstrip("."), "bandwidth") from None
    if size == 0:
        raise section.error("must be above zero", "bandwidth")
    section.finish()
    return NetworkLink(latency.value, size / 1e9)


def _sharing(section: Section) -> Sharing | None:
    if not section.data:
        return None
    found = Sharing(_positive(section, "height"), _positive(section, "knee"))
    section.finish()
    alone = speeds_of(found).speed(1)
    if abs(alone - 1) > 0.01:
        raise section.error(
            f"gives one thread alone a speed of {alone:.3f}: fit it with one thread at 1"
        )
    return found


def speeds_of(sharing: Sharing | None) -> SpeedLaw:
    """Return the law by which threads share a core."""
    return Unshared() if sharing is None else Saturation(sharing.height, sharing.knee)


@dataclass(frozen=True, slots=True)
class _Recorded:
    """What a recording tells: compute of a message, messages of a thread, bytes of a message."""

    compute: Quantity
    exchanges: float | None = None
    size: int = 0


def _from_recording(section: Section, folder: Path, threads: int) -> _Recorded | None:
    """Return compute time per message, messages of a thread and their size, as counted."""
    if not section.data:
        return None
    path = section.text("path")
    time, messages = section.text("time", "task-clock"), section.text("messages")
    size = section.text("bytes", "")
    section.finish()
    from gnomon.analysis.summary import summarise
    from gnomon.recording import Recording

    place = Path(path) if Path(path).is_absolute() else folder / path
    with Recording.open(place) as recording:
        counts = {line.event: line for line in summarise(recording.readings(), recording.events)}
    times = _counted(section, counts, "time", time)
    sent = _counted(section, counts, "messages", messages)
    ratios = [a / b for a, b in zip(times, sent, strict=True)]
    mean = sum(ratios) / len(ratios)
    carried = _counted(section, counts, "bytes", size) if size else []
    return _Recorded(
        Quantity(mean, min(ratios), max(ratios)),
        sum(sent) / len(sent) / threads,
        round(sum(carried) / sum(sent)) if carried else 0,
    )


def _counted(section: Section, counts: dict[str, EventCount], key: str, name: str) -> list[float]:
    """Return what an event counted in each run, or say why there is nothing to take."""
    line = counts.get(name)
    if line is None or line.value is None:
        raise section.error(
            f"'{name}' has no value in the recording, which has {', '.join(counts)}", key
        )
    if not all(line.values):
        raise section.error(f"'{name}' counted nothing in a run of the recording", key)
    return [float(value) for value in line.values if value is not None]
