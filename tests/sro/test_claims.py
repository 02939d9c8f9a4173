# SPDX-License-Identifier: Apache-2.0
"""Test that programs behave with the library as without it, and that the library reads ahead only where it should."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.sro.conftest import Loaded, build

EAGER = {"SRO_CLUSTER_THRESHOLD": "1", "SRO_DSC_BINSIZE": "262144", "SRO_PREFETCH_SIZE": "524288"}
NAMES = (
    *("read", "__read", "__read_chk", "readv", "preadv2_current"),
    *("pread", "pread64", "__pread64", "__pread_chk", "__pread64_chk", "preadv", "preadv64", "preadv2", "preadv64v2"),
    *("fread", "fread_unlocked", "__fread_chk", "__fread_unlocked_chk"),
)


@pytest.mark.parametrize("name", NAMES)
def test_reads_by_every_function_are_seen_and_helped(loaded: Loaded, numbers: Path, name: str) -> None:
    report = loaded.subject(name, numbers).report
    assert report["zones"] >= 1 and report["bytes"] > 0
    assert report["accesses"] >= 100


CLAIMS = ("handler", "cancel", "threads", "last_thread", "forked", "vforked", "executed", "renumbered", "cut")


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_program_sees_what_it_sees_without_the_library(loaded: Loaded, numbers: Path, claim: str) -> None:
    reports = loaded.subject(claim, numbers, EAGER).reports
    assert sum(report["zones"] for report in reports) >= 1, "the library loaded at least one zone"


def test_repeated_reads_of_loaded_data_are_soon_passed_through(loaded: Loaded, numbers: Path) -> None:
    report = loaded.subject("again", numbers, EAGER).report
    assert report["hits"] >= 1
    assert report["accesses"] < 40_000, "the library examines less than half of the 80,000 reads"


@pytest.mark.slow
def test_if_zones_save_nothing_most_reads_are_passed_through(loaded: Loaded, numbers: Path) -> None:
    report = loaded.subject("once", numbers, {"SRO_PREFETCH_SIZE": "1"}).report
    assert report["zones"] >= 1 and report["hits"] <= 5, "the program has just read the zone and does not read it again"
    assert report["accesses"] < 5500, "the library needs the first 4,096 of the 6,144 reads to decide"


@pytest.mark.parametrize("claim", ["no_descriptors", "namespace"])
def test_a_program_at_its_resource_limits_is_helped_too(loaded: Loaded, numbers: Path, claim: str) -> None:
    assert loaded.subject(claim, numbers, EAGER).report["zones"] >= 1


def test_a_forked_child_gets_its_own_prefetch_threads(loaded: Loaded, numbers: Path) -> None:
    reports = loaded.subject("forked", numbers, EAGER).reports
    assert len({report["pid"] for report in reports}) == 4
    assert all(report["zones"] >= 1 for report in reports)


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to switch to a user that may start no more processes")
def test_without_threads_the_library_does_nothing(loaded: Loaded, numbers: Path) -> None:
    report = loaded.subject("no_threads", numbers).report
    assert (report["zones"], report["threads"]) == (0, "refused")


def test_without_memory_the_library_does_nothing(loaded: Loaded, numbers: Path) -> None:
    ran = loaded.run(loaded.programs / "subject", "pread", numbers, env={"SRO_SEQUENCE_LENGTH": "100000"},
                     prefix=("prlimit", "--as=40000000"))  # fmt: skip
    assert (ran.stdout, ran.stderr, ran.status, ran.reports) == ("done\n", "", 0, [])


def test_reads_that_bypass_the_page_cache_are_passed_through(loaded: Loaded, numbers: Path) -> None:
    assert loaded.subject("direct", numbers).report["accesses"] == 0


def test_a_disabled_library_does_nothing(loaded: Loaded, numbers: Path) -> None:
    assert loaded.subject("pread", numbers, {"SRO_DISABLE": "1"}).reports == []


def test_an_invalid_setting_is_reported_once_in_one_line(loaded: Loaded, numbers: Path) -> None:
    ran = loaded.run(loaded.programs / "subject", "pread", numbers, env={"SRO_PREFETCH_SIZE": "20M"})
    said = {line for line in ran.stderr.splitlines() if "env" not in line}
    assert said == {
        'libreprise_sro: SRO_PREFETCH_SIZE="20M" is ignored: use a number of bytes from 1 to 1099511627776; '
        "the default 20971520 applies"
    }
    assert ran.report["prefetch"] == 20971520


def test_the_report_may_be_a_file_for_each_process(loaded: Loaded, numbers: Path) -> None:
    loaded.run(loaded.programs / "subject", "forked", numbers, env={"SRO_REPORT": f"{loaded.directory}/r.%p"})
    assert len(list(loaded.directory.glob("r.*"))) == 4


def test_reads_of_a_cached_file_are_passed_through(loaded: Loaded, numbers: Path) -> None:
    code = (
        "import os, sys\n"
        "fd = os.open(sys.argv[1], os.O_RDONLY)\n"
        "os.pread(fd, 1 << 25, 0)\n"
        "for i in range(3000): os.pread(fd, 4096, i * 37 % 6000 * 4096)\n"
        "print(len(os.listdir('/proc/self/task')))\n"
    )
    ran = loaded.run("python3", "-c", code, numbers)
    assert ran.report["zones"] <= 1, "one zone is allowed, because two reads in a row may be slow on a busy machine"
    assert int(ran.stdout) <= 1 + ran.report["zones"]
    assert ran.report["accesses"] < 1500, "the library does not examine most reads"


def test_a_static_program_runs_without_a_message(loaded: Loaded, numbers: Path, programs: Path) -> None:
    source = loaded.directory / "static.c"
    source.write_text("int main(void) { return 0; }\n")
    program = build(loaded.directory / "static", source, flags=("-static",))
    ran = loaded.run(program, numbers)
    assert (ran.stdout, ran.stderr, ran.status, ran.reports) == ("", "", 0, [])


def test_the_library_exports_only_the_functions_that_it_wraps(programs: Path) -> None:
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", "--format=posix", str(programs / "libreprise_sro.so")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    shown = {line.split()[0] for line in listed.stdout.splitlines()}
    assert {name for name in NAMES if name != "preadv2_current"} <= shown
    assert not [name for name in shown if "sro" in name or "state" in name]
    text = (Path(__file__).parents[2] / "accelerators" / "sro" / "wrapped.h").read_text()
    assert all(f"with({name})" in text for name in shown)
