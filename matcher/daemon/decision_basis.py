# SPDX-License-Identifier: Apache-2.0
"""Data on which decisions are based: the most recently loaded configuration, linkage model, policy and records."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence

from reprise.config import Config
from reprise.database.entities import RecordText
from reprise.eventlog import line
from reprise.matcher.arbiter import job_variables
from reprise.matcher.daemon import garbage_pauses, record_loaders
from reprise.matcher.decision.configured import knowledge_of, model_of, policy_of
from reprise.matcher.decision.known_records import readable
from reprise.matcher.linkage.engine import Engine

log = logging.getLogger(__name__)

INLINE_LIMIT_MS = 5.0  # linkages that take longer than this run in a thread, so that other clients are served meanwhile
LINKAGES = 5  # number of linkages to time; only the fastest counts, since the first is always slow


class Basis:
    """The configuration, model, policy and records that decisions use.

    The configuration is loaded by the constructor and by `reload`. `inline` is True if a linkage is fast enough to run
    in the event loop.
    """

    def __init__(self, load_config: Callable[[], Config]) -> None:
        self._load_config = load_config
        self.inline = True
        self.reload()
        self.knowledge = knowledge_of((), self._model, self.config)

    def reload(self) -> None:
        """Reload configuration and model; the new model takes effect when `use_records` next loads all records.

        Raises ConfigError or LinkageError, and then changes nothing.
        """
        config = self._load_config()
        self._model, self.policy, self.config = model_of(config), policy_of(config), config

    def use_records(self, changed: Iterable[RecordText], gone: Sequence[int] = (), *, all_of_them: bool = True) -> None:
        """Replace changed records and remove the records with the ids `gone`. Called in the journal's thread.

        If `all_of_them` is True, `changed` contains all records, and a new model takes effect. Requests use the old
        records until this function has finished.
        """
        with garbage_pauses.ignored():
            if all_of_them:
                self.knowledge = knowledge_of(changed, self._model, self.config)
            else:
                forwarding = job_variables.of_jobs(self.config.forwarding)
                self.knowledge.change(readable(changed, forwarding), gone)
        self._time_linkage()

    def load_records(self) -> int | None:
        """Load all records with several processes; return the sequence number of the last record change that is loaded.

        Loads nothing and returns None if several processes would not be faster or cannot be started.
        """
        plan = record_loaders.plan(self.config.database.path, job_variables.of_jobs(self.config.forwarding))
        if plan is None:
            return None
        with garbage_pauses.ignored():
            knowledge = knowledge_of((), self._model, self.config)
            knowledge.take(plan.batches(knowledge.engine.prepare))
            self.knowledge = knowledge
        self._time_linkage()
        return plan.number

    def _time_linkage(self) -> None:
        engine = self.knowledge.engine
        took_ms = _linkage_ms(engine)
        self.inline = took_ms <= INLINE_LIMIT_MS
        count = len(self.knowledge)
        log.info(line("records", count=count, model=engine.model.label, linkage_ms=took_ms, inline=self.inline))


def _linkage_ms(engine: Engine) -> float:
    """Time several linkages and return the time of the fastest one in milliseconds; 0 without records."""
    latest = engine.latest()
    if latest is None:
        return 0.0
    took = []
    for _ in range(LINKAGES):
        begun = time.perf_counter()
        engine.link(latest.metadata)
        took.append(time.perf_counter() - begun)
    return min(took) * 1e3
