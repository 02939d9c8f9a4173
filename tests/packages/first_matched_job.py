# SPDX-License-Identifier: Apache-2.0
"""Follow docs/tutorial/quickstart.md with packages: from a clean system to the first job that gets tuned settings."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.machine import VirtualCluster
from tests.cluster.newcomer import Newcomer, prepare_site
from tests.cluster.product import Daemon
from tests.quickstart import QUICKSTART, blocks

NODES = 4  # as in the page's campaign
PLUGSTACK = "cat /usr/share/reprise/plugstack.conf >> /etc/slurm/plugstack.conf"
"""The command of the page that enables the plugin. It requires no `include` of a directory, which a site may lack."""
# Commands of the page for an installation from the checkout, and those that PLUGSTACK replaces.
OF_THE_CHECKOUT = ("make ", "systemd-sysusers", "mkdir ", "cp ")
PREREQUISITES = ("openmpi-bin", "libpmix-dev")
"""Debian packages of what the page requires before the first step: the jobs' Open MPI, and Slurm's plugin `pmix`."""
UNITS = tuple(f"{place}/systemd/system/reprise-matcher.service" for place in ("/lib", "/usr/lib"))


class NewcomerWithPackages(Newcomer):
    """A newcomer who has installed the packages. `typed` lists all commands, and one of an editor for each file."""

    def __init__(self, cluster: VirtualCluster, typed: Sequence[str]) -> None:
        super().__init__(cluster)
        self.typed = list(typed)

    def types(self, command: str) -> None:
        """Type a command, unless it is for an installation from the checkout."""
        if command.startswith(OF_THE_CHECKOUT):
            return
        command = command.replace("/usr/local/", "/usr/")
        self.typed.append(command)
        super().types(command)

    def starts_the_units(self, units: list[str]) -> None:
        """Run the commands of the matcher's unit as its user, and enable the plugin, which the page does next."""
        assert "created, schema version" in starting(self.cluster)
        self.daemon = Daemon(self.cluster)
        self.daemon.start()
        self.types(PLUGSTACK)


def commands_to_the_first_job(root: Path, typed: Sequence[str]) -> list[str]:
    """Follow the page on a system with the packages, whose installation took the commands `typed`; return all commands.

    Fails unless the first job that the page submits gets the settings of the page's campaign.
    """
    text = " ".join(QUICKSTART.read_text().split())
    assert f"`{PLUGSTACK.replace('/usr/', '/usr/local/')}`" in text
    with VirtualCluster(nodes=NODES, root=root) as cluster:
        prepared(cluster)
        prepare_site(cluster)
        newcomer = NewcomerWithPackages(cluster, typed)
        try:
            for block in blocks():
                if block.is_for_packages:
                    continue
                if block.file:
                    newcomer.typed.append(f"editor {block.file}")
                    cluster.write(block.file, block.text)
                for command, _ in block.commands:
                    newcomer.types(command)
                    if command.startswith("sbatch "):
                        assert re.search(r"^reprise: apply: record 1 ", newcomer.last, re.MULTILINE), newcomer.last
                        assert cluster.wait_job(int(newcomer.last.split()[-1])).state == "COMPLETED"
                        return newcomer.typed
        finally:
            if newcomer.daemon:
                newcomer.daemon.stop()
    raise AssertionError("the page submits no job")


def prepared(cluster: VirtualCluster) -> None:
    """Create the account's home and the units' directories, as systemd would."""
    # Removes the package's account: the virtual cluster has its own account `reprise`, and runs commands as that
    # account.
    cluster.run(["sed", "-i", r"/^reprise:[^:]*:[0-9]\{1,3\}:/d", "/etc/passwd", "/etc/group"])
    for directory in ("/run/reprise", "/var/lib/reprise", "/var/log/reprise"):
        cluster.run(["install", "-d", "-o", "reprise", "-m", "755", directory])
    cluster.run(["chown", "-R", "reprise", "/var/lib/reprise"])


def starting(cluster: VirtualCluster) -> str:
    """Run the unit's ExecStartPre command, because the virtual cluster has no systemd, and return the output."""
    unit = next(path for path in UNITS if cluster.path(path).exists())
    (command,) = re.findall(r"^ExecStartPre=(.*)$", cluster.path(unit).read_text(), re.MULTILINE)
    return cluster.run(shlex.split(command), user="reprise").stdout
