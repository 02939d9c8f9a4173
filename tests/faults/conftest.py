# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests of faults: a job whose plugin runs in a stub of Slurm."""

import os
import shutil
from collections.abc import Iterator

import pytest

from tests.faults.life import Job
from tests.munged import Munged
from tests.spank.conftest import Stub, binaries, stub

__all__ = ["binaries", "stub"]

# Command prefix that makes file modes apply to the command even if root starts the command.
POWERLESS = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--") if os.geteuid() == 0 else ()


@pytest.fixture
def job(stub: Stub) -> Job:
    (stub.directory / "job.sh").write_text("#!/bin/sh\nsrun ./a\n")
    return Job(stub)


@pytest.fixture
def powerless(job: Job) -> Job:
    if POWERLESS and not shutil.which("setpriv"):
        pytest.skip("needs setpriv, so that file modes apply to root")
    job.stub.prefix = POWERLESS
    return job


@pytest.fixture(scope="package")
def munged() -> Iterator[Munged]:
    with Munged() as running:
        yield running
