# SPDX-License-Identifier: Apache-2.0
"""Test the packages, mirrors and releases from which `make test-matrix` builds its systems."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.matrix import roots
from tests.matrix.roots import PACKAGES, RELEASES, RootError

RELEASE = RELEASES[0]


def test_a_root_gets_packages_to_build_the_plugin_and_run_a_cluster_but_no_browser() -> None:
    found = set(roots.wanted())
    assert {"gcc", "libslurm-dev", "libjson-c-dev", "munge", "slurmctld", "slurmd", "iproute2"} <= found
    assert not {"chromium", "debootstrap", "python3-venv"} & found


def test_the_mirror_is_the_one_of_this_machines_main_archive() -> None:
    targets = """\
http://near.example/debian/ bookworm-updates main
http://near.example/debian/ bookworm main
http://near.example/debian/ bookworm contrib
http://near.example/debian-security/ bookworm-security main
http://old.example/security/ buster/updates main
file:/media/cdrom/ bookworm main
"""
    assert roots.main_archives(targets) == ["http://near.example/debian"]


def test_a_release_that_no_mirror_has_is_reported_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roots, "CACHE", tmp_path / "cache")
    monkeypatch.setenv("MATRIX_MIRROR", "http://127.0.0.1:9/debian/")
    with pytest.raises(RootError) as raised:
        roots.fill(RELEASE)
    assert str(raised.value) == (
        "Debian 11 (bullseye) is on no mirror that can be reached (http://127.0.0.1:9/debian): "
        "give one that has it, MATRIX_MIRROR=URL"
    )
    assert not RELEASE.root.exists()


def test_another_list_of_packages_gives_another_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {release.root for release in RELEASES}
    more = tmp_path / "packages.debian"
    more.write_text(PACKAGES.read_text().replace("[nodes]\n", "[nodes]\nstrace\n"))
    monkeypatch.setattr(roots, "PACKAGES", more)
    assert len(before | {release.root for release in RELEASES}) == 2 * len(RELEASES)
