"""Messaging: what sending, receiving and being told of a message cost.

`uln` runs message programs on machines with and without user-level notification, `simulator`
runs them on clusters, `cluster_model` solves equations of them, `fitting` finds parameters of
these equations in measurements, and `sessions` measures messages between processes of this host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.messaging.cluster_model import (
        OS_NIC,
        Exchange,
        ModelError,
        Overheads,
        Queue,
        Saturation,
        Solution,
        Speed,
        SpeedLaw,
        States,
        Unshared,
        expected_maximum,
        solve,
    )
    from gnomon.messaging.fitting import (
        ImbalanceFit,
        MeasurementError,
        MissFit,
        SaturationFit,
        fit_imbalance,
        fit_misses,
        fit_saturation,
        read_columns,
    )
    from gnomon.messaging.raytracer_model import (
        DIRT_CORE_SPEEDUP,
        DIRT_DEFAULT_EDGE,
        DIRT_HANDLER,
        DIRT_ONE_WAY,
        DIRT_RECEIVE,
        DIRT_REQUEST_BYTES,
        DIRT_RESPONSE_PRINTED,
        DIRT_RESPONSE_USED,
        DIRT_SEND,
        DIRT_WAKE,
        BlockLaw,
        DirectResume,
        Dirt,
        best_edge,
        efficiency,
        response_bytes,
    )
    from gnomon.messaging.result import Timeline
    from gnomon.messaging.simulator import (
        Cluster,
        Layout,
        MessageRun,
        Script,
        SimulatedRun,
        load_cluster,
        simulate,
    )
    from gnomon.messaging.simulator.programs import all_to_all, dirt, key_value, ping_pong
    from gnomon.messaging.uln import (
        KERNEL_NIC,
        MEMORY_BASE,
        MEMORY_BYTES,
        ULN,
        USER_LEVEL_NIC,
        DeadlockError,
        Descriptor,
        Doorbell,
        Fallback,
        Placement,
        ProgramRun,
        Thread,
        TimeLimitError,
        run_programs,
    )
    from gnomon.messaging.uln.network import LINE_BYTES
    from gnomon.messaging.uln.programming import PING, Style, run_ping_pong
    from gnomon.result import Quantity

__all__ = [
    "DIRT_CORE_SPEEDUP",
    "DIRT_DEFAULT_EDGE",
    "DIRT_HANDLER",
    "DIRT_ONE_WAY",
    "DIRT_RECEIVE",
    "DIRT_REQUEST_BYTES",
    "DIRT_RESPONSE_PRINTED",
    "DIRT_RESPONSE_USED",
    "DIRT_SEND",
    "DIRT_WAKE",
    "KERNEL_NIC",
    "LINE_BYTES",
    "MEMORY_BASE",
    "MEMORY_BYTES",
    "OS_NIC",
    "PING",
    "ULN",
    "USER_LEVEL_NIC",
    "BlockLaw",
    "Cluster",
    "DeadlockError",
    "Descriptor",
    "DirectResume",
    "Dirt",
    "Doorbell",
    "Exchange",
    "Fallback",
    "ImbalanceFit",
    "Layout",
    "MeasurementError",
    "MessageRun",
    "MissFit",
    "ModelError",
    "Overheads",
    "Placement",
    "ProgramRun",
    "Quantity",
    "Queue",
    "Saturation",
    "SaturationFit",
    "Script",
    "SimulatedRun",
    "Solution",
    "Speed",
    "SpeedLaw",
    "States",
    "Style",
    "Thread",
    "TimeLimitError",
    "Timeline",
    "Unshared",
    "all_to_all",
    "best_edge",
    "dirt",
    "efficiency",
    "expected_maximum",
    "fit_imbalance",
    "fit_misses",
    "fit_saturation",
    "key_value",
    "load_cluster",
    "ping_pong",
    "read_columns",
    "response_bytes",
    "run_ping_pong",
    "run_programs",
    "simulate",
    "solve",
]

_NAMES = {
    "cluster_model": (
        "Exchange ModelError OS_NIC Overheads Queue Saturation Solution Speed SpeedLaw States "
        "Unshared expected_maximum solve"
    ),
    "fitting": (
        "ImbalanceFit MeasurementError MissFit Quantity SaturationFit fit_imbalance "
        "fit_misses fit_saturation read_columns"
    ),
    "raytracer_model": (
        "BlockLaw DIRT_CORE_SPEEDUP DIRT_DEFAULT_EDGE DIRT_HANDLER DIRT_ONE_WAY DIRT_RECEIVE "
        "DIRT_REQUEST_BYTES DIRT_RESPONSE_PRINTED DIRT_RESPONSE_USED DIRT_SEND DIRT_WAKE "
        "DirectResume Dirt best_edge efficiency response_bytes"
    ),
    "result": "Timeline",
    "simulator": "Cluster Layout MessageRun Script SimulatedRun load_cluster simulate",
    "simulator.programs": "all_to_all dirt key_value ping_pong",
    "uln": (
        "DeadlockError Descriptor Doorbell Fallback KERNEL_NIC MEMORY_BASE MEMORY_BYTES "
        "Placement ProgramRun Thread TimeLimitError ULN USER_LEVEL_NIC run_programs"
    ),
    "uln.network": "LINE_BYTES",
    "uln.programming": "PING Style run_ping_pong",
}

__getattr__, __dir__ = lazy_names(
    __name__, {name: module for module, names in _NAMES.items() for name in names.split()}
)
