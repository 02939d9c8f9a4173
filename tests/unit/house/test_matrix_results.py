# SPDX-License-Identifier: Apache-2.0
"""Test that the documentation has the stored results of `make test-matrix`, which cover every release."""

from __future__ import annotations

import json

from tests.matrix.openmpi import INSTALLED
from tests.matrix.results import PAGE, STORED, TABLE, table
from tests.matrix.roots import RELEASES, SOURCE


def stored() -> list[str]:
    return [str(one["software"]) for one in json.loads(STORED.read_text())["results"]]


def test_the_page_has_the_stored_results() -> None:
    written = TABLE.search(PAGE.read_text())
    assert written
    assert written.group() == table(), "run `make docs-matrix`"


def test_the_stored_results_cover_every_release() -> None:
    wanted = {f"Slurm {release.slurm}" for release in RELEASES} | {f"Open MPI {mpi.version}" for mpi in INSTALLED}
    found = stored()
    assert {name for name in wanted if not any(f"{one}.".startswith(f"{name}.") for one in found)} == set()
    assert {"with `auth/slurm`", "Python 3.13"} == {
        words for words in ("with `auth/slurm`", "Python 3.13") if any(words in one for one in found)
    }


def test_the_readme_names_the_releases() -> None:
    text = " ".join((SOURCE / "README.md").read_text().split())
    *first, last = [release.slurm for release in RELEASES]
    assert f"with Slurm {', '.join(first)} and {last}," in text
    *first, last = dict.fromkeys(".".join(mpi.version.split(".")[:2]) for mpi in INSTALLED)
    assert f"with Open MPI {', '.join(first)} and {last} " in text
