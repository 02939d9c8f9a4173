# SPDX-License-Identifier: Apache-2.0
"""Delivery of rules files to a site's jobs: the files, their form, and the environment variables that enable them.

From Open MPI 5.0 on, `han` has a higher priority than `tuned`, so a second file makes `han` delegate the calls that
have a rule to `tuned`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reprise.config import Config
from reprise.database.entities import Artifact
from reprise.database.joint_component import OTHER_ARTIFACTS
from reprise.tuner.errors import TunerError
from reprise.tuner.model import artifacts
from reprise.tuner.openmpi.algorithms import is_unsafe
from reprise.tuner.openmpi.installed_build import OpenMPIBuild, describe
from reprise.tuner.openmpi.rules.han_delegation import delegate
from reprise.tuner.openmpi.rules.han_file import write as write_for_han
from reprise.tuner.openmpi.rules.releases import family_of, series_of
from reprise.tuner.openmpi.rules.rules_model import Rules
from reprise.tuner.openmpi.rules.writing import Form, form_for, write

PROBE = "reprise-rulesprobe"
RULES_FILE = "rules.conf"
HAN_FILE = "han.conf"
KIND = "openmpi-rules"
HAN_KIND = "openmpi-han-rules"

# The two variables that enable each file: a switch, and the path.
VARIABLES = {
    RULES_FILE: ("OMPI_MCA_coll_tuned_use_dynamic_rules", "OMPI_MCA_coll_tuned_dynamic_rules_filename"),
    HAN_FILE: ("OMPI_MCA_coll_han_use_dynamic_file_rules", "OMPI_MCA_coll_han_dynamic_rules_filename"),
}

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
class Delivery:
    """Published files: the variables that jobs get, the rules file, and the other files that the variables name."""

    environment: Mapping[str, str]
    artifact: Artifact
    other_artifacts: Sequence[Artifact]

    @property
    def digests(self) -> dict[str, list[str]]:
        """Entry of a record's parametrization that names the other files; empty if there are none."""
        return {OTHER_ARTIFACTS: [one.sha256 for one in self.other_artifacts]} if self.other_artifacts else {}


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

    @property
    def han_first(self) -> bool:
        """Whether `han` outranks `tuned` in this build, so that calls across nodes reach `tuned` only through it."""
        return self.mpi.priorities.get("han", 0) >= self.mpi.priorities.get("tuned", 30)

    @property
    def names(self) -> Sequence[str]:
        """Names of all environment variables that jobs may get."""
        return [name for file in VARIABLES for name in VARIABLES[file] if file == RULES_FILE or self.han_first]

    def files(self, rules: Rules, about: Sequence[str]) -> dict[str, str]:
        """Return the texts of the files for these rules, by name; the lines of `about` become comments.

        The rules file is the first one. The second one, for `han`, exists only if `han` would decide some of the calls.
        """
        found = {RULES_FILE: write(rules, self.form, about, self.mpi.algorithms)}
        if self.han_first and (passed := delegate(rules, self.mpi.han_algorithms)):
            found[HAN_FILE] = write_for_han(passed, True, self.mpi.han_algorithms, about)
        return found

    def environment(self, paths: Mapping[str, str]) -> dict[str, str]:
        """Return the environment variables that make the files at these paths, by name, take effect."""
        return {
            name: value
            for file, path in paths.items()
            for name, value in zip(VARIABLES[file], ("1", path), strict=True)
        }

    def in_trial(self, files: Iterable[str]) -> dict[str, str]:
        """Return the environment variables for files in a trial's directory (`TrialPlan.files`)."""
        return self.environment({name: f"{{directory}}/{name}" for name in files})

    def in_proof(self, files: Iterable[str]) -> dict[str, str]:
        """Return the environment variables for a proof, which replaces `{rules}` by the path of a rules file."""
        return {**self.in_trial(files), VARIABLES[RULES_FILE][1]: "{rules}"}

    def safe(self, collective: str) -> Collection[int]:
        """Return the ids of this build's algorithms that a rules file for jobs may contain, excluding 0."""
        names: Mapping[int, str] = self.mpi.algorithms[collective]
        return [number for number, name in names.items() if number and not is_unsafe(collective, name)]

    def publish(self, files: Mapping[str, str], directory: Path) -> Delivery:
        """Write the files as artifacts."""
        kinds = {RULES_FILE: KIND, HAN_FILE: HAN_KIND}
        found = {name: artifacts.publish(directory, text, kinds[name], ".conf") for name, text in files.items()}
        environment = self.environment({name: artifact.path for name, artifact in found.items()})
        return Delivery(environment, found.pop(RULES_FILE), list(found.values()))


def check_releases(mpi: OpenMPIBuild, releases: Sequence[str]) -> None:
    """Raise TunerError if no rules file could be published for `releases`.

    A campaign makes this check before its first trial, so that no node-hours are wasted. A gain that was measured with
    one series of releases is no evidence for another series, whose built-in choices differ. Within a series, all
    releases must interpret the file in the same way. The proof that the file is in effect is made only with the
    installed release.
    """
    installed = series_of(mpi.version)
    for release in releases:
        if series_of(release) != installed:
            raise TunerError(
                f"openmpi.releases: jobs may load {release}, but gains measured with {mpi.version} do not apply to it, "
                "so no file could be published: remove that release if jobs no longer load it"
            )
