# SPDX-License-Identifier: Apache-2.0
"""Test that preloaded libraries need no newer libc than an old system has: otherwise, no program would start there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.places import ROOT

NEWEST = (2, 17)
"""The newest permitted glibc, 2.17 of 2012, is the first for aarch64, and the glibc of CentOS 7."""
LIBRARIES = {
    "accelerators/forward/client": ("build/libreprise_forward.so", "build/libreprise_burst.so"),
    "accelerators/hdf5": ("build/libreprise_hdf5.so",),
    "accelerators/sro": ("build/libreprise_sro.so",),
    "tuner/programs/witness": ("reprise-witness.so",),
}
"""Source directories of the libraries that jobs get in LD_PRELOAD, each with the paths of the built ones in it."""
BUILT = [f"{directory}/{name}" for directory, names in LIBRARIES.items() for name in names]
TAKEN_BY_MUSL = {"libc.so.6", "libdl.so.2"}
"""Library names that musl's loader serves itself; the loader ends the program if another needed library is missing."""


def needs(library: Path) -> tuple[list[str], list[str]]:
    """Return the names of the libraries and the versions of the symbols that the given library needs."""
    words = ["objdump", "--private-headers", str(library)]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    versions = said.partition("Version References:")[2]
    return re.findall(r"^ *NEEDED +(\S+)$", said, re.MULTILINE), re.findall(r" 0x\w+ 0x\w+ \d+ (\S+)$", versions, re.M)


def too_new(version: str) -> bool:
    """Return whether a symbol's version is newer than NEWEST, or is not a numbered version of glibc."""
    number = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", version)
    return number is None or (int(number[1]), int(number[2])) > NEWEST


@pytest.mark.parametrize("library", BUILT)
def test_a_preloaded_library_needs_nothing_that_an_older_libc_or_musl_lacks(library: str) -> None:
    libraries, versions = needs(ROOT / library)
    assert versions and not list(filter(too_new, versions))
    assert "libdl.so.2" in libraries, "before glibc 2.34, dlsym is in libdl"
    assert {*libraries} <= TAKEN_BY_MUSL


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags", ["-O2 -flto=auto -Wp,-U_FORTIFY_SOURCE,-D_FORTIFY_SOURCE=2", "-O3 -D_FORTIFY_SOURCE=2"]
)
@pytest.mark.parametrize("directory", LIBRARIES)
def test_a_library_built_with_a_packages_flags_needs_nothing_that_an_older_libc_or_musl_lacks(
    directory: str, flags: str, tmp_path: Path
) -> None:
    words = ["make", "-s", "-C", str(ROOT / directory), f"BUILD={tmp_path}", f"CFLAGS={flags}", "all"]
    subprocess.run(words, check=True)
    built = [*tmp_path.glob("*.so")]
    assert {library.name for library in built} == {Path(path).name for path in LIBRARIES[directory]}
    for library in built:
        libraries, versions = needs(library)
        assert {*libraries} == TAKEN_BY_MUSL and not list(filter(too_new, versions))
        symbols = subprocess.run(["objdump", "-T", str(library)], capture_output=True, text=True, check=True).stdout
        assert not re.findall(r"\*UND\*.* (\w+_chk)$", symbols, re.MULTILINE)


@pytest.mark.parametrize("version", ["GLIBC_2.18", "GLIBC_2.34", "GLIBC_3.0", "GLIBC_ABI_DT_RELR", "GCC_3.0"])
def test_a_version_above_the_limit_is_detected(version: str) -> None:
    assert too_new(version)


@pytest.mark.parametrize("version", ["GLIBC_2.2.5", "GLIBC_2.3.4", "GLIBC_2.17"])
def test_a_version_up_to_the_limit_is_accepted(version: str) -> None:
    assert not too_new(version)


def test_every_preloaded_library_is_built_with_the_common_rules() -> None:
    others = ("allocators", "forwarder")  # links to the distribution's libraries, and a program that no job loads
    accelerators = {path.parent for path in ROOT.glob("accelerators/**/Makefile") if path.parent.name not in others}
    assert accelerators < {ROOT / directory for directory in LIBRARIES}
    for directory in LIBRARIES:
        assert "/preloaded.mk\n" in (ROOT / directory / "Makefile").read_text()
