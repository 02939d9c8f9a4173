# SPDX-License-Identifier: Apache-2.0
"""Run the Ansible role on a booted Debian 12 that is matcher, login node and compute node at the same time."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.matrix.roots import RELEASES, Release
from tests.packages.booted import Booted, booted
from tests.packages.deb import satisfy
from tests.packages.systems import RUNNING, TEST_TIMEOUT_S, System, system
from tests.packages.test_booted import FETCH, answers
from tests.waiting import wait_for

pytestmark = [pytest.mark.packages, pytest.mark.timeout(TEST_TIMEOUT_S)]

PLAY = "ANSIBLE_LOCALHOST_WARNING=0 ansible-playbook --inventory /root/hosts.yml /root/ansible/site.yml"
# The unit of munged, which makes this directory, does not run in these namespaces.
MUNGED = "install -d -o munge -g munge /run/munge && runuser -u munge munged"
NEEDED = ("systemd", "python3", "python3-apt", "ansible-core", "ansible-lint", "munge")
LINE = "/etc/slurm/plugstack.conf.d/reprise.conf"
INVENTORY = {
    "all": {
        "children": {f"reprise_{kind}": {"hosts": {"here": None}} for kind in ("matcher", "login", "compute")},
        "vars": {
            "ansible_connection": "local",
            "ansible_python_interpreter": "/usr/bin/python3",
            "reprise_packages": "/root/packages",
            "reprise_endpoints": ["tcp:127.0.0.1:7817"],
            "reprise_settings": {
                "site": {"cluster": "small", "nodes": 2},
                "matcher": {"listen": "127.0.0.1:7817", "endpoints": ["tcp:127.0.0.1:7817"], "uid": 991},
                "openmpi": {"releases": ["4.1.4"]},
            },
        },
    }
}


@pytest.fixture(scope="module")
def release() -> Release:
    return RELEASES[1]


@pytest.fixture(scope="module")
def machine(release: Release, built: list[Path], place: Path) -> Iterator[System]:
    """Yield a machine with Slurm, Ansible, the role, and the packages as files."""
    with system(release, RUNNING, place, "ansible") as one:
        one.run(["apt-get", "-q", "update"])
        one.run(["apt-get", "-q", "install", "-y", "--no-install-recommends", *NEEDED])
        satisfy(one, built)
        one.path("/usr/sbin/policy-rc.d").unlink()  # allow the packages' services to start
        one.path("/root/packages").mkdir()
        for path in built:
            shutil.copy(path, one.path("/root/packages"))
        shutil.copytree("packaging/ansible", one.path("/root/ansible"))
        one.path("/root/hosts.yml").write_text(yaml.safe_dump(INVENTORY))
        yield one


def changes(said: str) -> int:
    """Return the number of changes that a playbook reports."""
    (found,) = re.findall(r"^here .* changed=(\d+) +unreachable=0 +failed=0 ", said, re.MULTILINE)
    return int(found)


def test_the_role_sets_up_a_site_and_changes_nothing_the_second_time(machine: System) -> None:
    with booted(machine) as host:
        host.run(MUNGED)
        first = host.run(PLAY)
        assert changes(first) > 0, first
        second = host.run(PLAY)
        assert changes(second) == 0, second
        served(host)
        # In this form, Ansible passes "false" as a string.
        assert changes(host.run(f"{PLAY} --extra-vars 'reprise_active=false reprise_pages=false'")) == 2
        assert not host.path(LINE).exists()
        for unit in ("reprise-web.socket", "reprise-web.service"):
            assert host.shown(unit, "ActiveState") == "inactive"
        assert changes(host.run(PLAY)) == 2
        assert host.path(LINE).exists()


def served(host: Booted) -> None:
    """Check that the matcher and the pages answer, and that Slurm's commands would load the plugin."""
    wait_for("the matcher", lambda: answers(host), 30, every_s=0.2)
    wait_for("a page", lambda: host.run(FETCH, check=False).strip() == "200", 30, every_s=0.5)
    assert "event=serving-tcp" in host.run("journalctl --no-pager -u reprise-matcher")
    assert host.run("id -u reprise").strip() == "991"
    (line,) = re.findall(r"^optional .*$", host.path(LINE).read_text(), re.MULTILINE)
    words = line.split()
    assert words[:2] == ["optional", "spank_reprise.so"] and "preload_directory=/usr/lib/reprise-preload" in words
    assert words[-2:] == ["endpoint=tcp:127.0.0.1:7817", "matcher_uid=991"]
    shown = host.run("reprise config show")
    assert '"cluster": "small"' in shown and "/usr/local" not in shown
    doctor = host.run("reprise doctor", check=False)
    assert "ok       plugstack" in doctor and "ok       config" in doctor, doctor


def test_ansibles_own_checks_accept_the_role_and_the_example(machine: System) -> None:
    machine.run(
        ["ansible-playbook", "--syntax-check", "-i", "/root/ansible/hosts.example.yml", "/root/ansible/site.yml"]
    )
    said = machine.run(["sh", "-c", "cd /root/ansible && ansible-lint --offline --profile production"], check=False)
    assert said.returncode == 0, said.stdout + said.stderr
