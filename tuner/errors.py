# SPDX-License-Identifier: Apache-2.0
"""Exceptions of the tuner. Each message is one line that names the thing, the cause and the remedy."""

from __future__ import annotations

from reprise.errors import RepriseError


class TunerError(RepriseError):
    """A campaign cannot continue."""


class ObjectiveError(TunerError):
    """A trial ran, but its output lacks the objective: the trial has failed, the campaign continues."""


class NotInEffectError(ObjectiveError):
    """A trial ran, but its settings were not in effect: jobs must never get them, alone or with others."""


class CampaignFailedError(TunerError):
    """A campaign has no result, and resuming it would not help; a trial that shows this has failed."""


class ProxyError(TunerError):
    """An application's proxy cannot be run, or cannot be compared with the application."""
