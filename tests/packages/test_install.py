# SPDX-License-Identifier: Apache-2.0
"""From packages to the first matched job on clean systems; then upgraded, removed, and nothing is left.

`make test-packages`; what an admin types is counted (`install_commands`).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from reprise import __version__
from tests.cluster.machine import VirtualCluster
from tests.cluster.product import Daemon
from tests.matrix.roots import Release
from tests.packages.systems import BUILDING, RUNNING, WITH_PACKAGES, System, system
from tests.quickstart import blocks
from tests.waiting import wait_for

pytestmark = pytest.mark.packages

MOST_COMMANDS = 10
CONFIGURATION_AND_DATA = ("/etc/", "/var/lib/reprise", "/var/lib/systemd/deb-systemd-helper-enabled")
COMPONENT = """\
name: nap
version: "1"
description: How long a script naps
kind: application
parameters:
  SRO_SIZE: {default: 4, values: [0, 4]}
"""
CAMPAIGN = {
    "name": "first",
    "component": "nap",
    "application": {"script": "/home/alice/job.sh", "user": "alice"},
    "search": {"method": "exhaustive"},
    "noise": {"policy": "none"},
    "repetitions": {"default_runs": 1, "final_pairs": 3},
    "executor": {"kind": "slurm"},
}
JOB = '#!/bin/bash\n#SBATCH --job-name=nap\necho "size ${SRO_SIZE:-none}"\nsleep "0.${SRO_SIZE:-4}"\n'


@pytest.fixture(scope="module", params=WITH_PACKAGES, ids=str)
def release(request: pytest.FixtureRequest) -> Release:
    chosen: Release = request.param
    return chosen


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where root directories may lie that other users enter."""
    directory = Path("/var/tmp") / f"reprise-packages-{tmp_path_factory.mktemp('x').name}-{id(tmp_path_factory)}"
    directory.mkdir(mode=0o755)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="module")
def built(release: Release, place: Path) -> list[Path]:
    """The packages of this release, built in a system of its own; or those of REPRISE_PACKAGES, a directory."""
    if given := os.environ.get("REPRISE_PACKAGES"):
        return sorted(Path(given).glob(f"*+deb{release.name.split()[-1]}_*.deb"))
    with system(release, BUILDING, place) as builder:
        builder.run(["/src/packaging/deb", "/out"], source=True)
        found = [Path(shutil.copy(path, place)) for path in sorted(builder.path("/out").glob("*.deb"))]
    assert [path.name.split("_")[0] for path in found] == ["reprise-plugin", "reprise-tools", "reprise"]
    return found


@pytest.fixture(scope="module")
def clean(release: Release, place: Path) -> Iterator[System]:
    """A machine with Slurm, and nothing of ours."""
    with system(release, RUNNING, place) as one:
        one.run(["apt-get", "-q", "update"])
        one.run(["apt-get", "-q", "install", "-y", "--no-install-recommends", "systemd-standalone-sysusers", "python3"])
        yield one


class Admin:
    """Who types commands; they are counted."""

    def __init__(self, cluster: VirtualCluster) -> None:
        self.cluster = cluster
        self.typed: list[str] = []

    def types(self, command: str, user: str = "root") -> str:
        self.typed.append(command)
        return self.cluster.run(["sh", "-c", command], user=user, timeout_s=180).stdout


def install(machine: System, packages: list[Path]) -> str:
    """As docs/quickstart.md says, on a compute node's behalf first, then on the matcher's host; what is typed there."""
    for path in packages:
        shutil.copy(path, machine.path("/tmp"))
    (page,) = [block for block in blocks() if block.is_for_packages]
    host, node = (command for command, _ in page.commands)
    for command in (node, host):
        machine.run(["sh", "-c", f"cd /tmp && {command} -y --no-install-recommends"])
    for path in packages:
        (machine.path("/tmp") / path.name).unlink()
    return host


