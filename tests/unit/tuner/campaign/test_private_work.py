# SPDX-License-Identifier: Apache-2.0
"""Test campaigns' files below tuner.work: only their owner can read them, and files of other users are not used."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from reprise.database import Database
from reprise.tuner.definition import campaign_place, component_registry
from reprise.tuner.errors import TunerError
from tests.unit.tuner_site import Command, Site

ANOTHER = 65533
WORD = "hunter2-hunter2"
SHORT = {"method": "random", "budget": 1}
FIND = """
import os, sys
os.setgroups([]); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
for directory, _, names in os.walk(sys.argv[2]):
    for name in names:
        try:
            if sys.argv[3].encode() in open(os.path.join(directory, name), "rb").read():
                print(os.path.join(directory, name))
        except OSError:
            pass
"""

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to switch to another user")


@pytest.fixture
def open_site(place: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Return a site below a directory that all users can enter."""
    monkeypatch.setitem(component_registry.KINDS, "fake", "tests.fake_component")
    return Site(place)


def found_by_another(place: Path) -> list[str]:
    """Return the files below `place` in which the user ANOTHER can read the secret WORD."""
    command = [sys.executable, "-c", FIND, str(ANOTHER), str(place), WORD]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def campaign_directory(site: Site, number: int) -> Path:
    return campaign_place.directory_of(site.campaign(number), site.config)


@root_only
def test_no_other_user_reads_the_copy_of_a_script_that_only_its_owner_can_read(open_site: Site) -> None:
    number = open_site.begin(settings={"before": f"export API_KEY={WORD}; echo $API_KEY"}, search=SHORT)
    open_site.run(number)
    work = open_site.config.tuner.work
    copies = [path for path in work.rglob("*") if path.is_file() and WORD in path.read_text(errors="replace")]
    assert copies, "no file contains the secret, so the test is void"
    assert found_by_another(work) == []
    assert {stat.S_IMODE(path.stat().st_mode) for path in work.rglob("*") if path.is_dir()} == {0o700}
    scripts = [path for path in work.rglob("*") if path.suffix == ".sh"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in scripts} == {0o600}


@root_only
def test_a_directory_that_somebody_else_planted_is_refused(site: Site) -> None:
    number = site.begin()
    planted = campaign_directory(site, number)
    planted.mkdir(parents=True)
    os.chown(planted, ANOTHER, ANOTHER)
    with pytest.raises(TunerError, match=f"belongs to another user .uid {ANOTHER}."):
        site.run(number)
    assert list(planted.iterdir()) == []


def test_a_link_in_the_place_of_the_campaigns_directory_or_its_lock_is_not_followed(site: Site) -> None:
    number = site.begin()
    elsewhere = site.directory / "elsewhere"
    elsewhere.mkdir()
    planted = campaign_directory(site, number)
    planted.parent.mkdir()
    planted.symlink_to(elsewhere)
    with pytest.raises(TunerError, match=str(planted)):
        site.run(number)
    planted.unlink()
    planted.mkdir()
    (planted / "lock").symlink_to(elsewhere / "lock")
    with pytest.raises(TunerError, match=str(planted)):
        site.run(number)
    assert list(elsewhere.iterdir()) == []


def test_a_directory_of_campaigns_that_others_may_write_is_refused_with_the_remedy(site: Site) -> None:
    site.config.tuner.work.mkdir()
    site.config.tuner.work.chmod(0o775)
    number = site.begin()
    with pytest.raises(TunerError, match=f"chmod go-w {site.config.tuner.work}"):
        site.run(number)


def test_a_directory_of_an_older_release_is_made_private_when_its_campaign_is_resumed(site: Site) -> None:
    number = site.begin(search=SHORT)
    directory = campaign_directory(site, number)
    directory.mkdir(parents=True)
    directory.chmod(0o755)
    site.run(number)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_directories_of_other_older_campaigns_are_made_private_and_nothing_else_is_changed(site: Site) -> None:
    work = site.config.tuner.work
    for name in ("7-20260101T000000", "files", "artifacts", "7-notes"):
        (work / name).mkdir(parents=True)
        (work / name).chmod(0o755)
    site.run(site.begin(search=SHORT))
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in work.iterdir()}
    assert modes["7-20260101T000000"] == modes["files"] == 0o700
    assert modes["artifacts"] == modes["7-notes"] == 0o755


def write_script(directory: Path) -> Path:
    """Write a user's script that creates a file when it runs, and return the script's path."""
    script = directory / "solve.sh"
    script.write_text(f"#!/bin/bash\n#SBATCH --nodes=1\ntouch {directory}/ran\n")
    return script


@root_only
@pytest.mark.parametrize(
    "words",
    [
        ("run", "FILE", "--yes"),
        pytest.param(("resume", "1"), marks=pytest.mark.slow),
        pytest.param(("profile", "SCRIPT", "--executor=local"), marks=pytest.mark.slow),
        pytest.param(("record", "SCRIPT", "--executor=local"), marks=pytest.mark.slow),
        pytest.param(("application", "SCRIPT", "--yes"), marks=pytest.mark.slow),
    ],
)
def test_root_is_refused_before_anything_is_written(site: Site, words: tuple[str, ...]) -> None:
    if words[0] == "resume":
        site.begin()
    file = site.directory / "campaign.yaml"
    file.write_text(yaml.safe_dump(site.definition()))
    path, before = Command(site).path, site.read(lambda database: len(database.campaigns()))
    code = """if True:
        from reprise.cli.main import main
        from reprise.tuner.definition import component_registry
        component_registry.KINDS["fake"] = "tests.fake_component"
        main()
    """
    script = write_script(site.directory)
    argv = [{"FILE": str(file), "SCRIPT": str(script)}.get(word, word) for word in words]
    done = subprocess.run(
        [sys.executable, "-c", code, "--config", str(path), "tune", *argv], capture_output=True, text=True, check=False
    )
    said = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and said.startswith("reprise: campaigns do not run as root")
    assert "`runuser -u reprise -- reprise tune ...`" in said
    assert not site.config.tuner.work.exists() and not (site.directory / "ran").exists()
    with Database.open(site.config.database.path, read_only=True) as database:
        assert len(database.campaigns()) == before
