# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled function that hashes the names in a symbol table; large programs have a hundred thousand names."""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcmp

import numpy as np

cdef Py_ssize_t LONGEST = 512  # maximum bytes of a name that are hashed; a name in a malicious file may have no end

def name_numbers(const unsigned char[::1] table, const uint32_t[::1] starts):
    cdef Py_ssize_t i, count = 0
    cdef Py_ssize_t first, end, last, size = table.shape[0]
    cdef uint64_t number
    numbers = np.empty(starts.shape[0], np.uint64)
    cdef uint64_t[::1] out = numbers
    if not size:
        return numbers[:0]
    with nogil:
        for i in range(starts.shape[0]):
            first = end = starts[i]
            last = min(size, first + LONGEST)
            while end < last and table[end] and table[end] != c"@" and (table[end] != c"." or end == first):
                end += 1
            if end - first > 6 and not memcmp(&table[first], b"__", 2) and not memcmp(&table[end - 4], b"_chk", 4):
                first += 2  # prefix added by _FORTIFY_SOURCE
                end -= 4
            elif end - first > 9 and not memcmp(&table[first], b"__isoc", 6) and table[first + 8] == c"_":
                first += 9  # prefix that selects a C standard
            if end <= first:
                continue
            number = <uint64_t>0xCBF29CE484222325
            while first < end:
                number = (number ^ table[first]) * <uint64_t>0x100000001B3
                first += 1
            out[count] = number
            count += 1
    return numbers[:count]
