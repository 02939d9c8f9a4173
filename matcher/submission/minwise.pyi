# SPDX-License-Identifier: Apache-2.0
"""Compiled arithmetic of sketches (matcher.submission.sketch): min-wise hashing."""

import numpy as np
import numpy.typing as npt

def letters(words: list[int], shuffles: int) -> list[int]:
    """Return one number from 0 to 63 per shuffle: six bits of the three-word sequence that the shuffle puts first.

    `words` are the words' hashes, numbers below 2**64. Raises ValueError if there are fewer than three words.
    """

def letters_of_set(items: npt.NDArray[np.uint64], shuffles: int) -> list[int]:
    """Return one number from 0 to 63 per shuffle: six bits of the item that the shuffle puts first.

    `items` is a set of numbers below 2**64. Raises ValueError if the set is empty.
    """
