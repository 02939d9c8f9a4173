# SPDX-License-Identifier: Apache-2.0
"""Test that a job gets settings for an MPI implementation only if the job may use that implementation."""

from __future__ import annotations

import dataclasses

import pytest

from reprise.database.entities import RecordStatus, Scope
from reprise.matcher.decision.known_records import Context, Known, Terms
from reprise.matcher.decision.mpi_guard import other_mpi, other_release
from reprise.matcher.submission import Submission, parse
from tests.unit.mpi_corpus import cluster_wide, given, scripts, wrong_mpi


def script(text: str) -> Submission:
    return Submission.for_script("/home/ada/job.sh", text)


def test_no_script_of_another_mpi_gets_open_mpis_settings() -> None:
    wrong, count = wrong_mpi()
    assert (wrong, count >= 45) == (0, True)


def test_scripts_of_open_mpi_and_of_an_unknown_mpi_get_its_settings() -> None:
    site = ("4.1.4", "4.1.5", "4.1.6", "5.0.3")
    fitting = [one for one in scripts() if one.may_get_openmpi]
    assert [one.name for one in fitting if not given(one.submission, cluster_wide(site), site)[0]] == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("module load impi/2021.9\nmpirun ./x\n", "the job loads the module impi/2021.9"),
        ("mpiexec.hydra ./x\n", "the job starts mpiexec.hydra"),
        ("mpirun -ppn 4 ./x\n", "the job's launcher has the option -ppn"),
        ("srun --mpi=pmi2 ./x\n", "the job's srun has the option --mpi=pmi2"),
        ("export MV2_USE_CUDA=1\nsrun ./x\n", "the job sets MV2_USE_CUDA"),
        ("source /opt/intel/oneapi/setvars.sh\nsrun ./x\n", "the job sources /opt/intel/oneapi/setvars.sh"),
        ("spack load mpich\nmpirun ./x\n", "the job loads the Spack package mpich"),
        ("/opt/cray/bin/mpiexec ./x\n", "the job starts /opt/cray/bin/mpiexec"),
        ("module load openmpi\nmodule load impi\nmpirun ./x\n", "the job loads the module impi"),
        ("module load openmpi\nsrun ./x\nmodule swap openmpi impi\nsrun ./x\n", "the job loads the module impi"),
        ("spack load a b c d e f g h impi\nsrun ./x\n", "the job loads the Spack package impi"),
    ],
)
def test_the_refusal_names_the_sign(text: str, why: str) -> None:
    got, reason = given(script(text))
    assert not got and reason == f"record 1 (for the whole cluster) is for Open MPI, and {why}"


def refused(variables: tuple[str, ...], text: str, scope: Scope = Scope.APPLICATION) -> str:
    """Return why a job does not get the settings of a record that sets `variables`, or "" if the job gets them."""
    terms = Terms("c", scope, RecordStatus.ACTIVE, Context(), (), variables, True, None)
    return other_mpi(terms, parse(script(text), user="ada", submit_time=0.0)) or ""


def test_the_names_of_a_records_variables_tell_its_mpi() -> None:
    text = "module load impi\nmpirun ./x\n"
    assert refused(("OMPI_MCA_io",), text) == "is for Open MPI, and the job loads the module impi"
    assert refused(("ROMIO_HINTS", "PRTE_MCA_a"), text) == "is for Open MPI, and the job loads the module impi"
    assert refused(("ROMIO_HINTS", "UCX_RNDV_THRESH"), text) == ""
    assert refused(("OMPI_MCA_io",), "python x.py\n") == ""


def test_a_record_without_variables_of_an_mpi_is_given_to_every_mpi() -> None:
    hints = dataclasses.replace(cluster_wide(), environment={"ROMIO_HINTS": "/h"}, context={"cluster": "test"})
    assert given(script("module load impi\nmpirun ./x\n"), hints)[0]


