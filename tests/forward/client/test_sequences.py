# SPDX-License-Identifier: Apache-2.0
"""Test that random operations give the same bytes, results and errno directly, forwarded, remapped and with kills."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable

import pytest

from tests.forward.client.conftest import SMALL, Ran, Site, build
from tests.forward.client.diod import Diod

QUICK, MANY = 12, 150


def different(bare: str, other: str) -> list[str]:
    """Return the lines, one for each sequence, that differ."""
    assert bare.count("\n") == other.count("\n") > 0
    return [line for line, same in zip(other.splitlines(), bare.splitlines(), strict=True) if line != same]


def compare(site: Site, count: int, disturb: Callable[[], None] | None = None) -> Ran:
    """Play sequences with and without the library, `disturb` the run with it again and again, and return that run."""
    command = (site.programs / "mover", site.files / "file", 0, count)
    bare = site.run_bare(*command)
    site.empty()
    running = site.start(*command, env=SMALL)
    while running.poll() is None:
        try:
            running.wait(0.02)
        except subprocess.TimeoutExpired:
            if disturb:
                disturb()
    ran = site.ended(running)
    assert (ran.status, ran.stderr, different(bare.stdout, ran.stdout)) == (0, "", [])
    return ran


def play(site: Site, diod: Diod, count: int) -> None:
    ran = compare(site, count)
    assert ran.total("write_bytes") > 500_000 * count and ran.total("read_bytes") > 250_000 * count
    assert ran.total("redone_bytes") == ran.total("other_files") == ran.total("failures") == 0


def test_forwarded_operations_give_the_same_results(site: Site, diod: Diod) -> None:
    play(site, diod, QUICK)


@pytest.mark.slow
def test_many_forwarded_operations_give_the_same_results(site: Site, diod: Diod) -> None:
    play(site, diod, MANY)


def remap(site: Site, diod: Diod, count: int) -> None:
    choice = random.Random(1)  # noqa: S311
    with Diod(site.directory / "second.sock", site.files) as second:
        lists: tuple[list[str], ...] = ([diod.address], [second.address], [second.address, diod.address], [])
        ran = compare(site, count, lambda: site.map(*choice.choice(lists)))
    assert ran.total("maps") >= 3 and ran.total("connections") >= 2
    assert ran.total("write_bytes") > 0 and ran.total("failures") == 0


def test_remapped_operations_give_the_same_results(site: Site, diod: Diod) -> None:
    remap(site, diod, QUICK)


@pytest.mark.slow
def test_many_remapped_operations_give_the_same_results(site: Site, diod: Diod) -> None:
    remap(site, diod, MANY)


def kill(site: Site, diod: Diod, count: int) -> None:
    def disturb() -> None:
        diod.kill()
        diod.start()

    ran = compare(site, count, disturb)
    assert ran.total("failures") > 0


def test_operations_give_the_same_results_when_forwarders_are_killed(site: Site, diod: Diod) -> None:
    kill(site, diod, QUICK)


@pytest.mark.slow
def test_many_operations_give_the_same_results_when_forwarders_are_killed(site: Site, diod: Diod) -> None:
    kill(site, diod, MANY)


def test_a_library_that_changes_a_byte_or_a_position_is_detected(site: Site) -> None:
    """Check that the comparison of sequences can fail."""
    command = (site.programs / "mover", site.files / "file", 0, 3)
    bare = site.run_bare(*command)
    for what in ("if (got > 100) ((char *)to)[99] ^= 1;", "lseek(fd, 1, SEEK_CUR);", "errno = 7;"):
        source = site.directory / "wrong.c"
        source.write_text(
            "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <errno.h>\n#include <unistd.h>\n"
            "ssize_t read(int fd, void *to, size_t bytes)\n{\n"
            '    ssize_t (*next)(int, void *, size_t) = dlsym(RTLD_NEXT, "read");\n'
            f"    ssize_t got = next(fd, to, bytes);\n    {what}\n    return got;\n}}\n"
        )
        wrong = build(site.directory / "wrong.so", source, flags=("-shared", "-fPIC"))
        ran = site.run(*command, env={"LD_PRELOAD": str(wrong)})
        assert different(bare.stdout, ran.stdout)
