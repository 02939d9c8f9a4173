# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of sketches, compiled."""

import numpy as np
import numpy.typing as npt

def letters(words: list[int], shuffles: int) -> list[int]:
    """Return a number from 0 to 63 for each shuffle, which stands for the first of all sequences of three words.

    `words` are numbers below 2**64. Raises ValueError if there are fewer than three.
    """

def letters_of_set(items: npt.NDArray[np.uint64], shuffles: int) -> list[int]:
    """Return a number from 0 to 63 for each shuffle of a set of numbers below 2**64. Raises ValueError if empty."""
