# SPDX-License-Identifier: Apache-2.0
"""The tuner's exceptions. Each message is one line that names the thing, the cause and the remedy."""

from __future__ import annotations

from reprise.errors import RepriseError


class TunerError(RepriseError):
    """A campaign cannot go on."""


class ObjectiveError(TunerError):
    """A trial ran, but its output does not hold the objective; the trial is failed, the campaign goes on."""


class NotInEffectError(ObjectiveError):
    """A trial ran, and its settings were not in effect: jobs must not be given them, whatever else ran then."""


class CampaignFailedError(TunerError):
    """A campaign has no result and would have none if it were resumed; a trial that shows it is failed."""


class ProxyError(TunerError):
    """An application's proxy cannot be run or compared with it."""
