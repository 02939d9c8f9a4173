# SPDX-License-Identifier: Apache-2.0
"""How rules files reach the jobs of this site: for which releases, in which form, by which variables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from reprise.config import Config
from reprise.tuner.errors import TunerError
from reprise.tuner.openmpi.algorithms import is_unsafe
from reprise.tuner.openmpi.installed_build import OpenMPIBuild, describe
from reprise.tuner.openmpi.rules.releases import family_of
from reprise.tuner.openmpi.rules.rules_model import Rules
from reprise.tuner.openmpi.rules.writing import Form, form_for, write

PROBE = "reprise-rulesprobe"
RULES_FILE = "rules.conf"
KIND = "openmpi-rules"

# A job whose user set one of these made a choice of its own, perhaps in a parameter file.
CONFLICTS = (
    "OMPI_MCA_coll",
    "OMPI_MCA_coll_tuned_*",
    "OMPI_MCA_coll_han_*",
    "OMPI_MCA_coll_hcoll_*",
    "OMPI_MCA_coll_ucc_*",
    "OMPI_MCA_mca_base_*",
)


@dataclass(frozen=True)
class RulesChannel:
    """`releases`: of Open MPI, that jobs may load; `form`: of a file that all of them read alike."""

    mpi: OpenMPIBuild
    releases: Sequence[str]
    form: Form

    @classmethod
    def installed(cls, config: Config) -> RulesChannel:
        """That of the installed Open MPI. Raises TunerError where no file could be published."""
        mpi = describe(config.openmpi.ompi_info)
        check_releases(mpi, config.openmpi.releases)
        return cls.of(mpi, config.openmpi.releases)

    @classmethod
    def of(cls, mpi: OpenMPIBuild, releases: Sequence[str]) -> RulesChannel:
        """That of a build, for its own release and others."""
        known = tuple(dict.fromkeys((mpi.version, *releases)))
        return cls(mpi, known, form_for([family_of(release) for release in known]))

    def environment(self, path: str) -> dict[str, str]:
        """What makes a rules file take effect. From 5.0 on, han would hide tuned."""
        environment = {
            "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
            "OMPI_MCA_coll_tuned_dynamic_rules_filename": path,
        }
        if self.mpi.priorities.get("han", 0) >= self.mpi.priorities.get("tuned", 30):
            environment["OMPI_MCA_coll_han_priority"] = "0"
        return environment

    def safe(self, collective: str) -> Collection[int]:
        """The algorithms of this build that a file for jobs may name, without 0."""
        names: Mapping[int, str] = self.mpi.algorithms[collective]
        return [number for number, name in names.items() if number and not is_unsafe(collective, name)]

    def text(self, rules: Rules, about: Sequence[str]) -> str:
        """A file with these rules; `about` are its first lines."""
        return write(rules, self.form, about, self.mpi.algorithms)


def check_releases(mpi: OpenMPIBuild, releases: Sequence[str]) -> None:
    """Raise TunerError where no file could be published: before a campaign, not after it.

    A gain that was measured with one series of releases says nothing of another, whose built-in choices differ; within
    a series all releases must read the file alike, which is proved for the installed one.
    """
    installed = family_of(mpi.version)
    if installed.json:
        raise TunerError(
            f"Open MPI {mpi.version}: there is no way to prove that a rules file is in effect in 6 and later: set "
            "openmpi.ompi_info to a 4.1 or 5.0 that jobs use"
        )
    for release in releases:
        if family_of(release).series != installed.series:
            raise TunerError(
                f"openmpi.releases: jobs may load {release}, of which a gain measured with {mpi.version} says nothing, "
                "so that no file could be published: remove that release if jobs no longer load it"
            )
