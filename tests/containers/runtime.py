# SPDX-License-Identifier: Apache-2.0
"""A tiny container image, made offline from Debian's busybox-static, and podman and crun to run it."""

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
class Runtimes:
    """podman and crun with a private store below `directory`, which contains the image `tiny`."""

    directory: Path

    def make(self) -> None:
        """Make the image, and import it into podman's store."""
        (self.root / "bin").mkdir(parents=True)
        shutil.copy("/usr/bin/busybox", self.root / "bin")
        for applet in APPLETS:
            (self.root / "bin" / applet).symlink_to("busybox")
        archive = self.directory / "tiny.tar"
        subprocess.run(["tar", "-C", self.root, "-cf", archive, "."], check=True, timeout=TIMEOUT_S)
        self._run([*self._podman, "import", "--quiet", str(archive), "tiny"], {})

    @property
    def root(self) -> Path:
        """Root directory of the image."""
        return self.directory / "root"

    @property
    def _podman(self) -> list[str]:
        store = ["--root", str(self.directory / "store"), "--runroot", str(self.directory / "run")]
        how = ["--storage-driver=vfs", "--runtime=crun", "--cgroup-manager=cgroupfs", "--events-backend=none"]
        return ["podman", *store, *how]

    def by_podman(self, options: Sequence[str], environment: Mapping[str, str], paths: Sequence[str]) -> Seen:
        """Run `podman run OPTIONS tiny`, and return what the container's process sees."""
        own = ["run", "--rm", "--network=none", "--cgroups=disabled", *LIMITS]
        command = ["/bin/sh", "-c", PRINT.format(" ".join(paths))]
        return Seen.of(self._run([*self._podman, *own, *options, "tiny", *command], environment))

    def by_crun(self, environment: Mapping[str, str], paths: Sequence[str]) -> Seen:
        """Run an OCI bundle, as Slurm's `--container` does, with `environment` in its configuration."""
        bundle = self.directory / "bundle"
        bundle.mkdir(exist_ok=True)
        (bundle / "config.json").unlink(missing_ok=True)
        self._run(["crun", "spec", "--bundle", str(bundle)], {})
        config = json.loads((bundle / "config.json").read_text())
        config["root"]["path"] = str(self.root)
        config["process"] |= {"terminal": False, "args": ["/bin/sh", "-c", PRINT.format(" ".join(paths))]}
        config["process"]["env"] += [f"{name}={value}" for name, value in environment.items()]
        config["process"].pop("rlimits", None)
        (bundle / "config.json").write_text(json.dumps(config))
        words = ["crun", "--root", str(self.directory / "crun"), "--cgroup-manager=disabled", "run"]
        return Seen.of(self._run([*words, "--bundle", str(bundle), "reprise-test"], {}))

    def _run(self, words: Sequence[str], environment: Mapping[str, str]) -> str:
        apart = ["unshare", "--mount", "--propagation", "private", "sh", "-c", IN_OWN_MOUNTS, "sh"]
        done = subprocess.run(
            [*apart, *words],
            env={"PATH": os.defpath + ":/usr/sbin:/sbin", "HOME": str(self.directory), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout
