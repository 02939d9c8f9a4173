# SPDX-License-Identifier: Apache-2.0
"""Test how the doctor loads the plugin as Slurm does, with real shared objects."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from reprise.doctor import elf, plugin_checks, plugstack, probes
from reprise.doctor.findings import Finding, Level
from reprise.doctor.plugin_loading import load, package_of
from reprise.doctor.probes import Ran
from reprise.doctor.slurm_checks import Slurm
from tests.unit.doctor.shared_objects import VERSION_22_05_8, shared_object, spank_plugin

PLUGIN = "spank_reprise.so"
NOW = "-Wl,-z,now"  # the real plugin is linked with this option


def found(*places: Path, version: tuple[int, int, int] | None = (22, 5, 8), entry: str = "") -> Finding:
    named = plugstack.Entry("a:1", "optional", entry, ()) if entry else None
    return plugin_checks.plugin(Slurm(version, places, Path("/nowhere")), named)


def told(path: Path) -> str:
    fault = load(path)
    return f"{path} {fault[0]}: {fault[1]}" if fault else "loads"


def test_a_sound_plugin_loads_and_prints_do_not_matter(place: Path) -> None:
    says = '#include <stdio.h>\n__attribute__((constructor)) static void say(void) { printf("{} noise"); }'
    spank_plugin(place / PLUGIN, NOW, extra=f"\n{says}")
    finding = found(Path("/nowhere"), place)
    assert (finding.level, finding.text) == (Level.OK, f"{place / PLUGIN}, built for Slurm 22.05")
    assert found(version=(22, 5, 0), entry=str(place / PLUGIN)).level is Level.OK


def test_a_missing_library_is_named_with_its_package(place: Path) -> None:
    none = shared_object(place / "libnone.so.7", "int none(void) { return 0; }", "-Wl,-soname,libnone.so.7")
    path = spank_plugin(place / PLUGIN, str(none), body="return none();", extra="int none(void);")
    none.unlink()
    finding = found(place)
    assert finding.level is Level.PROBLEM
    assert finding.text.startswith(f"{path} does not load: libnone.so.7 is missing; Slurm's commands print errors")
    assert finding.remedy == "install the package that has libnone.so.7"


def test_since_25_11_slurm_prints_nothing_about_a_plugin_that_does_not_load(place: Path) -> None:
    spank_plugin(place / PLUGIN, version=25 << 16 | 11 << 8, function="no_function_of_slurm")
    finding = found(place, version=(25, 11, 3))
    assert finding.level is Level.PROBLEM
    assert finding.text.endswith("; Slurm prints nothing about it, and refuses jobs with --reprise=")


@pytest.mark.parametrize(
    ("library", "package"),
    [
        ("libjson-c.so.5", "the package libjson-c5 (EL: json-c)"),
        ("/usr/lib64/libmunge.so.2", "the package libmunge2 (EL: munge-libs)"),
        ("libother.so", "the package that has libother.so"),
    ],
)
def test_packages_of_libraries(library: str, package: str) -> None:
    assert package_of(library) == package


def test_functions_of_slurm_are_found_in_its_library_and_others_are_missed(place: Path) -> None:
    body, extra = "return slurm_call();", "int slurm_call(void);"
    path = spank_plugin(place / PLUGIN, NOW, body=body, extra=extra)
    assert told(path) == "loads", "without a shared library, Slurm's programs contain its functions"
    library = shared_object(place / "libslurmfull.so", "int slurm_call(void) { return 0; }")
    assert told(path) == "loads"
    shared_object(library, "int slurm_other_call(void) { return 0; }")
    assert f"{path} does not load: undefined symbol slurm_call" in told(path)
    spank_plugin(path, "-Wl,-z,lazy", body=body, extra=extra)
    assert f"{path} ends the program that calls it: undefined symbol slurm_call" in told(path)
    spank_plugin(path, NOW, body="return call();", extra="int call(void);")
    library.unlink()
    assert f"{path} does not load: undefined symbol call" in told(path)


def test_what_slurm_looks_up_must_be_there(place: Path) -> None:
    path = spank_plugin(place / PLUGIN, kind="auth/munge")
    assert "is a plugin of type 'auth/munge', not of type 'spank'" in told(path)
    spank_plugin(path, function="slurm_spank_unknown")
    assert "exports no function slurm_spank_*" in told(path)
    shared_object(path, f"const unsigned int plugin_version = {VERSION_22_05_8};")
    assert "does not export plugin_name, so Slurm does not load it" in told(path)
    path.write_bytes(path.read_bytes()[:1000])
    assert told(path) != "loads"


def test_a_plugin_that_hangs_or_crashes_harms_only_the_child(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_load = "\n#include <signal.h>\n#include <unistd.h>\n__attribute__((constructor)) static void f(void) {{ {}; }}"
    path = spank_plugin(place / PLUGIN, extra=at_load.format("raise(SIGSEGV)"))
    assert f"{path} ended a program that loaded it (signal 11)" in told(path)
    for printed in ("5", "[]", "{}"):
        spank_plugin(
            path, extra="\n#include <stdio.h>" + at_load.format(f'puts("{printed}"); fflush(stdout); _exit(0)')
        )
        assert f"{path} could not be loaded (exit status 0)" in told(path)
    monkeypatch.setattr(probes, "COMMAND_TIMEOUT_S", 0.5)
    spank_plugin(path, extra=at_load.format("pause()"))
    assert f"{path} could not be loaded (env: no answer within" in told(path)


def test_the_child_runs_without_rights_and_without_the_users_library_path(place: Path) -> None:
    seen: list[str] = []

    def run(argv: Sequence[str]) -> Ran:
        seen.extend(argv)
        return probes.run(argv)

    creates = "\n#include <fcntl.h>\n__attribute__((constructor)) static void f(void) {{ open({}, O_CREAT, 0600); }}"
    place.chmod(0o777)
    assert load(spank_plugin(place / PLUGIN, extra=creates.format(f'"{place}/file"')), run) is None
    assert (place / "file").stat().st_uid != 0
    assert seen[:5] == ["env", "-u", "LD_LIBRARY_PATH", "-u", "LD_PRELOAD"]


def test_a_library_that_users_cannot_read_is_named(place: Path) -> None:
    private = place / "private"
    private.mkdir(mode=0o755)
    library = shared_object(private / "libprivate.so.1", "int f(void) { return 0; }", "-Wl,-soname,libprivate.so.1")
    spank_plugin(place / PLUGIN, str(library), f"-Wl,-rpath,{private}", body="return f();", extra="int f(void);")
    assert found(place).level is Level.OK
    library.chmod(0)
    finding = found(place)
    assert finding.level is Level.PROBLEM and "libprivate.so.1" in finding.text


def test_another_architecture_is_named(place: Path) -> None:
    path = spank_plugin(place / PLUGIN)
    data = bytearray(path.read_bytes())
    own = elf.machine(path)
    other = (183, "aarch64") if not own.startswith("aarch64") else (62, "x86-64")
    struct.pack_into("<H", data, 18, other[0])
    path.write_bytes(data)
    finding = found(place)
    assert finding.level is Level.PROBLEM
    assert f"was built for {other[1]} (64 bits, little-endian), but this host is {own}" in finding.text
    data[4] = 1
    path.write_bytes(data)
    assert "(32 bits, " in found(place).text


def test_slurm_takes_the_first_directory_whose_plugin_it_can_load(place: Path) -> None:
    first, second = place / "first", place / "second"
    for directory in (first, second):
        directory.mkdir()
    spank_plugin(first / PLUGIN, version=24 << 16 | 11 << 8)
    assert "was built for Slurm 24.11" in found(first, second).text
    spank_plugin(second / PLUGIN)
    assert found(first, second).text.startswith(str(second))


@pytest.mark.parametrize(
    ("release", "seen"),
    [
        ((20, 11, 4), "; Slurm loads it, but it does nothing"),
        ((23, 2, 1), "; Slurm's commands print errors to every user"),
        ((24, 11, 0), "; Slurm's commands print errors to every user"),
        ((26, 5, 5), '; Slurm\'s commands print only the line "Incompatible Slurm plugin"'),
    ],
)
def test_what_users_see_of_a_build_for_another_release_depends_on_slurm(
    place: Path, release: tuple[int, int, int], seen: str
) -> None:
    spank_plugin(place / PLUGIN)
    finding = found(place, version=release)
    assert finding.level is Level.PROBLEM
    assert f"was built for Slurm 22.05, but this is {release[0]}.{release[1]:02}{seen}" in finding.text
