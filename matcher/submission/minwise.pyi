# SPDX-License-Identifier: Apache-2.0
"""Compiled min-wise hashing for sketches (matcher.submission.sketch)."""

import numpy as np
import numpy.typing as npt

def letters(words: list[int], shuffles: int) -> list[int]:
    """Return, for each shuffle, six bits (0 to 63) that identify the three-word sequence that the shuffle puts first.

    `words` are the hashes of the words, below 2**64. Raises ValueError if there are fewer than three words.
    """

def letters_of_set(items: npt.NDArray[np.uint64], shuffles: int) -> list[int]:
    """Return, for each shuffle, six bits (0 to 63) that identify the item that the shuffle puts first.

    `items` is a set of numbers below 2**64. Raises ValueError if the set is empty.
    """
