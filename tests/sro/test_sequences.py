# SPDX-License-Identifier: Apache-2.0
"""Test that random file operations give the same bytes, results and errno with the library as without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sro.conftest import Loaded, build
from tests.sro.sequences import different, play, prepare


@pytest.mark.slow
def test_random_sequences_give_the_same_results_with_the_library(loaded: Loaded) -> None:
    prepare(loaded.directory)
    found = different(loaded.programs / "player", loaded.programs / "libreprise_sro.so", loaded.directory, 150, 50)
    assert list(found) == []


@pytest.mark.slow
def test_many_random_sequences_give_the_same_results_with_the_library(loaded: Loaded) -> None:
    prepare(loaded.directory)
    assert not list(
        different(loaded.programs / "player", loaded.programs / "libreprise_sro.so", loaded.directory, 2000)
    )


def test_a_library_that_changes_a_byte_or_errno_is_detected(loaded: Loaded, tmp_path: Path) -> None:
    """Check that the comparison of sequences can fail."""
    prepare(loaded.directory)
    for what in ("if (got > 100) ((char *)to)[99] ^= 1;", "errno = 7;"):
        source = tmp_path / "wrong.c"
        source.write_text(
            "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <errno.h>\n#include <unistd.h>\n"
            "ssize_t pread(int fd, void *to, size_t bytes, off_t offset)\n{\n"
            '    ssize_t (*next)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread");\n'
            f"    ssize_t got = next(fd, to, bytes, offset);\n    {what}\n    return got;\n}}\n"
        )
        wrong = build(tmp_path / "wrong.so", source, flags=("-shared", "-fPIC"))
        bare = play(loaded.programs / "player", loaded.directory, 0, 5, {})
        assert play(loaded.programs / "player", loaded.directory, 0, 5, {"LD_PRELOAD": str(wrong)}) != bare
