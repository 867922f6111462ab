"""Clusters that come with gnomon or from a file, and programs by name with `key=value` words."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from gnomon.errors import UsageError
from gnomon.events.tomlfile import Collection, Section, nearest
from gnomon.machines.fields import number
from gnomon.messaging.simulator import programs
from gnomon.messaging.simulator.cluster import LARGEST_NODES, Cluster, ClusterError
from gnomon.messaging.simulator.layout import WAITING, Layout, Waiting
from gnomon.units import parse_count

Builder = Callable[..., Layout]

_MOST = 10**12

_PROGRAMS: Mapping[str, Builder] = {
    "all-to-all": programs.all_to_all,
    "bulk-synchronous": programs.bulk_synchronous,
    "dirt": programs.dirt,
    "key-value": programs.key_value,
    "open-service": programs.open_service,
    "parameter-server": programs.parameter_server,
    "ping-pong": programs.ping_pong,
}


@dataclass(frozen=True, slots=True)
class NamedCluster:
    """A cluster with its name, and how its programs wait unless they say so."""

    name: str
    title: str
    waiting: Waiting
    cluster: Cluster

    def sized(self, layout: Layout) -> Cluster:
        """Return the cluster with as many nodes as a program has."""
        return replace(self.cluster, nodes=layout.nodes)


_CLUSTERS = Collection("cluster", "gnomon.messaging.simulator", "clusters")


def cluster_names() -> tuple[str, ...]:
    """Return the names of the clusters that come with gnomon."""
    return _CLUSTERS.names()


def load_cluster(name: str | Path) -> NamedCluster:
    """Return a cluster by its name, or by the file that describes it."""
    return _cluster(*_CLUSTERS.read(name))


def program_names() -> tuple[str, ...]:
    """Return the names of the programs that come with gnomon."""
    return tuple(_PROGRAMS)


def program_summary(name: str) -> str:
    """Return what a program does, in a sentence."""
    return (inspect.getdoc(_PROGRAMS[name]) or "").split("\n\n", maxsplit=1)[0].replace("\n", " ")


def program_parameters(name: str) -> dict[str, Any]:
    """Return the parameters of a program, with what they are unless they are given."""
    return {
        key: each.default for key, each in inspect.signature(_PROGRAMS[name]).parameters.items()
    }


def build_program(name: str, words: Sequence[str], *, waiting: Waiting) -> Layout:
    """Return a program by its name and words like `rounds=100`; it waits as it says or is told."""
    if name not in _PROGRAMS:
        near = nearest(name, _PROGRAMS) or program_names()
        raise UsageError(f"there is no message program '{name}': choose from {', '.join(near)}.")
    defaults = program_parameters(name)
    given: dict[str, Any] = {"waiting": waiting}
    for word in words:
        key, equals, value = word.partition("=")
        key = key.replace("-", "_")
        if not equals or key not in defaults:
            raise UsageError(
                f"'{word}' means nothing to {name}: it takes {', '.join(defaults)}, as in "
                f"{next(iter(defaults))}={next(iter(defaults.values()))}."
            )
        given[key] = _value(word, value, defaults[key], key)
    try:
        return _PROGRAMS[name](**given)
    except ClusterError as error:
        raise UsageError(str(error)) from None


def _value(word: str, value: str, default: Any, key: str) -> Any:
    if isinstance(default, str):
        known = WAITING if key == "waiting" else ("constant", "exponential", "uniform")
        if value not in known:
            raise UsageError(f"'{word}' makes no sense: choose from {', '.join(known)}.")
        return value
    try:
        amount = float(value) if isinstance(default, float) else parse_count(value)
    except (ValueError, UsageError):
        kind = "number" if isinstance(default, float) else "whole number"
        raise UsageError(
            f"'{word}' makes no sense: give a {kind}, as in {key}={default}."
        ) from None
    least = 0 if key in ("warm_up", "size", "request_bytes", "response_bytes") else 1
    if isinstance(default, float):
        least = 0
    most = LARGEST_NODES if key == "nodes" else _MOST
    if not least <= amount <= most:
        raise UsageError(f"'{word}' makes no sense: choose from {least} to {most:,}.")
    return amount


def _cluster(top: Section, name: str) -> NamedCluster:
    title = top.text("title", name)
    waiting = top.text("waiting", "sleep")
    if waiting not in WAITING:
        raise top.error(f"must be one of {', '.join(WAITING)}", "waiting")
    given: dict[str, Any] = {}
    for field in fields(Cluster):
        if field.name in top:
            given[field.name] = _field(top, field.name)
    top.finish()
    try:
        return NamedCluster(name, title, waiting, Cluster(**given))
    except ClusterError as error:
        raise top.error(str(error)) from None


def _field(top: Section, key: str) -> Any:
    if key == "not_resident":
        text = top.text(key)
        if text not in ("list", "hint"):
            raise top.error("must be 'list' or 'hint'", key)
        return text
    if key in ("nodes", "contexts"):
        return top.integer(key)
    if key != "speeds":
        return number(top, key)
    top.asked.add(key)
    speeds = top.data[key]
    if not isinstance(speeds, list) or not all(isinstance(each, float | int) for each in speeds):
        raise top.error("must be a list of numbers", key)
    return tuple(float(each) for each in speeds)
