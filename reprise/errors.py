# SPDX-License-Identifier: Apache-2.0
"""Base class of Reprise's exceptions, whose messages are one line with what failed, the cause and the remedy."""

from __future__ import annotations


class RepriseError(Exception):
    """A request failed. The command line prints the message and exits with `exit_status`."""

    exit_status = 1


class PassedSocketError(RepriseError):
    """Systemd passed to a service something other than the one listening socket that the service expects."""
