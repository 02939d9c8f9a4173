# SPDX-License-Identifier: Apache-2.0
"""Database methods for the daemon: records, decisions, outcomes, and the exchange between hosts."""

from __future__ import annotations

from reprise.database.campaign_progress import CampaignProgress
from reprise.database.comparisons import Comparisons
from reprise.database.decisions import Decisions
from reprise.database.forwarding import Forwarding
from reprise.database.job_patterns import JobPatterns
from reprise.database.outcomes import Outcomes
from reprise.database.records import Records
from reprise.database.replicas import Replicas
from reprise.database.service_runs import ServiceRuns
from reprise.database.upkeep import Upkeep


class DaemonDatabase(
    Records,
    Decisions,
    Comparisons,
    Outcomes,
    CampaignProgress,
    ServiceRuns,
    Forwarding,
    JobPatterns,
    Replicas,
    Upkeep,
):
    """The database with the methods that the daemon needs; open it with `DaemonDatabase.open(path)`."""
