"""Least squares with coefficients that are never negative, in a dozen lines and without a library.

Each point is weighted by 1/price², which makes the *relative* error small: otherwise the few largest machines
decide everything. A price that falls when a machine gains a vCPU is nonsense, so a feature whose coefficient
comes out negative is left out and the fit made again.
"""

from __future__ import annotations

from collections.abc import Sequence

Point = tuple[tuple[float, ...], float]


def fit(points: Sequence[Point]) -> list[float]:
    """A coefficient for each feature, so that features · coefficients ≈ price. There is no constant term."""
    width = len(points[0][0])
    used = [i for i in range(width) if any(features[i] for features, _ in points)]
    while used:
        solved = _solve(points, used)
        worst = min(range(len(used)), key=lambda i: solved[i])
        if solved[worst] >= 0:
            return [solved[used.index(i)] if i in used else 0.0 for i in range(width)]
        used.pop(worst)
    return [0.0] * width


def _solve(points: Sequence[Point], used: list[int]) -> list[float]:
    """The normal equations, by Gaussian elimination with pivoting."""
    n = len(used)
    rows = [[0.0] * (n + 1) for _ in range(n)]
    for features, price in points:
        scaled = [features[i] / price for i in used]
        for i in range(n):
            for j in range(n):
                rows[i][j] += scaled[i] * scaled[j]
            rows[i][n] += scaled[i]
    for column in range(n):
        pivot = max(range(column, n), key=lambda row: abs(rows[row][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for row in range(n):
            if row != column:
                factor = rows[row][column] / rows[column][column]
                rows[row] = [a - factor * b for a, b in zip(rows[row], rows[column], strict=True)]
    return [rows[i][n] / rows[i][i] for i in range(n)]