def first_job(machine: System, typed: list[str]) -> None:
    """As docs/quickstart.md says, but that the daemon's unit is started by hand: there is no systemd here."""
    with VirtualCluster(nodes=2, root=machine.root) as cluster:
        admin = Admin(cluster)
        admin.typed += typed
        cluster.write("/home/alice/job.sh", JOB, user="alice", mode=0o755)
        cluster.write("/etc/reprise/components/nap.yaml", COMPONENT)
        cluster.write("/home/reprise/campaign.yaml", yaml.safe_dump(CAMPAIGN), user="reprise")
        # The cluster has an account of that name too, as which its commands run.
        cluster.run(["sed", "-i", r"/^reprise:[^:]*:[0-9]\{1,3\}:/d", "/etc/passwd", "/etc/group"])
        cluster.run(["install", "-d", "-o", "reprise", "-m", "755", "/run/reprise", "/var/lib/reprise"])  # units do
        admin.types("cp /usr/share/reprise/plugstack.conf /etc/slurm/plugstack.conf.d/reprise.conf")
        admin.types(
            "sed -i -e 's/^cluster = .*/cluster = \"reprise\"/' -e 's/^nodes = .*/nodes = 2/' /etc/reprise/reprise.toml"
        )
        admin.typed.append("systemctl enable --now reprise-matcher")
        cluster.run(["reprise", "db", "init"], user="reprise")
        cluster.run(["install", "-d", "-o", "reprise", "/var/log/reprise"])
        with Daemon(cluster) as daemon:
            assert "fails" not in admin.types("reprise doctor || true")
            admin.types("reprise tune run --yes /home/reprise/campaign.yaml", user="reprise")
            wait_for("the record", lambda: "event=records count=1 " in daemon.log(), 10)
            job = int(admin.types("cd /home/alice && sbatch --parsable job.sh", user="alice"))
            output = cluster.wait_job(job).output
            why = cluster.run(["reprise", "match", "explain", str(job)], user="reprise", check=False)
            assert output == "size 0\n", (
                why.stdout + why.stderr + cluster.run(["reprise", "doctor"], check=False).stdout
            )
            told = json.loads(cluster.run(["reprise", "jobs", "show", str(job), "--json"], user="reprise").stdout)
            assert told["explanation"]["decisions"][0]["verdict"] == "apply"
        assert len(admin.typed) <= MOST_COMMANDS, admin.typed
        print(json.dumps({"install_commands": len(admin.typed)}))  # noqa: T201 (for who reads the test's output)


def test_packages_install_serve_upgrade_and_leave_nothing(
    release: Release, built: list[Path], clean: System, place: Path
) -> None:
    for path in built:  # what they need was there before them
        depends = subprocess.run(
            ["dpkg-deb", "-f", str(path), "Depends"], capture_output=True, text=True, check=True
        ).stdout
        clean.run(["apt-get", "-q", "satisfy", "-y", "--no-install-recommends", depends.strip()])
    before = clean.files()
    typed = install(clean, built)
    assert clean.run(["reprise", "--version"]).stdout == f"reprise, version {__version__}\n"
    for page in ("man1/reprise.1.gz", "man5/reprise.toml.5.gz", "man8/spank_reprise.8.gz", "man8/reprise-serve.8.gz"):
        assert clean.path(f"/usr/share/man/{page}").is_file()
    text = clean.path("/etc/reprise/reprise.toml").read_text()
    assert "/usr/local" not in text and '"/usr/lib/reprise-preload"' in text
    assert "preload_directory=/usr/lib/reprise-preload" in clean.path("/usr/share/reprise/plugstack.conf").read_text()
    units = [path for path in clean.files() if path.endswith(("reprise-matcher.service", "reprise-web.service"))]
    assert len(units) == 2 and all("/usr/local" not in clean.path(path).read_text() for path in units)
    first_job(clean, [typed])

    config = clean.path("/etc/reprise/reprise.toml")
    config.write_text(config.read_text().replace('cluster = "cluster"', 'cluster = "mine"'))
    (clean.path("/var/lib/reprise") / "reprise.db").write_bytes(b"kept")
    install(clean, [newer(path, place) for path in built])
    assert 'cluster = "mine"' in config.read_text(), "what the admin wrote stays"
    assert clean.path("/var/lib/reprise/reprise.db").read_bytes() == b"kept"
    shown = clean.run(["dpkg-query", "-W", "-f", "${Version}", "reprise"]).stdout
    assert shown.endswith("+next")

    names = [path.name.split("_")[0] for path in built]
    clean.run(["apt-get", "remove", "-y", *names])
    left = {path for path in clean.files() - before if not path.startswith(CONFIGURATION_AND_DATA)}
    assert left == set() and config.is_file(), "configuration and data stay until they are purged"
    shared = "/var/lib/reprise/artifacts"  # of all nodes
    purge = (
        f"mkdir -p {shared} && mount -t tmpfs tmpfs {shared} && touch {shared}/kept && "
        f"dpkg --purge {' '.join(names)} && ls {shared}"
    )
    assert clean.run(["sh", "-c", purge]).stdout.endswith("\nkept\n")
    left = clean.files() - before - {"/src"}
    assert left == {"/var/lib/reprise", shared}, "nothing but where others' files are mounted"
    assert "reprise:" in clean.path("/etc/passwd").read_text(), "its id becomes nobody else's"


