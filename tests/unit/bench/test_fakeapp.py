# SPDX-License-Identifier: Apache-2.0
"""Test bench/fakeapp, the generator of small random reads."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.places import ROOT

PROGRAM = ROOT / "bench/fakeapp/fakeapp"
SIZE = 8 << 20
SMALL = ("-N", "300", "-L", "8", "-S", "64k", "-r", "3", "-G", "0,0", "-g", "0,0", "-t", "1")
KIB = 1024
MIB = 1024 * KIB
LINE = re.compile(r"fakeapp: (\d+) reads of (\d+) bytes, checksum ([0-9a-f]{16}), time (\d+\.\d{6}) s\n")
EXAMPLE = "the smaller one first, e.g. 100,500"

Read = tuple[int, int, int]
"""A read: the number of its lead (a point in the file around which reads occur), its offset and its size in bytes."""


def call(*words: str, program: Sequence[str] = (str(PROGRAM),)) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*program, *words], capture_output=True, text=True, timeout=60, check=False)


def reads(*words: str, size: int = 4 << 30) -> list[Read]:
    done = call("--show", "--size", str(size), *words)
    assert done.returncode == 0, done.stderr
    lines = (line.split() for line in done.stdout.splitlines())
    return [(int(lead), int(offset), int(count)) for lead, offset, count in lines]


def told(done: subprocess.CompletedProcess[str]) -> tuple[int, int, str, float]:
    found = LINE.fullmatch(done.stdout)
    assert done.returncode == 0 and found, done.stdout + done.stderr
    return int(found[1]), int(found[2]), found[3], float(found[4])


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fakeapp") / "data"
    done = call("--create", "--file", str(path), "--size", str(SIZE))
    assert (done.returncode, done.stdout, done.stderr, path.stat().st_size) == (0, "", "", SIZE)
    return path


def test_a_seed_decides_every_read() -> None:
    first, again, other = (reads("--pattern", "d", "--seed", seed) for seed in ("7", "7", "8"))
    assert first == again != other


def test_pattern_a_reads_a_matrix_by_columns() -> None:
    rows, column = 64, 16 * KIB
    found = reads("--pattern", "a")
    assert [lead for lead, _, _ in found[: 2 * rows]] == [*range(rows), *range(rows)]
    begins = [offset for _, offset, _ in found[:rows]]
    assert [offset for _, offset, _ in found[rows : 2 * rows]] == [offset + column for offset in begins]


def test_pattern_b_returns_to_leads_that_advance() -> None:
    found = reads("--pattern", "b")
    scatter, advance, repeat, leads = 10 * MIB, 2 * MIB, 200, 4
    assert [lead for lead, _, _ in found[: 2 * repeat]] == [0] * repeat + [1] * repeat
    own = [offset for lead, offset, _ in found if lead == 0]
    centre = (4 << 30) // leads // 2
    for number, offset in enumerate(own):
        lead_at = centre + number // repeat * advance
        assert lead_at - scatter // 2 - 4 * KIB <= offset < lead_at + scatter // 2


def test_pattern_c_stays_near_many_leads() -> None:
    found = reads("--pattern", "c")
    assert [lead for lead, _, _ in found[:440]] == [*range(220), *range(220)]
    own = [offset for lead, offset, _ in found if lead == 9]
    assert MIB // 2 < max(own) - min(own) <= MIB


def test_pattern_d_has_leads_of_different_widths_and_numbers_of_reads() -> None:
    found = reads("--pattern", "d")
    counts = Counter(lead for lead, _, _ in found)
    assert len(counts) == 100 and 50 <= min(counts.values()) < 100 < 200 < max(counts.values()) <= 250
    assert list(counts) == [lead for n, (lead, _, _) in enumerate(found) if not n or found[n - 1][0] != lead]
    places: dict[int, list[int]] = {}
    for lead, offset, _ in found:
        places.setdefault(lead, []).append(offset)
    widths = [max(own) - min(own) for own in places.values()]
    assert min(widths) < 2 * MIB and 15 * MIB < max(widths) <= 20 * MIB


def test_without_scatter_every_read_is_at_its_lead() -> None:
    assert len({offset for _, offset, _ in reads(*SMALL, "-S", "0", "-L", "1")}) == 1


def test_an_option_changes_a_parameter_of_its_pattern_wherever_it_is_on_the_command_line() -> None:
    assert reads("-N", "10", "--pattern", "b") == reads("--pattern", "b", "-N", "10") == reads("--pattern", "b")[:10]


def test_sizes_lie_between_the_least_and_the_largest_and_within_the_file() -> None:
    found = reads(*SMALL, "-N", "2000", "-w", "512", "-W", "5000", "-S", "1M", "-l", "300k", size=MIB)
    assert min(size for _, _, size in found) < 600 and 4900 < max(size for _, _, size in found) <= 5000
    assert all(offset % 512 == 0 and 0 <= offset <= offset + size <= MIB for _, offset, size in found)


@pytest.mark.parametrize("words", [SMALL, ("-p", "d", "-L", "8", "-g", "4k,1M", "-G", "10,20")])
def test_threads_share_the_reads_of_one_thread(file: Path, words: tuple[str, ...]) -> None:
    alone, *shared = (
        told(call("--file", str(file), "--verify", *words, "--threads", threads)) for threads in ("1", "3", "8")
    )
    assert all(one[:3] == alone[:3] for one in shared) and alone[0] == len(reads(*words, size=SIZE))


@pytest.mark.slow
def test_ranks_share_the_reads_of_one_rank(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_mpi_yield_when_idle"):
        monkeypatch.setenv(name, "1")
    words = ("--file", str(file), "--verify", *SMALL)
    launch = ("mpirun", "--oversubscribe", "-np", "2", f"{PROGRAM}-mpi")
    assert told(call(*words, "-t", "2", program=launch))[:3] == told(call(*words))[:3]
    refused = call(*words, "-t", "5", program=launch)
    assert refused.returncode and refused.stderr.count("fakeapp: 8 leads are too few for 10 that share them") == 1


def test_programs_share_the_reads_of_one_program(file: Path) -> None:
    words = ("--file", str(file), *SMALL)
    parts = [told(call(*words, "--share", f"{number}/3", "-t", "2")) for number in (1, 2, 3)]
    count, size, checksum, _ = told(call(*words))
    assert (sum(part[0] for part in parts), sum(part[1] for part in parts)) == (count, size)
    assert sum(int(part[2], 16) for part in parts) % 2**64 == int(checksum, 16)
    refused = call(*words, "--share", "1/3", "-t", "3")
    assert refused.returncode == 2 and "8 leads are too few for 9 that share them" in refused.stderr


def test_one_wrong_byte_is_found(file: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    content = bytearray(file.read_bytes())
    offset = reads(*SMALL, size=SIZE)[-1][1]
    content[offset] ^= 1
    wrong.write_bytes(content)
    done = call("--file", str(wrong), "--verify", *SMALL)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == f"fakeapp: {wrong}: wrong bytes at {offset}: create the file again with --create\n"
    assert told(call("--file", str(wrong), *SMALL))[2] != told(call("--file", str(file), *SMALL))[2]


def resident(path: Path) -> int:
    """Return how many bytes of the file are in the page cache."""
    return int(subprocess.run(["fincore", "-bnro", "RES", path], capture_output=True, text=True, check=True).stdout)


def test_a_cold_file_is_not_in_memory_before_the_reads(file: Path) -> None:
    if subprocess.run(["stat", "-fc", "%T", file], capture_output=True, text=True, check=True).stdout == "tmpfs\n":
        pytest.skip("files on a tmpfs are always in memory")
    file.read_bytes()
    before = resident(file)
    told(call("--file", str(file), "--cold", *SMALL, "-N", "1"))
    assert resident(file) < before == SIZE


def test_work_between_reads_takes_its_time(file: Path) -> None:
    assert told(call("--file", str(file), *SMALL, "--compute", "200"))[3] >= 300 * 200e-6


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ((), "needs a file: give --file FILE"),
        (("--nonsense",), "--nonsense: unknown option; --help shows all"),
        (("-Z",), "-Z: unknown option; --help shows all"),
        (("file",), "file: not an option; --help shows all"),
        (("-N",), "-N: takes a value; --help shows all"),
        (("-p", "e"), "--pattern takes a, b, c or d, not e"),
        (("-p", "aa"), "--pattern takes a, b, c or d, not aa"),
        (("-N", "0"), "--operations takes a number from 1 to 1000000000, not 0"),
        (("-N", "-1"), "--operations takes a number from 1 to 1000000000, not -1"),
        (("-N", ""), "--operations takes a number from 1 to 1000000000, not "),
        (("-N", "1k"), "--operations takes a number from 1 to 1000000000, not 1k"),
        (("-L", "99999999999999999999999"), "--leads takes a number from 1 to 1000000, not 99999999999999999999999"),
        (("-S", "3x"), "--scatter takes a number from 0 to 1125899906842624, not 3x"),
        (("-g", "5"), f"--scatter-interval takes two numbers up to 1125899906842624, {EXAMPLE}, not 5"),
        (("-G", "9,8"), f"--repeat-interval takes two numbers up to 1000000000, {EXAMPLE}, not 9,8"),
        (("-f", "x", "-G", "0,8"), "--repeat-interval begins at 0: begin at 1 or more, e.g. 1,500"),
        (("-f", "x", "-w", "8k"), "--min-size is larger than --max-size: lower --min-size or raise --max-size"),
        (("-f", "x", "--create"), "--create needs a size: give --size BYTES"),
        (("-f", "x", "--size", "1M"), "--size is only for --create or --show: leave it out to read a file"),
        (("--share", "5/4"), "--share takes a part and the number of parts, e.g. 1/4, not 5/4"),
        (("--share", "0/4"), "--share takes a part and the number of parts, e.g. 1/4, not 0/4"),
        (("--show",), "--show needs the file's size: give --size BYTES or --file FILE"),
        (
            ("-f", "/nonexistent/x"),
            "/nonexistent/x: cannot be opened: No such file or directory; create it with --create --size BYTES",
        ),
        (("-f", "/dev/null"), "/dev/null: not a regular file: give one made by --create"),
        (
            ("--show", "--size", "100"),
            "a file of 100 bytes is too small for reads of 4096 and 220 leads: give a larger one",
        ),
    ],
)  # fmt: skip
def test_invalid_arguments_are_refused_in_one_line(words: tuple[str, ...], line: str) -> None:
    done = call(*words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"fakeapp: {line}\n")


def test_an_existing_file_is_not_overwritten(file: Path) -> None:
    done = call("--create", "--file", str(file), "--size", "1M")
    assert done.returncode == 1 and file.stat().st_size == SIZE
    assert (
        done.stderr == f"fakeapp: {file}: cannot be created: File exists; give a new name, and free space on the disk\n"
    )


def test_the_help_names_every_option() -> None:
    done = call("--help")
    assert done.returncode == 0 and not done.stderr
    source = (PROGRAM.parent / "options.c").read_text()
    names = re.findall(r'^    \{"([a-z-]+)",', source, re.MULTILINE)
    assert len(names) > 15 and all(f"--{name}" in done.stdout for name in names if name != "help")
