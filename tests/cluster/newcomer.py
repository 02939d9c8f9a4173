# SPDX-License-Identifier: Apache-2.0
"""A newcomer who types the commands of docs/tutorial/quickstart.md on a virtual cluster."""

from __future__ import annotations

import os
import re
import subprocess
import time

from tests.cluster.machine import PATH, VirtualCluster
from tests.cluster.product import SOURCE, Daemon
from tests.matrix.roots import proxies
from tests.quickstart import Block, shape

CLONE = "/opt/newcomer/reprise"
SOLVER = "/srv/apps/solver/bin/solver"
JOB = f"#!/bin/bash\n#SBATCH -J solve -N4 --ntasks-per-node=1\nmpirun {SOLVER} --size 4096 --iterations 90\n"
RECORDS_S = 1.5  # seconds until a new record is in use; a user would not type the next command sooner
SUDO = """\
#!/bin/sh
[ "$1" = -u ] || exit 2
user=$2; shift 2
exec setpriv --reuid="$user" --regid="$user" --init-groups "$@"
"""


class Newcomer:
    """A user who types the commands of the page on the login node."""

    def __init__(self, cluster: VirtualCluster) -> None:
        self.cluster = cluster
        self.daemon: Daemon | None = None
        self.last = ""  # output of the previous command

    def types(self, command: str) -> None:
        """Run a command of the page in a shell, as root, or as Alice where the page requires it."""
        if command.startswith("systemctl enable --now "):
            self.starts_the_units(command.split()[3:])
        elif command.startswith("editor "):
            self.edits(command.split()[1])
        elif command.startswith("make "):
            self.last = self.makes(command)
        elif command.startswith("sbatch "):
            time.sleep(RECORDS_S)
            self.last = self.cluster.run(["sh", "-c", f"{command} 2>&1"], user="alice", cwd="/home/alice/solver").stdout
        else:
            if asked := re.fullmatch(r"reprise match explain (\d+)", command):
                self.cluster.wait_job(int(asked[1]))
            told = self.cluster.run(["sh", "-c", command], cwd="/home/alice/solver", timeout_s=300)
            self.last = told.stdout + told.stderr

    def makes(self, command: str) -> str:
        """Run make in the checkout, with this machine's network, because pip needs an index."""
        kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        enter = ["nsenter", "--target", str(self.cluster.pid), "--mount", "--uts", "--ipc", "--pid"]
        done = subprocess.run(
            [*enter, "sh", "-c", f"cd {CLONE} && {command} 2>&1"],
            env={**kept, **proxies(), "PATH": PATH, "HOME": "/root"},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:]
        return done.stdout

    def edits(self, file: str) -> None:
        """Edit the page's settings (the cluster's name, nodes and Open MPI releases), and set the holdout to 0."""
        release = self.cluster.run(["ompi_info", "--version"]).stdout.split()[2].lstrip("v")
        path = self.cluster.path(file)
        text = path.read_text()
        wanted = {
            ("site", "cluster"): f'"{self.cluster.spec.name}"',
            ("site", "nodes"): "4",
            ("openmpi", "releases"): f'["{release}"]',
            ("matcher", "holdout"): "0",
        }
        for (section, name), value in wanted.items():
            head, _, rest = text.partition(f"[{section}]\n")
            rest, count = re.subn(rf"^{name} = .*$", f"{name} = {value}", rest, count=1, flags=re.MULTILINE)
            assert count == 1, name
            text = f"{head}[{section}]\n{rest}"
        path.write_text(text)

    def starts_the_units(self, units: list[str]) -> None:
        """Run the commands of the systemd units as their users, because the cluster has no systemd."""
        assert units == ["reprise-matcher.socket", "reprise-matcher.service"]
        service = self.cluster.path("/lib/systemd/system/reprise-matcher.service").read_text()
        assert "ExecStart=/usr/local/bin/reprise serve\n" in service and "User=reprise\n" in service
        self.cluster.run(["install", "-d", "-o", "reprise", "-m", "755", "/run/reprise", "/var/lib/reprise"])
        self.cluster.run(["install", "-d", "-o", "reprise", "/var/log/reprise"])
        self.cluster.run(["reprise", "db", "init"], user="reprise")
        self.daemon = Daemon(self.cluster)
        self.daemon.start()

    def follows(self, block: Block) -> None:
        """Write the block's file, or type its commands, and check that they print what the page shows."""
        if block.file:
            self.cluster.write(block.file, block.text)
        for command, printed in block.commands:
            self.types(command)
            for line in printed:
                assert shape(line) in [shape(told) for told in self.last.splitlines()], self.last


def prepare_site(cluster: VirtualCluster) -> None:
    """Create what a site has before it tries Reprise: Alice's application, and sudo."""
    cluster.run(["install", "-D", f"{SOURCE}/demo/solver", SOLVER])
    cluster.write("/home/alice/solver/solve.sh", JOB, user="alice")
    cluster.write("/usr/local/bin/sudo", SUDO, mode=0o755)
