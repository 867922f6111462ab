"""Models growth with Extra-P: JSON in (cases of sizes and repeated values), JSON out.

Runs in an environment of its own that has Extra-P. Prints for each case the class of the
model in the words of `gnomon scale`, and the seconds that modelling alone took.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any


def class_of(function: Any) -> str:
    """Return the class of a function; powers of logarithms count as one logarithm."""
    terms = getattr(function, "compound_terms", [])
    if not terms:
        return "constant"
    polynomial = logarithm = 0.0
    for simple in terms[0].simple_terms:
        if simple.term_type == "polynomial":
            polynomial = float(simple.exponent)
        else:
            logarithm = float(simple.exponent)
    if logarithm:
        return {0.0: "logarithmic", 1.0: "n log n"}.get(polynomial, "other")
    return {1.0: "linear", 2.0: "quadratic", 3.0: "cubic"}.get(polynomial, "power")


def main() -> None:
    """Model all cases in one call, as Extra-P is meant to be used."""
    from extrap.entities.callpath import Callpath  # type: ignore[import-not-found]
    from extrap.entities.coordinate import Coordinate  # type: ignore[import-not-found]
    from extrap.entities.measurement import Measurement  # type: ignore[import-not-found]
    from extrap.entities.metric import Metric  # type: ignore[import-not-found]
    from extrap.modelers.single_parameter.basic import (  # type: ignore[import-not-found]
        SingleParameterModeler,
    )

    warnings.simplefilter("ignore")
    cases = json.load(sys.stdin)
    path, metric = Callpath("main"), Metric("count")
    measurements = [
        [
            Measurement(Coordinate(size), path, metric, values)
            for size, values in zip(case["sizes"], case["values"], strict=True)
        ]
        for case in cases
    ]
    modeler = SingleParameterModeler()
    start = time.perf_counter()
    models = modeler.model(measurements)
    seconds = time.perf_counter() - start
    classes = [class_of(model.hypothesis.function) for model in models]
    json.dump({"classes": classes, "seconds": seconds}, sys.stdout)


if __name__ == "__main__":
    main()
