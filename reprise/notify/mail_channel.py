# SPDX-License-Identifier: Apache-2.0
"""Send a notification as a mail, over SMTP."""

from __future__ import annotations

import smtplib
import ssl
from email.message import EmailMessage
from email.utils import format_datetime, localtime, make_msgid

from reprise.config import Notify, host_and_port
from reprise.notify.notification import Notification
from reprise.notify.notify_error import NotifyError, without
from reprise.secret_file import secret_in


def message_of(settings: Notify, notification: Notification) -> EmailMessage:
    """Return the mail. The library refuses line ends in its headers, and encodes everything beyond ASCII."""
    message = EmailMessage()
    message["From"] = settings.mail_from
    message["To"] = ", ".join(settings.mail_to)
    message["Subject"] = " ".join(notification.subject.split())
    message["Date"] = format_datetime(localtime())
    message["Message-ID"] = make_msgid(domain=settings.mail_from.rpartition("@")[2])
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: absence notes are not sent to such mails
    more = notification.left_out_text
    message.set_content(notification.text + (f"\n{more}\n" if more else ""))
    return message


def send(settings: Notify, notification: Notification) -> None:
    """Send the mail. Raise NotifyError if the server cannot be reached or refuses it."""
    host, port = host_and_port(settings.smtp)
    password = secret_in(settings.smtp_password_file, "smtp_password_file") if settings.smtp_password_file else ""
    context = ssl.create_default_context()
    try:
        if settings.smtp_tls == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(host, port, timeout=settings.timeout_s, context=context)
        else:
            server = smtplib.SMTP(host, port, timeout=settings.timeout_s)
        with server:
            if settings.smtp_tls == "starttls":
                server.starttls(context=context)
            if password:
                server.login(settings.smtp_user, password)
            refused = server.send_message(message_of(settings, notification), settings.mail_from, settings.mail_to)
    except smtplib.SMTPRecipientsRefused as error:
        raise NotifyError(f"{settings.smtp}: refused: {', '.join(error.recipients)}") from error
    except smtplib.SMTPAuthenticationError as error:  # its words may repeat what was sent
        raise NotifyError(f"{settings.smtp}: the user or the password is wrong ({error.smtp_code})") from error
    except smtplib.SMTPResponseException as error:
        words = error.smtp_error.decode(errors="replace") if isinstance(error.smtp_error, bytes) else error.smtp_error
        raise NotifyError(f"{settings.smtp}: {error.smtp_code} {without(words, password)}") from error
    except (OSError, smtplib.SMTPException) as error:
        raise NotifyError(f"{settings.smtp}: {without(str(error), password)}") from error
    if refused:
        raise NotifyError(f"{settings.smtp}: refused: {', '.join(refused)}")
