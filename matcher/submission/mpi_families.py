# SPDX-License-Identifier: Apache-2.0
"""Families of MPI libraries, and the signs in scripts and programs by which they can be recognized.

A sign may fit several families: Hydra, for example, starts the programs of MPICH, Intel MPI and MVAPICH. Signs are
strong, weak or faint (matcher.submission.mpi_evidence.Strength).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """A family of MPI libraries, with the patterns of its signs; "" matches nothing.

    `modules` and `perhaps_modules` are searched in the lower-case names of environment modules and Spack packages; the
    latter are modules, such as compilers, that often come with this MPI (a faint sign). `launchers` are the launchers,
    and `options` the options of mpirun, that only this family and related families have. `paths` is searched in the
    directory of mpirun and in directories that the script adds to PATH (a weak sign), and `files` in the names of files
    that the script sources (a weak sign). `variables` are prefixes of those variables that only this family reads (a
    weak sign if a script sets them). `libraries` matches the names of libraries that a program needs. `releases`
    matches the words before a release in the names of modules, packages and directories.
    """

    name: str
    modules: str
    perhaps_modules: str = ""
    launchers: str = ""
    options: str = ""
    paths: str = ""
    files: str = ""
    variables: tuple[str, ...] = ()
    libraries: str = ""
    releases: str = ""


_HYDRA_OPTIONS = """
bootstrap bootstrap-exec disable-hostname-propagation env envall envlist envnone errfile-pattern genv genvall
genvexclude genvlist genvnone hosts iface launcher launcher-exec outfile-pattern perhost ppn
prepend-pattern prepend-rank print-rank-map rmk topolib usize
"""
# Hydra has -bind-to and -map-by too, so these are no signs. Some values of the two options exist only in Open MPI
# (OPEN_MPI_PLACES).
_OPEN_MPI_OPTIONS = """
allow-run-as-root am bind-to-core bind-to-none bind-to-socket bycore bynode byslot bysocket cpus-per-proc
display-allocation display-map gmca mca npernode npersocket omca oversubscribe prtemca report-bindings tag-output tune
use-hwthread-cpus x
"""
OPEN_MPI_PLACES = re.compile(r"ppr:|node\b|slot\b|seq\b|dist\b|.*:pe=|.*:(?:no)?oversubscribe", re.IGNORECASE)
"""Pattern of values of `--map-by` that only Open MPI has."""
_MPICH_ABI = r"libmpi(?:cxx|fort)?\.so\.12"
"""Name that the MPICH ABI Compatibility Initiative prescribes.

