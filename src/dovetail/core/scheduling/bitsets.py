"""Sets of small numbers as integers: bit i stands for the i-th."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

#: A long set is read a window at a time, so that taking a bit out of it does not copy all of it.
_WINDOW: Final = 512
_WINDOW_MASK: Final = (1 << _WINDOW) - 1
#: One bit in so many makes a set dense: writing it as digits, all of which are read, is then the quicker way.
_DENSE: Final = 16
_ONE: Final = ord("1")


def bits(mask: int) -> Iterator[int]:
    """The positions of the set bits, lowest first."""
    start = 0
    while mask:
        skipped = (mask & -mask).bit_length() - 1
        start += skipped
        mask >>= skipped
        window = mask & _WINDOW_MASK
        while window:
            low = window & -window
            yield start + low.bit_length() - 1
            window ^= low
        start += _WINDOW
        mask >>= _WINDOW


def mask_of(numbers: Iterable[int], size: int) -> int:
    """The set of these bits, built in one go: adding them one by one would copy the set each time."""
    if isinstance(numbers, list) and len(numbers) * _DENSE > size:
        digits = bytearray(b"0") * (size + 1)
        for number in numbers:
            digits[number] = _ONE
        digits.reverse()
        return int(digits, 2)
    packed = bytearray(size // 8 + 1)
    for number in numbers:
        packed[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(packed, "little")
