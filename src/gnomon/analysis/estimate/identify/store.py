"""Where identified processes are kept: a TOML file a machine and workload, written at once."""

from __future__ import annotations

import math
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from gnomon.analysis.estimate.kalman.blocks import Parameters
from gnomon.analysis.estimate.result import Identification
from gnomon.errors import UsageError
from gnomon.events.tomlfile import Section, read_definitions
from gnomon.recording.contents import Provenance


def store_folder() -> Path:
    """Return the folder of the store; XDG_DATA_HOME moves it."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "gnomon" / "processes"


def store_file(machine: str, workload: str, folder: Path | None = None) -> Path:
    """Return the file of a workload on a machine."""
    return (folder or store_folder()) / _plain(machine) / f"{_plain(workload)}.toml"


def machine_of(origin: Provenance) -> str:
    """Return under which name of a machine processes are kept."""
    return (origin.machine if origin.simulated else origin.host) or origin.cpu or "unknown"


def store_parameters(found: Identification, folder: Path | None = None) -> Path:
    """Keep what was identified without doubt; an older file is replaced in one step."""
    import tomli_w

    events = {
        name: {
            "mean": each.mean,
            "sigma": each.sigma,
            "beta": each.beta,
            "noise": each.noise,
            "samples": each.samples,
        }
        for name, each in found.events.items()
        if not each.doubt and all(map(math.isfinite, (each.mean, each.sigma, each.beta)))
    }
    if not events:
        raise UsageError("no event was identified without doubt: there is nothing to store.")
    content = {
        "machine": found.machine,
        "workload": found.workload,
        "interval_s": found.interval_s,
        "events": events,
    }
    path = store_file(found.machine, found.workload, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".new")
    try:
        with os.fdopen(handle, "wb") as stream:
            tomli_w.dump(content, stream)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path


def load_parameters(
    machine: str, workload: str, folder: Path | None = None
) -> Mapping[str, Parameters]:
    """Return what is stored of a workload on a machine, a process an event."""
    path = store_file(machine, workload, folder)
    if not path.exists():
        raise UsageError(
            f"nothing is stored of '{workload}' on '{machine}': "
            "`gnomon estimate identify REC --store` does that."
        )
    return read_parameters(path)


def find_parameters(name: str | os.PathLike[str], machine: str) -> Mapping[str, Parameters]:
    """Return processes by their file, `MACHINE/WORKLOAD`, or the workload on this machine."""
    text = os.fspath(name)
    if text.endswith(".toml"):
        if not Path(text).is_file():
            raise UsageError(
                f"there is no file '{text}': `gnomon estimate identify REC --store` makes one."
            )
        return read_parameters(Path(text))
    elsewhere, _, workload = text.rpartition("/")
    return load_parameters(elsewhere or machine, workload)


def read_parameters(path: Path) -> Mapping[str, Parameters]:
    """Return the processes of a file."""
    top = read_definitions(path)
    parameters = {}
    for event, (section, *_) in top.section("events").sections():
        mean, sigma, beta = (_number(section, key) for key in ("mean", "sigma", "beta"))
        noise = _number(section, "noise") if "noise" in section else 0.0
        if sigma <= 0 or beta < 0 or noise < 0:
            raise section.error("sigma must be above zero, beta and noise not below", "sigma")
        parameters[event] = Parameters(mean, sigma, beta, noise)
    return parameters


def _number(section: Section, key: str) -> float:
    value = section.data.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise section.error("must be a number", key)
    return float(value)


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._") or "unknown"
