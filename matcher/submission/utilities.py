# SPDX-License-Identifier: Apache-2.0
"""Words of the shell, and commands that are no application."""

from __future__ import annotations

from matcher.submission.wrappers import RUNNERS

# Shell builtins and commands that prepare a job; never the program.
_PREPARATION = """
. : [ [[ alias bind break cd conda continue declare dirs echo eval exit export false getopts hash history jobs
let local logout mamba micromamba ml module popd printf pushd pwd read readonly return set setenv shift shopt source
spack test trap true type typeset ulimit umask unalias unset unsetenv wait
"""
PREPARATION = frozenset(_PREPARATION.split())
# Programs only if there is no other.
_UTILITIES = """
awk basename cat chgrp chmod chown cmp cp curl cut date dd df diff dirname du env expr file find free getent git grep
gunzip gzip head hostname id install ldd ln ls lscpu make md5sum mkdir mkfifo mktemp mv nproc nvidia-smi paste patch
pip pip3 printenv ps readlink realpath rm rmdir rsync sacct sbcast scancel scontrol scp sed seq sha256sum sinfo sleep
sort split squeue ssh sstat stat sync tail tar tee touch tr uname unzip uniq unlink uptime wc wget which whoami xargs
xz zip
"""
UTILITIES = frozenset(_UTILITIES.split()) | frozenset(RUNNERS)
_KEYWORDS = "if then else elif fi while until do done case esac for select in { } ! function coproc"
KEYWORDS = frozenset(_KEYWORDS.split())


def prepares(name: str) -> bool:
    """Whether a command's first word is none that starts a program. A path is (`./test`), and so may `conda run`
    be."""
    return name in PREPARATION and name not in RUNNERS
