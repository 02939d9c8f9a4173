# SPDX-License-Identifier: Apache-2.0
"""Test the detection of what makes a program conflict with a preloaded library: a loader of its own, or a sanitizer."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from reprise.matcher.identity.identify import Identifier
from reprise.matcher.identity.own_runtime import own_loader, sanitizer
from tests.unit.matcher.identity.test_elf_file import LAYOUTS, elf


@pytest.mark.parametrize(
    "path",
    ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib64/ld64.so.2", "/usr/lib64/ld-2.17.so", ""],
)
def test_the_systems_loader_is_not_reported(path: str) -> None:
    assert own_loader(path.encode() + b"\0") == ""


@pytest.mark.parametrize(
    "path",
    [
        "/cvmfs/site/compat/lib64/ld-linux-x86-64.so.2",
        "/nix/store/abc-glibc-2.31/lib/ld-linux-x86-64.so.2",
        "/lib/ld-musl-x86_64.so.1",
        "/lib64/ld/../../opt/ld.so",
        "ld.so",
    ],
)
def test_another_loader_is_reported_with_its_path(path: str) -> None:
    assert own_loader(path.encode() + b"\0more") == path


def test_a_loaders_path_is_truncated_and_has_no_control_characters() -> None:
    assert own_loader(b"/x\x1b[2J \xe9" + b"y" * 100) == "/x?[2J??" + "y" * 56


@pytest.mark.parametrize("name", ["libasan.so.8", "libtsan.so.2", "libclang_rt.asan-x86_64.so", "__msan_init"])
def test_a_sanitizer_is_found_among_the_names(name: str) -> None:
    assert name.startswith(sanitizer(b"\0puts\0" + name.encode() + b"\0libc.so.6\0"))
    assert sanitizer(b"\0puts\0" + name.encode() + b"\0libc.so.6\0")


@pytest.mark.parametrize("name", ["libubsan.so.1", "my__asan_init", "libc.so.6", "libasanity"])
def test_other_names_are_no_sanitizer(name: str) -> None:
    assert sanitizer(b"\0" + name.encode() + b"\0") == ""


@pytest.mark.parametrize(("order", "wide"), LAYOUTS)
def test_a_loader_is_read_in_any_width_and_byte_order(order: str, wide: bool, tmp_path: Path) -> None:
    path = tmp_path / "solver"
    path.write_bytes(elf(order, wide, b"/opt/stack/lib/ld.so\0").replace(b".rodata", b".interp"))
    assert Identifier().identify(str(path), time.monotonic() + 60).runtime == "/opt/stack/lib/ld.so"


@pytest.mark.parametrize(
    ("flags", "runtime"),
    [
        ([], ""),
        (["-static-pie"], ""),
        (["-fsanitize=undefined"], ""),
        (["-fsanitize=address"], "libasan.so"),
        (["-fsanitize=address", "-static-libasan"], ""),  # such a program starts although a library is preloaded
        (["-fsanitize=thread"], "libtsan.so"),
        (["-fsanitize=leak"], "liblsan.so"),
        (["-Wl,--dynamic-linker=/opt/stack/lib/ld.so"], "/opt/stack/lib/ld.so"),
        (["-fsanitize=address", "-Wl,--dynamic-linker=/opt/stack/lib/ld.so"], "/opt/stack/lib/ld.so"),
    ],
)
def test_the_runtime_of_a_compiled_program_is_found_in_its_file(tmp_path: Path, flags: list[str], runtime: str) -> None:
    words = ["gcc", *flags, "-x", "c", "-o", str(tmp_path / "program"), "-"]
    subprocess.run(words, input="int main(void) { return 0; }\n", text=True, check=True)
    assert Identifier().identify(str(tmp_path / "program"), time.monotonic() + 60).runtime == runtime
