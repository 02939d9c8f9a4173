# SPDX-License-Identifier: Apache-2.0
"""Keywords of the shell, and commands that are not applications, such as builtins, utilities and compilers."""

from __future__ import annotations

from reprise.matcher.submission.wrappers import RUNNERS

# Shell builtins and commands that prepare a job; they are never the job's program.
_PREPARATION = """
. : [ [[ alias bg bind break builtin caller cd clear compgen complete conda continue declare dirs disown echo enable
eval exit export false fg getopts hash history import jobs kill let local logout mamba mapfile micromamba ml module popd
printf pushd pwd read readarray readonly return set setenv shift shopt source spack suspend test times trap true type
typeset ulimit umask unalias unset unsetenv using wait
"""
PREPARATION = frozenset(_PREPARATION.split())
# Commands that are the job's program only if the job starts no other program.
_UTILITIES = """
7z Xvfb apt apt-get awk aws base64 basename bc beegfs-ctl bgzip blkid brew bsub bunzip2 bzcat bzgrep bzip2 c++ cargo
cat cc ch-tar2dir chgrp chmod chown cksum clang clang++ clear-eb clearHdeem cmake cmp colcon column comm condor_submit
convert cp curl cut cvmfs2 datalad date dcgmi dd df diff dirname dmesg dnf dos2unix dot dpkg du dvc eb egrep ensurepip
env envsubst expr fc-cache ffprobe fgrep file find findmnt finger flang fold free frpc ftp fuser g++ gawk gcc gcloud
gdown getent getopt gfal-copy gfal-ls gfal-mkdir gfal-rm gfortran gh git gpg gprof gpustat grep gs gsutil gunzip gzip
head hostname hostnamectl hpcprof hpcprof-mpi hpcstruct hpcviewer htop huggingface-cli hwloc-info hwloc-ls ibstat
ibv_devices ibv_devinfo ibv_rc_pingpong icc icpc icpx icx id ifconfig ifort ifx insmod install iostat ip ipcs iperf ja
jobinfo join jq kaggle killall last ldd less lfs lfs_migrate ln loginctl ls lsb_release lscpu lshw lsmem lsof lspci
lstopo make mc md5 md5sum meson mkdir mkfifo mktemp modprobe more mountpoint mpic++ mpicc mpichversion mpicxx mpif77
mpif90 mpifort mpiicc mpiicpc mpiicx mpiifort mpiifx mv nc ncdump netstat ninja nl nm node_exporter npm nproc npu-smi
numastat numfmt nvcc nvidia-modprobe nvidia-smi nvidia_gpu_prometheus_exporter nvtop objdump od ompi_info openssl paste
patch pgrep pigz ping pip pip2 pip3 pkill pmempool printenv ps pstree pv qstat qsub quota rclone readlink realpath
rename renice rev rm rmdir rmmod rocm-smi route rsync rustup s3cmd sacct salloc sbatch sbcast scancel scons scontrol
scp scram scramv1 screen sed seff seq service sftp sha1sum sha256sum shuf sinfo sleep smemwatch sort spack split squeue
ss ssh ssh-copy-id ssh-keygen sstat stat stopos strings swig sync sysctl systemctl systemd-run tac tail tar tee
timedatectl tmux top touch tr tree truncate uname uniq unlink unsquashfs unzip uptime uuidgen venv vglclient virtualenv
vmstat vncserver voms-proxy-info voms-proxy-init wall wc wget where whereis which who whoami xargs xdpyinfo xrdcp xterm
xz xzcat yarn yes yum zcat zgrep zip
"""
UTILITIES = frozenset(_UTILITIES.split()) | frozenset(RUNNERS)
_NEVER = """
Xvfb awk base64 basename bc bsub cat chgrp chmod chown clear-eb cmp column comm condor_submit cp cut date dcgmi df diff
dirname dmesg dot dpkg du egrep ensurepip env envsubst expr false fc-cache fgrep find finger flang free getent getopt
gfal-copy gfal-ls gfal-mkdir gfal-rm gh git gpustat grep head hostname hpcviewer htop hwloc-info hwloc-ls ibstat
ibv_devices ibv_devinfo id ifconfig insmod iostat ipcs ja jobinfo join jq killall last ldd less ln ls lsb_release lscpu
lshw lsof lspci mkdir mkfifo mktemp modprobe more mpichversion mv nc netstat node_exporter nproc npu-smi
nvidia-modprobe nvidia-smi nvidia_gpu_prometheus_exporter nvtop paste pgrep ping pkill printenv ps pstree pv qstat qsub
quota readlink realpath rename renice rev rm rmdir rmmod rocm-smi route sacct salloc sbatch sbcast scancel scontrol
scram scramv1 screen sed seff seq sinfo sleep smemwatch sort squeue ss ssh ssh-copy-id ssh-keygen sstat stat stopos
sudo sync sysctl systemd-run tac tail tee timeout tmux top touch tr tree true truncate uname uniq unlink uptime uuidgen
venv virtualenv vmstat voms-proxy-info voms-proxy-init wall wc where whereis which who whoami xargs xdpyinfo xrdcp yes
"""
NEVER = frozenset(_NEVER.split())
"""Utilities that are never a job's work, even if the job runs nothing else."""
# Commands that build or install software, which is the work of a job that runs no other program.
_BUILDERS = """
apptainer apt apt-get brew c++ cargo cc ch-tar2dir clang clang++ conda dnf docker dpkg eb f77 g++ gcc gfortran gmake
icc icpc icpx icx ifort ifx install make mamba meson micromamba mpicc mpicxx mpif90 mpifort mpiicc mpiicpc mpiifort
nerdctl ninja npm nvcc pip pip2 pip3 pixi podman poetry rustup scons singularity spack swig udocker uv yarn yum
"""
BUILDERS = frozenset(_BUILDERS.split())
CONFIGURES = frozenset({"configure", "bootstrap", "autogen.sh", "genmake2", "mkmf"})
"""Scripts of a source tree that write the input of `make`, such as `./configure`."""
_KEYWORDS = "if then else elif fi while until do done case esac for select in { } ! function coproc"
KEYWORDS = frozenset(_KEYWORDS.split())


def prepares(name: str) -> bool:
    """Return whether a command with this name only prepares a job and cannot start a program.

    The result is False for a path such as `./test`, and for `conda`, because `conda run` starts a program.
    """
    return name in PREPARATION and name not in RUNNERS
