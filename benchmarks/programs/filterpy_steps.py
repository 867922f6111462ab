"""Steps filterpy's KalmanFilter through a model that is given, in an environment that has it.

Reads a JSON object a line: `file` has phi, q, p, noise, which (tick, register) and z; `ticks`
says how many rows of them to take, from the start. Answers with the seconds that took, and
with the values and variances at the end.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from filterpy.kalman import KalmanFilter  # type: ignore[import-not-found,import-untyped,unused-ignore]

for text in sys.stdin:
    asked = json.loads(text)
    model = np.load(asked["file"])
    phi, which, z = model["phi"], model["which"], model["z"]
    size, registers = phi.shape[0], which.shape[1]
    peer = KalmanFilter(dim_x=size, dim_z=registers)
    peer.x, peer.P = np.zeros(size), model["p"].copy()
    peer.F, peer.Q = phi, model["q"]
    # What is read, and how noisily, is prepared for both sides alike.
    picks = [np.eye(size)[row * asked["stride"]] for row in which]
    noises = [np.diag(model["noise"][row]) for row in which]
    start = time.perf_counter()
    for tick in range(asked["ticks"]):
        peer.predict()
        peer.update(z[tick], noises[tick], picks[tick])
    seconds = time.perf_counter() - start
    answer = {
        "seconds": seconds,
        "values": peer.x.tolist(),
        "variances": np.diag(peer.P).tolist(),
    }
    print(json.dumps(answer), flush=True)
