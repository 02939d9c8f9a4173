# SPDX-License-Identifier: Apache-2.0
"""Delivery of rules files to a site's jobs: the files' form and the environment variables that enable them."""

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

# A job that sets one of these variables gets no rules file: its user has chosen settings of collectives, either in the
# variable itself or, with `mca_base_*`, in a parameter file that the variable names.
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
    """The form of rules files for a site's jobs, and the variables that enable the files.

    `releases`: releases of Open MPI that jobs may load. `form`: form of rules files that all these releases interpret
    in the same way.
    """

    mpi: OpenMPIBuild
    releases: Sequence[str]
    form: Form

    @classmethod
    def installed(cls, config: Config) -> RulesChannel:
        """Return the channel of the installed Open MPI.

        Raise TunerError if no rules file can be published for the configured releases.
        """
        mpi = describe(config.openmpi.ompi_info)
        check_releases(mpi, config.openmpi.releases)
        return cls.of(mpi, config.openmpi.releases)

    @classmethod
    def of(cls, mpi: OpenMPIBuild, releases: Sequence[str]) -> RulesChannel:
        """Return the channel of a build, for jobs that load the build's own release or one of `releases`."""
        known = tuple(dict.fromkeys((mpi.version, *releases)))
        return cls(mpi, known, form_for([family_of(release) for release in known]))

    def environment(self, path: str) -> dict[str, str]:
        """Return the environment variables that make the rules file at `path` take effect.

        If `han` outranks `tuned`, as from 5.0 on, its priority is lowered, since only `tuned` reads the file.
        """
        environment = {
            "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
            "OMPI_MCA_coll_tuned_dynamic_rules_filename": path,
        }
        if self.mpi.priorities.get("han", 0) >= self.mpi.priorities.get("tuned", 30):
            environment["OMPI_MCA_coll_han_priority"] = "0"
        return environment

    def safe(self, collective: str) -> Collection[int]:
        """Return the ids of this build's algorithms that a rules file for jobs may contain, excluding 0."""
        names: Mapping[int, str] = self.mpi.algorithms[collective]
        return [number for number, name in names.items() if number and not is_unsafe(collective, name)]

    def text(self, rules: Rules, about: Sequence[str]) -> str:
        """Return the text of a file with these rules; the lines of `about` become comments at its beginning."""
        return write(rules, self.form, about, self.mpi.algorithms)


def check_releases(mpi: OpenMPIBuild, releases: Sequence[str]) -> None:
    """Raise TunerError if no rules file could be published for `releases`.

    A campaign makes this check before its first trial, so that no node-hours are wasted. A gain that was measured with
    one series of releases is no evidence for another series, whose built-in choices differ. Within a series, all
    releases must interpret the file in the same way. The proof that the file is in effect is made only with the
    installed release.
    """
    installed = family_of(mpi.version)
    if installed.json:
        raise TunerError(
            f"Open MPI {mpi.version}: there is no way to prove that a rules file is in effect in 6 and later: set "
            "openmpi.ompi_info to a build of 4.1 or 5.0 that jobs use"
        )
    for release in releases:
        if family_of(release).series != installed.series:
            raise TunerError(
                f"openmpi.releases: jobs may load {release}, but gains measured with {mpi.version} do not apply to it, "
                "so no file could be published: remove that release if jobs no longer load it"
            )