def test_the_release_that_a_job_names_replaces_the_releases_of_the_site() -> None:
    site = ("4.1.4", "5.0.3")
    proved = cluster_wide(["4.1.4"])
    assert given(script("module load openmpi/4.1.4\nsrun ./x\n"), proved, site)[0]
    assert given(script("module load openmpi/4.1\nsrun ./x\n"), proved, site)[0]
    assert given(script("module load openmpi/4.1.4\nsrun ./x\n"), proved, ())[0]
    assert given(script("module load openmpi/4.1.6\nsrun ./x\n"), proved, site) == (
        False,
        "record 1 (for the whole cluster) was not proved harmless to Open MPI 4.1.6, which the job loads",
    )
    assert given(script("module load openmpi/4.1.4\n$OPENMPI_HOME/bin/mpirun ./x\n"), proved, site)[0]
    assert given(
        script("module load openmpi/5.0.3 openmpi/4.1.4\nmodule unload openmpi/5.0.3\nsrun ./x\n"), proved, site
    )[0]
    anything = "5.0.3, which a job of this site may load"
    for doubtful in (
        "srun ./x\n",
        "module load openmpi/3.1\nsrun ./x\n",
        "module load openmpi/4.1.4\nsrun apptainer exec a.sif ./x\n",
        "module load openmpi/4.1.4\nconda activate sim\nsrun python x.py\n",
        "module load openmpi/4.1.4\nsource /opt/miniconda3/bin/activate sim\nsrun python x.py\n",
        "module load openmpi/4.1.4\nconda run -n sim mpirun python x.py\n",
        "module load openmpi/4.1.4\nsrun ./x\nmodule purge\nmodule load openmpi/5.0.3\nsrun ./x\n",
        "module load openmpi/4.1.4\n/opt/openmpi-5.0.3/bin/mpirun ./x\n",
        "module load openmpi/4.1.4\nexport PATH=/home/ada/openmpi-5.0.3/bin:$PATH\nmpirun ./x\n",
        "spack load openmpi@4.1.4:\nsrun ./x\n",
    ):
        assert anything in given(script(doubtful), proved, site)[1], doubtful


@pytest.mark.parametrize(("variable", "module"), [("I_MPI_ADJUST_BCAST", "impi"), ("MV2_BCAST_TUNING", "mvapich2")])
def test_settings_of_another_mpi_need_a_job_that_certainly_uses_it(variable: str, module: str) -> None:
    assert refused((variable,), f"module load {module}\nsrun ./x\n") == ""
    assert "show no sign of it" in refused((variable,), "srun ./x\n")
    inside = f"module load {module}\nsrun apptainer exec a.sif x\n"
    assert "may have its own MPI" in refused((variable,), inside)
    assert "the module openmpi" in refused((variable,), "module load openmpi\nsrun ./x\n")


def misfit(variable: str, tuned: str, text: str) -> str:
    """Return why a job's MPI release does not fit a record that was tuned for the job with the script `tuned`."""
    terms = Terms("c", Scope.APPLICATION, RecordStatus.ACTIVE, Context(), (), (variable,), True, None)
    of = parse(script(tuned), user="ada", submit_time=0.0) if tuned else None
    record = Known(1, 0.0, 0.1, 0.05, terms, ("1",), of)
    return other_release(record, parse(script(text), user="ada", submit_time=0.0)) or ""


def test_a_record_of_another_release_of_the_same_mpi_is_refused_if_both_jobs_name_theirs() -> None:
    tuned = "module load impi/2021.9.0\nmpirun ./x\n"
    bcast = "I_MPI_ADJUST_BCAST"
    assert misfit(bcast, tuned, "module load intel-oneapi-mpi/2021.9.1\nsrun ./x\n") == ""
    assert misfit(bcast, tuned, "module load iimpi/2023a\nsrun ./x\n") == ""
    assert misfit(bcast, tuned, "module load impi\nsrun ./x\n") == ""
    assert misfit(bcast, "mpiexec.hydra ./x\n", "module load impi/2019.8\nsrun ./x\n") == ""
    assert misfit(bcast, "", "module load impi/2019.8\nsrun ./x\n") == ""
    assert misfit(bcast, tuned, "module load impi/2021.14\nsrun ./x\n") == (
        "was tuned with Intel MPI 2021.9.0, and the job loads 2021.14"
    )
    assert misfit("OMPI_MCA_io", "module load openmpi/4.1.4\nsrun ./x\n", "module load openmpi/5.0.3\nsrun ./x\n") == ""


@pytest.mark.parametrize(
    ("variable", "module", "fits"),
    [
        ("MV2_INTER_ALLREDUCE_TUNING", "mvapich2/2.3.7", True),
        ("MV2_INTER_ALLREDUCE_TUNING", "mvapich/3.0", False),
        ("MVP_BARRIER_INTRA_ALGORITHM", "mvapich/4.0", True),
        ("MVP_BARRIER_INTRA_ALGORITHM", "mvapich2/2.3.7", False),
        ("MVP_BARRIER_INTRA_ALGORITHM", "mvapich", True),
    ],
)
def test_a_release_gets_no_variable_that_it_does_not_read(variable: str, module: str, fits: bool) -> None:
    why = misfit(variable, "", f"module load {module}\nsrun ./x\n")
    assert (why == "") is fits
    assert fits or why.startswith(f"sets {variable}, which MVAPICH ")


def test_only_a_job_that_certainly_uses_intel_mpi_gets_a_record_of_the_component_intel_mpi() -> None:
    tuned = dataclasses.replace(
        cluster_wide(), component="intel-mpi", environment={"I_MPI_ADJUST_BCAST": "1"}, context={"cluster": "test"}
    )
    got = [one.mpi.rpartition(" ")[0] or one.mpi for one in scripts() if given(one.submission, tuned)[0]]
    assert got and set(got) == {"Intel MPI", "Intel"}
    assert not given(script("srun ./x\n"), tuned)[0]
