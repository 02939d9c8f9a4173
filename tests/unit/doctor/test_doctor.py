# SPDX-License-Identifier: Apache-2.0
"""Test `reprise doctor` on sound installations, and on installations with one fault each."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reprise import __version__, endpoint
from reprise.cli.doctor import doctor
from reprise.cli.main import Settings
from reprise.config import Config, load
from reprise.database import Database, health
from reprise.database.entities import RecordStatus
from reprise.doctor import credential_checks, diagnosis, elf, plugin_checks, plugstack, service_checks, slurm_checks
from reprise.doctor import findings as doctor_report
from reprise.doctor.findings import Finding, Level
from reprise.doctor.probes import Ran, hidden_by, replaceable_by_all, run
from reprise.endpoint import Endpoint
from reprise.matcher.errors import DaemonUnreachableError
from reprise.matcher.wire.credentials import CredentialSettings, MethodName
from tests.places import ROOT
from tests.unit.database_values import record
from tests.unit.doctor.shared_objects import VERSION_22_05_8, shared_object

SOCKET = Path("/run/reprise/matcher.sock")
VECTORS = json.loads((ROOT / "tests/vectors/plugstack.json").read_text())
PLUGIN = plugstack.PLUGIN


def write(path: Path, text: str, mode: int = 0o644) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def commands(**answers: Ran) -> Callable[[Sequence[str]], Ran]:
    return lambda argv: answers.get(argv[0], Ran(None, stderr=f"{argv[0]}: No such file or directory"))


def only(findings: Sequence[Finding], level: Level, *words: str) -> None:
    assert [finding.level for finding in findings] == [level], findings
    assert bool(findings[0].remedy) is (level is not Level.OK)
    for word in words:
        assert word in findings[0].text + ": " + findings[0].remedy


# --- Slurm and the plugin


SCONTROL = """\
Configuration data as of 2026-01-01
PluginDir               = /usr/lib64/slurm:/opt/more
PlugStackConfig         = (null)
SLURM_CONF              = /opt/etc/slurm.conf
"""


def test_paths_are_read_from_slurms_configuration() -> None:
    run_them = commands(sbatch=Ran(0, "slurm-wlm 22.05.8\n"), scontrol=Ran(0, SCONTROL))
    findings, slurm = slurm_checks.look(run_them)
    only(findings, Level.OK, "22.05.8")
    assert slurm.plugin_directories == (Path("/usr/lib64/slurm"), Path("/opt/more"))
    assert slurm.plugstack == Path("/opt/etc/plugstack.conf")


def test_the_name_of_the_cluster_must_be_that_of_slurm() -> None:
    named = commands(sbatch=Ran(0, "slurm 22.05.8"), scontrol=Ran(0, "ClusterName             = Linux\n"))
    _, slurm = slurm_checks.look(named)
    only(list(slurm_checks.cluster("linux", slurm)), Level.OK, "linux")
    found = list(slurm_checks.cluster(Config().site.cluster, slurm))
    only(found, Level.PROBLEM, "site.cluster is 'cluster', but Slurm's ClusterName is 'linux'", 'cluster = "linux"')
    _, unknown = slurm_checks.look(commands())
    assert list(slurm_checks.cluster("cluster", unknown)) == []


def test_a_missing_slurm_is_a_problem() -> None:
    findings, slurm = slurm_checks.look(commands())
    only(findings, Level.PROBLEM, "sbatch", "No such file")
    assert slurm.plugstack == Path("/etc/slurm/plugstack.conf")


def test_slurm_without_a_controller_is_a_warning() -> None:
    findings, _ = slurm_checks.look(
        commands(sbatch=Ran(0, "slurm 23.11.1"), scontrol=Ran(1, "", "Unable to contact\n"))
    )
    assert [finding.level for finding in findings] == [Level.OK, Level.WARNING]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("slurm-wlm 22.05.8", (22, 5, 8)),
        ("slurm 23.11.0-rc1", (23, 11, 0)),
        ("slurm 24.05", (24, 5, 0)),
        ("what", None),
    ],
)
def test_the_version_of_slurm_is_read(text: str, version: tuple[int, int, int] | None) -> None:
    assert slurm_checks.read_version(text) == version


def test_a_plugin_must_be_built_for_the_installed_slurm_release(place: Path) -> None:
    for value, level, words in (
        (VERSION_22_05_8, Level.OK, "built for Slurm 22.05"),
        (VERSION_22_05_8 - 8, Level.OK, "built for Slurm 22.05"),
        (24 << 16 | 11 << 8, Level.PROBLEM, "was built for Slurm 24.11, but this is 22.05"),
        (0, Level.PROBLEM, "was built for Slurm 0.00"),
    ):
        shared_object(place / PLUGIN, f"const unsigned int other = 1; unsigned int plugin_version = {value};")
        slurm = slurm_checks.Slurm((22, 5, 8), (Path("/nowhere"), place), place)
        only([plugin_checks.plugin(slurm, None, lambda _: None)], level, words)


def test_a_missing_hidden_or_invalid_plugin_is_a_problem(place: Path) -> None:
    slurm = slurm_checks.Slurm((22, 5, 8), (place,), place)
    only([plugin_checks.plugin(slurm, None)], Level.PROBLEM, "is not in", "make install-plugin")
    only([plugin_checks.plugin(slurm_checks.Slurm(None, (), place), None)], Level.PROBLEM, "no plugin directory")
    file = shared_object(place / PLUGIN, f"const unsigned int plugin_version = {VERSION_22_05_8};")
    file.chmod(0o700)
    only([plugin_checks.plugin(slurm, None)], Level.PROBLEM, "not every user can read")
    write(file, "#!/bin/sh\n")
    only([plugin_checks.plugin(slurm, None)], Level.PROBLEM, "is not a shared object")


def test_a_truncated_shared_object_always_gives_the_same_kind_of_error(place: Path) -> None:
    file = shared_object(place / PLUGIN, f"const unsigned int plugin_version = {VERSION_22_05_8};")
    content = file.read_bytes()
    assert elf.unsigned_int(file, "plugin_version") == VERSION_22_05_8
    for size in range(0, len(content), 101):
        file.write_bytes(content[:size])
        with pytest.raises(ValueError, match=r"shared object|does not export"):
            elf.unsigned_int(file, "plugin_version")


# --- plugstack.conf


def stack(place: Path, line: str, mode: int = 0o644, top: str = "include plugstack.conf.d/*.conf\n") -> Path:
    write(place / "plugstack.conf.d" / "reprise.conf", line, mode)
    return write(place / "plugstack.conf", top)


def judged(path: Path) -> list[Finding]:
    return plugstack.examine(path, SOCKET, Path("/usr/local/lib"))[0]


def test_a_plugin_is_found_through_an_include(place: Path) -> None:
    text = "# ours\noptional spank_reprise.so deadline_ms=50 default=on # as usual\n"
    path = stack(place, text)
    findings, entry = plugstack.examine(path, SOCKET)
    only(findings, Level.OK, "reprise.conf:2")
    assert entry is not None and entry.value("deadline_ms") == "50"
    only(judged(stack(place, text, top=f"include {place}/plugstack.conf.d/*\n")), Level.OK)


def test_the_shipped_line_is_correct(place: Path) -> None:
    only(judged(stack(place, (ROOT / "etc/plugstack.conf.d/reprise.conf").read_text())), Level.OK)


@pytest.mark.parametrize(
    ("line", "level", "words"),
    [
        ("required spank_reprise.so", Level.PROBLEM, "change it to `optional`"),
        ("optional other.so", Level.PROBLEM, "loads spank_reprise.so"),
        ("# optional spank_reprise.so", Level.PROBLEM, "loads spank_reprise.so"),
        ("optional spank_reprise.so endpont=/a", Level.PROBLEM, "ignores 'endpont=/a': unknown argument"),
        ("optional spank_reprise.so deadline_ms=1001", Level.PROBLEM, "ignores 'deadline_ms=1001': bad value"),
        ("optional spank_reprise.so default=explain", Level.PROBLEM, "ignores 'default=explain': bad value"),
        ("optional spank_reprise.so minimum_uid", Level.PROBLEM, "ignores 'minimum_uid': bad value"),
        (
            "optional spank_reprise.so endpoint=unix:/run/other.sock",
            Level.PROBLEM,
            "to unix:/run/other.sock",
        ),
        ("optional spank_reprise.so endpoint=tcp:login1:7817 endpoint=unix:/run/a", Level.PROBLEM, "unix:/run/a"),
        ("optional spank_reprise.so" + 5 * " endpoint=tcp:login1:7817", Level.PROBLEM, "after the 4th"),
        ("optional spank_reprise.so preload_directory=/opt/lib", Level.PROBLEM, "loads libraries from /opt/lib"),
        ("optional spank_reprise.so witness=/no/such.so", Level.WARNING, "with --reprise=profile get no profile"),
        ("optional spank_reprise.so witness=/tmp", Level.WARNING, "users other than root can write to"),
        ("optional spank_reprise.so witness=/bin/true", Level.OK, "loads spank_reprise.so"),
        ("optional spank_reprise.so default=off", Level.WARNING, "only jobs with --reprise=on"),
        ("optional spank_reprise.so kill_switch=/etc/passwd", Level.WARNING, "remove it to enable Reprise"),
        ("optional spank_reprise.so\noptional /opt/spank_reprise.so", Level.PROBLEM, "is loaded 2 times"),
        (
            "optional spank_reprise.so\nhello world",
            Level.PROBLEM,
            "reprise.conf:2: Slurm does not understand 'hello world'",
        ),
        ("optional spank_reprise.so\noptional", Level.PROBLEM, "does not understand 'optional'"),
        ("optional spank_reprise.so\ninclude ../plugstack.conf", Level.PROBLEM, "includes itself"),
    ],
)
def test_each_fault_in_plugstack_has_its_finding(place: Path, line: str, level: Level, words: str) -> None:
    only(judged(stack(place, line + "\n")), level, words)


def test_a_missing_or_unreadable_plugstack_is_a_problem(place: Path) -> None:
    only(judged(place / "plugstack.conf"), Level.PROBLEM, "does not exist")
    path = stack(place, "optional spank_reprise.so\n", mode=0o600)
    only(judged(path), Level.PROBLEM, "not every user can read", "chmod a+r")
    (path.parent / "plugstack.conf.d" / "reprise.conf").chmod(0o644)
    (path.parent / "plugstack.conf.d").chmod(0o750)
    only(judged(path), Level.PROBLEM, "chmod a+x", "plugstack.conf.d")


def test_entries_that_slurm_ignores_are_ignored(place: Path) -> None:
    path = stack(place, "optional spank_reprise.so\n")
    (place / "plugstack.conf.d" / "directory.conf").mkdir()
    (place / "plugstack.conf.d" / "dangling.conf").symlink_to("/nowhere")
    only(judged(path), Level.OK)


@pytest.mark.parametrize("argument", VECTORS["taken"])
def test_an_argument_that_the_plugin_accepts_is_not_reported(place: Path, argument: str) -> None:
    findings = plugstack.examine(stack(place, f"optional spank_reprise.so {argument}\n"), None)[0]
    assert not [finding for finding in findings if "ignores" in finding.text]


@pytest.mark.parametrize("argument", [text for text in VECTORS["ignored"] if text])
def test_an_argument_that_the_plugin_ignores_is_reported(place: Path, argument: str) -> None:
    path = stack(place, f"optional spank_reprise.so {argument}\n")
    only(plugstack.examine(path, None)[0], Level.PROBLEM, f"the plugin ignores {argument!r}")


def test_the_table_of_arguments_equals_that_of_the_plugin() -> None:
    source = (ROOT / "spank" / "settings.c").read_text()
    table = source[source.index("} arguments[] = {") :]
    words = {name: argument.wanted for name, argument in plugstack.ARGUMENTS.items()}
    assert dict(re.findall(r'^    \{"(\w+)", "(.*?)",', table, re.MULTILINE)) == words


def test_an_ignored_argument_is_reported_with_the_expected_values(place: Path) -> None:
    path = stack(place, f"optional spank_reprise.so endpoint=unix:/{'x' * 200}\n")
    (finding,) = plugstack.examine(path, None)[0]
    assert finding.remedy.startswith("give endpoint=VALUE, where VALUE is unix:/PATH (107 bytes at most)")


def test_the_shipped_file_explains_every_argument() -> None:
    text = (ROOT / "etc/plugstack.conf.d/reprise.conf").read_text()
    assert re.findall(r"^#   (\w+)=", text, re.MULTILINE) == list(plugstack.ARGUMENTS)


# --- the daemon and its files


def test_a_daemon_must_answer_with_the_same_version() -> None:
    def fails(endpoint: Endpoint) -> Mapping[str, Any]:
        raise DaemonUnreachableError(f"{endpoint}: no matcher answers (refused): start it")

    def breaks(endpoint: Endpoint) -> Mapping[str, Any]:
        raise RuntimeError

    healthy = {"v": 1, "kind": "ok", "version": __version__, "records": 3}
    for ask, level, words in (
        (lambda _: healthy, Level.OK, "knows 3 records"),
        (fails, Level.PROBLEM, "no matcher answers (refused)"),
        (breaks, Level.PROBLEM, "RuntimeError"),
        (lambda _: healthy | {"version": "0.0"}, Level.PROBLEM, "is Reprise 0.0"),
        (lambda _: {"v": 1, "kind": "error"}, Level.PROBLEM, "'error'"),
    ):
        only([service_checks.daemon(ask, endpoint.DEFAULT, __version__)], level, words)


def test_the_socket_must_be_open_to_every_user(place: Path) -> None:
    path = place / "s"
    assert list(service_checks.socket(path)) == []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        for file_mode, directory_mode, level, words in (
            (0o666, 0o755, Level.OK, "every user may connect"),
            (0o660, 0o755, Level.PROBLEM, "mode 0660"),
            (0o666, 0o750, Level.PROBLEM, "not every user can enter"),
            (0o666, 0o1777, Level.PROBLEM, "anyone may replace"),
        ):
            path.chmod(file_mode)
            place.chmod(directory_mode)
            only(list(service_checks.socket(path)), level, words)
    path.unlink()
    only(list(service_checks.socket(write(path, ""))), Level.PROBLEM, "is not a socket")


def test_a_missing_or_sound_database_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    only(list(service_checks.database(path, health.examine)), Level.PROBLEM, "there is no database", "reprise db init")
    Database.open(path, create=True).close()
    only(list(service_checks.database(path, health.examine)), Level.OK, "sound")


ALONE: dict[str, Any] = {"campaign_id": None, "artifact_sha256": None}


def test_records_of_a_withdrawn_method_are_named_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    assert list(service_checks.records(path, health.withdrawn)) == []
    row = {"problem": "bcast/4096", "applied": True, "default_s": 1.0}
    with Database.open(path, create=True) as database:
        database.add_record(record(parametrization={"rules": [{**row, "default": {"mean": 1.0}}]}, **ALONE))
        assert list(service_checks.records(path, health.withdrawn)) == []
        number = database.add_record(record(parametrization={"rules": [row]}, **ALONE))
        retired = database.add_record(record(parametrization={"rules": [row]}, **ALONE))
        database.set_record_status(retired, RecordStatus.RETIRED, at=1.0)
    only(
        list(service_checks.records(path, health.withdrawn)),
        Level.WARNING,
        f"record {number}: Reprise 0.1 measured the gain by the mean over ranks",
        "reprise tune collectives",
    )


SERVICE = 991


@pytest.mark.parametrize(
    ("uid", "level", "words"),
    [
        (0, Level.OK, "root listens on port"),
        (SERVICE, Level.WARNING, "while they restart: run `systemctl enable --now reprise-web.socket"),
        (2002, Level.PROBLEM, "user 2002 listens on port 7818 and receives the tokens"),
    ],
)
@pytest.mark.parametrize("address", ["0100007F", "00000000000000000000000001000000"], ids=["IPv4", "IPv6"])
def test_the_user_who_holds_the_port_of_the_web_pages_is_reported(
    uid: int, level: Level, words: str, address: str
) -> None:
    head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    row = "   0: {}:{:04X} 00000000:0000 {} 00000000:00000000 00:00000000 00000000 {:5}        0 1 1 0 100 0 0 10 0\n"
    client = row.format(address, 7818, "01", 3003)  # a client that connects from this port
    found = list(service_checks.pages("127.0.0.1:7818", head + client + row.format(address, 7818, "0A", uid), SERVICE))
    only(found, level, *words.split(": ", 1))
    elsewhere = head + client + row.format(address, 7819, "0A", uid)
    assert list(service_checks.pages("127.0.0.1:7818", elsewhere, SERVICE)) == []


def test_a_database_or_key_that_others_may_open_is_reported_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    key = write(tmp_path / "web.key", "")
    key.chmod(0o600)
    Database.open(path, create=True).close()
    assert list(service_checks.closed(path, key)) == []
    path.chmod(0o640)
    only(list(service_checks.closed(path, key)), Level.PROBLEM, "block every write", f"chmod go= {path}*")
    path.chmod(0o600)
    key.chmod(0o640)
    only(list(service_checks.closed(path, key)), Level.PROBLEM, "sign in as any user", f"rm {key}")


def test_a_campaign_directory_that_others_may_read_is_reported_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "artifacts").mkdir(mode=0o755)
    (tmp_path / "1-20260101T000000").mkdir(mode=0o700)
    assert list(service_checks.campaigns(tmp_path)) == [] == list(service_checks.campaigns(tmp_path / "none"))
    (tmp_path / "2-20260101T000000").mkdir(mode=0o755)
    only(
        list(service_checks.campaigns(tmp_path)), Level.PROBLEM, "2-20260101T000000", f"chmod go= {tmp_path}/[0-9]*-*T*"
    )


@pytest.mark.parametrize(
    ("releases", "answer", "level", "words"),
    [
        ([], Ran(0, "Open MPI v4.1.4\n"), Level.OK, "4.1.4 (no releases declared"),
        (["4.1.4", "5.0.7"], Ran(0, "Open MPI v4.1.4\n"), Level.OK, "4.1.4"),
        (["5.0.7"], Ran(0, "Open MPI v4.1.4\n"), Level.PROBLEM, "the site declares 5.0.7"),
        ([], Ran(None, stderr="ompi_info: No such file"), Level.WARNING, "No such file"),
        ([], Ran(0, "MPICH 4"), Level.WARNING, "openmpi.ompi_info"),
    ],
)
def test_the_installed_open_mpi_is_compared_with_the_declared_releases(
    releases: list[str], answer: Ran, level: Level, words: str
) -> None:
    config = Config.model_validate({"openmpi": {"releases": releases}})
    only([service_checks.openmpi(commands(ompi_info=answer), config)], level, words)


def test_artifacts_must_be_readable_by_every_user_on_all_nodes(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = place / "artifacts"
    only(list(service_checks.artifacts(directory, 4, "")), Level.WARNING, "does not exist")
    file = write(directory / "a", "x")
    assert [finding.level for finding in service_checks.artifacts(directory, 4, "")] == [Level.WARNING]  # for /tmp
    monkeypatch.setattr(service_checks, "PRIVATE_DIRECTORIES", ())
    local = "22 1 254:0 / / rw - ext4 /dev/vda rw\n"
    only(list(service_checks.artifacts(directory, 1, local)), Level.OK, "readable by every user")
    only(list(service_checks.artifacts(directory, 4, local)), Level.WARNING, "local file system (ext4)")
    only(list(service_checks.artifacts(directory, 4, local.replace("ext4", "nfs4"))), Level.OK)
    file.chmod(0o600)
    only(list(service_checks.artifacts(directory, 1, "")), Level.PROBLEM, "1 files", "chmod a+r")
    directory.chmod(0o700)
    only(list(service_checks.artifacts(directory, 1, "")), Level.PROBLEM, "chmod a+rx")
    shutil.rmtree(directory)
    only(list(service_checks.artifacts(write(directory, ""), 1, "")), Level.PROBLEM, "Not a directory")


def test_hidden_by_returns_the_outermost_closed_directory(place: Path) -> None:
    file = write(place / "a" / "b" / "c", "", 0o644)
    assert hidden_by(file) is None
    (place / "a" / "b").chmod(0o750)
    (place / "a").chmod(0o750)
    assert hidden_by(file) == place / "a"


def test_files_that_any_user_may_replace_are_reported(place: Path) -> None:
    file = write(place / "a" / "b" / "c", "", 0o644)
    only([service_checks.rights([file, place / "none" / "yet"])], Level.OK)
    (place / "a").chmod(0o1777)
    assert replaceable_by_all(file) is None, "in a sticky directory, other users can add files but not replace any"
    file.chmod(0o646)
    only([service_checks.rights([file])], Level.PROBLEM, f"any user may change {file}", f"chmod o-w {file}")
    (place / "a").chmod(0o777)
    only([service_checks.rights([file])], Level.PROBLEM, f"any user may change {file}", f"chmod o-w {place}/a")


def test_entries_of_directories_and_targets_of_links_are_checked_too(place: Path) -> None:
    elsewhere = write(place / "of-all" / "rules", "", 0o644)
    link, directory = place / "link", place / "artifacts"
    link.symlink_to(elsewhere.parent)
    entry = write(directory / "entry", "", 0o644)
    (directory / "nowhere").symlink_to(place / "none" / "yet")
    (directory / "circle").symlink_to(directory / "circle")
    (directory / "rules").symlink_to(elsewhere)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(directory / "socket"))
    (directory / "socket").chmod(0o666)
    only([service_checks.rights([link / "rules", directory])], Level.OK)
    entry.chmod(0o646)
    only([service_checks.rights([directory])], Level.PROBLEM, f"any user may change {directory}", f"chmod o-w {entry}")
    entry.chmod(0o644)
    elsewhere.parent.chmod(0o777)
    for path, barrier in ((link / "rules", link), (directory, elsewhere.parent)):
        only([service_checks.rights([path])], Level.PROBLEM, f"any user may change {path}", f"chmod o-w {barrier}")


def test_rights_are_checked_for_the_database_file(place: Path) -> None:
    settings = installation(place)
    write(settings.config.database.path, "", 0o666)
    (finding,) = [one for one in diagnosis.examine(settings, commands(), answering()) if one.check == "rights"]
    assert finding.level is Level.PROBLEM and str(settings.config.database.path) in finding.text


# --- authentication over TCP


def test_the_ways_to_authenticate_over_tcp_are_reported(place: Path) -> None:
    munged, sack = place / "munge.socket", place / "sack.socket"
    slurm = slurm_checks.Slurm((26, 5, 5), (), place, auth_type="auth/slurm")

    def found(slurm: slurm_checks.Slurm, has_library: bool) -> list[Finding]:
        settings = CredentialSettings(munge_socket=str(munged))
        return list(
            credential_checks.authentication(
                slurm, settings, is_tcp=True, sack_sockets=(sack,), loads=lambda _: has_library
            )
        )

    remedy = "start sackd or slurmd, which create /run/slurm/sack.socket; or install munge, and the package libmunge2"
    only(found(slurm, False), Level.PROBLEM, "auth/slurm; nothing on this host", "libmunge.so.2 cannot be", remedy)
    of_munge = dataclasses.replace(slurm, auth_type="auth/munge")
    (finding,) = found(of_munge, True)
    only([finding], Level.PROBLEM, f"{munged} is no socket", "systemctl start munge")
    assert "sackd" not in finding.remedy, "only auth/slurm has its sockets"
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as other:
        listener.bind(str(munged))
        only(found(of_munge, True), Level.OK, f"auth/munge; over TCP: munge ({munged})")
        only(found(of_munge, False), Level.PROBLEM, "cannot be loaded", "EL: munge-libs")
        other.bind(str(sack))
        only(found(slurm, False), Level.OK, f"auth/slurm; over TCP: Slurm ({sack})")
        only(found(slurm, True), Level.OK, f"munge ({munged}), Slurm ({sack})")


def test_only_the_configured_method_and_sockets_count(place: Path) -> None:
    munged, sack = place / "munge.socket", place / "sack.socket"
    slurm = slurm_checks.Slurm((26, 5, 5), (), place, auth_type="auth/slurm")

    def found(method: MethodName | None, sack_socket: object) -> list[Finding]:
        settings = CredentialSettings(method, str(munged), str(sack_socket))
        return list(credential_checks.authentication(slurm, settings, is_tcp=True, loads=lambda _: True))

    far = "/" + "x" * 300  # stat(2) fails, as in a directory that the user may not enter
    text, remedy = f"need credential=slurm, but {far} is no socket", f"correct sack_socket={far}"
    only(found("slurm", far), Level.PROBLEM, text, remedy)
    assert "remove" not in found("slurm", far)[0].remedy
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as other:
        other.bind(str(sack))
        for method in ("slurm", None):
            only(found(method, sack), Level.OK, f"over TCP: Slurm ({sack})")
        text, remedy = (
            f"need credential=munge, but {munged} is no socket",
            f"munge_socket={munged}; or remove credential=munge",
        )
        only(found("munge", sack), Level.PROBLEM, text, remedy)
        listener.bind(str(munged))
        only(found("slurm", sack), Level.OK, f"auth/slurm; over TCP: Slurm ({sack})")
        only(found("slurm", far), Level.PROBLEM, "; or remove credential=slurm")


def test_the_doctor_authenticates_as_the_plugin_does(place: Path) -> None:
    arguments = "endpoint=tcp:login1:7817 matcher_uid=991 credential=slurm sack_socket=/run/a munge_socket=/run/b"
    stack(place, f"optional spank_reprise.so {arguments}\n")
    known: list[tuple[int, CredentialSettings]] = []

    def asker(uid: int, credential: CredentialSettings) -> service_checks.Ask:
        known.append((uid, credential))
        return answering("tcp:login1:7817")(uid, credential)

    slurm = commands(scontrol=Ran(0, f"PlugStackConfig = {place}/plugstack.conf\n"), sbatch=Ran(0, "slurm 26.05.5"))
    findings = diagnosis.examine(installation(place), slurm, asker)
    assert known == [(991, CredentialSettings("slurm", "/run/b", "/run/a"))]
    only([finding for finding in findings if finding.check == "auth"], Level.PROBLEM, "/run/a is no socket")


def test_without_tcp_only_slurms_own_authentication_is_reported(place: Path) -> None:
    slurm = slurm_checks.Slurm((22, 5, 8), (), place, auth_type="auth/munge")
    only(list(credential_checks.authentication(slurm, is_tcp=False)), Level.OK, "auth/munge")
    assert list(credential_checks.authentication(slurm_checks.Slurm(None, (), place), is_tcp=False)) == []


# --- the whole report


def installation(place: Path) -> Settings:
    text = f'[database]\npath = "{place}/none.db"\n[artifacts]\ndirectory = "{place}/none"\n'
    settings = Settings(write(place / "reprise.toml", text + f'[matcher]\nsocket = "{place}/none.sock"\n'))
    assert settings.config == load(settings.path)
    return settings


def answering(*endpoints: str) -> Callable[[int, CredentialSettings], service_checks.Ask]:
    """Return a stand-in for `diagnosis.asker`; only daemons at these endpoints answer."""

    def ask(asked: Endpoint) -> Mapping[str, Any]:
        if str(asked) not in endpoints:
            raise DaemonUnreachableError(f"{asked}: no matcher answers: start it")
        return {"v": 1, "kind": "ok", "version": __version__, "records": 3}

    return lambda *_: ask


@pytest.mark.parametrize(
    ("answers", "levels", "looks_into_files"),
    [
        ([], [Level.PROBLEM, Level.PROBLEM], True),
        (["tcp:login1:7817"], [Level.WARNING, Level.OK], False),
        ([str(endpoint.DEFAULT)], [Level.OK, Level.WARNING], True),
    ],
    ids=["none", "another host's", "this host's"],
)
def test_one_daemon_that_answers_is_enough_and_files_of_another_host_are_not_checked(
    place: Path, answers: list[str], levels: list[Level], looks_into_files: bool
) -> None:
    stack(place, f"optional spank_reprise.so endpoint={endpoint.DEFAULT} endpoint=tcp:login1:7817\n")
    slurm = commands(scontrol=Ran(0, f"PlugStackConfig = {place}/plugstack.conf\n"), sbatch=Ran(0, "slurm 22.05.8"))
    findings = diagnosis.examine(installation(place), slurm, answering(*answers))
    assert [finding.level for finding in findings if finding.check == "daemon"] == levels
    assert ("database" in {finding.check for finding in findings}) is looks_into_files


def test_the_clusters_name_is_checked_where_the_matcher_runs_or_where_it_is_configured(place: Path) -> None:
    slurm = commands(
        scontrol=Ran(0, f"ClusterName = linux\nPlugStackConfig = {place}/plugstack.conf\n"),
        sbatch=Ran(0, "slurm 22.05.8"),
    )
    settings = installation(place)
    assert settings.path

    def checked(settings: Settings) -> bool:
        return "cluster" in {finding.check for finding in diagnosis.examine(settings, slurm, answering())}

    stack(place, "optional spank_reprise.so endpoint=tcp:login1:7817\n")
    assert not checked(settings), "the default of a node without a matcher means nothing"
    assert checked(Settings(write(settings.path, settings.path.read_text() + '[site]\ncluster = "cluster"\n')))
    stack(place, "optional spank_reprise.so\n")
    assert checked(installation(place))


def test_without_a_plugin_line_the_endpoints_of_the_commands_are_checked(place: Path) -> None:
    settings = installation(place)
    assert settings.path
    text = 'endpoints = ["unix:/nowhere/m.sock", "tcp:login1:7817"]\nuid = 991\n'
    text += 'munge_socket = "/run/munge/2"\nsack_socket = "/run/sack"\ncredential = "munge"\n'
    settings = Settings(write(settings.path, settings.path.read_text() + text))
    known: list[tuple[int, CredentialSettings]] = []

    def asker(uid: int, credential: CredentialSettings) -> service_checks.Ask:
        known.append((uid, credential))
        return answering("tcp:login1:7817")(uid, credential)

    findings = diagnosis.examine(settings, commands(), asker)
    levels = [finding.level for finding in findings if finding.check == "daemon"]
    assert (levels, known) == (
        [Level.WARNING, Level.OK],
        [(991, CredentialSettings("munge", "/run/munge/2", "/run/sack"))],
    )


def test_every_check_reports_once_on_an_empty_machine(place: Path) -> None:
    findings = diagnosis.examine(installation(place), commands(), answering())
    assert [finding.check for finding in findings if finding.check != "plugstack"] == [
        "config",
        "slurm",
        "plugin",
        "daemon",
        "database",
        "model",
        "openmpi",
        "artifacts",
        "rights",
    ]
    lines = doctor_report.lines(findings)
    assert len(lines) == len(findings) and not any("\n" in line for line in lines)
    document = doctor_report.document(findings)
    assert document["version"] == 1 and document["ok"] is False


def test_a_bad_configuration_is_reported_and_the_rest_is_checked(place: Path) -> None:
    settings = Settings(write(place / "reprise.toml", "[matcher]\nsokcet = 1\n"))
    result = CliRunner().invoke(doctor, ["--json"], obj=settings)
    document = json.loads(result.output)
    assert result.exit_code == 1
    assert document["findings"][0]["level"] == "problem" and "did you mean 'socket'?" in result.output
    assert {"slurm", "plugin"} <= {finding["check"] for finding in document["findings"]}


def test_running_a_command_never_raises() -> None:
    assert run(["true"]) == Ran(0)
    assert run(["false"]).complaint == "exit status 1"
    assert "No such file" in run(["/no/such/command"]).complaint
