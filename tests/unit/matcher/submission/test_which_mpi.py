# SPDX-License-Identifier: Apache-2.0
"""Test which MPI a job uses, according to its script, modules and program."""

from __future__ import annotations

import time

import pytest

from reprise.matcher.submission import Submission, parse
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.mpi_families import FAMILIES, OPEN_MPI, SETTINGS, TOOLCHAINS
from reprise.matcher.submission.mpi_signs import SIGN_LIMIT, SIGNS_LIMIT, Signs
from reprise.matcher.submission.which_mpi import MPI, which_mpi
from tests.unit.mpi_corpus import scripts


def found(text: str, mpi_library: str = "") -> MPI:
    job = parse(Submission.for_script("/home/ada/job.sh", text), user="ada", submit_time=0.0)
    return which_mpi(JobMetadata(user="ada", modules=job.modules, mpi_signs=job.mpi_signs, mpi_library=mpi_library))


def test_each_script_of_the_corpus_has_the_expected_mpi() -> None:
    expected = {one.name: one.mpi for one in scripts()}
    assert {one.name: f"{(mpi := found(one.text)).family} {mpi.release}".strip() for one in scripts()} == expected


def test_the_corpus_has_enough_scripts() -> None:
    names = [one.name for one in scripts()]
    assert sum(name.startswith("openmpi-") for name in names) >= 20
    assert sum(not one.may_get_openmpi for one in scripts()) >= 45


@pytest.mark.parametrize(
    ("module", "release"),
    [
        ("openmpi/5.0.3", "5.0.3"),
        ("OpenMPI/4.1.4-GCC-12.2.0", "4.1.4"),
        ("openmpi/4.1.5-fasrc03", "4.1.5"),
        ("openmpi/4.0.3_intel", "4.0.3"),
        ("apps/gromacs-2021-gcc-8.2.0-openmpi-4.0.3-cuda-10.1/2021.4", "4.0.3"),
        ("openmpi/4.1", "4.1"),
        ("Python/3.9.6-foss-2021b", "4.1.1"),
        ("openmpi/gcc/9.3.0/4.0.5", ""),  # the first number is the compiler's
        ("openmpi/4.1.5a1", ""),
        ("openmpi/4", ""),
        ("openmpi/4.1.2.1", ""),
        ("iomkl/2018b", ""),
        ("hpcx/2.13.1", ""),
        ("foss/2031a", ""),
    ],
)
def test_the_release_is_taken_from_a_modules_name_only_if_it_is_open_mpis(module: str, release: str) -> None:
    mpi = which_mpi(JobMetadata(user="ada", modules=(module,)))
    assert (mpi.family, mpi.release) == (OPEN_MPI, release)


def test_two_releases_make_the_release_unknown() -> None:
    mpi = which_mpi(JobMetadata(user="ada", modules=("openmpi/4.1.4", "hdf5/1.12-openmpi-5.0.3")))
    assert (mpi.family, mpi.release) == (OPEN_MPI, "")


@pytest.mark.parametrize(
    ("library", "family"),
    [
        ("libmpi.so.40", OPEN_MPI),
        ("libmpi_mpifh.so.40", OPEN_MPI),
        ("libmpi.so.20", OPEN_MPI),
        ("libmpi_cray.so.12", "Cray MPICH"),
        ("libmpi_gnu_91.so.12", "Cray MPICH"),
        ("libmpi_mt.so.4", "Intel MPI"),
        ("libmpi_ibm.so.3", "Spectrum MPI"),
        ("libmpi.so.12", ""),  # MPICH's ABI, which several families have
        ("libmpich.so.12", ""),
        ("libmpi_abi.so.0", ""),  # the standard's ABI, which every family may have
        ("libmpifoo.so.1", ""),
    ],
)
def test_a_library_tells_the_family(library: str, family: str) -> None:
    mpi = which_mpi(JobMetadata(user="ada", mpi_library=library))
    assert mpi.family == family
    assert bool(mpi.against(OPEN_MPI)) is (
        family not in (OPEN_MPI, "") or library in ("libmpi.so.12", "libmpich.so.12")
    )


def test_weaker_signs_choose_among_the_families_of_a_shared_sign() -> None:
    assert found("export I_MPI_DEBUG=1\nsrun ./x\n", mpi_library="libmpi.so.12").family == "Intel MPI"
    assert found("module load mvapich2\nsrun ./x\n", mpi_library="libmpi.so.12").family == "MVAPICH"


def test_a_library_that_contradicts_the_modules_makes_the_mpi_unknown() -> None:
    mpi = found("module load openmpi/4.1.4\nsrun ./x\n", mpi_library="libmpi.so.12")
    assert (mpi.family, mpi.is_certain) == ("", False)
    assert str(mpi) == ("unknown, because the signs contradict each other: module openmpi/4.1.4, library libmpi.so.12")


