# SPDX-License-Identifier: Apache-2.0
"""Test which files `make install` installs, and their permissions. The packages are built with `make install`, too."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.places import ROOT


def make(target: str, directory: Path, *, umask: int = 0o022, below: str = ".") -> str:
    """Run `make` with `directory` as the root of the installation, and return its output."""
    done = subprocess.run(
        ["make", "--no-print-directory", "-C", str(ROOT / below), target, f"DESTDIR={directory}"],
        umask=umask,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("target", "below"), [("install-etc", "."), ("install", "spank/fallbacks")])
@pytest.mark.parametrize("umask", [0o077, *(pytest.param(umask, marks=pytest.mark.slow) for umask in (0o027, 0o000))])
def test_installed_files_are_world_readable_and_not_writable_whatever_the_umask(
    target: str, below: str, umask: int, tmp_path: Path
) -> None:
    make(target, tmp_path, umask=umask, below=below)
    found = list(tmp_path.rglob("*"))
    assert len(found) > 3
    for path in found:
        runs = path.is_dir() or path.name in ("reprise-ask", "task_prolog")
        assert path.stat().st_mode & 0o777 == (0o755 if runs else 0o644), path


def component(directory: Path, name: str = "sro.yaml") -> Path:
    return directory / "etc/reprise/components" / name


def test_a_changed_component_is_kept_and_the_new_one_is_installed_next_to_it(tmp_path: Path) -> None:
    make("install-etc", tmp_path)
    mine = component(tmp_path)
    shipped = mine.read_text()
    mine.write_text(f"{shipped}# ours\n")
    mine.chmod(0o640)
    for _ in range(2):
        said = make("install-etc", tmp_path)
        assert mine.read_text() == f"{shipped}# ours\n" and mine.stat().st_mode & 0o777 == 0o640
        assert component(tmp_path, "sro.yaml.new").read_text() == shipped
        assert f"{mine} was changed and is kept" in said and said.count("\n") == 1
    mine.write_text(shipped)
    assert make("install-etc", tmp_path) == "" and not component(tmp_path, "sro.yaml.new").exists()


def test_an_unchanged_component_is_replaced_and_a_missing_one_is_created(tmp_path: Path) -> None:
    make("install-etc", tmp_path)
    mine, ours = component(tmp_path), tmp_path / "usr/local/share/reprise/components/sro.yaml"
    shipped = mine.read_text()
    for one in (mine, ours):
        one.write_text("name: sro\n")
    component(tmp_path, "hdf5.yaml").unlink()
    assert make("install-etc", tmp_path) == ""
    assert mine.read_text() == ours.read_text() == shipped and component(tmp_path, "hdf5.yaml").is_file()


def test_an_existing_configuration_is_kept(tmp_path: Path) -> None:
    make("install-etc", tmp_path)
    mine = tmp_path / "etc/reprise/reprise.toml"
    mine.write_text("# ours\n")
    make("install-etc", tmp_path)
    assert mine.read_text() == "# ours\n"


@pytest.mark.parametrize(
    ("words", "more"),
    [
        ([], ""),
        (
            ["PREFIX=/usr", "PRELOADDIR=/usr/lib/reprise-preload"],
            " preload_directory=/usr/lib/reprise-preload witness=/usr/libexec/reprise/reprise-witness.so",
        ),
    ],
)
def test_the_plugins_line_names_places_other_than_the_plugins_defaults(
    tmp_path: Path, words: list[str], more: str
) -> None:
    subprocess.run(
        ["make", "-s", "-C", str(ROOT), "install-etc", f"DESTDIR={tmp_path}", *words], check=True, capture_output=True
    )
    (line,) = [
        one for path in tmp_path.rglob("plugstack.conf") for one in path.read_text().splitlines() if one[:3] == "opt"
    ]
    assert line == f"optional spank_reprise.so default=on{more}"
