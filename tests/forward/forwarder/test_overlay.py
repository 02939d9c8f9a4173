# SPDX-License-Identifier: Apache-2.0
"""Tests of the overlay of delayed writes, compared with a file in which each byte has one owner."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from tests.examples import examples
from tests.forward.forwarder.conftest import COMPILER, SOURCE
from tests.once import built_once

BLOCK = 1 << 20


class Extent(ctypes.Structure):
    _fields_ = (("start", ctypes.c_uint64), ("to", ctypes.c_uint64), ("piece", ctypes.c_void_p))


class Overlay(ctypes.Structure):
    _fields_ = (
        ("blocks", ctypes.c_void_p),
        ("count", ctypes.c_size_t),
        ("room", ctypes.c_size_t),
        ("end", ctypes.c_uint64),
    )


DROPPED = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64)


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    files = [SOURCE / "overlay.c", SOURCE / "overlay.h", Path(__file__)]

    def build(directory: Path) -> None:
        words = [COMPILER, "-std=c11", "-O1", "-shared", "-fPIC", str(files[0]), "-o", str(directory / "overlay.so")]
        subprocess.run(words, check=True)

    loaded = ctypes.CDLL(os.fspath(built_once("overlay", COMPILER, files, build) / "overlay.so"))
    loaded.overlay_put.argtypes = loaded.overlay_drop.argtypes = [ctypes.POINTER(Overlay), Extent, DROPPED]
    loaded.overlay_find.argtypes = [
        ctypes.POINTER(Overlay),
        ctypes.c_uint64,
        ctypes.c_uint64,
        ctypes.POINTER(Extent),
        ctypes.c_size_t,
    ]
    loaded.overlay_find.restype = ctypes.c_size_t
    return loaded


# Offsets near the borders of blocks, on a grid, so that extents often touch.
OFFSETS = some.one_of(*(some.integers(border - 12, border + 12) for border in (12, BLOCK, 3 * BLOCK)))
STEPS = some.lists(some.tuples(some.booleans(), OFFSETS, some.integers(1, 30) | some.just(2 * BLOCK + 5)), max_size=25)


@given(STEPS, OFFSETS)
@settings(max_examples=examples(300))
def test_each_byte_belongs_to_the_last_write(
    library: ctypes.CDLL, steps: list[tuple[bool, int, int]], seen: int
) -> None:
    owners: dict[int, int] = {}
    left: Counter[int] = Counter()
    overlay = Overlay()

    def dropped(piece: int, count: int) -> None:
        left[piece] -= count

    callback = DROPPED(dropped)
    for number, (is_put, start, length) in enumerate(steps, 1):
        if length > BLOCK and not is_put:
            continue
        if is_put:
            assert library.overlay_put(overlay, Extent(start, start + length, number), callback) == 0
            left[number] = length
            owners |= dict.fromkeys(range(start, start + min(length, 100)), number)
            if length > 100:  # only the bytes near the borders are compared
                owners |= dict.fromkeys((i for i in watched() if start <= i < start + length), number)
        else:
            piece = owners.get(start, 1)
            assert library.overlay_drop(overlay, Extent(start, start + length, piece), callback) == 0
            for i in range(start, start + length):
                if owners.get(i) == piece:
                    del owners[i]
    found = (Extent * 200)()
    count = library.overlay_find(overlay, 0, 1 << 40, found, 200)
    covered = {i: found[k].piece for k in range(count) for i in watched() if found[k].start <= i < found[k].to}
    assert covered == {i: owners[i] for i in watched() if i in owners}
    assert all(found[k].to <= found[k + 1].start for k in range(count - 1))
    kept: Counter[int] = Counter()
    for k in range(count):
        kept[found[k].piece] += found[k].to - found[k].start
    assert +left == +kept
    some_found = (Extent * 200)()
    part = library.overlay_find(overlay, seen, seen + 7, some_found, 200)
    bytes_seen = {i: some_found[k].piece for k in range(part) for i in range(some_found[k].start, some_found[k].to)}
    assert bytes_seen == {i: owners[i] for i in range(seen, seen + 7) if i in owners}
    library.overlay_clear(ctypes.byref(overlay))


def watched() -> list[int]:
    """Return the offsets that are compared."""
    return [i for border in (12, BLOCK, 3 * BLOCK) for i in range(max(0, border - 12), border + 60)]
