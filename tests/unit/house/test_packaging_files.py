# SPDX-License-Identifier: Apache-2.0
"""Test scripts and files of the packages without building the packages; `tests/packages` builds and installs them."""

from __future__ import annotations

import getpass
import grp
import gzip
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.places import ROOT

PACKAGING = ROOT / "packaging"
SPEC = (PACKAGING / "reprise.spec").read_text()
OF_RPM = SPEC.split("\n%preun plugin\n")[1].split("\n%")[0]
OF_DEBIAN = (PACKAGING / "debian/reprise-plugin.prerm").read_text()
LINE = "optional spank_reprise.so endpoint=unix:/run/reprise/matcher.sock\n"


@pytest.fixture
def slurm(tmp_path: Path) -> Path:
    (tmp_path / "plugstack.conf.d").mkdir()
    return tmp_path


def removed(script: str, slurm: Path, argument: str) -> str:
    """Return the script's message when the package is removed, with `slurm` as /etc/slurm. The removal must succeed."""
    command = ["sh", "-c", script.replace("/etc/slurm/", f"{slurm}/"), "sh", argument]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == ""
    return done.stderr


both = pytest.mark.parametrize(
    ("script", "last", "upgrade"), [(OF_DEBIAN, "remove", "upgrade"), (OF_RPM, "0", "1")], ids=["deb", "rpm"]
)


@both
@pytest.mark.parametrize("name", ["plugstack.conf", "plugstack.conf.d/reprise.conf"])
def test_removing_the_plugin_names_the_file_that_still_loads_it(
    script: str, last: str, upgrade: str, name: str, slurm: Path
) -> None:
    (slurm / name).write_text(f"# ours\n{LINE}")
    (said,) = removed(script, slurm, last).splitlines()
    assert said.startswith(f"reprise-plugin: {slurm / name} loads spank_reprise.so: remove that line")
    assert (slurm / name).read_text() == f"# ours\n{LINE}", "the script does not change the admin's file"
    assert removed(script, slurm, upgrade) == ""


@both
def test_removing_a_plugin_that_nothing_loads_prints_nothing(script: str, last: str, upgrade: str, slurm: Path) -> None:
    (slurm / "plugstack.conf").write_text("include plugstack.conf.d/*\n")
    assert removed(script, slurm, last) == ""
    (slurm / "plugstack.conf.d/reprise.conf").write_text(f"#{LINE}")
    (slurm / "plugstack.conf.d/other.conf").write_text("optional spank_other.so\n")
    assert removed(script, slurm, last) == ""


def test_both_packages_say_the_same() -> None:
    (debian,), (rpm,) = (re.findall(r"^ +for file in .*?done$", text, re.M | re.S) for text in (OF_DEBIAN, OF_RPM))
    assert debian == rpm


LOGROTATE = shutil.which("logrotate", path=f"{os.environ['PATH']}:/usr/sbin")


ROTATED_AS = ("nobody", "nogroup") if os.geteuid() == 0 else (getpass.getuser(), grp.getgrgid(os.getgid()).gr_name)
"""User and group of the logs, instead of the service user, who does not exist on every machine."""


@pytest.fixture
def rotation(place: Path) -> Path:
    """Return a directory with a logrotate configuration and a directory `logs`.

    `logs` is owned by the service user, and an admin has made it writable by its group.
    """
    (place / "logs").mkdir()
    if os.geteuid() == 0:
        shutil.chown(place / "logs", *ROTATED_AS)
    (place / "logs").chmod(0o775)
    text = (PACKAGING / "debian/reprise.logrotate").read_text()
    assert "  su reprise reprise\n" in text
    text = text.replace("su reprise reprise", f"su {' '.join(ROTATED_AS)}")
    (place / "reprise").write_text(text.replace("/var/log/reprise/", f"{place}/logs/"))
    (place / "reprise").chmod(0o644)  # logrotate refuses a configuration file that other users can write to
    return place


def rotate(*arguments: str, check: bool = True) -> str:
    if LOGROTATE is None:
        pytest.skip("logrotate is not installed: `make deps-check`")
    return subprocess.run([LOGROTATE, *arguments], capture_output=True, text=True, check=check).stderr


def test_logrotate_accepts_its_file_before_there_is_a_log(rotation: Path) -> None:
    said = rotate("-d", str(rotation / "reprise"))
    assert f"rotating pattern: {rotation}/logs/*.log  weekly (8 rotations)" in said
    assert "error" not in said


