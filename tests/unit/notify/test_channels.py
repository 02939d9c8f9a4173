# SPDX-License-Identifier: Apache-2.0
"""Test notifications with a real mail server, a real HTTP server and real commands, and with attackers' names."""

from __future__ import annotations

import json
import smtplib
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from reprise.config import Notify
from reprise.errors import RepriseError
from reprise.notify import command_channel, mail_channel, webhook_channel
from reprise.notify.notification import NAME_LIMIT, campaign_ended, plain, quarantined, sample, writes_wait
from reprise.notify.notify_error import NotifyError
from reprise.secret_file import SecretError, secret_in
from tests.unit.notify.servers import PASSWORD, Mails, Posts, certificate, mail_server, web_server
from tests.waiting import has_ended, wait_for

HOSTILE = (
    'x\r\nBcc: eve@evil.example\r\n\r\n"$(touch /tmp/owned)"; `id` \u202egpj\x1b[2J <!channel> @all [a](http://e.x) &'
)
"""A job's name that tries headers, a shell, JSON, a terminal, and the markup of chats."""
QUARANTINED = quarantined("c", 7, "sro", {"program": HOSTILE}, HOSTILE, f"it failed{HOSTILE}")


@pytest.fixture
def mails() -> Iterator[Mails]:
    with mail_server() as server:
        yield server


@pytest.fixture
def posts() -> Iterator[Posts]:
    with web_server() as server:
        yield server


def by_mail(port: int, **changes: Any) -> Notify:
    given = {"smtp": f"127.0.0.1:{port}", "smtp_tls": "none", "mail_from": "reprise@c.example", "timeout_s": 5}
    return Notify.model_validate({**given, "mail_to": ["a@c.example", "b@c.example"], **changes})


def by_webhook(port: int, **changes: Any) -> Notify:
    return Notify.model_validate({"webhook": f"http://127.0.0.1:{port}/hooks/T0P-S3CRET", "timeout_s": 5, **changes})


def secret(directory: Path, text: str = PASSWORD, mode: int = 0o640) -> Path:
    path = directory / "secret"
    path.write_text(f"{text}\n")
    path.chmod(mode)
    return path


# --- texts that users chose


def test_a_users_name_has_no_character_that_means_anything_to_a_mail_a_chat_or_a_terminal() -> None:
    made = plain(HOSTILE)
    assert not set(made) & set("\r\n\"'$`();&<>@[]|\\:\u202e\x1b*") and made.startswith("x??Bcc")
    assert len(plain("a" * 500)) == NAME_LIMIT and plain("a" * NAME_LIMIT) == "a" * NAME_LIMIT
    assert plain("Gauß-4.2_run/β+1,a=b") == "Gauß-4.2_run/β+1,a=b"


def test_every_subject_is_one_line_and_every_reason_too() -> None:
    told = [
        QUARANTINED,
        writes_wait("c", 3, 61.0, f"disk {HOSTILE}"),
        *(
            campaign_ended("c", 3, HOSTILE, "sro", state, [1], f"why {HOSTILE}")
            for state in ("complete", "failed", "stopped")
        ),
    ]
    for one in told:
        assert one.subject.isprintable(), one.subject
        assert all(line.isprintable() for line in one.text.split("\n")) and one.text.count("\n") <= 4, one.text
        assert "\nBcc" not in one.text and "eve@" not in one.subject


# --- mail


