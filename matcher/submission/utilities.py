# SPDX-License-Identifier: Apache-2.0
"""Words of the shell, and commands that are no application."""

from __future__ import annotations

from reprise.matcher.submission.wrappers import RUNNERS

# Shell builtins and commands that prepare a job; never the program.
_PREPARATION = """
. : [ [[ alias bg bind break builtin caller cd clear compgen complete conda continue declare dirs disown echo enable
eval exit export false fg getopts hash history jobs kill let local logout mamba mapfile micromamba ml module popd
printf pushd pwd read readarray readonly return set setenv shift shopt source spack suspend test times trap true type
typeset ulimit umask unalias unset unsetenv wait
"""
PREPARATION = frozenset(_PREPARATION.split())
# Programs only if there is no other.
_UTILITIES = """
7z awk aws basename bc bunzip2 bzcat bzip2 c++ cat cc chgrp chmod chown cksum clang clang++ cmake cmp column comm cp
curl cut date dd df diff dirname dos2unix dcgmi du ensurepip env envsubst expr file find flang fold free g++ gcc
getent gfortran git grep gsutil gunzip gzip head hostname ibstat icc icpc icpx icx id ifort ifx ibv_devinfo
ibv_devices install iostat ip join jq killall ldd lfs ln ls lsb_release lscpu lsof lstopo make md5sum meson mkdir
mkfifo mktemp mpic++ mpicc mpicxx mpif77 mpif90 mpifort mpiicc mpiicx mpiifort mpiifx mv ninja nl nproc numastat nvcc
nvidia-smi od ompi_info paste patch pgrep pigz ping pip pip2 pip3 pkill printenv ps quota rclone readlink realpath rev
rm rmdir rocm-smi rsync sacct salloc sbatch sbcast scancel scontrol scp sed seq sha1sum sha256sum shuf sinfo sleep
sort split squeue ssh sstat stat sync sysctl tac tail tar tee top touch tr uname uniq unlink truncate tree unzip
uptime venv virtualenv vmstat wc wget which whoami xargs xz xzcat zcat zip zgrep
"""
UTILITIES = frozenset(_UTILITIES.split()) | frozenset(RUNNERS)
_NEVER = """
basename chgrp chmod chown dirname env expr false flang id ldd ln ls mkdir mkfifo mktemp pgrep pkill killall printenv
readlink realpath rmdir rm sacct salloc sbatch sbcast scancel scontrol seq sinfo squeue ssh sstat stat tee touch tr
true uname unlink uptime venv virtualenv wc which whoami quota envsubst ensurepip nproc xargs lscpu lsof head tail
grep dcgmi find iostat lsb_release mpicc sysctl timeout truncate vmstat uniq sort tree sync ibv_devinfo ibv_devices
sudo
"""
NEVER = frozenset(_NEVER.split())
"""Utilities that are no job's work, even where it does nothing else."""
_ERRANDS = "cat cp date df du free hostname ibstat mv nvidia-smi ping ps rocm-smi sed awk sleep top git"
ERRANDS = frozenset(_ERRANDS.split())
"""Utilities that are the work only where they are all that the job runs."""
_KEYWORDS = "if then else elif fi while until do done case esac for select in { } ! function coproc"
KEYWORDS = frozenset(_KEYWORDS.split())


def prepares(name: str) -> bool:
    """Whether a command's first word is none that starts a program. A path is (`./test`), and so may `conda run`
    be."""
    return name in PREPARATION and name not in RUNNERS
