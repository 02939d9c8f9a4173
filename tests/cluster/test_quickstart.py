# SPDX-License-Identifier: Apache-2.0
"""Test docs/tutorial/quickstart.md by running all its commands in order, from a fresh checkout to a tuned job.

`tests/packages/` tests the page's commands for packages.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests.cluster.machine import CHECKOUT, VirtualCluster
from tests.cluster.newcomer import CLONE, Newcomer, prepare_site
from tests.quickstart import blocks

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]


@pytest.fixture
def newcomer() -> Iterator[Newcomer]:
    """Start a cluster of four nodes with only a checkout of Reprise, and Alice's application."""
    with VirtualCluster() as cluster:
        files = subprocess.run(["git", "-C", str(CHECKOUT), "ls-files", "-z"], capture_output=True, check=True).stdout
        copied = cluster.path(CLONE)
        copied.mkdir(parents=True)
        subprocess.run(["sh", "-c", f"tar -C {CHECKOUT} --null -T - -c | tar -x -C {copied}"], input=files, check=True)
        prepare_site(cluster)
        one = Newcomer(cluster)
        yield one
        if one.daemon:
            one.daemon.stop()


def test_every_command_of_the_quickstart_does_what_it_says(newcomer: Newcomer) -> None:
    for block in blocks():
        if not block.is_for_packages:
            newcomer.follows(block)
