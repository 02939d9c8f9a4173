# SPDX-License-Identifier: Apache-2.0
"""Commands that start others: parallel launchers, wrappers, interpreters; and commands that are no application."""

from __future__ import annotations

# Launcher's name to what metadata calls it.
LAUNCHERS = {
    "srun": "srun",
    "mpirun": "mpirun",
    "mpirun.openmpi": "mpirun",
    "mpirun.mpich": "mpirun",
    "orterun": "mpirun",
    "prun": "mpirun",
    "prterun": "mpirun",
    "mpiexec": "mpiexec",
    "mpiexec.openmpi": "mpiexec",
    "mpiexec.mpich": "mpiexec",
    "mpiexec.hydra": "mpiexec",
}

# Options of mpirun and mpiexec (Open MPI 4.1 and 5.0, Hydra) that take words, without dashes; all others take none.
_MPI_ONE_WORD = """
am app bind-to c cf cartofile cpu-list cpu-set cpus-per-proc cpus-per-rank debugger default-hostfile display dvm-uri
H host hostfile hnp launch-agent machinefile map-by max-restarts max-vm-size memory-per-rank N n np npernode npersocket
ompi-server output output-filename path personality pmixmca-file ppr prefix preload-files rank-by rankfile rf
report-events report-pid report-uri runtime-options stdin stream-buffering timeout tune wd wdir with-ft x xml-file xterm
env-file envlist f genvlist genvnone-list hosts iface launcher launcher-exec perhost pmi-port ppn rmk topolib
usize prepend-pattern outfile-pattern errfile-pattern exitcode-file configfile control-port
"""
_MPI_TWO_WORDS = "mca gmca omca gomca prtemca gprtemca pmixmca gpmixmca genv env"
MPI_OPTIONS = dict.fromkeys(_MPI_ONE_WORD.split(), 1) | dict.fromkeys(_MPI_TWO_WORDS.split(), 2)
MPI_TASKS = frozenset({"n", "np", "c"})

# Wrapper's name to (options that take a word, words of its own before the command).
WRAPPERS: dict[str, tuple[frozenset[str], int]] = {
    "env": (frozenset({"-u", "--unset", "-C", "--chdir", "-S", "--split-string"}), 0),
    "exec": (frozenset({"-a"}), 0),
    "command": (frozenset(), 0),
    "time": (frozenset({"-f", "--format", "-o", "--output"}), 0),
    "nohup": (frozenset(), 0),
    "setsid": (frozenset(), 0),
    "nice": (frozenset({"-n", "--adjustment"}), 0),
    "ionice": (frozenset({"-c", "--class", "-n", "--classdata"}), 0),
    "stdbuf": (frozenset({"-i", "--input", "-o", "--output", "-e", "--error"}), 0),
    "catchsegv": (frozenset(), 0),
    "timeout": (frozenset({"-s", "--signal", "-k", "--kill-after"}), 1),
    "taskset": (frozenset(), 1),
    "shifter": (
        frozenset(
            {"-i", "--image", "-V", "--volume", "-m", "--module", "-w", "--workdir", "-e", "--env", "--env-file"}
        ),
        0,
    ),
    "ch-run": (frozenset({"-b", "--bind", "-c", "--cd", "-g", "--gid", "-u", "--uid", "--feature"}), 1),
    "chrt": (frozenset({"-T", "-P", "-D"}), 1),
    "numactl": (
        frozenset(
            {
                *("-i", "--interleave", "-w", "--weighted-interleave", "-m", "--membind", "-N", "--cpunodebind"),
                *("-C", "--physcpubind", "-p", "--preferred", "-P", "--preferred-many"),
            }
        ),
        0,
    ),
}

# Containers: `singularity exec OPTIONS IMAGE COMMAND`, `singularity run OPTIONS IMAGE ARGUMENTS`.
CONTAINERS = frozenset({"singularity", "apptainer"})
_CONTAINER_OPTIONS = """
--add-caps --app --apply-cgroups --bind --blkio-weight --blkio-weight-device --config --cpu-shares --cpus --cpuset-cpus
--cpuset-mems --cwd --dns --drop-caps --env --env-file --fusemount --home --hostname --memory --memory-reservation
--memory-swap --mount --netns-path --network --network-args --overlay --pem-path --pids-limit --pwd --scratch --security
--shell --workdir -B -H -S -W -o
"""
CONTAINER_OPTIONS = frozenset(_CONTAINER_OPTIONS.split())

# Interpreter's name to the options that take a word. `python3.11` counts as `python`.
INTERPRETERS: dict[str, frozenset[str]] = {
    "python": frozenset({"-W", "-X", "-Q", "--check-hash-based-pycs"}),
    "bash": frozenset({"-o", "-O", "+o", "+O", "--rcfile", "--init-file"}),
    "sh": frozenset({"-o", "+o"}),
    "dash": frozenset({"-o", "+o"}),
    "ksh": frozenset({"-o", "+o"}),
    "zsh": frozenset({"-o", "+o"}),
    "perl": frozenset({"-I", "-M"}),
    "ruby": frozenset({"-I", "-r"}),
    "Rscript": frozenset({"-e"}),
    "julia": frozenset({"-p", "-t", "--threads", "-L", "--load", "-J", "--sysimage", "-O", "-C", "--procs"}),
    "java": frozenset({"-cp", "-classpath", "--class-path", "-p", "--module-path"}),
    "lua": frozenset({"-l"}),
    "node": frozenset({"-r", "--require"}),
}
SHELLS = frozenset({"sh", "bash", "dash", "ksh", "zsh", "csh", "tcsh"})
# After these the program is not a file: `python -m module`, `java -jar file`.
PROGRAM_OPTIONS = {"python": "-m", "java": "-jar"}
# After these comes code: the program is the interpreter (of a shell: what its code runs).
CODE_OPTIONS = {"python": "-c", "perl": "-e", "ruby": "-e", "julia": "-e", "Rscript": "-e", "node": "-e", "lua": "-e"}

# Shell builtins and commands that prepare a job; never the program.
_PREPARATION = """
. : [ [[ alias bind break cd conda continue declare dirs echo eval exit export false getopts hash history jobs
let local logout mamba micromamba ml module popd printf pushd pwd read readonly return set setenv shift shopt source
spack test trap true type typeset ulimit umask unalias unset unsetenv wait
"""
PREPARATION = frozenset(_PREPARATION.split())
# Programs only if there is no other.
_UTILITIES = """
apptainer awk basename cat chgrp chmod chown cp curl cut date dd df diff dirname du env expr file find free getent git
grep gunzip gzip head hostname id install ldd ln ls lscpu make md5sum mkdir mkfifo mktemp mv nproc nvidia-smi paste
patch printenv ps readlink realpath rm rmdir rsync sacct sbcast scancel scontrol scp sed seq sha256sum sinfo singularity
sleep sort split squeue ssh sstat stat sync tail tar tee touch tr uname unzip uniq unlink uptime wc wget which whoami
xargs xz zip
"""
UTILITIES = frozenset(_UTILITIES.split())
_KEYWORDS = "if then else elif fi while until do done case esac for select in { } ! function coproc"
KEYWORDS = frozenset(_KEYWORDS.split())
