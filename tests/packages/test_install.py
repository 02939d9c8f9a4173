# SPDX-License-Identifier: Apache-2.0
"""Test packages on clean systems: installation, the first matched job, upgrade, and removal without leftovers.

`make test-packages` runs these tests. One counts the commands of the quickstart that an admin types
(`install_commands`).
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from reprise import __version__
from tests.cluster.machine import VirtualCluster
from tests.cluster.product import Daemon
from tests.matrix.roots import Release
from tests.packages import older
from tests.packages.deb import depends_on, field, maintainer, newer, satisfy
from tests.packages.first_matched_job import PLUGSTACK, PREREQUISITES, commands_to_the_first_job, prepared, starting
from tests.packages.systems import BUILDING, RUNNING, TEST_TIMEOUT_S, WITH_PACKAGES, System, system
from tests.quickstart import blocks
from tests.waiting import wait_for

pytestmark = [pytest.mark.packages, pytest.mark.timeout(TEST_TIMEOUT_S)]

MOST_COMMANDS = 10
PREPARED = ("systemd-standalone-sysusers", "python3")
"""Packages that any site's machine has, but not a minimal root directory."""
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

AS_EL = {"bookworm": 9, "trixie": 10}
"""Release of EL as which the RPM packages are built on a release of Debian."""
PYTHON_OF = {"bookworm": "3.11", "trixie": "3.13"}
WITH_SYMBOLS = (
    "find /usr/libexec/reprise /usr/lib/reprise-preload -type f | "
    "while read file; do readelf -S $file | grep -q ' [.]symtab ' && echo ELF $file; done; true"
)
"""Prints the programs and libraries of the packages that still have symbols for a debugger."""


@pytest.fixture(scope="module", params=WITH_PACKAGES, ids=str)
def release(request: pytest.FixtureRequest) -> Release:
    chosen: Release = request.param
    return chosen


@pytest.fixture(scope="module")
def clean(release: Release, place: Path) -> Iterator[System]:
    """Yield a machine with Slurm, but without Reprise."""
    with system(release, RUNNING, place) as one:
        # These commands prepare the machine and do not count as commands of the admin. The update in `install` counts.
        one.run(["apt-get", "-q", "update"])
        one.run(["apt-get", "-q", "install", "-y", "--no-install-recommends", *PREPARED])
        yield one


class Admin:
    """An admin who types commands."""

    def __init__(self, cluster: VirtualCluster) -> None:
        self.cluster = cluster

    def types(self, command: str, user: str = "root") -> str:
        return self.cluster.run(["sh", "-c", command], user=user, timeout_s=180).stdout

    def writes(self, path: str, text: str, user: str = "root") -> None:
        self.cluster.write(path, text, user=user)


def install(machine: System, packages: list[Path]) -> list[str]:
    """Install packages with the quickstart's commands for nodes and the matcher's host; return the host's commands."""
    for path in packages:
        shutil.copy(path, machine.path("/tmp"))
    (page,) = [block for block in blocks() if block.is_for_packages]
    host, node = (command for command, _ in page.commands)
    update = "apt-get -q update"
    machine.run(["sh", "-c", update])
    for command in (node, host):
        machine.run(["sh", "-c", f"cd /tmp && {command} -y --no-install-recommends"])
    for path in packages:
        (machine.path("/tmp") / path.name).unlink()
    return [update, host]


def configured(text: str) -> str:
    """Return the configuration with an admin's changes for this cluster, and with no jobs held out."""
    text = re.sub("^holdout = .*", "holdout = 0", text, flags=re.MULTILINE)
    text = re.sub("^cluster = .*", 'cluster = "reprise"', text, flags=re.MULTILINE)
    return re.sub("^nodes = .*", "nodes = 2", text, flags=re.MULTILINE)


def prepare(cluster: VirtualCluster) -> None:
    """Create a user's job, and what systemd would create."""
    cluster.write("/home/alice/job.sh", JOB, user="alice", mode=0o755)
    prepared(cluster)


def submitted(admin: Admin) -> None:
    """Submit a job as Alice, and check that it gets the settings that the campaign found."""
    cluster = admin.cluster
    job = int(admin.types("cd /home/alice && sbatch --parsable job.sh", user="alice"))
    output = cluster.wait_job(job).output
    why = cluster.run(["reprise", "match", "explain", str(job)], user="reprise", check=False)
    assert output == "size 0\n", why.stdout + why.stderr + cluster.run(["reprise", "doctor"], check=False).stdout
    told = json.loads(cluster.run(["reprise", "jobs", "show", str(job), "--json"], user="reprise").stdout)
    assert told["explanation"]["decisions"][0]["verdict"] == "apply"