def test_a_log_is_rotated_and_continues_in_the_same_file(rotation: Path) -> None:
    log = rotation / "logs/matcher.log"
    with log.open("a") as daemon:
        shutil.chown(log, *ROTATED_AS)
        daemon.write("before\n")
        daemon.flush()
        assert rotate("-f", "-s", str(rotation / "state"), str(rotation / "reprise")) == ""
        daemon.write("after\n")
    assert log.read_text() == "after\n"
    (kept,) = log.parent.glob("matcher.log.1*")
    assert gzip.decompress(kept.read_bytes()) == b"before\n" and kept.owner() == ROTATED_AS[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give the logs to another user")
def test_links_of_the_service_user_among_its_logs_are_not_followed_by_root(rotation: Path) -> None:
    """Without `su`, logrotate skips directories that a group can write to, and works as root in other directories."""
    precious = rotation / "precious"
    precious.write_text("root's own\n")
    precious.chmod(0o600)
    (rotation / "logs/matcher.log").symlink_to(precious)
    rotate("-f", "-s", str(rotation / "state"), str(rotation / "reprise"), check=False)
    assert precious.read_text() == "root's own\n"
    assert [path.name for path in (rotation / "logs").iterdir()] == ["matcher.log"]


@pytest.fixture(scope="module")
def documentation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the documentation with a umask that denies other users access, and return its directory."""
    place = tmp_path_factory.mktemp("docs")
    command = ["make", "--silent", "-C", str(ROOT), "install-docs", f"DESTDIR={place}", "PREFIX=/usr"]
    subprocess.run(command, check=True, umask=0o077, env={"PATH": os.environ["PATH"]})
    return place / "usr/share/doc/reprise"


def test_links_of_installed_pages_lead_to_installed_files(documentation: Path) -> None:
    pages = sorted(documentation.rglob("*.md"))
    assert {page.name for page in pages} >= {page.name for page in (ROOT / "docs").rglob("*.md")}
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            assert target.startswith("https://") or (page.parent / target).is_file(), f"{page.name}: {target}"
    assert (documentation / "LICENSE").is_file()


def test_installed_pages_are_world_readable(documentation: Path) -> None:
    for path in (documentation, *documentation.rglob("*")):
        runs = path.is_dir() or path.name in ("reprise-mail", "python")
        assert path.stat().st_mode & 0o777 == (0o755 if runs else 0o644), path


def test_packages_do_not_compress_pages_that_link_to_each_other() -> None:
    rules = (PACKAGING / "debian/rules").read_text()
    assert "\tdh_compress -X.md -XLICENSE\n" in rules
    for file in (rules, SPEC):
        assert "install-docs" in file
    for line in ("%doc /usr/share/doc/reprise/docs", "%license /usr/share/doc/reprise/LICENSE"):
        assert line in SPEC.splitlines()


def test_uninstall_removes_the_pages(tmp_path: Path) -> None:
    for target in ("install-docs", "uninstall"):
        command = ["make", "--silent", "-C", str(ROOT), target, f"DESTDIR={tmp_path}", "PREFIX=/usr"]
        subprocess.run(command, check=True, env={"PATH": os.environ["PATH"]})
    assert list((tmp_path / "usr/share/doc").iterdir()) == []


def test_the_options_of_debhelper_keep_units_running_on_an_upgrade() -> None:
    called = re.findall(r"^.*dh_installsystemd -.*$", (PACKAGING / "debian/rules").read_text(), re.MULTILINE)
    assert called and all("--no-stop-on-upgrade" in line for line in called)


@pytest.mark.slow
def test_no_script_of_debhelpers_stops_a_unit_on_an_upgrade(tmp_path: Path) -> None:
    """If a script of debhelper stopped a unit, the unit would stay stopped, because no script starts it again."""
    if not shutil.which("dh_installsystemd"):
        pytest.skip("debhelper is not installed: `make deps-deb`")
    shutil.copytree(PACKAGING / "debian", tmp_path / "debian")
    units = tmp_path / "debian/reprise/lib/systemd/system"
    shutil.copytree(ROOT / "etc/systemd", units)
    tools = tmp_path / "debian/reprise-tools/lib/systemd/system"
    tools.mkdir(parents=True)
    for unit in (ROOT / "accelerators/forward/forwarder").glob("*.service"):
        shutil.copy(unit, tools)
    (tmp_path / "debian/changelog").write_text(
        "reprise (1) unstable; urgency=low\n\n  * x\n\n -- x <x@x>  Thu, 01 Jan 1970\n"
    )
    command = ["make", "-s", "-f", "debian/rules", "override_dh_installsystemd", "UNITDIR=/lib/systemd/system"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    made = [path for path in tmp_path.rglob("*") if path.is_file() and "debhelper" in str(path.relative_to(tmp_path))]
    assert any("deb-systemd-helper update-state 'reprise-matcher.service'" in path.read_text() for path in made)
    assert [path for path in made if "deb-systemd-invoke" in path.read_text()] == []
