# SPDX-License-Identifier: Apache-2.0
"""Decision about a job that is not submitted. The decision is neither logged nor counted in a hold-out block."""

from __future__ import annotations

import dataclasses
import time

from reprise.database.for_support import SupportDatabase
from reprise.matcher.decision.decide import Knowledge, Question, decide
from reprise.matcher.decision.guards import Policy
from reprise.matcher.support import job_story
from reprise.matcher.support.explanation import NOT_LOGGED
from reprise.matcher.support.job_story import Story


def imagined(database: SupportDatabase, question: Question, known: Knowledge, policy: Policy) -> Story:
    """Return the decision on a question, with the database records to which it refers."""
    begun = time.perf_counter()
    made = decide(question, known, policy, NOT_LOGGED)
    decision = dataclasses.replace(made, elapsed_ms=(time.perf_counter() - begun) * 1e3)
    return job_story.of_decisions(database, [decision], known.engine.model)
