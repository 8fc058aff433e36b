"""Factors and roots of integers."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from math import isqrt

_PRIMES = [p for p in range(2, 1000) if all(p % q for q in range(2, isqrt(p) + 1))]


def factors(value: Fraction) -> Iterable[tuple[int, int]]:
    """Yield (prime, exponent) of a positive rational; a large cofactor may stay in one piece."""
    for number, sign in ((value.numerator, 1), (value.denominator, -1)):
        # only small ones are remembered: what is remembered must not add up
        small = number.bit_length() <= 64
        for prime, count in (_factor_small if small else _factor_integer)(number):
            yield prime, sign * count


def _factor_integer(number: int) -> tuple[tuple[int, int], ...]:
    found = []
    for prime in _PRIMES:
        if number == 1:
            break
        count = 0
        while number % prime == 0:
            number //= prime
            count += 1
        if count:
            found.append((prime, count))
        if prime * prime > number:
            break
    if number > 1:
        found.append(_perfect_power(number))
    return tuple(found)


_factor_small = lru_cache(maxsize=4096)(_factor_integer)


def _perfect_power(number: int) -> tuple[int, int]:
    for n in (2, 3, 5, 7):
        root = integer_root(number, n)
        if root**n == number:
            base, count = _perfect_power(root)
            return base, n * count
    return number, 1


def integer_root(number: int, n: int) -> int:
    """Return the largest integer whose n-th power is at most `number`, by Newton's method."""
    if number < 2:
        return number
    if n == 2:
        return isqrt(number)
    guess = 1 << -(-number.bit_length() // n)
    while True:
        step = ((n - 1) * guess + number // guess ** (n - 1)) // n
        if step >= guess:
            return guess
        guess = step
