# SPDX-License-Identifier: Apache-2.0
"""Run the quick tests on Debian 13, the Debian release with the newest Python."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest

from tests.matrix.results import Python
from tests.matrix.roots import STABLE
from tests.packages.systems import System, system
from tests.places import ROOT

pytestmark = [pytest.mark.matrix, pytest.mark.timeout(3000)]

NEWEST = STABLE[-1]
PYTHON = "3.13"
PACKAGES = frozenset({"check"})
SUBJECT = Python(dataclasses.replace(NEWEST, groups=PACKAGES))
CLONE = "/opt/reprise"
# Tests that are left out: they test Debian 12's Slurm, Open MPI and tools rather than Python, or need files on a disk
# rather than on tmpfs.
OF_THE_SYSTEM = (
    "tests/unit/bench/test_mpiio_kernels.py",
    "tests/unit/bench/test_small_reads.py",
    "tests/unit/bench/test_fakeapp.py",
    "tests/unit/matcher/submission/test_options.py",
    "tests/unit/house/test_packaging_files.py",
    "tests/unit/house/test_matrix_roots.py::test_a_release_that_no_mirror_has_is_reported_in_one_line",
    "tests/unit/matcher/daemon/test_tcp.py::test_an_address_serves_once_it_is_up",
)
COPY = f"""\
mkdir {CLONE}
cd /src
git -c safe.directory=/src ls-files -z | tar --null -T - -c | tar -x --no-same-owner -C {CLONE}
cd {CLONE} && git init -q && git add -A && git -c user.name=tests -c user.email=tests@example.org commit -q -m copy
"""


@pytest.fixture
def newest() -> Iterator[System]:
    """Yield a system with the packages that the quick tests need, and a clone of the checkout."""
    place = Path(mkdtemp(prefix="reprise-python-", dir="/var/tmp"))
    place.chmod(0o755)
    try:
        with system(NEWEST, PACKAGES, place) as one:
            one.run(["sh", "-ec", COPY], source=True)
            yield one
    finally:
        place.rmdir()


def test_the_quick_tests_pass_on_the_newest_python(newest: System) -> None:
    newest.run(["make", "-C", CLONE, "venv", "build"])
    said = newest.run([f"{CLONE}/.venv/bin/python", "--version"]).stdout
    assert said.startswith(f"Python {PYTHON}.")
    quick = ["-n", "auto", "--dist", "worksteal", "--hypothesis-profile", "quick", "-m", "not slow"]
    assert not [name for name in OF_THE_SYSTEM if not (ROOT / name.partition("::")[0]).is_file()]
    left_out = [f"--deselect={name}" for name in OF_THE_SYSTEM]
    words = [".venv/bin/python", "-m", "pytest", "-q", *quick, *left_out, "tests/unit", "tests/web", "tests/faults"]
    done = newest.run(["sh", "-c", f'cd {CLONE} && exec "$@"', "sh", *words], check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
