# SPDX-License-Identifier: Apache-2.0
"""Send a notification to a webhook: an HTTP POST with a JSON object, whose key `text` chat services show."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

from reprise import __version__
from reprise.config import Notify, is_loopback, webhook_url
from reprise.notify.notification import Notification
from reprise.notify.notify_error import NotifyError, without
from reprise.secret_file import secret_in

ANSWER_LIMIT = 65_536  # bytes of the answer that are read, so that the server sees the connection end in order


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token, and names of users, to another place."""

    def redirect_request(self, *_: Any) -> None:
        return None


def body_of(notification: Notification) -> bytes:
    """Return the body: the notification, with subject and text together in `text`."""
    text = f"{notification.subject}\n{notification.text.strip()}\n{notification.left_out_text}".rstrip()
    return json.dumps({**notification.as_json(), "text": text}).encode()


def send(settings: Notify, notification: Notification) -> None:
    """Send the notification. Raise NotifyError if the server does not answer with a status of success."""
    url = settings.webhook
    if settings.webhook_file:
        try:
            url = webhook_url(secret_in(settings.webhook_file, "webhook_file"))
        except ValueError as error:  # its words would have the address
            raise NotifyError(f"webhook_file: {settings.webhook_file} has no http(s) address") from error
    headers = {"Content-Type": "application/json", "User-Agent": f"reprise/{__version__}"}
    parts, token = urlsplit(url), ""
    if settings.webhook_token_file:
        token = secret_in(settings.webhook_token_file, "webhook_token_file")
        if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
            raise NotifyError("webhook: the token would be sent without encryption: use https")
        headers["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(url, body_of(notification), headers)  # noqa: S310 (the scheme is checked)
    opener = urllib.request.build_opener(_NoRedirects)
    try:
        with opener.open(request, timeout=settings.timeout_s) as answer:
            answer.read(ANSWER_LIMIT)
    except urllib.error.HTTPError as error:
        error.close()
        raise NotifyError(f"{parts.hostname}: HTTP status {error.code}") from error
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise NotifyError(f"{parts.hostname}: {without(str(reason), token, url, parts.path.strip('/'))}") from error
