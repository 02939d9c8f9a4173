# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops over distinct values and over rows; `kernel.pyi` documents the functions.

With numpy, each step would be a call, and most columns are so short that the calls would take longer than the work.
Codes and ids are checked before they are used as indices, so an invalid code or id never reads other memory.
"""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.unicode cimport PyUnicode_4BYTE_KIND, PyUnicode_FromKindAndData
from libc.float cimport DBL_MAX
from libc.math cimport M_PI, fabs, fmin, fmod, isnan, sin, sqrt
from libc.stdint cimport int32_t, int64_t

import numpy as np

cdef enum:
    BLOCK = 1024  # rows of totals that stay in the first-level cache while tables are added
    TABLES = 32  # maximum number of tables that are added at once
    RANKED = 64  # largest k for which `leading` keeps the k largest totals sorted; for larger k, numpy finds the k-th

cpdef enum:
    RATIO
    ABSOLUTE
    CIRCULAR
    SAME_SIDE
    EQUAL


# --- texts


def tokens(str text, str separators, bint digits):
    cdef Py_ssize_t length = 0
    cdef Py_UCS4 character
    cdef Py_UCS4 *token = <Py_UCS4 *>PyMem_Calloc(len(text) + 1, sizeof(Py_UCS4))
    if not token:
        raise MemoryError
    found = []
    try:
        for character in text:
            if character in separators:
                if length:
                    found.append(PyUnicode_FromKindAndData(PyUnicode_4BYTE_KIND, token, length))
                    length = 0
            elif digits or not character.isdecimal():
                token[length] = character
                length += 1
        if length:
            found.append(PyUnicode_FromKindAndData(PyUnicode_4BYTE_KIND, token, length))
    finally:
        PyMem_Free(token)
    return tuple(found)


# --- distinct values


def numbers(int comparer, double query, const double[::1] values, double first, double second):
    cdef Py_ssize_t i
    cdef double value
    found = np.empty(values.shape[0])
    cdef double[::1] out = found
    for i in range(values.shape[0]):
        value = values[i]
        if isnan(value):
            out[i] = 0.0
        elif comparer == RATIO:
            out[i] = _ratio(query, value)
        elif comparer == ABSOLUTE:
            out[i] = max(0.0, 1.0 - fabs(query - value) / first)
        elif comparer == CIRCULAR:
            out[i] = _circular(query, value, first)
        elif comparer == SAME_SIDE:
            out[i] = _inside(query, first, second) == _inside(value, first, second)
        else:
            out[i] = query == value
    return found


cdef double _ratio(double left, double right) noexcept:
    if left == right:
        return 1.0
    if left > right:
        left, right = right, left
    return left / right if left > 0.0 else 0.0


cdef double _circular(double left, double right, double period) noexcept:
    cdef double apart = fmod(fabs(left - right), period)
    return 1.0 - sin(M_PI * (fmin(apart, period - apart) / period))


cdef bint _inside(double value, double start, double end) noexcept:
    return start <= value < end if start <= end else value >= start or value < end


def same_letters(const unsigned char[::1] letters, bytes query):
    cdef Py_ssize_t i, j, width = len(query)
    cdef const unsigned char *one
    cdef const unsigned char *of_query = query
    cdef int same
    found = np.empty(letters.shape[0] // width if width else 0)
    cdef double[::1] out = found
    for i in range(out.shape[0]):
        one = &letters[i * width]
        same = 0
        for j in range(width):
            same += one[j] == of_query[j]
        out[i] = 1.0 - (width - same) / <double>width
    return found


def along(const double[::1] similarities, const double[::1] xs, const double[::1] ys):
    cdef Py_ssize_t i
    heights = np.empty(similarities.shape[0])
    cdef double[::1] out = heights
    for i in range(similarities.shape[0]):
        out[i] = _height(similarities[i], xs, ys)
    return heights


def height(double similarity, const double[::1] xs, const double[::1] ys):
    return _height(similarity, xs, ys)


cdef inline double _height(double x, const double[::1] xs, const double[::1] ys) noexcept:
    cdef Py_ssize_t right = 1, count = min(xs.shape[0], ys.shape[0])
    while right < count and xs[right] <= x:
        right += 1
    if right >= count:
        return ys[count - 1]
    return (ys[right] - ys[right - 1]) / (xs[right] - xs[right - 1]) * (x - xs[right - 1]) + ys[right - 1]


cdef class _ById:
    """A number for each of `count` ids, initially 0."""

    cdef double *of
    cdef Py_ssize_t count

    def __cinit__(self, Py_ssize_t count):
        self.of = <double *>PyMem_Calloc(count + 1, sizeof(double))
        if not self.of:
            raise MemoryError
        self.count = count

    def __dealloc__(self):
        PyMem_Free(self.of)

    cdef add(self, dict numbers):
        cdef Py_ssize_t number
        cdef double value
        for number, value in numbers.items():
            if 0 <= number < self.count:
                self.of[number] += value


def holders(const int32_t[::1] ids, const int64_t[::1] starts, Py_ssize_t count):
    cdef Py_ssize_t number, place, row
    begins = np.zeros(count + 1, np.int64)
    rows = np.empty(ids.shape[0], np.int32)
    cdef int64_t[::1] begin = begins
    cdef int32_t[::1] out = rows
    for place in range(ids.shape[0]):
        if not 0 <= ids[place] < count:
            raise IndexError(ids[place])
        begin[ids[place] + 1] += 1
    for number in range(count):
        begin[number + 1] += begin[number]
    cdef int64_t[::1] at = begins.copy()
    for row in range(starts.shape[0] - 1):
        for place in range(max(0, starts[row]), min(starts[row + 1], ids.shape[0])):
            number = ids[place]
            if at[number] < begin[number + 1]:
                out[at[number]] = row
                at[number] += 1
    return rows, begins


def option_similarities(const int32_t[::1] ids, const int64_t[::1] starts, const int32_t[::1] key_of_item,
                        const int32_t[::1] sets, const int64_t[::1] begins, Py_ssize_t key_count, dict overlaps,
                        dict shared, Py_ssize_t keys):
    cdef Py_ssize_t i, place, item, key, one, touched = 0, count = starts.shape[0] - 1
    cdef double overlap, all_keys
    cdef _ById is_shared = _ById(key_count)
    is_shared.add(shared)
    similarities = np.zeros(count)
    cdef double[::1] out = similarities
    with_overlap = [item for item, overlap in overlaps.items() if overlap and 0 <= item < begins.shape[0] - 1]
    cdef int32_t[::1] touch = np.empty(sum([begins[item + 1] - begins[item] for item in with_overlap]), np.int32)
    for item in with_overlap:
        overlap = overlaps[item]
        for place in range(max(0, begins[item]), min(begins[item + 1], sets.shape[0])):
            one = sets[place]
            if 0 <= one < count:
                if out[one] == 0.0 and touched < touch.shape[0]:
                    touch[touched] = one
                    touched += 1
                out[one] += overlap
    for i in range(touched):
        one = touch[i]
        all_keys = keys
        for place in range(max(0, starts[one]), min(starts[one + 1], ids.shape[0])):
            item = ids[place]
            key = key_of_item[item] if 0 <= item < key_of_item.shape[0] else -1
            all_keys += 1.0 - is_shared.of[key] if 0 <= key < key_count else 1.0
        out[one] /= all_keys
    if not keys:  # two empty sets are equal
        for one in range(count):
            if starts[one] == starts[one + 1]:
                out[one] = 1.0
    return similarities


def bag_similarities(const int32_t[::1] ids, const int64_t[::1] starts, const double[::1] counts,
                     const double[::1] squares, Py_ssize_t token_count, dict products, dict changes, dict alike):
    cdef Py_ssize_t i, place, token, first, last
    cdef double product, more, square, length
    cdef _ById product_of = _ById(token_count), change_of = _ById(token_count), alike_of = _ById(token_count)
    product_of.add(products)
    change_of.add(changes)
    alike_of.add(alike)
    least = np.empty(starts.shape[0] - 1)
    most = np.empty(starts.shape[0] - 1) if alike else least
    cdef double[::1] low = least, high = most
    with nogil:
        for i in range(low.shape[0]):
            first, last = max(0, starts[i]), min(starts[i + 1], ids.shape[0], counts.shape[0])
            product = more = 0.0
            square = squares[i] if i < squares.shape[0] else 0.0
            for place in range(first, last):
                token = ids[place]
                if 0 <= token < token_count:
                    product += counts[place] * product_of.of[token]
                    more += counts[place] * alike_of.of[token]
                    square += counts[place] * counts[place] * change_of.of[token]
            length = sqrt(square) if square > 0.0 else 1.0
            high[i] = min(1.0, (product + more) / length)
            low[i] = min(1.0, product / length)
    return most, least


def places_of(const int64_t[::1] heads, const int64_t[::1] tails, int64_t head, int64_t tail):
    cdef Py_ssize_t i
    return [i for i in range(min(heads.shape[0], tails.shape[0])) if heads[i] == head or tails[i] == tail]


# --- rows


cdef struct Table:
    const double *values
    const int32_t *codes
    Py_ssize_t size


def combined(list tables):
    cdef Py_ssize_t i, j, place
    cdef const double[::1] left, right
    cdef double[::1] out
    found = tables[0]
    for other in tables[1:]:
        left, right = found, other
        found = np.empty(left.shape[0] * right.shape[0])
        out = found
        place = 0
        for i in range(left.shape[0]):
            for j in range(right.shape[0]):
                out[place] = left[i] + right[j]
                place += 1
    return found


def add_up(const double[::1] start, list tables, list codes):
    cdef Py_ssize_t low, number, first, count, rows = start.shape[0]
    cdef Table chosen[TABLES]
    totals = np.array(start)
    cdef double[::1] out = totals
    if not rows:
        return totals
    for first in range(0, len(tables), TABLES):
        count = min(TABLES, len(tables) - first)
        for number in range(count):
            _point(&chosen[number], tables[first + number], codes[first + number], rows)
        low = 0
        with nogil:
            while low < rows:
                for number in range(count):
                    _gather(&out[0], chosen[number], low, min(low + BLOCK, rows))
                low += BLOCK
    return totals


cdef _point(Table *table, const double[::1] values, const int32_t[::1] codes, Py_ssize_t rows):
    if codes.shape[0] < rows:
        raise ValueError(f"codes for {codes.shape[0]} rows, but {rows} rows are needed")
    table.size = values.shape[0]
    table.values = &values[0] if table.size else NULL
    table.codes = &codes[0]


cdef void _gather(double *totals, Table table, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    cdef Py_ssize_t row
    cdef size_t code, size = table.size
    for row in range(low, high):
        code = <size_t>table.codes[row]  # a negative code becomes too large to be valid
        if code < size:
            totals[row] += table.values[code]


def totals_of(double offset, list tables, list codes, const int64_t[::1] rows):
    cdef Py_ssize_t i, code
    cdef const double[::1] values
    cdef const int32_t[::1] of_rows
    cdef dict known
    totals = np.full(rows.shape[0], offset)
    cdef double[::1] out = totals
    for table, of_all in zip(tables, codes):
        if isinstance(table, float):
            totals += table
            continue
        of_rows = of_all
        known = table if isinstance(table, dict) else None
        values = None if isinstance(table, dict) else table
        for i in range(rows.shape[0]):
            if not 0 <= rows[i] < of_rows.shape[0]:
                raise IndexError(rows[i])
            code = of_rows[rows[i]]
            if known is not None:
                out[i] += known[code]
            elif 0 <= code < values.shape[0]:
                out[i] += values[code]
    return totals


def leading(const double[::1] totals, Py_ssize_t k, double bound, double slack):
    cdef double largest[RANKED]
    cdef double total, last = -np.inf, least = -DBL_MAX  # the totals of removed records are minus infinity
    cdef Py_ssize_t row, place, ranked = 0, count = 0, chosen = 0
    rows = np.empty(totals.shape[0], np.int64)
    cdef int64_t[::1] out = rows
    if RANKED < k <= totals.shape[0]:
        last = np.partition(totals, totals.shape[0] - k)[totals.shape[0] - k]
        least = max(least, min(last, bound) - slack)
    for row in range(totals.shape[0]):
        total = totals[row]
        if total < least:
            continue
        out[count] = row
        count += 1
        if 0 < k <= RANKED and (ranked < k or total > last):
            place = ranked if ranked < k else k - 1
            ranked = place + 1 if ranked < k else k
            while place and largest[place - 1] < total:
                largest[place] = largest[place - 1]
                place -= 1
            largest[place] = total
            if ranked == k:
                last = largest[k - 1]
                least = max(least, min(last, bound) - slack)
    for place in range(count):  # drop rows whose totals fell below `least` after the rows were added
        row = out[place]
        if totals[row] >= least:
            out[chosen] = row
            chosen += 1
    return rows[:chosen].copy()


cdef struct Order:
    const int64_t *ranks
    const double *totals
    const int64_t *rows
    const double *created_at
    const double *gain
    const int64_t *ids


cdef bint _before(Order *order, Py_ssize_t left, Py_ssize_t right) noexcept nogil:
    cdef int64_t one = order.rows[left], other = order.rows[right]
    if order.ranks[left] != order.ranks[right]:
        return order.ranks[left] > order.ranks[right]
    if order.totals[left] != order.totals[right]:
        return order.totals[left] > order.totals[right]
    if order.created_at[one] != order.created_at[other]:
        return order.created_at[one] > order.created_at[other]
    if order.gain[one] != order.gain[other]:
        return order.gain[one] > order.gain[other]
    return order.ids[one] < order.ids[other]


def best(Py_ssize_t k, const int64_t[::1] ranks, const double[::1] totals, const int64_t[::1] rows,
         const double[::1] created_at, const double[::1] gain, const int64_t[::1] ids, double slack):
    cdef Py_ssize_t place, position, one, count = 0, given = rows.shape[0]
    cdef double apart
    cdef bint close = False
    cdef Order order
    if given > min(ranks.shape[0], totals.shape[0]):
        raise ValueError(f"{given} rows, but ranks of {ranks.shape[0]} and totals of {totals.shape[0]}")
    for place in range(given):
        if not 0 <= rows[place] < min(created_at.shape[0], gain.shape[0], ids.shape[0]):
            raise IndexError(rows[place])
    k = max(0, min(k, given))
    places = np.empty(k, np.int64)
    if k == 0:
        return places, False
    cdef int64_t[::1] out = places
    order = Order(&ranks[0], &totals[0], &rows[0], &created_at[0], &gain[0], &ids[0])
    for place in range(given):
        if count == k and not _before(&order, place, out[k - 1]):
            continue
        position = count if count < k else k - 1
        while position and _before(&order, place, out[position - 1]):
            out[position] = out[position - 1]
            position -= 1
        out[position] = place
        if count < k:
            count += 1
    for place in range(given):
        for position in range(k):
            one = out[position]
            apart = fabs(totals[one] - totals[place])
            if 0.0 < apart <= slack and ranks[one] == ranks[place]:
                close = True
    return places, close
