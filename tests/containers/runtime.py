# SPDX-License-Identifier: Apache-2.0
"""podman and crun with a private store, and a tiny image, made offline from Debian's busybox-static."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TIMEOUT_S = 120.0
APPLETS = ("sh", "env", "test")
# crun refuses the cgroups of hosts that mount versions 1 and 2, so it gets its own mount of version 2.
IN_OWN_MOUNTS = """\
while umount -l /sys/fs/cgroup 2>/dev/null; do :; done
mount -t cgroup2 none /sys/fs/cgroup && exec "$@"
"""
# Without a limit, podman requests more open files than a container of a continuous integration service may have.
LIMITS = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
PRINT = "env; for path in {}; do test -e $path && echo visible:$path; done; true"


@dataclass(frozen=True)
class Seen:
    """The environment of a process in a container, and which of the requested paths exist in the container."""

    environment: Mapping[str, str]
    visible: frozenset[str]

    @classmethod
    def of(cls, printed: str) -> Seen:
        """Read the output of PRINT."""
        lines = printed.splitlines()
        pairs = [line.partition("=") for line in lines if "=" in line]
        visible = frozenset(line.removeprefix("visible:") for line in lines if line.startswith("visible:"))
        return cls({name: value for name, _, value in pairs}, visible)


@dataclass(frozen=True)
class Podman:
    """podman with a private store below `directory`."""

    directory: Path

    @property
    def words(self) -> list[str]:
        """Return the start of a podman command that uses the store."""
        store = ["--root", str(self.directory / "store"), "--runroot", str(self.directory / "run")]
        how = ["--storage-driver=vfs", "--runtime=crun", "--cgroup-manager=cgroupfs", "--events-backend=none"]
        return ["podman", *store, *how]

    def load(self, root: Path, name: str) -> None:
        """Make an image of a root directory, and import it into the store."""
        archive = self.directory / f"{name}.tar"
        subprocess.run(["tar", "-C", root, "-cf", archive, "."], check=True, timeout=TIMEOUT_S)
        self.run([*self.words, "import", "--quiet", str(archive), name], {})
        archive.unlink()

    def run(self, words: Sequence[str], environment: Mapping[str, str], timeout_s: float = TIMEOUT_S) -> str:
        """Run a command in mounts of its own, and return its output."""
        done = subprocess.run(
            apart(words),
            env=clean_environment(self.directory) | dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr
        return done.stdout


def apart(words: Sequence[str]) -> list[str]:
    """Return a command that runs `words` in mounts of their own."""
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", IN_OWN_MOUNTS, "sh", *words]


def clean_environment(home: Path) -> dict[str, str]:
    return {"PATH": os.defpath + ":/usr/sbin:/sbin", "HOME": str(home)}


@dataclass(frozen=True)
class Runtimes(Podman):
    """podman and crun with a private store that contains the image `tiny`."""

    def make(self) -> None:
        """Make the image, and import it into podman's store."""
        (self.root / "bin").mkdir(parents=True)
        shutil.copy("/usr/bin/busybox", self.root / "bin")
        for applet in APPLETS:
            (self.root / "bin" / applet).symlink_to("busybox")
        self.load(self.root, "tiny")

    @property
    def root(self) -> Path:
        """Root directory of the image."""
        return self.directory / "root"

    def by_podman(self, options: Sequence[str], environment: Mapping[str, str], paths: Sequence[str]) -> Seen:
        """Run `podman run OPTIONS tiny`, and return what the container's process sees."""
        own = ["run", "--rm", "--network=none", "--cgroups=disabled", *LIMITS]
        command = ["/bin/sh", "-c", PRINT.format(" ".join(paths))]
        return Seen.of(self.run([*self.words, *own, *options, "tiny", *command], environment))

    def by_crun(self, environment: Mapping[str, str], paths: Sequence[str]) -> Seen:
        """Run an OCI bundle, as Slurm's `--container` does, with `environment` in its configuration."""
        bundle = self.directory / "bundle"
        bundle.mkdir(exist_ok=True)
        (bundle / "config.json").unlink(missing_ok=True)
        self.run(["crun", "spec", "--bundle", str(bundle)], {})
        config = json.loads((bundle / "config.json").read_text())
        config["root"]["path"] = str(self.root)
        config["process"] |= {"terminal": False, "args": ["/bin/sh", "-c", PRINT.format(" ".join(paths))]}
        config["process"]["env"] += [f"{name}={value}" for name, value in environment.items()]
        config["process"].pop("rlimits", None)
        (bundle / "config.json").write_text(json.dumps(config))
        words = ["crun", "--root", str(self.directory / "crun"), "--cgroup-manager=disabled", "run"]
        return Seen.of(self.run([*words, "--bundle", str(bundle), "reprise-test"], {}))
