# SPDX-License-Identifier: Apache-2.0
"""Test lookups of paths in the kernel's cache."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reprise.matcher.identity import cached_look as module
from reprise.matcher.identity.bounded_file import opened
from reprise.matcher.identity.cached_look import Look, cached_look


def look(path: Path) -> Look:
    """Access a path, so that the kernel caches it, and return the path's status as looked up in the cache."""
    path.stat()
    found = cached_look(str(path))
    if found is None:
        pytest.skip("this kernel cannot look up paths in its cache alone")
    return found


def test_the_cached_version_of_a_file_equals_the_one_read(tmp_path: Path) -> None:
    file = tmp_path / "a.out"
    for text in ("one", "another"):
        file.write_text(text)
        with opened(str(file), 100, float("inf")) as read:
            assert look(file).version == read.version
    link = tmp_path / "link"
    link.symlink_to(file)
    assert look(link) == look(file)


def test_the_mode_shows_that_a_path_is_no_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "fifo", Path("/dev/null")):
        assert look(path).mode == path.stat().st_mode


@pytest.mark.parametrize("name", ["missing", "a.out/below", "x" * 300, "loop"])
def test_a_missing_path_is_an_error_or_unknown(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.out").touch()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match=name[:9]):
        (tmp_path / name).stat()
    try:
        assert cached_look(str(tmp_path / name)) is None
    except OSError as error:
        assert error.filename == str(tmp_path / name)


def test_no_descriptor_is_left(tmp_path: Path) -> None:
    descriptors = Path("/proc/self/fd")
    before = len(list(descriptors.iterdir()))
    for _ in range(100):
        look(tmp_path)
    assert len(list(descriptors.iterdir())) == before


def test_a_nul_is_refused_and_an_old_kernel_gives_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="NUL"):
        cached_look("/a\0b")
    monkeypatch.setattr(module, "_OPENAT2", 100000)  # no such system call
    assert cached_look(str(tmp_path)) is None