Open MPI 1.10 has a `libmpi.so.12` too. No settings exist for that release.
"""
OPEN_MPI = "Open MPI"
FAMILIES = (
    Family(
        OPEN_MPI,
        modules=r"openmpi|open[-_]mpi|hpc-?x(?![a-z])|(?<![a-z])(?:ompi|foss|fosscuda|gompic?|goolfc?|gomklc?|iompic?|"
        r"iomklc?|iofbf|pompi|pomkl|nvompic?|nvofbf|goblf|gobff|giolfc?|cgompi|cgoolf|lompi|xlompi)(?![a-z])",
        launchers="mpirun.openmpi mpiexec.openmpi orterun prterun",
        options=_OPEN_MPI_OPTIONS,
        paths=r"open-?mpi|(?<![a-z])ompi(?![a-z])|hpcx",
        files=r"open-?mpi",
        variables=("OMPI_MCA_", "PRTE_MCA_"),
        libraries=r"libmpi\.so\.(?:0|1|20|40)|libmpi_(?:mpifh|usempi\w*|cxx|java|f77|f90)\.so.*|libopen-(?:rte|pal)\.so.*",
        releases="openmpi|open-mpi|ompi",
    ),
    Family(
        "Intel MPI",
        modules=r"(?<![a-z])(?:impi|iimpic?|gimpic?|gimkl|ictce|intelcuda|intelmpi)(?![a-z])|intel[-_]?mpi|"
        r"oneapi[-_/](?:.*[-_/])?mpi(?![a-z])|intel/mpi|\Ampi/(?:intel(?!.*openmpi)|20[12][0-9]|latest)|"
        r"(?:\A|[-/])intel[-/]20[0-9]{2}(?:[ab]|\.u[0-9])(?![a-z])|toolchain/intel\Z",
        perhaps_modules=r"\A(?:compilers?/|dev/|pe-|lang/)?(?:intel(?:[-_/]?oneapi)?|oneapi|intel[-_]parallel[-_]studio|"
        r"parallel_studio\w*|psxe\w*)(?:/[\w.-]*)?\Z",
        launchers="mpiexec.hydra mpirun.hydra",
        options=_HYDRA_OPTIONS + " check-mpi check_mpi grr gtool psm2 trace tune",
        paths=r"/intel(?:mpi)?/|/oneapi/|(?<![a-z])impi(?![a-z])",
        files=r"\A(?!.*(?:open-?mpi|mpich|mvapich)).*(?:mpivars|psxevars|mpi/[\w.${}-]+/env/vars|setvars)",
        variables=("I_MPI_",),
        libraries=rf"{_MPICH_ABI}|libmpi(?:gf|gc\d*|_mt|_dbg|_log)*\.so\.[45]|libmpi_ilp64\.so.*",
        releases="impi|intel-?mpi|oneapi-mpi|oneapi/mpi|intel/mpi|mpi/intel",
    ),
    Family(
        "MPICH",
        modules=r"(?<!cray-)(?<!cray_)(?<!cray/)(?<![a-z])mpich|(?<![a-z])(?:c?gmpich2?|c?gmpolf|lmpich|lmpflf)(?![a-z])",
        launchers="mpirun.mpich mpiexec.mpich mpiexec.hydra",
        options=_HYDRA_OPTIONS,
        paths=r"(?<!cray-)mpich",
        variables=("MPIR_CVAR_", "MPICH_ASYNC_", "MPICH_NEMESIS_", "MPICH_PORT_RANGE", "MPICH_INTERFACE_"),
        libraries=rf"{_MPICH_ABI}|libmpich(?:cxx|f90|fort)?\.so.*",
        releases=r"(?<!cray-)mpich2?",
    ),
    Family(
        "Cray MPICH",
        modules=r"cray[-_/]?mpi|(?<![a-z])(?:cpe(?:gnu|cray|aocc|amd|intel|nvidia)|cray(?:gnu|cce|intel|pgi|nvidia))"
        r"(?![a-z])",
        perhaps_modules=r"\A(?:prgenv-|craype(?:/|-|\Z)|crayenv\Z|cpe(?:/|\Z))",
        launchers="aprun",
        paths=r"/opt/cray/",
        variables=("MPICH_", "MPIR_CVAR_"),
        libraries=rf"{_MPICH_ABI}|libmpi(?:fort|cxx)?_(?:cray|gnu|intel|nvidia|amd|aocc|pgi)\w*\.so.*",
        releases="cray-mpich(?:-abi|-ucx)?",
    ),
    Family(
        "MVAPICH",
        modules=r"mvapich|(?<![a-z])(?:c?gmvolf|xlmvapich2)(?![a-z])",
        launchers="mpirun_rsh mpiexec.hydra",
        options=_HYDRA_OPTIONS,
        paths=r"mvapich",
        variables=("MV2_", "MVP_"),
        libraries=rf"{_MPICH_ABI}|libmpich(?:cxx|f90|fort)?\.so.*",
        releases="mvapich2?(?:-gdr|-plus|-x)?",
    ),
    Family(
        "ParaStation MPI",
        modules=r"psmpi(?![a-z])|parastation|intel-para(?![a-z])|(?<![a-z])(?:gpsolf|gpsmkl|lpsflf)(?![a-z])",
        paths=r"parastation|psmpi",
        variables=("PSP_",),
        libraries=_MPICH_ABI,
    ),
    Family("HPE MPT", r"(?<![a-z])h?mpt(?![a-z])", launchers="mpiexec_mpt", libraries=r"libmpi(?:\+\+)?\.so"),
    Family("Spectrum MPI", r"spectrum[-_]?mpi", launchers="jsrun", libraries=r"libmpi(?:_ibm\w*|profilesupport)\.so.*"),
    Family("Fujitsu MPI", r"fujitsu[-_/]?mpi|(?<![a-z])(?:ffmpi|tcsds)(?![a-z])", paths="fjsvxtclanga|tcsds"),
    Family("Platform MPI", r"platform[-_]?mpi|(?<![a-z])(?:pmpi|hp-?mpi)(?![a-z])", paths=r"platform_mpi"),
    Family("bullx MPI", r"bullx-?mpi", paths=r"bullxmpi"),
)
# Values of `srun --mpi` that fit only some families (faint signs). `pmix`, `pmix_v3` and `none` fit any. Open MPI can
# use pmi2 only up to release 4, and only if it was built with pmi2; the other families usually can use pmi2.
_WITH_PMI2 = ("Intel MPI", "MPICH", "Cray MPICH", "MVAPICH", "ParaStation MPI")
PMI: Mapping[str, tuple[str, ...]] = {
    "pmi2": _WITH_PMI2,
    "cray_shasta": ("Cray MPICH",),
    "pspmi": ("ParaStation MPI",),
    "openmpi": (OPEN_MPI,),
    "mvapich": ("MVAPICH",),
    **dict.fromkeys(("mpich1_p4", "mpich1_shmem", "mpichgm", "mpichmx"), ("MPICH",)),
}
# Releases in EasyBuild's toolchains: of Open MPI in `foss`, `gompi` and, with CUDA, `fosscuda` and `gompic`; of Intel
# MPI in `intel` and `iimpi`.
_OPEN_MPI_IN: Mapping[str, str] = {
    **{"2016a": "1.10.2", "2016b": "1.10.3", "2017a": "2.0.2", "2017b": "2.1.1", "2018a": "2.1.2", "2018b": "3.1.1"},
    **{"2019a": "3.1.3", "2019b": "3.1.4", "2020a": "4.0.3", "2020b": "4.0.5", "2021a": "4.1.1", "2021b": "4.1.1"},
    **{"2022a": "4.1.4", "2022b": "4.1.4", "2023a": "4.1.5", "2023b": "4.1.6", "2024a": "5.0.3"},
}
_INTEL_MPI_IN: Mapping[str, str] = {
    **{"2021a": "2021.2.0", "2021b": "2021.4.0", "2022a": "2021.6.0", "2022b": "2021.7.1", "2023a": "2021.9.0"},
    **{"2023b": "2021.10.0", "2024a": "2021.13.0"},
}
TOOLCHAINS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    **dict.fromkeys(("foss", "gompi", "fosscuda", "gompic"), (OPEN_MPI, _OPEN_MPI_IN)),
    **dict.fromkeys(("intel", "iimpi"), ("Intel MPI", _INTEL_MPI_IN)),
}
"""For each toolchain, its MPI family and the release of the MPI by the toolchain's version."""
SETTINGS: Mapping[str, str] = {
    **dict.fromkeys(("OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_"), OPEN_MPI),
    **{"I_MPI_": "Intel MPI", "MPIR_CVAR_": "MPICH", "MPICH_": "Cray MPICH", "MV2_": "MVAPICH", "MVP_": "MVAPICH"},
}
"""Prefixes of variables with which records tune a family; other families do not read them."""
READ_BY: Mapping[str, tuple[int, ...]] = {"MV2_": (1, 2), "MVP_": (3, 4)}
"""Major releases of a family that read the variables with a prefix; other variables are read by all releases."""