def newer(package: Path, place: Path) -> Path:
    """The same package as the next version."""
    tree, made = place / "tree", place / "next" / package.name
    made.parent.mkdir(exist_ok=True)
    subprocess.run(["dpkg-deb", "--raw-extract", str(package), str(tree)], check=True)
    control = tree / "DEBIAN/control"
    lines = [f"{line}+next" if line.startswith("Version:") else line for line in control.read_text().splitlines()]
    control.write_text("\n".join(lines) + "\n")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zzstd", "-z1", "--build", str(tree), str(made)], check=True)
    shutil.rmtree(tree)
    return made


def test_the_plugin_is_pinned_to_its_slurm(release: Release, built: list[Path]) -> None:
    found = next(path for path in built if path.name.startswith("reprise-plugin"))
    depends = subprocess.run(
        ["dpkg-deb", "-f", str(found), "Depends"], capture_output=True, text=True, check=True
    ).stdout
    assert f"slurm-wlm-basic-plugins (>= {release.slurm})" in depends
    assert f"slurm-wlm-basic-plugins (<< {release.slurm}.99)" in depends


def test_the_rpm_packages_install_verify_and_leave_nothing(release: Release, place: Path) -> None:
    """On a Debian, which has rpm, but no rpm of Slurm: what they depend on is not looked at."""
    rpm = ["rpm", "--nodeps", *(["--force-debian"] if release.suite == "bookworm" else [])]  # later ones need no force
    with system(release, BUILDING, place) as machine:
        machine.run(["apt-get", "-q", "update"])
        machine.run(["apt-get", "-q", "install", "-y", "--no-install-recommends", "systemd-standalone-sysusers"])
        machine.run(["/src/packaging/rpm", "/out"], source=True)
        packages = sorted(f"/out/{path.name}" for path in machine.path("/out").glob("*.rpm"))
        assert [package.split("-0.")[0] for package in packages] == [
            "/out/reprise",
            "/out/reprise-plugin",
            "/out/reprise-tools",
        ]
        machine.run(["rpm", "--checksig", "--nosignature", *packages])
        requires = machine.run(["rpm", "-qp", "--requires", packages[1]]).stdout.splitlines()
        assert f"slurm >= {release.slurm}" in requires and f"slurm < {release.slurm}.99" in requires
        before = machine.files()
        machine.run([*rpm, "-i", *packages])
        assert machine.run(["reprise", "--version"]).stdout == f"reprise, version {__version__}\n"
        assert "reprise:" in machine.path("/etc/passwd").read_text(), "its script has run"
        machine.run(["rpm", "--verify", "--nodeps", "reprise", "reprise-plugin", "reprise-tools"])
        machine.run([*rpm, "-e", "reprise", "reprise-plugin", "reprise-tools"])
        own = ("/.rpmdb", "/var/lib/rpm/")  # of rpm itself
        left = {path for path in machine.files() - before if not any(name in path for name in own)}
        ours = {
            path for path in left if "reprise" in path or not machine.path(path).is_dir()
        }  # others are the system's
        assert ours == {"/var/lib/reprise"}, "data stays"
