# SPDX-License-Identifier: Apache-2.0
"""Exceptions of the matcher; each message is one line that names the thing, the cause and the remedy."""

from __future__ import annotations

from reprise.errors import RepriseError


class MatcherError(RepriseError):
    """The matcher cannot do what was requested."""


class ProtocolError(MatcherError):
    """A frame or message violates docs/reference/protocol.md. The daemon replies with an error and disconnects."""


class ServiceError(MatcherError):
    """The daemon cannot start, or cannot be reached."""


class DaemonUnreachableError(ServiceError):
    """No daemon answered on the socket or TCP address."""

    exit_status = 4


class NothingKnownError(MatcherError):
    """The matcher has no information about the requested job."""

    exit_status = 3


class ArbiterError(MatcherError):
    """The description of a job, a curve or a pool of I/O forwarders is wrong."""


class CouncilError(MatcherError):
    """The council's settings, its stored knowledge or recorded metrics are wrong."""


class DetectorError(MatcherError):
    """The file of a detector of access patterns, or recorded features, are wrong."""
