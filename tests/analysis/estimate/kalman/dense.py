"""The slow and obvious twin of all Kalman filters: full matrices, Joseph's form, numpy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm  # type: ignore[import-untyped]

Floats = NDArray[np.float64]


@dataclass
class Dense:
    """x and P of any linear model; `pick` says which state each counter is."""

    x: Floats
    p: Floats
    pick: list[int]
    noise: Floats

    def predict(self, phi: Floats, q: Floats) -> None:
        """Let time pass."""
        self.x = phi @ self.x
        self.p = phi @ self.p @ phi.T + q

    def correct(self, which: list[int], values: Floats) -> None:
        """Take in all readings at once."""
        h = np.zeros((len(which), self.x.size))
        for row, counter in enumerate(which):
            h[row, self.pick[counter]] = 1.0
        r = np.diag(self.noise[which])
        gain = self.p @ h.T @ np.linalg.inv(h @ self.p @ h.T + r)
        self.x = self.x + gain @ (values - h @ self.x)
        rest = np.eye(self.x.size) - gain @ h
        self.p = rest @ self.p @ rest.T + gain @ r @ gain.T

    @property
    def values(self) -> Floats:
        """The values of the counters."""
        return self.x[self.pick]

    @property
    def variances(self) -> Floats:
        """Their variances."""
        return np.diag(self.p)[self.pick]


def van_loan(f: Floats, g: Floats, dt: float) -> tuple[Floats, Floats]:
    """Return Phi and Q of x' = F x + noise of intensity G, over dt."""
    n = f.shape[0]
    block = np.zeros((2 * n, 2 * n))
    block[:n, :n], block[:n, n:], block[n:, n:] = -f, g, f.T
    e = expm(block * dt)
    phi = e[n:, n:].T
    return phi, phi @ e[:n, n:]


def integrated_model(beta: float, sigma: float, dt: float) -> tuple[Floats, Floats]:
    """Return Phi and Q of an integrated Gauss-Markov process (Manzke 5.17 to 5.23, corrected)."""
    e = np.exp(-beta * dt)
    a = (1 - e) / beta
    q11 = 2 / beta * (dt - 2 * a + (1 - e**2) / (2 * beta))
    q12 = 2 * (a - (1 - e**2) / (2 * beta))
    return np.array([[1.0, a], [0.0, e]]), sigma**2 * np.array([[q11, q12], [q12, 1 - e**2]])


def blocks(parts: list[Floats]) -> Floats:
    """Return a block-diagonal matrix."""
    n = sum(part.shape[0] for part in parts)
    whole, at = np.zeros((n, n)), 0
    for part in parts:
        end = at + part.shape[0]
        whole[at:end, at:end] = part
        at = end
    return whole


def rauch_tung_striebel(
    x: list[Floats],
    p: list[Floats],
    phis: list[Floats],
    qs: list[Floats],
) -> tuple[list[Floats], list[Floats]]:
    """Return smoothed states from filtered ones; `phis[t]` leads to tick t."""
    xs, ps = [x[-1]], [p[-1]]
    for t in range(len(x) - 2, -1, -1):
        ahead = phis[t + 1] @ p[t] @ phis[t + 1].T + qs[t + 1]
        gain = p[t] @ phis[t + 1].T @ np.linalg.inv(ahead)
        xs.insert(0, x[t] + gain @ (xs[0] - phis[t + 1] @ x[t]))
        ps.insert(0, p[t] + gain @ (ps[0] - ahead) @ gain.T)
    return xs, ps
