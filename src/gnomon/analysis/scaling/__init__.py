"""How events go with parameters: a program run for many values, and a model for every event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.scaling.measuring import scale
    from gnomon.analysis.scaling.modelling import (
        principal_components,
        scale_models,
        scale_table,
    )
    from gnomon.analysis.scaling.result import Components, EventScaling, Knee, Prediction, Scaling

__all__ = [
    "Components",
    "EventScaling",
    "Knee",
    "Prediction",
    "Scaling",
    "principal_components",
    "scale",
    "scale_models",
    "scale_table",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Components": "result",
        "EventScaling": "result",
        "Knee": "result",
        "Prediction": "result",
        "Scaling": "result",
        "principal_components": "modelling",
        "scale": "measuring",
        "scale_models": "modelling",
        "scale_table": "modelling",
    },
)
