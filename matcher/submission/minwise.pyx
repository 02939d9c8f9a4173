# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled min-wise hashing for sketches; with numpy, it would take longer than reading the script."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport uint64_t


def letters(list words, Py_ssize_t shuffles):
    cdef Py_ssize_t place, count = len(words) - 2
    cdef uint64_t *sequences
    if count < 1:
        raise ValueError(f"a sequence takes three words, not {len(words)}")
    sequences = <uint64_t *>PyMem_Malloc(count * sizeof(uint64_t))
    if not sequences:
        raise MemoryError
    try:
        for place in range(count):
            sequences[place] = (
                _mixed(<uint64_t>words[place] * <uint64_t>0x9E3779B97F4A7C15)
                + _mixed(<uint64_t>words[place + 1] * <uint64_t>0xC2B2AE3D27D4EB4F)
                + _mixed(<uint64_t>words[place + 2] * <uint64_t>0x165667B19E3779F9)
            )
        return _first_letters(sequences, count, shuffles)
    finally:
        PyMem_Free(sequences)


def letters_of_set(const uint64_t[::1] items, Py_ssize_t shuffles):
    if not items.shape[0]:
        raise ValueError("the set to sketch is empty")
    return _first_letters(&items[0], items.shape[0], shuffles)


cdef list _first_letters(const uint64_t *items, Py_ssize_t count, Py_ssize_t shuffles):
    """Return, for each shuffle, six bits (0 to 63) that identify the item that the shuffle puts first."""
    cdef Py_ssize_t place
    cdef uint64_t least, shuffle
    found = []
    for shuffle in range(1, shuffles + 1):
        least = <uint64_t>-1
        for place in range(count):
            least = min(least, _mixed(items[place] ^ (shuffle * <uint64_t>0xD6E8FEB86659FD93)))
        found.append(_mixed(least) >> 58)
    return found


cdef inline uint64_t _mixed(uint64_t number) noexcept nogil:
    """Return a number's hash, computed by splitmix64's finalizer (Steele, Lea, Flood 2014)."""
    number = (number ^ (number >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    number = (number ^ (number >> 27)) * <uint64_t>0x94D049BB133111EB
    return number ^ (number >> 31)
