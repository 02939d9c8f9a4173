# SPDX-License-Identifier: Apache-2.0
"""`reprise web`: serve the web pages, and print tokens for them."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reprise.cli.main import Settings

log = logging.getLogger(__name__)

DAEMON_TIMEOUT_S = 5.0
KEEP_ALIVE_S = 5
MOST_REQUESTS = 200  # maximum number of concurrent requests; further requests get status 503
MISSING = "the pages need Python packages that are not installed ({}): install `reprise[web]`"


@click.group()
def web() -> None:
    """Serve the web pages, and print tokens for them."""


@web.command()
@click.pass_obj
def serve(settings: Settings) -> None:
    """Serve the pages in the foreground until SIGTERM.

    The pages use the socket that systemd passes, which keeps the port while they restart. Without such a socket, they
    listen at `web.listen`, and any user of this host can take the port during a restart.
    """
    try:
        import uvicorn

        from reprise.systemd import passed_listener
        from reprise.web import app
        from reprise.web.patience import Patient
        from reprise.web.serving import Watched, remark
    except ModuleNotFoundError as error:
        raise click.ClickException(MISSING.format(error.name)) from error
    from reprise.config import host_and_port

    config = settings.config
    host, port = host_and_port(config.web.listen)
    listener = passed_listener(os.environ, (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX))
    if doubt := remark(config.web.listen, listener):
        log.warning(doubt)
    options = uvicorn.Config(
        app.create(config, settings.path),
        host=host.strip("[]"),
        port=port,
        http=Patient,
        proxy_headers=False,  # X-Forwarded-For, which anybody can write, would replace the peer's address
        ws="none",
        root_path=app.root_path(config),
        log_level="info",
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_REQUESTS,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=KEEP_ALIVE_S,
    )
    with contextlib.suppress(KeyboardInterrupt):
        Watched(options).run([listener] if listener else None)


@web.command()
@click.pass_obj
def token(settings: Settings) -> None:
    """Print a token that proves your identity, to sign in to the pages.

    Programs send it as `Authorization: Bearer TOKEN`. The matcher issues it for the user that the kernel or munge
    reports; it expires after `web.token_hours`.
    """
    from reprise.endpoint import configured
    from reprise.matcher.errors import MatcherError
    from reprise.matcher.wire.client import ask_in_order
    from reprise.matcher.wire.credentials import credential_settings
    from reprise.matcher.wire.protocol import VERSION

    config = settings.config
    refused = []
    for endpoint, reply in ask_in_order(
        configured(config.matcher),
        {"v": VERSION, "kind": "token"},
        matcher_uid=config.matcher.uid,
        credential=credential_settings(config.matcher),
        timeout_s=DAEMON_TIMEOUT_S,
    ):
        if reply.get("kind") == "token":
            click.echo(reply["token"])
            if sys.stdout.isatty():
                where = config.web.url or f"http://{config.web.listen}"
                click.echo(f"Valid for {config.web.token_hours:g} hours at {where}", err=True)
            return
        refused.append(f"{endpoint}: {reply.get('reason')}")
    raise MatcherError("no matcher issued a token: " + "; ".join(refused))
