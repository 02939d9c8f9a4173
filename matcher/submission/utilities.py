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
7z apt apt-get awk aws basename bc beegfs-ctl blkid brew bunzip2 bzcat bzgrep bzip2 c++ cat cc chgrp chmod chown cksum
clang clang++ cmake cmp column comm convert cp curl cut datalad date dcgmi dd df diff dirname dmesg dnf dos2unix du
dvc egrep ensurepip env envsubst expr fc-cache fgrep file find findmnt finger flang fold free frpc fuser g++ gcc
gcloud gdown getent gfortran git gpg gpustat grep gs gsutil gunzip gzip head hostname hostnamectl htop huggingface-cli
hwloc-info hwloc-ls ibstat ibv_devices ibv_devinfo ibv_rc_pingpong icc icpc icpx icx id ifconfig ifort ifx insmod
install iostat ip ipcs iperf jobinfo join jq kaggle killall last ldd lfs lfs_migrate ln loginctl ls lsb_release lscpu
lshw lsmem lsof lspci lstopo make mc md5 md5sum meson mkdir mkfifo mktemp modprobe mountpoint mpic++ mpicc mpicxx
mpif77 mpif90 mpifort mpiicc mpiicx mpiifort mpiifx mv netstat ninja nl nm node_exporter npm nproc numastat numfmt
nvcc nvidia-smi nvtop objdump od ompi_info openssl paste patch pgrep pigz ping pip pip2 pip3 pkill printenv ps pstree
quota rclone readlink realpath rename renice rev rm rmdir rmmod rocm-smi route rsync s3cmd sacct salloc sbatch sbcast
scancel scontrol scp screen sed seq service sha1sum sha256sum shuf sinfo sleep sort split squeue ss ssh sstat stat
strings swig sync sysctl systemctl tac tail tar tee timedatectl tmux top touch tr tree truncate uname uniq unlink
unzip uptime uuidgen venv vglclient virtualenv vmstat vncserver wc wget whereis which who whoami xargs xdpyinfo xterm
xz xzcat yarn yes yum zcat zgrep zip
"""
UTILITIES = frozenset(_UTILITIES.split()) | frozenset(RUNNERS)
_NEVER = """
lshw lspci whereis gpustat modprobe rmmod insmod dmesg yes jobinfo ipcs tmux screen hwloc-ls hwloc-info fgrep egrep
netstat ss ifconfig route nvtop htop xdpyinfo fc-cache pstree renice who last finger uuidgen getent rename
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
