# SPDX-License-Identifier: Apache-2.0
"""Campaigns for tests of reports, written to a database trial by trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reprise.database.entities import Campaign, CampaignState, Measurement, Record, Scope, Trial, TrialRole, TrialState
from reprise.database.facade import Database
from reprise.tuner.report import campaign_overview
from tests.unit.tuner_site import Site

BEGUN = 1_000_000.0  # Unix time at which campaigns of `Site.begin` begin
DEFAULT = {"size": 0, "kind": "a"}


@dataclass
class Written:
    """A campaign whose trials end one after the other, each after 10 s on 4 nodes."""

    site: Site
    number: int
    ended: int = 0
    numbers: dict[str, int] = field(default_factory=dict)

    def trial(
        self,
        role: TrialRole,
        point: Mapping[str, Any],
        value: float | None,
        problem: str = "p/1",
        state: TrialState | None = None,
        message: str = "",
        **changes: Any,
    ) -> None:
        self.ended += 1
        number = self.numbers[problem] = self.numbers.get(problem, -1) + 1
        at = BEGUN + 20.0 * self.ended
        state = state or (TrialState.FAILED if value is None else TrialState.COMPLETE)
        given = {
            "state": state,
            "value": value,
            "message": message,
            "started_at": at - 10,
            "ended_at": at,
            "nodes": 4,
            "elapsed_s": 10.0,
            "ordinal": self.ended,
        }
        with Database.open(self.site.config.database.path) as database:
            database.add_trial(Trial(self.number, problem, number, role, point, **{**given, **changes}))

    def compared(self, pairs: list[tuple[float, float]], winner: Mapping[str, Any], problem: str = "p/1") -> None:
        for first, second in pairs:
            self.trial(TrialRole.FINAL_DEFAULT, DEFAULT, first, problem)
            self.trial(TrialRole.FINAL_TUNED, winner, second, problem)

    def end(self, state: CampaignState, **summary: Any) -> None:
        with Database.open(self.site.config.database.path) as database:
            database.set_campaign_state(self.number, state, summary)

    def publish(self, gain: tuple[float, float, float], parametrization: Mapping[str, Any], **summary: Any) -> None:
        measured = Measurement(1.0, 0.9, 1.1, 3)
        context, given = {"cluster": "testing"}, (parametrization, {"SRO_SIZE": "4"}, (), measured, measured)
        record = Record("fake", "1", Scope.APPLICATION, BEGUN, context, {"user": "alice"}, *given, *gain)
        with Database.open(self.site.config.database.path) as database:
            database.publish(record, None, campaign_id=self.number, summary=summary)

    @property
    def campaign(self) -> Campaign:
        return self.site.read(lambda database: database.campaign(self.number))  # type: ignore[no-any-return]

    def described(self, now: float = BEGUN + 3600) -> dict[str, Any]:
        """Return the campaign's description, from which reports are made."""
        site = self.site
        return site.read(  # type: ignore[no-any-return]
            lambda database: campaign_overview.describe(database, self.campaign, site.config, now, detailed=True)
        )


def written(site: Site, **changes: Any) -> Written:
    """Return a campaign that has just begun."""
    return Written(site, site.begin(**changes))


def searched(site: Site, **changes: Any) -> Written:
    """Return a campaign with every kind of search trial for its first problem, and no trial for its second problem."""
    found = written(site, **changes)
    for value in (2.0, 2.1, 1.9):
        found.trial(TrialRole.DEFAULT, DEFAULT, value)
    found.trial(TrialRole.SEARCH, {"size": 4, "kind": "c"}, 1.0)
    found.trial(TrialRole.SEARCH, {"size": 8, "kind": "a"}, 1.8)
    found.trial(TrialRole.SEARCH, {"size": 1, "kind": "b"}, None, message="exit status 139")
    found.trial(TrialRole.SEARCH, {"size": 2, "kind": "b"}, 3.0, state=TrialState.PRUNED, limit_s=10.0)
    found.trial(TrialRole.SEARCH, {"size": 4, "kind": "c"}, 1.2)
    found.trial(TrialRole.SEARCH, {"size": 8, "kind": "c"}, 1.4, elapsed_s=30.0)
    found.trial(TrialRole.SEARCH, {"size": 2, "kind": "a"}, None, state=TrialState.CANCELLED)
    return found


def complete(site: Site, of: Mapping[str, Any] | None = None, **changes: Any) -> Written:
    """Return a complete campaign that found better settings and published a record."""
    found = searched(site, **changes)
    found.compared([(2.0, 1.1), (2.2, 1.1), (2.1, 1.0)], {"size": 4, "kind": "c"})
    problem = {**found.described()["problems"][0], "stopped": "the budget of 8 trials is spent", "phase": "done"}
    del problem["best"]
    found.publish((0.49, 0.4, 0.57), of or {"size": 4}, problems=[problem], note="for jobs that load no module")
    return found
