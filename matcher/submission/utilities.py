# SPDX-License-Identifier: Apache-2.0
"""Words of the shell, and commands that are no application."""

from __future__ import annotations

from reprise.matcher.submission.wrappers import RUNNERS

# Shell builtins and commands that prepare a job; never the program.
_PREPARATION = """
. : [ [[ alias bg bind break builtin caller cd compgen complete conda continue declare dirs disown echo enable eval
exit export false fg getopts hash history jobs kill let local logout mamba mapfile micromamba ml module popd printf
pushd pwd read readarray readonly return set setenv shift shopt source spack suspend test times trap true type typeset
ulimit umask unalias unset unsetenv wait
"""
PREPARATION = frozenset(_PREPARATION.split())
# Programs only if there is no other.
_UTILITIES = """
7z awk aws basename bc bunzip2 bzip2 c++ cat cc chgrp chmod chown cksum clang clang++ cmake cmp column comm cp curl
cut date dd df diff dirname dos2unix du ensurepip env envsubst expr file find flang fold free g++ gcc getent gfortran
git grep gsutil gunzip gzip head hostname ibstat icc icpc icpx icx id ifort ifx install iostat ip join jq killall ldd
lfs ln ls lsb_release lscpu lsof lstopo make md5sum meson mkdir mkfifo mktemp mpic++ mpicc mpicxx mpif77 mpif90
mpifort mpiicc mpiicx mpiifort mpiifx mv ninja nl nproc numastat nvcc nvidia-smi od ompi_info paste patch pgrep pigz
ping pip pip3 pkill printenv ps quota rclone readlink realpath rev rm rmdir rocm-smi rsync sacct salloc sbatch sbcast
scancel scontrol scp sed seq sha1sum sha256sum shuf sinfo sleep sort split squeue ssh sstat stat sudo sync tac tail
tar tee top touch tr uname uniq unlink unzip uptime venv virtualenv vmstat wc wget which whoami xargs xz zip
"""
UTILITIES = frozenset(_UTILITIES.split()) | frozenset(RUNNERS)
_KEYWORDS = "if then else elif fi while until do done case esac for select in { } ! function coproc"
KEYWORDS = frozenset(_KEYWORDS.split())


def prepares(name: str) -> bool:
    """Whether a command's first word is none that starts a program. A path is (`./test`), and so may `conda run`
    be."""
    return name in PREPARATION and name not in RUNNERS
