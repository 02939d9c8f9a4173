# SPDX-License-Identifier: Apache-2.0
"""Test that `reprise config init` finds the settings of a new site, and that it keeps an admin's."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from reprise.cli.main import reprise
from reprise.config import Config, load
from reprise.doctor import probes
from reprise.doctor.first_settings import filled, look
from reprise.doctor.probes import Ran
from tests.places import ROOT

SHIPPED = (ROOT / "etc/reprise.toml").read_text()
SCONTROL = """\
#!/bin/sh
case "$*" in
"show config") printf 'Configuration data as of 2026-11-29\\nClusterName             = HPC\\nSLURM_VERSION = 22.05.8\\n'
  ;;
"--oneliner show nodes")
  for n in 1 2 3; do echo "NodeName=n$n Arch=x86_64 CPUTot=2 NodeAddr=n$n NodeHostName=n$n"; done ;;
*) exit 9 ;;
esac
"""
OMPI_INFO = "#!/bin/sh\necho 'Open MPI v4.1.4'\necho\necho 'https://www.open-mpi.org/community/help/'\n"


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put fake commands of Slurm and Open MPI, which can be removed, before the real ones."""
    place = tmp_path / "bin"
    place.mkdir()
    for name, text in (("scontrol", SCONTROL), ("ompi_info", OMPI_INFO)):
        (place / name).write_text(text)
        (place / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:/usr/bin:/bin")
    return place


def init(file: Path, *options: str) -> str:
    done = CliRunner().invoke(reprise, ["--config", str(file), "config", "init", *options])
    assert done.exit_code == 0, (done.output, done.exception)
    return done.output


@pytest.mark.usefixtures("commands")
def test_the_shipped_file_gets_what_slurm_and_open_mpi_know(tmp_path: Path) -> None:
    file = tmp_path / "reprise.toml"
    file.write_text(SHIPPED)
    file.chmod(0o640)
    shown = init(file, "--dry-run")
    assert file.read_text() == SHIPPED and "would get site.cluster, site.nodes, openmpi.releases" in shown
    assert (
        init(file).splitlines()[:3]
        == shown.splitlines()[:3]
        == [
            'site.cluster: "hpc" (ClusterName in `scontrol show config`)',
            "site.nodes: 3 (nodes in `scontrol show nodes`)",
            'openmpi.releases: ["4.1.4"] (`ompi_info --version`: add the other releases that jobs load)',
        ]
    )
    found = load(file)
    assert (found.site.cluster, found.site.nodes, found.openmpi.releases) == ("hpc", 3, ["4.1.4"])
    before, after = SHIPPED.splitlines(), file.read_text().splitlines()
    assert len(before) == len(after) and sum(old != new for old, new in zip(before, after, strict=True)) == 3
    assert file.stat().st_mode & 0o777 == 0o640 and [one.name for one in tmp_path.iterdir() if one.is_file()] == [
        file.name
    ]
    assert init(file).endswith(f"{file}: unchanged\n")


@pytest.mark.usefixtures("commands")
def test_an_admins_settings_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "reprise.toml"
    text = '[site]\nnodes = 64\ncluster = "mine" # not the name in Slurm\n[openmpi]\nreleases = ["4.1.4", "5.0.7"]\n'
    file.write_text(text)
    shown = init(file)
    assert file.read_text() == text and "the file has 64, which is kept" in shown and '"mine", which is kept' in shown
    told = json.loads(init(file, "--json"))
    assert told["written"] is False and not any(one["new"] for one in told["settings"])


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "[site]\n",
        "[matcher]\nmode = 'observe'\n\n[ site ] # here\ntimezone = ''\n[openmpi]\n#releases = []\n",
        "site.timezone = ''\n",
        "[openmpi]\n  releases=[ ]  # none\n",
    ],
)
def test_settings_are_added_where_they_are_missing(text: str, tmp_path: Path) -> None:
    file = tmp_path / "reprise.toml"
    file.write_text(text)
    done = CliRunner().invoke(reprise, ["--config", str(file), "config", "init"])
    if text.startswith("site."):  # a table cannot be defined twice: the file stays unchanged
        assert done.exit_code != 0 and file.read_text() == text
        return
    found = load(file)
    assert (found.site.cluster, found.site.nodes, found.openmpi.releases) == ("hpc", 3, ["4.1.4"]), file.read_text()
    assert found.matcher.mode == ("observe" if "observe" in text else "on")


def test_without_slurm_and_open_mpi_nothing_changes(tmp_path: Path, commands: Path) -> None:
    for command in commands.iterdir():
        command.write_text(
            "#!/bin/sh\necho 'slurm_load_ctl_conf error: Unable to contact slurm controller' >&2\nexit 1\n"
        )
    file = tmp_path / "reprise.toml"
    file.write_text(SHIPPED)
    shown = init(file)
    assert file.read_text() == SHIPPED
    assert "site.nodes: unknown (`scontrol --oneliner show nodes` does not say: slurm_load_ctl_conf error" in shown


def test_a_hostile_name_of_a_cluster_stays_a_name() -> None:
    name = 'x"\\n[matcher]\\nmode = "off'
    found = look(lambda argv: Ran(0, f"ClusterName = {name}\n" if "config" in argv else ""), Config())
    text = filled(SHIPPED, [one for one in found if one.is_new])
    read = tomllib.loads(text)
    assert (read["site"]["cluster"], read["matcher"]["mode"]) == (name, "on")


@pytest.mark.usefixtures("commands")
def test_a_file_that_cannot_be_written_gives_one_line_and_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    file = tmp_path / "reprise.toml"
    file.write_text(SHIPPED)
    done = CliRunner().invoke(reprise, ["--config", str(file), "config", "init"])
    assert (
        str(done.exception)
        == f"{file}: cannot be written (No space left on device): check the disk, or run this as root"
    )
    assert file.read_text() == SHIPPED and [one for one in tmp_path.iterdir() if one.is_file()] == [file]


@pytest.mark.skipif(not shutil.which("ompi_info"), reason="Open MPI is not installed")
def test_the_release_of_the_installed_open_mpi_is_found() -> None:
    (_, _, releases) = look(probes.run, Config())
    assert isinstance(releases.value, list) and releases.value[0] in probes.run(["ompi_info", "--version"]).stdout
