# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of sketches, compiled."""

def letters(words: list[int], shuffles: int) -> list[int]:
    """For each of so many shuffles, a number from 0 to 63 that stands for the first of all sequences of three words.

    `words` are numbers below 2**64. Raises ValueError for fewer than three.
    """
