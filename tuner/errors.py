# SPDX-License-Identifier: Apache-2.0
"""Exceptions of the tuner. Each message is one line that names what failed, the cause and the remedy."""

from __future__ import annotations

from reprise.errors import RepriseError


class TunerError(RepriseError):
    """A campaign cannot continue."""


class ObjectiveError(TunerError):
    """The output of a trial lacks the objective, so the trial has failed; the campaign continues."""


class NotInEffectError(ObjectiveError):
    """The settings of a trial were not in effect, so jobs must not get them, alone or combined with other settings."""


class CampaignFailedError(TunerError):
    """A campaign cannot have a result, even if it is resumed; a trial that raises this error has failed."""


class ProxyError(TunerError):
    """An application's proxy cannot be run, or cannot be compared with the application."""
