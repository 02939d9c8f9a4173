# SPDX-License-Identifier: Apache-2.0
"""The root of all exceptions of Reprise. Each message is one line that names the thing, the cause and the remedy."""

from __future__ import annotations


class RepriseError(Exception):
    """Reprise cannot do what was asked. The command line prints the message and exits with `exit_status`."""

    exit_status = 1


class PassedSocketError(RepriseError):
    """systemd passed a service something other than the one listening socket that it expects."""
