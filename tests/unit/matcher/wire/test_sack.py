# SPDX-License-Identifier: Apache-2.0
"""Test tokens of Slurm's auth/slurm in Python, against a fake of Slurm's daemon, and the choice of methods."""

from __future__ import annotations

import os
import socket
import string
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from reprise.matcher.errors import ServiceError
from reprise.matcher.wire import methods as methods_module
from reprise.matcher.wire.credentials import CredentialError, CredentialSettings
from reprise.matcher.wire.methods import method_for_requests, method_of, offered
from reprise.matcher.wire.munge import Munge
from reprise.matcher.wire.sack import Sack
from tests.fake_sack import ANY_USER, CREATE, VERIFY, FakeSack
from tests.nobody import as_nobody

UID = os.geteuid()


@pytest.fixture
def sack() -> Iterator[FakeSack]:
    with FakeSack() as running:
        yield running


@pytest.fixture
def client(sack: FakeSack) -> Sack:
    return Sack(str(sack.socket))


@pytest.mark.parametrize("size", [1, 16, 70_000, 262_160])
def test_a_token_is_opened_by_its_reader(client: Sack, size: int) -> None:
    payload = os.urandom(size)
    opened = client.open(client.make(payload, UID))
    assert (opened.payload, opened.uid) == (payload, UID)


@pytest.mark.skipif(UID != 0, reason="needs root, to act as another user")
def test_the_author_is_the_user_that_connects(client: Sack) -> None:
    with as_nobody():
        nobody, token = os.geteuid(), client.make(b"x", UID)
        with pytest.raises(CredentialError, match="refuses the token"):
            client.open(token)
    assert client.open(token).uid == nobody != UID


def test_tokens_that_slurm_refuses(client: Sack, sack: FakeSack) -> None:
    good = sack.token(b"x", 5, UID)
    other = FakeSack()
    for token in (
        other.token(b"x", 5, UID),
        sack.token(b"x", 5, UID, exp=1),
        sack.token(b"x", 5, UID + 1),
        good[:-9],
        b"",
    ):
        with pytest.raises(CredentialError, match="refuses the token"):
            client.open(token)
    assert client.open(good).uid == 5


def test_tokens_that_slurm_believes_but_that_are_not_for_the_matcher(client: Sack, sack: FakeSack) -> None:
    sack.believes = True
    for token, why in (
        (sack.token(b"x", 5, ANY_USER), "names no user"),
        (sack.token(b"x", 5, UID + 1), "another user"),
        (sack.token(b"x", 5, UID, context="auth"), "context"),
        (sack.token(b"x", 5, UID, payload=None), "no payload"),
        (b"a\0" + sack.token(b"x", 5, UID), "not a token"),
    ):
        with pytest.raises(CredentialError, match=why):
            client.open(token)


@pytest.mark.parametrize(
    "reply", [b"", bytes(4), b"\xff" * 4, struct.pack(">I", 9) + b"abc", b"\0\0\0\3a\0\0", b"\0\0\0\3abc"]
)
def test_a_wrong_reply_is_one_error(client: Sack, sack: FakeSack, reply: bytes) -> None:
    sack.replies = lambda _, __: reply
    with pytest.raises(CredentialError, match=r"^slurm: "):
        client.make(b"x", UID)
    if reply != bytes(4):
        with pytest.raises(CredentialError, match=r"^slurm: "):
            client.open(b"a.b.c")
    assert {kind for _, kind in sack.asked} <= {CREATE, VERIFY}


def test_a_daemon_that_hangs_or_is_missing_is_not_waited_for(sack: FakeSack, tmp_path: Path) -> None:
    sack.hangs = True
    with pytest.raises(CredentialError, match=r"no daemon answers \(timed out\)"):
        Sack(str(sack.socket), timeout_s=0.1).make(b"x", UID)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "dead"))
    for path in (tmp_path / "dead", tmp_path / "none"):
        with pytest.raises(CredentialError, match=r"no daemon answers .*start slurmd or sackd"):
            Sack(str(path)).make(b"x", UID)


def test_one_character_more_in_the_signature_does_not_make_a_new_token(client: Sack, sack: FakeSack) -> None:
    """A signature of 32 bytes leaves unused bits in its last character, and the fake accepts any of them."""
    token = client.make(b"x", UID)
    letters = string.ascii_letters + string.digits + "-_"
    spelled = [token[:-1] + char.encode() for char in letters]
    digests = set()
    for one in spelled:
        try:
            opened = client.open(one)
        except CredentialError:
            continue
        assert opened.reusable
        digests.add(opened.reusable.digest)
    assert len(digests) == 1


# --- which method


def without_libmunge(*_: object) -> Munge:
    raise ServiceError("libmunge.so.2: cannot be loaded")


def test_the_method_for_requests(sack: FakeSack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    munged, here, none = tmp_path / "munged", str(sack.socket), "/nowhere"
    munged.touch()

    def name(munge_socket: str, sack_socket: str, method: str | None = None) -> str:
        return method_for_requests(CredentialSettings(method, munge_socket, sack_socket)).name  # type: ignore[arg-type]

    assert name(str(munged), here) == name(str(munged), none) == name(none, none, "munge") == "munge"
    assert name(none, here) == name(str(munged), here, "slurm") == "slurm"
    with pytest.raises(ServiceError, match=r"this host cannot authenticate over TCP: start munged"):
        name(none, none)
    monkeypatch.setattr(methods_module, "Munge", without_libmunge)
    assert name(str(munged), here) == "slurm"
    with pytest.raises(ServiceError, match="libmunge"):
        name(str(munged), here, "munge")


@pytest.mark.skipif(UID != 0, reason="needs root, to act as another user")
def test_a_directory_that_the_user_may_not_enter_has_no_socket(sack: FakeSack, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = sack.socket.parent / "hidden"
    hidden.mkdir(mode=0o700)
    os.chown(hidden, 5, 5)
    path = str(hidden / "sack.socket")
    munged = Munge(path)  # loaded as root, because nobody may have no access to the environment
    monkeypatch.setattr(methods_module, "Munge", lambda _: munged)
    with as_nobody():
        assert method_for_requests(CredentialSettings(None, path, str(sack.socket))).name == "slurm"
        assert Sack(path).trusted_uids() == {0, 5}
        assert list(offered(CredentialSettings(sack_socket=path))) == ["munge"]


def test_a_daemon_offers_what_it_can_but_not_slurm_to_a_user_whom_slurm_trusts(
    sack: FakeSack, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, none = CredentialSettings(sack_socket=str(sack.socket)), CredentialSettings(sack_socket="/nowhere")
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000)
    assert [list(offered(one)) for one in (settings, none)] == [["munge", "slurm"], ["munge"]]
    both = offered(settings)
    assert [method_of(credential, both).name for credential in (b"MUNGE:x", b"a.b.c")] == ["munge", "slurm"]
    with pytest.raises(CredentialError, match="does not accept such"):
        method_of(b"a.b.c", offered(none))
    monkeypatch.setattr(methods_module, "Munge", without_libmunge)
    assert list(offered(settings)) == ["slurm"]
    with pytest.raises(ServiceError, match=r"the matcher cannot authenticate over TCP: .*libmunge.so.2: cannot be"):
        offered(none)
    for trusted in (0, sack.socket.stat().st_uid):
        monkeypatch.setattr(os, "geteuid", lambda uid=trusted: uid)
        with pytest.raises(ServiceError, match="runs as root or SlurmUser"):
            offered(settings)