def test_a_mail_arrives_whose_headers_no_name_can_change(mails: Mails) -> None:
    mail_channel.send(by_mail(mails.port), QUARANTINED)
    (envelope,) = mails.envelopes
    assert envelope.rcpt_tos == ["a@c.example", "b@c.example"] and envelope.mail_from == "reprise@c.example"
    message = mails.message()
    headers = {"From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "MIME-Version", "Content-Type"}
    assert {*message.keys()} - {"X-Peer", "X-MailFrom", "X-RcptTo"} == headers | {"Content-Transfer-Encoding"}
    assert message["Subject"].startswith("Reprise on c: record 7 is quarantined for x??Bcc?")
    assert message["To"] == "a@c.example, b@c.example"
    assert "Run `reprise records show 7`" in message.get_content()


def test_a_mail_states_how_many_earlier_ones_were_left_out(mails: Mails) -> None:
    told = sample("c")
    mail_channel.send(by_mail(mails.port), type(told)(told.event, told.subject, told.text, told.details, left_out=12))
    assert "12 earlier notifications of this kind were not sent." in mails.message().get_content()


def test_a_mail_server_that_refuses_is_reported(mails: Mails) -> None:
    mails.reply = "550 no mail for you"
    with pytest.raises(NotifyError, match=r"127\.0\.0\.1:\d+: 550 no mail"):
        mail_channel.send(by_mail(mails.port), sample("c"))


def test_a_mail_server_that_is_gone_is_reported_in_one_line() -> None:
    with pytest.raises(NotifyError, match=r"^127\.0\.0\.1:9: .*refused$"):
        mail_channel.send(by_mail(9), sample("c"))


def test_a_password_is_not_sent_to_a_server_without_encryption(mails: Mails, tmp_path: Path) -> None:
    """Somebody between the matcher and the server can remove STARTTLS from the server's list."""
    settings = by_mail(mails.port, smtp_tls="starttls", smtp_user="u", smtp_password_file=str(secret(tmp_path)))
    with pytest.raises(NotifyError, match="STARTTLS"):
        mail_channel.send(settings, sample("c"))
    assert mails.logins == [] and mails.envelopes == []


@pytest.fixture
def secure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mails]:
    chain, key = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(chain))
    with mail_server(chain, key) as server:
        yield server


def test_a_password_is_sent_over_starttls(secure: Mails, tmp_path: Path) -> None:
    given = {"smtp": f"localhost:{secure.port}", "smtp_tls": "starttls", "smtp_user": "u"}
    mail_channel.send(by_mail(0, **given, smtp_password_file=str(secret(tmp_path))), sample("c"))
    assert secure.logins == [PASSWORD.encode()] and len(secure.envelopes) == 1


def test_a_wrong_password_is_reported_without_the_password(secure: Mails, tmp_path: Path) -> None:
    given = {"smtp": f"localhost:{secure.port}", "smtp_tls": "starttls", "smtp_user": "u"}
    with pytest.raises(NotifyError, match=r"the user or the password is wrong \(535\)") as error:
        mail_channel.send(by_mail(0, **given, smtp_password_file=str(secret(tmp_path, "battery-staple"))), sample("c"))
    assert "battery" not in str(error.value)


def test_a_certificate_of_somebody_else_is_refused(secure: Mails, tmp_path: Path) -> None:
    given = {"smtp": f"127.0.0.1:{secure.port}", "smtp_tls": "starttls", "smtp_user": "u"}
    with pytest.raises(NotifyError, match="certificate verify failed"):
        mail_channel.send(by_mail(0, **given, smtp_password_file=str(secret(tmp_path))), sample("c"))
    assert secure.logins == []


def test_a_server_that_repeats_the_password_does_not_bring_it_into_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def says(*_: object, **__: object) -> None:
        raise smtplib.SMTPDataError(554, f"spam\nfrom {PASSWORD}".encode())

    monkeypatch.setattr(smtplib.SMTP, "login", lambda *_: None)
    monkeypatch.setattr(smtplib.SMTP, "send_message", says)
    with mail_server() as mails, pytest.raises(NotifyError, match=r"554 spam from \*\*\*$"):
        mail_channel.send(by_mail(mails.port, smtp_user="u", smtp_password_file=str(secret(tmp_path))), sample("c"))


def test_the_library_itself_refuses_a_header_of_two_lines() -> None:
    with pytest.raises(ValueError, match="may not contain linefeed"):
        EmailMessage()["Subject"] = "a\nb"


# --- webhook


def test_a_webhook_gets_json_that_no_name_can_change(posts: Posts, tmp_path: Path) -> None:
    webhook_channel.send(by_webhook(posts.port, webhook_token_file=str(secret(tmp_path, "tok-123"))), QUARANTINED)
    ((path, headers, body),) = posts.got
    assert path == "/hooks/T0P-S3CRET" and headers["authorization"] == "Bearer tok-123"
    assert headers["content-type"] == "application/json"
    told = json.loads(body)
    assert set(told) == {"event", "subject", "text", "details", "left_out"}
    assert told["event"] == "quarantine" and told["details"]["record"] == 7
    assert told["text"].startswith(f"{told['subject']}\n") and "<!channel>" not in told["details"]["program"]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(posts: Posts, tmp_path: Path, status: int) -> None:
    with web_server() as other:
        posts.status, posts.headers = status, {"Location": f"http://127.0.0.1:{other.port}/"}
        with pytest.raises(NotifyError, match=rf"^127\.0\.0\.1: HTTP status {status}$"):
            webhook_channel.send(by_webhook(posts.port, webhook_token_file=str(secret(tmp_path))), sample("c"))
        assert len(posts.got) == 1 and other.got == []


