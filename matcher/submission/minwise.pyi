# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of sketches, compiled."""

import numpy as np
import numpy.typing as npt

def letters(words: list[int], shuffles: int) -> list[int]:
    """For each of so many shuffles, a number from 0 to 63 that stands for the first of all sequences of three words.

    `words` are numbers below 2**64. Raises ValueError for fewer than three.
    """

def letters_of_set(items: npt.NDArray[np.uint64], shuffles: int) -> list[int]:
    """The same for a set of items, each a number below 2**64. Raises ValueError where there are none."""
