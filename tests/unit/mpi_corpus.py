# SPDX-License-Identifier: Apache-2.0
"""A corpus of batch scripts that use Open MPI, other MPIs, or an unknown MPI, with the expected families."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import yaml

from reprise.database.entities import Record, Scope
from reprise.matcher.decision.decide import Question, decide
from reprise.matcher.decision.guards import Policy
from reprise.matcher.linkage.linkage_model import load
from reprise.matcher.submission import Submission
from tests.places import UNIT
from tests.unit.matcher_daemon import knowing, record

FOLDER = UNIT / "mpi_scripts"
SITE = ("4.1.4",)
"""Open MPI releases of the site that `given` imagines; its record is proved for all of them."""


@dataclass(frozen=True)
class MPIScript:
    """A script, the MPI family and release that it uses ("" if unknown), and whether it may get Open MPI's settings."""

    name: str
    text: str
    mpi: str
    may_get_openmpi: bool

    @property
    def submission(self) -> Submission:
        """The script as submitted by `sbatch`."""
        return Submission.for_script(f"/home/ada/run/{self.name}.sh", self.text)


def scripts() -> list[MPIScript]:
    """Return all scripts of the corpus, sorted by name."""
    expected = yaml.safe_load((FOLDER / "expected.yaml").read_text())
    return [
        MPIScript(path.stem, path.read_text(), expected[path.stem], path.stem.startswith(("openmpi-", "unknown-")))
        for path in sorted(FOLDER.glob("*.sh"))
    ]


def cluster_wide(releases: Iterable[str] = SITE) -> Record:
    """Return a record for the whole cluster that gives Open MPI's settings to jobs of any size."""
    context = {"cluster": "test", "openmpi": list(releases)}
    return record(id=1, scope=Scope.CLUSTER, metadata={}, context=context)


def given(submission: Submission, one: Record | None = None, site: tuple[str, ...] = SITE) -> tuple[bool, str]:
    """Return whether a job gets the settings of a record, by default of `cluster_wide()`, and the decision's reason.

    Containers see all files of the host, so only the job's MPI decides.
    """
    question = Question(submission, user="ada", uid=1, point="submit", mode="on", at=1.7e9)
    known = knowing(one or cluster_wide(), model=load("thesis", 0.7))
    made = decide(question, known, Policy("test", openmpi=site, visible=("/",)), "d-1")
    return made.verdict == "apply", made.reason


def wrong_mpi() -> tuple[int, int]:
    """Return how many scripts of other MPIs get Open MPI's settings, and the number of all scripts of other MPIs."""
    others = [one for one in scripts() if not one.may_get_openmpi]
    site = ("4.1.4", "4.1.5", "4.1.6", "5.0.3")
    return sum(given(one.submission, cluster_wide(site), site)[0] for one in others), len(others)
