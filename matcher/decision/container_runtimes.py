# SPDX-License-Identifier: Apache-2.0
"""Container runtimes: the options with which they bind host paths and pass variables on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reprise.matcher.submission.wrappers import RUNNERS, WRAPPERS


@dataclass(frozen=True)
class Runtime:
    """Command line of a container runtime.

    One of the words `verbs` must follow the command, unless `verbs` is empty because the command alone starts a
    container. `binds` are the options that bind host paths, and `options` all options that are followed by a value. If
    `inherits` is True, the container gets the environment of the job unless one of the options `cleans` is given;
    otherwise it gets the variables that are given with the options `names`. If `same_path` is True, a path that is
    bound without a destination is the same in the container. It is False for podman, which creates an empty volume in
    this case, and for Charliecloud, whose older releases choose another path. `strips_equals` is True if `-B=/data`
    means the same as `-B/data`, as in all programs in Go.
    """

    verbs: frozenset[str]
    binds: frozenset[str]
    options: frozenset[str] = frozenset()
    inherits: bool = True
    cleans: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    same_path: bool = False
    strips_equals: bool = False


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ENV = _words("-e --env")
APPTAINER = Runtime(
    _words("exec run shell instance"),
    _words("-B --bind --mount"),
    RUNNERS["apptainer"].options,
    cleans=_words("-e --cleanenv -C --containall --compat --oci"),
    same_path=True,
    strips_equals=True,
)
_DOCKER = Runtime(
    _words("run exec create start"),
    _words("-v --volume --mount"),
    RUNNERS["docker"].options,
    inherits=False,
    names=_ENV,
    strips_equals=True,
)
RUNTIMES: Mapping[str, Runtime] = {
    **dict.fromkeys(("apptainer", "singularity"), APPTAINER),
    **dict.fromkeys(("docker", "nvidia-docker", "podman", "podman-hpc", "nerdctl", "udocker"), _DOCKER),
    "ch-run": Runtime(frozenset(), _words("-b --bind"), WRAPPERS["ch-run"][1], cleans=_words("--unset-env")),
    "shifter": Runtime(frozenset(), _words("-V --volume"), WRAPPERS["shifter"][1], cleans=_words("-E --clearenv")),
    "sarus": Runtime(_words("run"), _words("--mount"), RUNNERS["sarus"].options),
    "enroot": Runtime(_words("start exec"), _words("-m --mount"), RUNNERS["enroot"].options, False, names=_ENV),
}
# Options of Slurm and of pyxis that run a step or a job in a container. They pass the environment on.
SLURM = Runtime(frozenset(), _words("--container-mounts"), same_path=True)
