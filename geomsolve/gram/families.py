"""Large arrangements by formula: vectors of characters of polynomials over a prime field.

For a prime p and polynomials f = a_1 x + ... + a_t x^t, t < p, the complex vectors

    v_f(x) = e^{2 pi i f(x)/p} / sqrt(p),   x = 0, ..., p - 1,

have |<v_f, v_g>| <= (t - 1)/sqrt(p) for f != g (Weil 1948; t = 2: Gauss sums, which makes unbiased bases).  The axes
have 1/sqrt(p) with all of them.  As 2 p real numbers each, and times i, which turns them by a right angle, they are
2 (p^t + p) lines, and with their opposites twice as many points, in 2 p dimensions.

Symbols: p ``prime``, t ``degree``.
"""

from __future__ import annotations

from math import floor, isqrt, sqrt

import numpy as np

from geomsolve.gram.types import FloatArray


def largest_prime(most: int) -> int:
    """The largest odd prime up to ``most``, 0 where there is none."""
    for n in range(most, 2, -1):
        if all(n % k for k in range(2, isqrt(n) + 1)):
            return n
    return 0


def characters(dim: int, cosine: float, *, lines: bool = False) -> tuple[int, str]:
    """How many points, or ``lines``, of the module have cosines of at most ``cosine`` in ``dim`` dimensions, and what
    they are called; 0 where not even t = 2 does."""
    prime = largest_prime(dim // 2)
    degree = min(prime - 1, floor(cosine * sqrt(prime) * (1 + 1e-9)) + 1) if prime else 0
    if degree < 2:
        return 0, ""
    return count(prime, degree, lines=lines), named(prime, degree)


def count(prime: int, degree: int, *, lines: bool = False) -> int:
    """Lines or points of the module."""
    vectors: int = prime**degree + prime
    return (2 if lines else 4) * vectors


def named(prime: int, degree: int) -> str:
    """What they are called."""
    return f"{'unbiased bases' if degree == 2 else f'polynomials of degree {degree}'} modulo {prime}"


def least_degree(n_points: int, dim: int) -> tuple[int, int]:
    """The prime and the least degree t at which so many points are had in ``dim`` dimensions; (0, 0) where none is."""
    prime = largest_prime(dim // 2)
    degree = next((t for t in range(2, prime) if count(prime, t) >= n_points), 0)
    return (prime, degree) if degree else (0, 0)


def points(n_points: int, dim: int, prime: int, degree: int) -> FloatArray:
    """The first ``n_points`` of the module as rows (K, d): four of a vector, times 1, i, -1, -i; axes are last."""
    number = np.arange(n_points) // 4
    polynomial = np.minimum(number, prime**degree - 1)
    x = np.arange(prime)
    phase = np.zeros((n_points, prime), dtype=np.int64)
    for power in range(degree, 0, -1):  # Horner, without a constant
        phase = (phase + (polynomial // prime ** (power - 1) % prime)[:, None]) * x % prime
    vectors = np.exp(2j * np.pi * phase / prime) / sqrt(prime)
    axes = number >= prime**degree
    vectors[axes] = np.eye(prime)[number[axes] - prime**degree]
    vectors *= 1j ** (np.arange(n_points) % 4)[:, None]
    found = np.zeros((n_points, dim))
    found[:, :prime], found[:, prime : 2 * prime] = vectors.real, vectors.imag
    return found
