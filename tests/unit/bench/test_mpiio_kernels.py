# SPDX-License-Identifier: Apache-2.0
"""Test the kernels of bench/mpiio: the bytes of each rank, and the check that a read returns the bytes written."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.places import ROOT

PROGRAM = ROOT / "bench/mpiio/mpiio"
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
NUMBER = 8

Run = tuple[int, int, int]
"""A range of bytes in the file: the rank that accesses it, its offset and its length."""


def call(*words: str, ranks: int = 0) -> subprocess.CompletedProcess[str]:
    launcher = ["mpirun", "--oversubscribe", "-np", str(ranks)] if ranks else []
    argv = [*launcher, str(PROGRAM), *words]
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False, env=os.environ | AS_ROOT)


def shown(ranks: int, *words: str) -> list[Run]:
    done = call("--show", str(ranks), *words)
    assert done.returncode == 0, done.stderr
    rows = (line.split() for line in done.stdout.splitlines())
    return [(int(rank), int(at), int(length)) for rank, at, length in rows]


def owners(runs: Sequence[Run]) -> list[int]:
    """Return, for each byte of the file, the rank that accesses it; fail if no rank or two ranks access a byte."""
    found: dict[int, int] = {}
    for rank, at, length in runs:
        for byte in range(at, at + length):
            assert byte not in found, f"byte {byte} belongs to ranks {found[byte]} and {rank}"
            found[byte] = rank
    assert sorted(found) == list(range(len(found)))
    return [found[byte] for byte in range(len(found))]


@pytest.mark.slow
def test_blocks_are_contiguous_in_each_segment_and_transfers_alternate() -> None:
    sizes = ("--block", "12", "--transfer", "4")
    assert owners(shown(2, "--kernel", "contiguous", *sizes)) == [0] * 12 + [1] * 12
    assert owners(shown(2, "--kernel", "strided", *sizes)) == ([0] * 4 + [1] * 4) * 3
    segmented = shown(2, "--kernel", "segmented", "--segments", "3", *sizes)
    assert owners(segmented) == ([0] * 12 + [1] * 12) * 3
    assert {length for _, _, length in segmented} == {4}


def test_s3d_has_four_variables_on_a_grid_cut_into_boxes() -> None:
    grid, split = (5, 4, 3), (2, 1, 2)
    runs = shown(4, "--kernel", "s3d", "--grid", "5,4,3", "--split", "2,1,2")

    def part(point: int, points: int, parts: int) -> int:
        return next(i for i in range(parts) if point < points * (i + 1) // parts)

    expected = []
    for _ in range(11 + 3 + 1 + 1):
        for z, y, x in itertools.product(range(grid[2]), range(grid[1]), range(grid[0])):
            place = [part(p, n, k) for p, n, k in zip((x, y, z), grid, split, strict=True)]
            expected += [place[0] + split[0] * (place[1] + split[1] * place[2])] * NUMBER
    assert owners(runs) == expected


@pytest.mark.parametrize(("ranks", "cuts"), [(1, 1), (8, 2), (12, 3), (7, 7)])
def test_s3d_cuts_as_evenly_as_can_be(ranks: int, cuts: int) -> None:
    runs = shown(ranks, "--kernel", "s3d", "--grid", "14,12,12")
    along_z = {at // (14 * 12 * NUMBER) for rank, at, _ in runs if rank == 0 and at < 14 * 12 * 12 * NUMBER}
    assert len(along_z) == 12 // cuts


def test_btio_gives_each_rank_a_cell_in_every_layer_row_and_column() -> None:
    q, points, numbers = 3, 6, 5
    cell = points // q
    owner = owners(shown(q * q, "--kernel", "btio", "--grid", "6,6,6"))
    cells: dict[int, set[tuple[int, int, int]]] = {rank: set() for rank in range(q * q)}
    for byte, rank in enumerate(owner):
        place = byte // NUMBER // numbers
        x, y, z = place % points, place // points % points, place // points // points
        cells[rank].add((x // cell, y // cell, z // cell))
    for found in cells.values():
        assert len(found) == q
        assert all({place[axis] for place in found} == set(range(q)) for axis in range(3))


def test_btio_takes_grids_that_cannot_be_cut_evenly() -> None:
    assert len(owners(shown(4, "--kernel", "btio", "--grid", "7,5,3"))) == 7 * 5 * 3 * 5 * NUMBER


def test_genericio_has_nine_variables_of_each_ranks_particles() -> None:
    runs = shown(3, "--kernel", "genericio", "--particles", "10")
    counts = [3, 3, 4]
    assert owners(runs) == [rank for rank, count in enumerate(counts) for _ in range(38 * count)]
    assert [length // counts[0] for rank, _, length in runs if rank == 0] == [4] * 7 + [8, 2]


@pytest.mark.slow
def test_ranks_without_data_to_write_are_permitted() -> None:
    assert len(owners(shown(5, "--kernel", "genericio", "--particles", "2"))) == 76
    assert len(owners(shown(8, "--kernel", "s3d", "--grid", "1,1,1"))) == 16 * NUMBER


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ((), "needs a file: give --file FILE"),
        (("--nonsense",), "--nonsense: unknown option; --help shows all"),
        (("--file",), "--file: takes a value; --help shows all"),
        (("--file", "x", "y"), "takes options only; --help shows all"),
        (
            ("--kernel", "x"),
            "--kernel takes contiguous, strided, segmented, s3d, btio or genericio, not x",
        ),
        (("--block", "1T"), "--block takes a number from 1 to 1073741824, not 1T"),
        (
            ("--file", "x", "--block", "9", "--transfer", "4"),
            "--block is not a multiple of --transfer: change one of the two",
        ),
        (("--grid", "4,4"), "--grid takes three numbers from 1 to 4096, e.g. 4,2,1, not 4,4"),
        (("--grid", "4,0,4"), "--grid takes three numbers from 1 to 4096, e.g. 4,2,1, not 4,0,4"),
        (("--hint", "=4"), "--hint takes NAME=VALUE, at most 16 times, not =4"),
        (("--show", "3", "--kernel", "btio"), "btio takes a square number of ranks, e.g. 1, 4, 9, 16, not 3"),
        (
            ("--show", "3", "--kernel", "s3d", "--split", "2,1,1"),
            "--split 2,1,1 is not for 3 ranks: its product must be their number",
        ),
    ],
)  # fmt: skip
def test_invalid_arguments_are_refused_in_one_line(words: tuple[str, ...], line: str) -> None:
    done = call(*words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"mpiio: {line}\n")


def test_the_help_names_every_option() -> None:
    done = call("--help")
    options = set(re.findall(r'\{"([a-z-]+)", ', PROGRAM.with_name("options.c").read_text())) - {"help", "file"}
    assert done.returncode == 0 and options == set(re.findall(r"^  --([a-z-]+)", done.stdout, re.MULTILINE))


SMALL: Mapping[str, tuple[str, ...]] = {
    "contiguous": ("--block", "64k", "--transfer", "16k"),
    "strided": ("--block", "64k", "--transfer", "16k"),
    "segmented": ("--block", "64k", "--transfer", "16k", "--segments", "2"),
    "s3d": ("--grid", "9,7,5"),
    "btio": ("--grid", "9,7,5"),
    "genericio": ("--particles", "1001"),
}
TOLD = re.compile(r"mpiio: (\w+), 4 ranks, 2 steps of (\d+) bytes, .*\nwrite: ([\d.]+) s, .*\nread: ([\d.]+) s, .*\n")


@pytest.mark.slow
@pytest.mark.parametrize("way", [(), ("--independent",), ("--per-process",), ("--cold", "--sync")])
@pytest.mark.parametrize("kernel", SMALL)
@pytest.mark.parametrize("io", ["ompio", "^ompio"])
def test_the_bytes_written_are_the_bytes_read(
    io: str, kernel: str, way: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMPI_MCA_io", io)
    file = tmp_path / "data"
    words = ("--kernel", kernel, *SMALL[kernel], "--steps", "2", "--file", str(file), "--keep", *way)
    done = call(*words, ranks=4)
    told = TOLD.fullmatch(done.stdout)
    assert done.returncode == 0 and told and told[1] == kernel, done.stdout + done.stderr
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) == 2 * int(told[2])


@pytest.mark.slow
@pytest.mark.parametrize("way", [(), ("--per-process",)])
def test_files_are_removed_unless_an_option_keeps_them(way: tuple[str, ...], tmp_path: Path) -> None:
    done = call("--kernel", "s3d", *SMALL["s3d"], "--file", str(tmp_path / "data"), *way, ranks=4)
    assert done.returncode == 0 and not list(tmp_path.iterdir()), done.stderr


@pytest.mark.slow
def test_a_missing_directory_is_reported_once(tmp_path: Path) -> None:
    done = call("--file", str(tmp_path / "no/data"), ranks=2)
    assert done.returncode != 0 and done.stderr.count("mpiio: ") == 1 and "cannot be opened" in done.stderr
