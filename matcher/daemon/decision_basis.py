# SPDX-License-Identifier: Apache-2.0
"""The configuration, the model, the policy and the records that decisions are made by, as they were loaded last."""

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
LINKAGES = 5  # that are timed for that: the first is slow, others may be by chance


class Basis:
    """Loads the configuration at first and on every `reload`. `inline`: whether a linkage is short enough to be made
    in the loop."""

    def __init__(self, load_config: Callable[[], Config]) -> None:
        self._load_config = load_config
        self.inline = True
        self.reload()
        self.knowledge = knowledge_of((), self._model, self.config)

    def reload(self) -> None:
        """Read configuration and model again; the model is used with the next `use_records`.

        Raises ConfigError or LinkageError and changes nothing then.
        """
        config = self._load_config()
        self._model, self.policy, self.config = model_of(config), policy_of(config), config

    def use_records(self, changed: Iterable[RecordText], gone: Sequence[int] = (), *, all_of_them: bool = True) -> None:
        """Take records, in the journal's thread; requests go on with what was known until that is done.

        With `all_of_them`, nothing is known of any before, and a new model is used.
        """
        with garbage_pauses.ignored():
            if all_of_them:
                self.knowledge = knowledge_of(changed, self._model, self.config)
            else:
                self.knowledge.change(readable(changed), gone)
        self._time_linkage()

    def load_records(self) -> int | None:
        """All records by several processes, as `use_records`; the number of the last change that is among them. None:
        that does not pay, or cannot be done, and nothing was.
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
    """How long a linkage takes when nothing else slows it down."""
    latest = engine.latest()
    if latest is None:
        return 0.0
    took = []
    for _ in range(LINKAGES):
        begun = time.perf_counter()
        engine.link(latest.metadata)
        took.append(time.perf_counter() - begun)
    return min(took) * 1e3
