# SPDX-License-Identifier: Apache-2.0
"""Test that programs behave with the library as without it, and that their bytes go through the forwarder."""

from __future__ import annotations

import hashlib
import os
import random
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.forward.client.conftest import SMALL, Site, build
from tests.forward.client.diod import Diod
from tests.munged import Munged

BYTES_OF_PLAIN = 24 * 128 << 10
BYTES = random.Random(3).randbytes(3_000_000)  # noqa: S311

CLAIMS = {
    "plain": True,
    "threads_read": True,
    "threads_write": True,
    "processes": True,
    "forked": True,
    "vforked": True,
    "executed": True,
    "handler": True,
    "cancel": True,
    "last_thread": True,
    "close_all": True,
    "renumbered": True,
    "refused": True,
    "limited": True,
    "unlinked": True,
    "appended": True,
    "mapped": True,
    "grown": True,
    "streamed": True,
    "no_descriptors": False,
}
"""Programs of `subject`, and whether a part of their bytes is forwarded."""


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_program_sees_what_it_sees_without_the_library(site: Site, diod: Diod, claim: str) -> None:
    ran = site.subject(claim)
    assert (ran.total("write_bytes") > 0) == CLAIMS[claim]
    assert claim == "refused" or ran.total("failures") == 0


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("command", "forwarded"),
    [
        ("dd if=../input of=output bs=1M", "write_bytes"),
        ("dd if=input of=output bs=100k", "write_bytes"),
        ("dd if=input of=output bs=128k conv=fsync", "write_bytes"),
        ("dd if=input bs=128k | cat > output", "read_bytes"),
        ("cat input > output", None),
        ("cat < input | cat > output", None),
        ("cp input output", None),
        ("cp --reflink=never --sparse=never input output", None),
        ("(dd bs=1M count=1; dd bs=1M count=1; cat) < input > output", "read_bytes"),
        ("exec > output; dd if=input bs=1M count=2; tail -c +2097153 input", "write_bytes"),
        ("tee output < input > /dev/null", None),
        ("gzip -c input | gunzip > output", None),
        ("tar cf - input | tar xf - -O > output", None),
        ("sort -R input > /dev/null; mv input output", None),
    ],
)
def test_tools_copy_a_file_byte_for_byte(site: Site, diod: Diod, command: str, forwarded: str | None) -> None:
    for directory in (site.directory, site.files):
        (directory / "input").write_bytes(BYTES)
    ran = site.run("/bin/sh", "-e", "-c", f"cd files; {command}")
    assert ran.status == 0, ran.stderr
    assert digest(site.files / "output") == hashlib.sha256(BYTES).hexdigest()
    assert ran.total("redone_bytes") == ran.total("other_files") == ran.total("failures") == 0
    assert forwarded is None or ran.total(forwarded) >= 2_000_000


PYTHON = """
import hashlib, mmap, os, shutil, sys
data = open("../input", "rb").read()
with open("a", "wb") as file:
    file.write(data)
with open("a", "r+b", buffering=0) as file:
    file.seek(1000)
    assert file.write(data[:200000]) == 200000 and file.tell() == 201000
    os.fsync(file.fileno())
    assert file.truncate(2500000) == 2500000
    file.seek(0)
    assert file.read() == data[:1000] + data[:200000] + data[201000:2500000]
with open("a", "ab") as file:
    file.write(data[2500000:])
shutil.copyfile("a", "b")
with open("b", "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
    memory[1000:201000] = data[1000:201000]
with open("b", "rb") as file:
    assert file.read() == data
print(hashlib.sha256(data).hexdigest())
"""


def test_python_reads_what_it_wrote(site: Site, diod: Diod) -> None:
    (site.directory / "input").write_bytes(BYTES)
    ran = site.run("/bin/sh", "-c", f"cd files; exec /usr/bin/python3 -c '{PYTHON}'")
    assert (ran.stdout.strip(), ran.stderr) == (hashlib.sha256(BYTES).hexdigest(), "")
    assert ran.total("write_bytes") > 3_000_000 and ran.total("read_bytes") > 3_000_000


SQLITE = """
import sqlite3
base = sqlite3.connect("base.db")
base.execute("PRAGMA page_size = 65536")
base.execute("create table t (n integer primary key, data blob)")
for round in range(5):
    with base:
        for n in range(20):
            base.execute("insert into t (data) values (zeroblob(100000 + ?))", (n,))
with base:
    base.execute("delete from t where n % 3 = 0")
base.execute("vacuum")
print(base.execute("select count(*), sum(length(data)) from t").fetchone())
print(base.execute("pragma integrity_check").fetchone())
"""


def test_a_database_stays_whole(site: Site, diod: Diod) -> None:
    command = ("/bin/sh", "-c", f"cd files; exec /usr/bin/python3 -c '{SQLITE}'")
    bare = site.run_bare(*command)
    site.empty()
    ran = site.run(*command, env=SMALL)
    assert ran.stdout == bare.stdout and ran.stdout.endswith("('ok',)\n"), ran.stderr
    assert ran.total("write_bytes") > 5_000_000
    with sqlite3.connect(site.files / "base.db") as base:
        assert base.execute("pragma integrity_check").fetchone() == ("ok",)


def test_a_forwarder_on_a_port_serves_too(site: Site, diod: Diod) -> None:
    with Diod("127.0.0.1:15640", site.files) as one:
        site.map(one.address)
        assert site.plain().report_of("subject")["write_bytes"] == BYTES_OF_PLAIN