def test_a_failure_does_not_show_the_secret_in_the_address(posts: Posts, tmp_path: Path) -> None:
    posts.status = 403
    url = f"http://127.0.0.1:{posts.port}/hooks/T0P-S3CRET"
    given = [by_webhook(posts.port), by_webhook(9)]
    given.append(by_webhook(0, webhook="", webhook_file=str(secret(tmp_path, url))))
    for settings in given:
        with pytest.raises(NotifyError) as error:
            webhook_channel.send(settings, sample("c"))
        assert "S3CRET" not in str(error.value) and "\n" not in str(error.value)


def test_a_token_is_not_sent_over_the_network_without_encryption(tmp_path: Path) -> None:
    settings = by_webhook(0, webhook="http://chat.example/x", webhook_token_file=str(secret(tmp_path)))
    with pytest.raises(NotifyError, match="use https"):
        webhook_channel.send(settings, sample("c"))


@pytest.mark.parametrize("text", ["ftp://h/x", "file:///etc/passwd", "http://", "http://u:p@h/x", "http://h/\tx"])
def test_a_file_with_another_address_is_refused_without_showing_it(tmp_path: Path, text: str) -> None:
    with pytest.raises(
        RepriseError, match=r"webhook_file: /\S+ (has no http\(s\) address|does not consist of one line)"
    ):
        webhook_channel.send(by_webhook(0, webhook="", webhook_file=str(secret(tmp_path, text))), sample("c"))


# --- command


def test_a_command_gets_json_and_nothing_else_of_what_users_chose(tmp_path: Path) -> None:
    program, out = tmp_path / "told", tmp_path / "out"
    program.write_text(f'#!/bin/bash\n{{ cat; echo; printf "%s\\n" "$0" "$@"; env; }} > {out}\n')
    program.chmod(0o755)
    command_channel.send(Notify(command=[str(program), "--to", "x y"]), QUARANTINED)
    body, *rest = out.read_text().splitlines()
    assert json.loads(body)["details"]["record"] == 7
    assert rest[:3] == [str(program), "--to", "x y"] and "REPRISE_EVENT=quarantine" in rest
    assert [line for line in rest if "Bcc" in line or "touch" in line] == []


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["/bin/sh", "-c", "echo secret >&2; exit 3"], "/bin/sh ended with status 3"),
        (["/nowhere/told"], "/nowhere/told cannot be run: No such file or directory"),
        (["/bin/true"], ""),
    ],
)
def test_a_command_that_fails_is_reported_in_one_line(command: list[str], why: str) -> None:
    """A command need not read its input; what it prints may have secrets and is not logged."""
    big = quarantined("c", 7, "sro", {}, None, "x" * 2000)
    if not why:
        command_channel.send(Notify(command=command), big)
        return
    with pytest.raises(NotifyError) as error:
        command_channel.send(Notify(command=command), big)
    assert str(error.value) == why


@pytest.mark.slow
def test_a_command_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    child = tmp_path / "child"
    command = ["/bin/sh", "-c", f"sleep 300 & echo $! > {child}; wait"]
    with pytest.raises(NotifyError, match="/bin/sh did not end within 1 s"):
        command_channel.send(Notify(command=command, timeout_s=1), sample("c"))
    wait_for("the child's end", lambda: has_ended(int(child.read_text())))


# --- secrets


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o604, 0o642])
def test_a_secret_that_others_may_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(SecretError, match=r"secret is open to other users: chmod 640 or 600$"):
        secret_in(secret(tmp_path, mode=mode), "smtp_password_file")


@pytest.mark.parametrize("text", ["", "a\nb", "a\0b", "x" * 5000, "é"])
def test_a_file_without_one_line_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SecretError) as error:
        secret_in(secret(tmp_path, text), "webhook_token_file")
    assert "write" in str(error.value) and (not text or text[:2] not in str(error.value).partition("secret")[2])


def test_a_missing_secret_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(SecretError, match=rf"smtp_password_file: {tmp_path}/none cannot be read \(No such file"):
        secret_in(tmp_path / "none", "smtp_password_file")


def test_a_device_is_no_secret() -> None:
    with pytest.raises(SecretError, match=r"open to other users|cannot be read"):
        secret_in(Path("/dev/null"), "smtp_password_file")
