# SPDX-License-Identifier: Apache-2.0
"""Test the doctor's check of the launcher that campaigns use by default."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from reprise.doctor.findings import Finding, Level
from reprise.doctor.launcher_checks import launchers, listed
from reprise.doctor.probes import Ran

OF_22_05 = (
    "MPI plugin types are...\n\tcray_shasta\n\tnone\n\tpmi2\n\tpmix\nspecific pmix plugin versions available: pmix_v4\n"
)
OF_SID = "MPI plugin types are...\n\tnone\n\tpmi2\n"
OF_20_11 = "srun: MPI types are...\nsrun: pmix_v3\nsrun: none\nsrun: pmix\n"
NO_LIBRARY = """\
srun: error: mpi/pmix_v4: init: mpi_pmix.c:195: pmi/pmix: can not load PMIx library
srun: error: Invalid MPI type 'pmix'
"""


def found(plugins: Ran, tried: Ran | None = None, *, mpirun: bool = True) -> list[Finding]:
    def run(argv: Sequence[str]) -> Ran:
        if list(argv) == ["srun", "--mpi=list"]:
            return plugins
        if argv[0] == "mpirun":
            return Ran(0 if mpirun else None)
        assert list(argv) == ["env", "REPRISE=off", "srun", "--mpi=pmix", "--test-only", "--ntasks=1", "true"]
        assert tried is not None
        return tried

    return list(launchers(run, "pmix", "mpirun"))


def test_the_plugins_of_srun_are_read() -> None:
    assert listed(Ran(0, OF_22_05)) == ["cray_shasta", "none", "pmi2", "pmix", "pmix_v4"]
    assert listed(Ran(0, "", OF_20_11)) == ["none", "pmix", "pmix_v3"]
    assert listed(Ran(1, "", "srun: fatal: Could not establish a configuration source")) == []


def test_a_plugin_that_works_is_reported() -> None:
    (finding,) = found(Ran(0, OF_22_05), Ran(1, "", "srun: Job 7 to start at 2026-01-01T00:00:00"))
    assert (finding.level, finding.text) == (Level.OK, "srun --mpi=pmix")


@pytest.mark.parametrize("mpirun", [True, False])
def test_a_missing_plugin_is_reported_with_the_other_launcher_and_the_package(mpirun: bool) -> None:
    (finding,) = found(Ran(0, OF_SID), mpirun=mpirun)
    assert finding.level is Level.WARNING
    assert "`srun --mpi=pmix` by default, which this Slurm cannot (it has none, pmi2)" in finding.text
    assert ("mpirun does not run either" in finding.text) is not mpirun
    assert "`launcher: mpirun`" in finding.remedy and "Debian 12: libpmix-dev" in finding.remedy


def test_a_plugin_whose_library_is_missing_is_reported_although_srun_lists_it() -> None:
    (finding,) = found(Ran(0, OF_22_05), Ran(1, "", NO_LIBRARY))
    assert finding.level is Level.WARNING and "can not load PMIx library" in finding.text


def test_without_srun_nothing_is_said() -> None:
    assert found(Ran(None, stderr="srun: No such file or directory")) == []