def test_what_is_not_below_the_prefix_is_not_forwarded(site: Site, diod: Diod) -> None:
    outside = site.directory / "outside"
    ran = site.run(site.programs / "subject", "plain", outside)
    assert (ran.status, ran.total("write_bytes"), ran.total("connections")) == (0, 0, 1)
    (site.directory / "files-2").mkdir()
    ran = site.run(site.programs / "subject", "plain", site.directory / "files-2" / "file")
    assert (ran.status, ran.total("write_bytes")) == (0, 0)


REUSED = """
import os
piece = bytes(1_000_000)
outside = os.open("outside", os.O_RDWR | os.O_CREAT)
for _ in range(3):
    os.write(outside, piece)
{again}
assert inside == outside
os.write(inside, piece)
"""


@pytest.mark.parametrize(
    "again",
    [
        'os.close(outside); inside = os.open("files/inside", os.O_RDWR | os.O_CREAT)',
        'inside = os.dup2(os.open("files/inside", os.O_RDWR | os.O_CREAT), outside)',
        'os.closerange(outside, 100); inside = os.open("files/inside", os.O_RDWR | os.O_CREAT)',
    ],
    ids=["closed", "replaced", "in a range"],
)
def test_a_descriptor_is_forwarded_at_once_after_it_meant_another_file(site: Site, diod: Diod, again: str) -> None:
    ran = site.run("/usr/bin/python3", "-c", REUSED.format(again=again))
    assert (ran.status, ran.stderr, ran.total("write_bytes")) == (0, "", 1_000_000)
    assert (site.files / "inside").stat().st_size == 1_000_000


def test_a_small_call_connects_to_no_forwarder(site: Site, diod: Diod) -> None:
    (site.files / "small").write_bytes(BYTES[:60_000])
    ran = site.run("/bin/sh", "-c", "cd files; dd if=small of=other bs=1M; cat small other > third")
    assert ran.status == 0 and ran.total("connections") == 0 and ran.total("maps") == 0


def test_long_paths_are_walked_in_parts(site: Site, diod: Diod) -> None:
    deep = site.files
    for number in range(40):
        deep /= f"{number:03d}-{'x' * (1 + number * 5 % 90)}"
    deep.mkdir(parents=True)
    ran = site.run(site.programs / "subject", "plain", deep / "a file\nwith\x01odd\xffbytes")
    assert (ran.status, ran.total("write_bytes")) == (0, BYTES_OF_PLAIN)


def test_the_written_file_belongs_to_the_user(site: Site, diod: Diod) -> None:
    site.plain()
    assert (site.files / "subject").stat().st_uid == os.getuid()


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to put a munged at the place where libmunge looks for it")
def test_a_forwarder_learns_the_user_from_munge(site: Site) -> None:
    script = 'mount --bind "$1" /run/munge && shift && exec "$@"'
    with Munged() as munged, Diod(site.directory / "sock", site.files, "--no-userdb") as refusing:
        (munged.directory / "munge.socket.2").symlink_to(munged.socket)
        Path("/run/munge").mkdir(exist_ok=True)
        inside = ("unshare", "--mount", "/bin/sh", "-e", "-c", script, "sh", munged.directory)
        site.map(refusing.address)
        words = (site.programs / "subject", "plain", site.files / "subject")
        for auth, asks in (("none", False), ("munge", False)):  # this diod's munged has another key, or does not run
            ran = site.run(*inside, *words, env={"REPRISE_FORWARD_AUTH": auth})
            assert (ran.status, ran.stdout, ran.total("write_bytes") > 0) == (0, "0 0\ndone\n", asks)
        with Diod(site.directory / "good", site.files, "--no-userdb", inside=inside) as one:
            site.map(one.address)
            ran = site.run(*inside, *words, env={"REPRISE_FORWARD_AUTH": "munge"})
            assert (ran.status, ran.total("write_bytes")) == (0, BYTES_OF_PLAIN)
            ran = site.run(*inside, *words, env={"REPRISE_FORWARD_AUTH": "none"})
            assert (ran.status, ran.total("write_bytes")) == (0, 0)


def test_a_static_program_runs_without_a_message(site: Site, diod: Diod) -> None:
    source = site.directory / "static.c"
    source.write_text("int main(void) { return 0; }\n")
    program = build(site.directory / "static", source, flags=("-static",))
    ran = site.run(program)
    assert (ran.stdout, ran.stderr, ran.status, ran.reports) == ("", "", 0, [])


def test_the_library_exports_only_the_functions_that_it_wraps(site: Site) -> None:
    library = site.programs / "libreprise_forward.so"
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", "--format=posix", library], capture_output=True, text=True, check=True
    )
    shown = {line.split()[0] for line in listed.stdout.splitlines()}
    text = (Path(__file__).parents[3] / "accelerators/forward/client/wrapped.h").read_text()
    assert {"read", "pwritev2", "fwrite", "fsync", "close"} <= shown
    assert all(f"with({name})" in text for name in shown)
    assert "mmap" not in shown, "a wrapper would disable the memory hooks of MPI libraries"


def test_make_installs_a_library_that_programs_can_load_and_uninstalls_it(site: Site) -> None:
    place = site.directory / "prefix"
    client = Path(__file__).parents[3] / "accelerators/forward/client"
    words = ["make", "-s", "-C", str(client), f"BUILD={site.programs}", f"PREFIX={place}"]
    subprocess.run([*words, "install"], check=True)
    environment = {"PATH": os.defpath, "LD_PRELOAD": str(place / "lib/libreprise_forward.so")}
    done = subprocess.run(["true"], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""  # ld.so would report a library that it cannot load
    subprocess.run([*words, "uninstall"], check=True)
    assert not [path for path in place.rglob("*") if path.is_file()]
