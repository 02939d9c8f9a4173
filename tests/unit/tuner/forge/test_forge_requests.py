# SPDX-License-Identifier: Apache-2.0
"""Test the explorer's offsets, as compiled from C."""

from __future__ import annotations

import ctypes
import subprocess

import pytest

from reprise.tuner.forge.forge_pattern import Layout
from tests.places import ROOT

SOURCE = ROOT / "tuner/programs/forge/forge_requests.c"


class Pattern(ctypes.Structure):
    _fields_ = (
        ("layout", ctypes.c_int),
        ("clients", ctypes.c_uint32),
        ("size", ctypes.c_uint64),
        ("count", ctypes.c_uint64),
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    path = tmp_path_factory.mktemp("forge") / "forge.so"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
    subprocess.run(["cc", *flags, "-o", path, SOURCE], check=True)
    found = ctypes.CDLL(str(path))
    found.forge_pattern_set.argtypes = [
        *(ctypes.POINTER(Pattern), ctypes.c_int, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64)
    ]
    found.forge_offset.argtypes = [ctypes.POINTER(Pattern), ctypes.c_uint32, ctypes.c_uint64]
    found.forge_offset.restype = ctypes.c_uint64
    found.forge_pause.argtypes = [ctypes.c_double, ctypes.c_uint32, ctypes.c_uint64]
    found.forge_pause.restype = ctypes.c_double
    found.forge_most_requests.argtypes = [ctypes.c_double, ctypes.c_double]
    found.forge_most_requests.restype = ctypes.c_uint64
    return found


def pattern(library: ctypes.CDLL, layout: Layout, clients: int, total: int, size: int) -> Pattern | None:
    found = Pattern()
    status = library.forge_pattern_set(ctypes.byref(found), layout, clients, total, size)
    assert status in (0, -1)
    return found if status == 0 else None


@pytest.mark.parametrize(
    ("layout", "offset"), [(Layout.SHARED_CONTIGUOUS, 50), (Layout.SHARED_STRIDED, 90), (Layout.INDIVIDUAL, 20)]
)
def test_the_offset_of_a_request_follows_from_the_layout(library: ctypes.CDLL, layout: Layout, offset: int) -> None:
    """4 clients with 3 requests of 10 bytes each; request 2 of client 1."""
    found = pattern(library, layout, clients=4, total=120, size=10)
    assert found is not None and found.count == 3
    assert library.forge_offset(ctypes.byref(found), 1, 2) == offset


@pytest.mark.parametrize("layout", [Layout.SHARED_CONTIGUOUS, Layout.SHARED_STRIDED])
def test_requests_to_a_shared_file_cover_it_once(library: ctypes.CDLL, layout: Layout) -> None:
    found = pattern(library, layout, clients=5, total=5 * 7 * 3 + 14, size=3)
    assert found is not None
    offsets = [
        library.forge_offset(ctypes.byref(found), client, request)
        for client in range(5)
        for request in range(found.count)
    ]
    assert sorted(offsets) == list(range(0, 5 * 7 * 3, 3))


def test_offsets_of_large_files_do_not_overflow(library: ctypes.CDLL) -> None:
    size = 2**20
    for layout in (Layout.SHARED_CONTIGUOUS, Layout.SHARED_STRIDED):
        found = pattern(library, layout, clients=2**20, total=2**63 - 1, size=size)
        assert found is not None
        last = library.forge_offset(ctypes.byref(found), found.clients - 1, found.count - 1)
        assert last + size == found.clients * found.count * size <= 2**63 - 1


@pytest.mark.parametrize(
    ("clients", "total", "size"), [(0, 100, 10), (4, 100, 0), (4, 39, 10), (4, 2**63, 10), (2**32 - 1, 2**40, 2**39)]
)
def test_patterns_without_a_request_for_each_client_are_refused(
    library: ctypes.CDLL, clients: int, total: int, size: int
) -> None:
    assert pattern(library, Layout.INDIVIDUAL, clients, total, size) is None


def test_pauses_are_spread_around_their_mean(library: ctypes.CDLL) -> None:
    pauses = [library.forge_pause(2.0, client, request) for client in range(30) for request in range(100)]
    assert all(1 <= pause <= 3 for pause in pauses) and len(set(pauses)) == len(pauses)
    assert sum(pauses) / len(pauses) == pytest.approx(2, abs=0.05)
    assert library.forge_pause(0.0, 1, 1) == 0


def test_the_number_of_requests_before_a_stone_wall_is_limited_by_pauses(library: ctypes.CDLL) -> None:
    assert library.forge_most_requests(10.0, 0.5) == 41
    waited = [library.forge_pause(0.5, 3, request) for request in range(41)]
    assert sum(waited) >= 10
    for stone_wall, pause in ((0.0, 1.0), (1.0, 0.0), (1e9, 1e-300)):
        assert library.forge_most_requests(stone_wall, pause) == 2**64 - 1


def test_the_layouts_in_python_are_those_in_c() -> None:
    header = SOURCE.with_suffix(".h").read_text()
    names = [line.split(",")[0].strip() for line in header.splitlines() if line.startswith("    FORGE_")]
    assert names == [f"FORGE_{layout.name}" for layout in sorted(Layout)]
