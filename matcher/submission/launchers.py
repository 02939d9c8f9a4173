# SPDX-License-Identifier: Apache-2.0
"""Parallel launchers, and the number of words that follow each of their options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Launcher:
    """Name and options of a parallel launcher; srun's options are in option_tables.py.

    `called` is the launcher's name in metadata. `options` maps each option that is followed by words, without its
    dashes, to the number of these words. `tasks` are the options that set the number of tasks.
    """

    called: str
    options: Mapping[str, int]
    tasks: frozenset[str] = frozenset({"n", "np"})


def _taking(one: str, two: str = "") -> dict[str, int]:
    return dict.fromkeys(one.split(), 1) | dict.fromkeys(two.split(), 2)


# Options of mpirun and mpiexec in Open MPI 4.1 and 5.0, and in Hydra (MPICH, Intel MPI, MVAPICH).
MPI_OPTIONS = _taking(
    """
am app bind-to c cf cartofile cpu-list cpu-set cpus-per-proc cpus-per-rank debugger default-hostfile display dvm-uri
H host hostfile hnp launch-agent machinefile map-by max-restarts max-vm-size memory-per-rank N n np npernode npersocket
ompi-server output output-filename path personality pmixmca-file ppr prefix preload-files rank-by rankfile rf
report-events report-pid report-uri runtime-options stdin stream-buffering timeout tune wd wdir with-ft x xml-file xterm
env-file envlist f genvlist genvnone-list hosts iface launcher launcher-exec perhost pmi-port ppn rmk topolib
usize prepend-pattern outfile-pattern errfile-pattern exitcode-file configfile control-port
bootstrap bootstrap-exec grr tmpdir demux
""",
    "mca gmca omca gomca prtemca gprtemca pmixmca gpmixmca genv env",
)
_MPIRUN = Launcher("mpirun", MPI_OPTIONS, frozenset({"n", "np", "c"}))
_MPIEXEC = Launcher("mpiexec", MPI_OPTIONS, frozenset({"n", "np", "c"}))
_IBRUN = _taking("n np o npernode tpp tpr")
_APRUN = _taking(
    "a cc cp d D e F j L l m M n N p P pes-per-node r S sl sn t architecture cpu-binding depth environment-override "
    "memory-per-pe pes pes-per-numa-node node-list cpus-per-cu specialized-cpus access-mode"
)
_JSRUN = _taking(
    "n nrs a tasks_per_rs c cpu_per_rs g gpu_per_rs r rs_per_host l latency_priority b bind d launch_distribution "
    "m memory_per_rs p np E env F env_eval D env_no_propagate h chdir o stdio_stdout e stdio_mode k stdio_stderr "
    "t stdio_input M smpiargs f appfile K rs_per_socket U use_resources S save_resources P pre_post_exec"
)
_CHARMRUN = _taking("p np ppn n nodelist remote-shell mpiexec-no-n scalable-start-n nodegroup runscript")
LAUNCHERS = {
    "srun": Launcher("srun", {}),
    **dict.fromkeys(("mpirun", "mpirun.openmpi", "mpirun.mpich", "mpirun_rsh", "orterun", "prun", "prterun"), _MPIRUN),
    **dict.fromkeys(("mpiexec", "mpiexec.openmpi", "mpiexec.mpich", "mpiexec.hydra", "mpiexec_mpt"), _MPIEXEC),
    "runParallel": Launcher("mpirun", _taking("s np n suffix decomposeParDict")),  # OpenFOAM's RunFunctions
    "mpiexecjl": Launcher("mpiexec", {**MPI_OPTIONS, "project": 0}, frozenset({"n", "np"})),
    "ibrun": Launcher("ibrun", _IBRUN),
    "aprun": Launcher("aprun", _APRUN, frozenset({"n", "pes"})),
    "jsrun": Launcher("jsrun", _JSRUN, frozenset({"p", "np"})),
    "lrun": Launcher("lrun", _taking("n N T g p"), frozenset({"n", "p"})),
    "ccc_mprun": Launcher("ccc_mprun", _taking("n c N p A T M x Q E B D")),
    "mpprun": Launcher("mpprun", _taking("n")),
    "mpiauto": Launcher("mpiauto", _taking("n np nn nnp openmp bind bind-method prefix-command")),
    "charmrun": Launcher("charmrun", _CHARMRUN, frozenset({"p", "np", "n"})),
    "likwid-mpirun": Launcher("likwid-mpirun", _taking("n np nperdomain pin g group m mpi omp f s d hostfile")),
}
