# SPDX-License-Identifier: Apache-2.0
"""The base class of all Reprise exceptions; each message is one line that names the thing, the cause and the remedy."""

from __future__ import annotations


class RepriseError(Exception):
    """A request failed; the command line prints the message and exits with `exit_status`."""

    exit_status = 1


class PassedSocketError(RepriseError):
    """A service got something other than the one listening socket that it expects from systemd."""
