# SPDX-License-Identifier: Apache-2.0
"""Preloaded libraries need no newer libc than a program may bring, or the loader would end the program."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.places import ROOT

NEWEST = (2, 17)
"""glibc of 2012: the first one for aarch64, and that of CentOS 7."""
LIBRARIES = {
    "accelerators/hdf5": "build/libreprise_hdf5.so",
    "accelerators/sro": "build/libreprise_sro.so",
    "tuner/programs/witness": "reprise-witness.so",
}
"""The directories of libraries that jobs get in LD_PRELOAD, and where each is built."""
TAKEN_BY_MUSL = {"libc.so.6", "libdl.so.2"}
"""Names that musl's loader takes for its own; without a file of another name it ends the program."""


def needs(library: Path) -> tuple[list[str], list[str]]:
    """The names of the libraries and of the versions that a library needs."""
    words = ["objdump", "--private-headers", str(library)]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    versions = said.partition("Version References:")[2]
    return re.findall(r"^ *NEEDED +(\S+)$", said, re.MULTILINE), re.findall(r" 0x\w+ 0x\w+ \d+ (\S+)$", versions, re.M)


def too_new(version: str) -> bool:
    """Whether a version of a symbol is newer than NEWEST, or none of glibc's numbered ones."""
    number = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", version)
    return number is None or (int(number[1]), int(number[2])) > NEWEST


@pytest.mark.parametrize("directory", LIBRARIES)
def test_a_preloaded_library_needs_nothing_that_an_older_libc_or_musl_lacks(directory: str) -> None:
    libraries, versions = needs(ROOT / directory / LIBRARIES[directory])
    assert versions and not list(filter(too_new, versions))
    assert "libdl.so.2" in libraries, "before 2.34 it has dlsym"
    assert {*libraries} <= TAKEN_BY_MUSL


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags", ["-O2 -flto=auto -Wp,-U_FORTIFY_SOURCE,-D_FORTIFY_SOURCE=2", "-O3 -D_FORTIFY_SOURCE=2"]
)
@pytest.mark.parametrize("directory", LIBRARIES)
def test_nor_does_it_where_packages_have_flags_of_their_own(directory: str, flags: str, tmp_path: Path) -> None:
    words = ["make", "-s", "-C", str(ROOT / directory), f"BUILD={tmp_path}", f"CFLAGS={flags}", "all"]
    subprocess.run(words, check=True)
    (library,) = tmp_path.glob("*.so")
    libraries, versions = needs(library)
    assert {*libraries} == TAKEN_BY_MUSL and not list(filter(too_new, versions))
    symbols = subprocess.run(["objdump", "-T", str(library)], capture_output=True, text=True, check=True).stdout
    assert not re.findall(r"\*UND\*.* (\w+_chk)$", symbols, re.MULTILINE)


@pytest.mark.parametrize("version", ["GLIBC_2.18", "GLIBC_2.34", "GLIBC_3.0", "GLIBC_ABI_DT_RELR", "GCC_3.0"])
def test_a_version_over_the_bound_is_seen(version: str) -> None:
    assert too_new(version)


@pytest.mark.parametrize("version", ["GLIBC_2.2.5", "GLIBC_2.3.4", "GLIBC_2.17"])
def test_a_version_under_the_bound_will_do(version: str) -> None:
    assert not too_new(version)


def test_all_that_is_preloaded_is_built_this_way() -> None:
    links = "allocators"  # to libraries of the distribution
    accelerators = {path.parent for path in ROOT.glob("accelerators/*/Makefile") if path.parent.name != links}
    assert accelerators < {ROOT / directory for directory in LIBRARIES}
    for directory in LIBRARIES:
        assert "/preloaded.mk\n" in (ROOT / directory / "Makefile").read_text()
