# SPDX-License-Identifier: Apache-2.0
"""Exceptions of the tuner. Each message is one line that names the affected thing, the cause and the remedy."""

from __future__ import annotations

from reprise.errors import RepriseError


class TunerError(RepriseError):
    """A campaign cannot continue."""


class ObjectiveError(TunerError):
    """The output of a trial lacks the objective: the trial has failed, and the campaign continues."""


class NotInEffectError(ObjectiveError):
    """The settings of a trial were not in effect: jobs must not get them, alone or combined with others."""


class CampaignFailedError(TunerError):
    """A campaign cannot have a result, even if it is resumed; if a trial shows this, the trial has failed."""


class ProxyError(TunerError):
    """An application's proxy cannot be run, or cannot be compared with the application."""
