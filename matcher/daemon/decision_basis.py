# SPDX-License-Identifier: Apache-2.0
"""The basis of decisions: the configuration, model, policy and records that were last loaded."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence

from reprise.config import Config
from reprise.database.entities import RecordText
from reprise.eventlog import line
from reprise.matcher.daemon import garbage_pauses, record_loaders
from reprise.matcher.decision.configured import knowledge_of, model_of, policy_of
from reprise.matcher.decision.known_records import readable
from reprise.matcher.linkage.engine import Engine

log = logging.getLogger(__name__)

INLINE_LIMIT_MS = 5.0  # a linkage that takes longer than this runs in a thread, so that others are served meanwhile
LINKAGES = 5  # linkages that are timed; the fastest counts: the first is slow, and others may be by chance


class Basis:
    """The basis of decisions; the configuration is loaded at construction and on every `reload`.

    `inline`: whether a linkage is short enough to run in the event loop.
    """

    def __init__(self, load_config: Callable[[], Config]) -> None:
        self._load_config = load_config
        self.inline = True
        self.reload()
        self.knowledge = knowledge_of((), self._model, self.config)

    def reload(self) -> None:
        """Read configuration and model again; the model takes effect with the next `use_records`.

        Raises ConfigError or LinkageError; nothing changes then.
        """
        config = self._load_config()
        self._model, self.policy, self.config = model_of(config), policy_of(config), config

    def use_records(self, changed: Iterable[RecordText], gone: Sequence[int] = (), *, all_of_them: bool = True) -> None:
        """Take changed records and forget those with the ids `gone`, in the journal's thread.

        With `all_of_them`, `changed` replaces all records, and a new model takes effect. Requests use the old records
        until that is done.
        """
        with garbage_pauses.ignored():
            if all_of_them:
                self.knowledge = knowledge_of(changed, self._model, self.config)
            else:
                self.knowledge.change(readable(changed), gone)
        self._time_linkage()

    def load_records(self) -> int | None:
        """Load all records with several processes, and return the number of the last change that they include.

        Returns None, having loaded nothing, if that does not pay or is impossible.
        """
        plan = record_loaders.plan(self.config.database.path)
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
    """Return the milliseconds that a linkage takes undisturbed."""
    latest = engine.latest()
    if latest is None:
        return 0.0
    took = []
    for _ in range(LINKAGES):
        begun = time.perf_counter()
        engine.link(latest.metadata)
        took.append(time.perf_counter() - begun)
    return min(took) * 1e3