def first_job(machine: System, kept: Path) -> None:
    """Run a campaign that takes seconds, and submit a job; write a backup of the database to `kept`."""
    with VirtualCluster(nodes=2, root=machine.root) as cluster:
        prepare(cluster)
        admin = Admin(cluster)
        config = "/etc/reprise/reprise.toml"
        admin.writes(config, configured(cluster.path(config).read_text()))
        admin.types(PLUGSTACK)
        assert "created, schema version" in starting(cluster)
        with Daemon(cluster) as daemon:
            assert "fails" not in admin.types("reprise doctor || true")
            admin.writes("/etc/reprise/components/nap.yaml", COMPONENT)
            admin.writes("/home/reprise/campaign.yaml", yaml.safe_dump(CAMPAIGN), user="reprise")
            admin.types("reprise tune run --yes /home/reprise/campaign.yaml", user="reprise")
            wait_for("the record", lambda: "event=records count=1 " in daemon.log(), 10)
            submitted(admin)
            cluster.run(["reprise", "db", "backup", "/var/lib/reprise/kept.db"], user="reprise")
        shutil.copy(cluster.path("/var/lib/reprise/kept.db"), kept)


def later_job(machine: System) -> None:
    """Check that, after an upgrade, the unit migrates the database and jobs get the campaign's settings."""
    with VirtualCluster(nodes=2, root=machine.root) as cluster:
        prepare(cluster)
        admin = Admin(cluster)
        admin.types(PLUGSTACK)  # again, because the new virtual cluster has replaced plugstack.conf
        assert re.search(rf"upgraded from schema version {older.VERSION} to \d+$", starting(cluster).strip())
        assert cluster.run(["reprise", "db", "check"], user="reprise", check=False).returncode == 0
        with Daemon(cluster):
            submitted(admin)


def nothing_else_is_imported(clean: System) -> None:
    """Check that the command ignores PYTHONPATH, and that our modules cannot be imported by their unqualified names."""
    shadow = clean.path("/tmp/shadows/database.py")
    shadow.parent.mkdir()
    for name in ("database", "matcher", "numpy", "tuner", "web"):
        shadow.with_name(f"{name}.py").write_text("raise SystemExit('the wrong one')\n")
    wrong = "PYTHONPATH=/tmp/shadows"
    assert "explain" in clean.run(["env", wrong, "reprise", "match", "--help"]).stdout
    names = ("database", "matcher", "templates", "tuner", "web", "tests", "bench", "demo")
    code = f"from importlib.util import find_spec; print([name for name in {names} if find_spec(name)])"
    assert clean.run(["/usr/lib/reprise/bin/python", "-I", "-c", code]).stdout == "[]\n"
    shutil.rmtree(shadow.parent)


def test_packages_install_serve_upgrade_and_leave_nothing(
    release: Release, built: list[Path], clean: System, place: Path
) -> None:
    satisfy(clean, built)
    before = clean.files()
    install(clean, built)
    assert clean.run(["reprise", "--version"]).stdout == f"reprise, version {__version__}\n"
    nothing_else_is_imported(clean)
    for page in ("man1/reprise.1.gz", "man5/reprise.toml.5.gz", "man8/spank_reprise.8.gz", "man8/reprise-serve.8.gz"):
        assert clean.path(f"/usr/share/man/{page}").is_file()
    assert clean.path("/usr/share/doc/reprise/docs/how-to/admin.md").is_file()
    assert clean.path("/usr/share/doc/reprise/html/index.html").is_file()
    text = clean.path("/etc/reprise/reprise.toml").read_text()
    assert "/usr/local" not in text and '"/usr/lib/reprise-preload"' in text
    (line,) = [
        one for one in clean.path("/usr/share/reprise/plugstack.conf").read_text().splitlines() if one.startswith("opt")
    ]
    assert line.endswith(" preload_directory=/usr/lib/reprise-preload witness=/usr/libexec/reprise/reprise-witness.so")
    units = [path for path in clean.files() if path.endswith(("reprise-matcher.service", "reprise-web.service"))]
    assert len(units) == 2 and all("/usr/local" not in clean.path(path).read_text() for path in units)
    first_job(clean, place / "kept.db")

    config, component = clean.path("/etc/reprise/reprise.toml"), clean.path("/etc/reprise/components/nap.yaml")
    config.write_text(configured(config.read_text()))
    component.write_text(COMPONENT)
    older.older(place / "kept.db", clean.path("/var/lib/reprise/reprise.db"))
    install(clean, [newer(path, place) for path in built])
    assert configured(config.read_text()) == config.read_text(), "the admin's configuration stays"
    assert component.read_text() == COMPONENT
    shown = clean.run(["dpkg-query", "-W", "-f", "${Version}", "reprise"]).stdout
    assert shown.endswith("+next")
    later_job(clean)

    names = [path.name.split("_")[0] for path in built]
    clean.run(["apt-get", "remove", "-y", *names])
    left = {path for path in clean.files() - before if not path.startswith(CONFIGURATION_AND_DATA)}
    assert left == set() and config.is_file(), "configuration and data stay until they are purged"
    shared = "/var/lib/reprise/artifacts"  # shared by all nodes
    purge = (
        f"mkdir -p {shared} && mount -t tmpfs tmpfs {shared} && touch {shared}/kept && "
        f"dpkg --purge {' '.join(names)} && ls {shared}"
    )
    assert clean.run(["sh", "-c", purge]).stdout.endswith("\nkept\n")
    left = clean.files() - before - {"/src"}
    assert left == {"/var/lib/reprise", shared}, "only the directory in which files are mounted is left"
    assert "reprise:" in clean.path("/etc/passwd").read_text(), "the account stays, so that its id is not reused"