def test_the_text_names_family_release_and_evidence() -> None:
    assert str(found("module load openmpi/5.0.3\nsrun ./x\n")) == "Open MPI 5.0.3 (module openmpi/5.0.3)"
    inside = "; uncertain, because the program may have its own MPI (apptainer)"
    assert str(found("module load openmpi\nsrun apptainer exec a.sif ./x\n")) == f"Open MPI (module openmpi){inside}"
    assert str(found("srun ./x\n")) == "unknown, because the script and the program show no sign of it"


def test_mpirun_of_intel_mpi_has_the_option_tune_too() -> None:
    assert found("module load impi\nmpirun -tune -n 4 ./x\n").family == "Intel MPI"
    assert found("mpirun -tune file -n 4 ./x\n").family == ""


def test_modules_count_if_a_launcher_starts_a_program_with_them() -> None:
    assert found("module load impi\nmake\nmodule swap impi openmpi\nsrun ./x\n").family == OPEN_MPI
    assert found("module load impi\nsrun ./y\nmodule swap impi openmpi\nsrun ./x\n").family == ""


def test_a_container_or_an_environment_makes_the_mpi_uncertain() -> None:
    for line in ("conda activate sim", "source activate sim", "apptainer exec image.sif true"):
        assert not found(f"module load openmpi/4.1.4\n{line}\nsrun ./x\n").is_certain, line
    assert found("module load openmpi/4.1.4\nconda deactivate\nsrun ./x\n").is_certain


def test_signs_in_code_within_the_script_count() -> None:
    assert found("bash -c 'mpiexec.mpich -n 4 ./x'\n").family == "MPICH"
    assert found("cat > run.sh <<'END'\nmpirun.openmpi ./x\nEND\nbash run.sh\n").family == OPEN_MPI
    srun = Submission("srun", ("srun", "--mpi=cray_shasta", "./x"))
    assert which_mpi(parse(srun, user="ada", submit_time=0.0)).family == "Cray MPICH"


def test_options_of_the_program_are_no_options_of_the_launcher() -> None:
    assert found("mpirun -np 4 ./x -genv A 1 --mca b\n").evidence == ()
    assert found("srun ./x --mpi=pmi2\n").evidence == ()


def test_signs_are_limited_and_printable() -> None:
    signs = Signs()
    for number in range(99):
        signs.take([f"/opt/intel/\x1b[31m{'é' * 99}{number}/mpirun", "./x"])
    assert len(signs.found) == SIGNS_LIMIT
    assert all(len(sign) <= SIGN_LIMIT and sign.isascii() and sign.isprintable() for sign in signs.found)


@pytest.mark.parametrize(
    "part",
    [
        "I_MPI_",
        "I_MPI_A ",
        "setenv MV2_ ",
        "vars.sh ",
        "source vars.sh ",
        "spack load a ",
        "spack load oneapi-mponeapi-mponeapi-mp ",
        "conda/activate ",
        "activate ",
        "MPICH_\n",
    ],
)
def test_a_large_script_is_searched_quickly(part: str) -> None:
    text = (part * (131_072 // len(part)))[:131_072]
    begun = time.process_time()
    Signs().take_text(text)
    assert time.process_time() - begun < 0.5  # it takes 10 ms; quadratic time would take minutes


def test_long_names_of_modules_are_searched_quickly() -> None:
    modules = tuple(f"{number}{'oneapi-mp' * 113}" for number in range(64))
    begun = time.process_time()
    assert which_mpi(JobMetadata("ada", modules=modules)).family == ""
    assert time.process_time() - begun < 0.5


def test_metadata_of_an_older_release_has_no_signs() -> None:
    old = {key: value for key, value in JobMetadata("ada").to_json().items() if not key.startswith("mpi_")}
    assert JobMetadata.from_json(old) == JobMetadata("ada")
    job = JobMetadata("ada", mpi_signs=("pmi pmi2",), mpi_library="libmpi.so.12")
    assert JobMetadata.from_json(job.to_json()) == job


def test_signs_of_a_newer_release_are_ignored() -> None:
    assert which_mpi(JobMetadata("ada", mpi_signs=("crystal-ball x", "pmi newpmi", "option"))).evidence == ()


def test_the_table_is_consistent() -> None:
    names = [family.name for family in FAMILIES]
    assert len(set(names)) == len(names) and set(SETTINGS.values()) <= set(names)
    assert all(family in names for family, _ in TOOLCHAINS.values())
    assert all(release.count(".") == 2 for _, releases in TOOLCHAINS.values() for release in releases.values())