def test_few_commands_lead_from_a_clean_debian_12_to_the_first_matched_job(
    release: Release, built: list[Path], place: Path
) -> None:
    if release.suite != "bookworm":
        pytest.skip("the commands are counted on Debian 12")
    with system(release, RUNNING, place, "newcomer") as machine:
        machine.run(["apt-get", "-q", "update"])
        machine.run(["apt-get", "-q", "install", "-y", "--no-install-recommends", *PREPARED, *PREREQUISITES])
        satisfy(machine, built)
        typed = commands_to_the_first_job(machine.root, install(machine, built))
    print(json.dumps({"install_commands": len(typed)}))  # noqa: T201 (`make bench-releases` and `make bench-web` read it)
    assert len(typed) <= MOST_COMMANDS, typed


def test_the_plugin_is_pinned_to_its_slurm(release: Release, built: list[Path]) -> None:
    found = next(path for path in built if path.name.startswith("reprise-plugin"))
    depends = depends_on(found)
    assert f"slurm-wlm-basic-plugins (>= {release.slurm})" in depends
    assert f"slurm-wlm-basic-plugins (<< {release.slurm}.99)" in depends


def test_the_packages_name_the_maintainer_and_no_address_of_others(built: list[Path]) -> None:
    for path in built:
        assert field(path, "Maintainer") == maintainer()
        assert field(path, "Homepage") == ""


def test_the_rpm_packages_install_verify_and_leave_nothing(release: Release, place: Path) -> None:
    """Build as on EL 9 and 10, with the same Python as on EL 9 and a newer one than on EL 10.

    The test runs on Debian, which has rpm but no RPM package of Slurm, so dependencies are not checked.
    """
    # Only the rpm of bookworm needs --force-debian.
    rpm = ["rpm", "--nodeps", *(["--force-debian"] if release.suite == "bookworm" else [])]
    with system(release, BUILDING, place) as machine:
        machine.run(["apt-get", "-q", "update"])
        machine.run(["apt-get", "-q", "install", "-y", "--no-install-recommends", "systemd-standalone-sysusers"])
        el = AS_EL[release.suite]
        as_el = ["--define", f"rhel {el}", "--define", f"dist .el{el}"]
        machine.run(["/src/packaging/rpm", "/out", *as_el], source=True)
        packages = sorted(f"/out/{path.name}" for path in machine.path("/out").glob(f"*-1.el{el}.*.rpm"))
        assert [package.split("-0.")[0] for package in packages] == [
            "/out/reprise",
            "/out/reprise-plugin",
            "/out/reprise-tools",
        ]
        machine.run(["rpm", "--checksig", "--nosignature", *packages])
        packager = machine.run(["rpm", "-qp", "--qf", "%{PACKAGER} %{URL}", packages[0]]).stdout
        assert packager == f"{maintainer()} (none)", "the project has no address of its own"
        python = machine.run(["rpm", "-qp", "--requires", packages[0]]).stdout
        assert f"/usr/bin/python{PYTHON_OF[release.suite]}\n" in python
        requires = machine.run(["rpm", "-qp", "--requires", packages[1]]).stdout.splitlines()
        assert f"slurm >= {release.slurm}" in requires and f"slurm < {release.slurm}.99" in requires
        before = machine.files()
        machine.run([*rpm, "-i", *packages])
        assert machine.run(["reprise", "--version"]).stdout == f"reprise, version {__version__}\n"
        assert "reprise:" in machine.path("/etc/passwd").read_text(), "the package's script has created the account"
        machine.run(["rpm", "--verify", "--nodeps", "reprise", "reprise-plugin", "reprise-tools"])
        assert machine.path("/usr/share/man/man1/reprise.1.gz").is_file()
        assert "ELF" not in machine.run(["sh", "-c", WITH_SYMBOLS]).stdout
        assert (
            "/usr/share/doc/reprise/docs/how-to/admin.md" in machine.run(["rpm", "-q", "--docfiles", "reprise"]).stdout
        )
        assert "/usr/share/doc/reprise/LICENSE" in machine.run(["rpm", "-q", "--licensefiles", "reprise"]).stdout
        machine.run([*rpm, "-e", "reprise", "reprise-plugin", "reprise-tools"])
        own = ("/.rpmdb", "/var/lib/rpm/")  # files of rpm itself
        left = {path for path in machine.files() - before if not any(name in path for name in own)}
        ours = {
            path for path in left if "reprise" in path or not machine.path(path).is_dir()
        }  # other directories are the system's
        assert ours == {"/var/lib/reprise"}, "only the data stay"
