# SPDX-License-Identifier: Apache-2.0
"""Test that a cluster's second campaign takes over the rules of the first, and that one proved file contains both."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from reprise.config import Config
from reprise.database.entities import Campaign, CampaignState, Record, RecordStatus, Scope
from reprise.database.facade import Database
from reprise.database.gain_subject import is_withdrawn, subject
from reprise.tuner.campaign.publish import finish, given_already
from reprise.tuner.definition.campaign_definition import check
from reprise.tuner.errors import TunerError
from reprise.tuner.model.component import Comparison, Published, Runner, TrialOutput, TrialPlan
from reprise.tuner.openmpi.collectives_component import CollectivesComponent
from reprise.tuner.openmpi.collectives_settings import read as read_settings
from tests.unit.collectives_values import BUILD, comparison, decision, open_mpi
from tests.unit.database_values import record as any_record

NAME = "openmpi-collectives"
SITE = {"site": {"cluster": "test"}}
DEFINITION = check(
    {
        "name": "x",
        "component": NAME,
        "scope": "cluster",
        "settings": {"collectives": ["bcast"], "sizes": [4], "nodes": 4},
    },
    "test",
)


def make(config: dict[str, Any] | None = None, **settings: Any) -> CollectivesComponent:
    checked = read_settings({}, {"collectives": ["bcast"], "sizes": [4096, 65536], "nodes": 4, **settings})
    return CollectivesComponent(NAME, "1", checked, BUILD, Config.model_validate({**SITE, **(config or {})}))


class Cluster:
    """A cluster: a database, a directory for artifacts, and a clock. A test states its campaigns' results."""

    def __init__(self, place: Path) -> None:
        self.directory = place / "artifacts"
        self.path = place / "reprise.db"
        self.now = 1.7e9
        Database.open(self.path, create=True).close()

    def campaign(self, made: CollectivesComponent, *found: Comparison, run: Runner | None = None) -> list[Record]:
        """Return the records of a new campaign, which takes over the cluster's active records."""
        self.now += 1
        context = {"cluster": "test", **made.context()}
        spec = {"metadata": {}, "problems": [{"problem": problem.key} for problem in made.problems()]}
        with Database.open(self.path) as database:
            campaign = Campaign("x", NAME, "1", self.now, spec, context)
            campaign = dataclasses.replace(campaign, id=database.add_campaign(campaign))
            earlier = given_already(database, NAME)
            publications = made.publish_with(earlier, found, run or open_mpi(), self.directory)
            numbers = finish(database, campaign, DEFINITION, [], publications, self.now, (), earlier)
            return [database.record(number) for number in numbers]

    def active(self) -> list[int]:
        with Database.open(self.path) as database:
            return [record.id for record in database.records()]

    def change(self, record: Record, **changes: Any) -> Record:
        """Replace a record with a changed copy, as another release would have written it, and return the copy."""
        with Database.open(self.path) as database:
            database.set_record_status(record.id, RecordStatus.RETIRED, at=self.now)
            return database.record(database.add_record(dataclasses.replace(record, **changes)))


@pytest.fixture
def cluster(place: Path) -> Iterator[Cluster]:
    yield Cluster(place)


def text_of(record: Record) -> str:
    return Path(record.environment["OMPI_MCA_coll_tuned_dynamic_rules_filename"]).read_text()


def algorithms(record: Record, collective: str, *sizes: int, ranks: int = 4) -> list[int]:
    return [decision(text_of(record), collective, ranks, size).algorithm for size in sizes]


def test_rules_of_two_collectives_are_both_in_effect_and_proved_together(cluster: Cluster) -> None:
    (first,) = cluster.campaign(make(), comparison("bcast/4096", 6, 0.5, 0.4, 0.6))
    probed: list[str] = []

    def run(plan: TrialPlan) -> TrialOutput:
        probed.extend(plan.argv[1:])
        return open_mpi()(plan)

    found = comparison("allreduce/65536", 3, 0.4, 0.3, 0.5)
    (second,) = cluster.campaign(make(collectives=["allreduce"]), found, run=run)
    assert algorithms(second, "bcast", 4096, 65535, 65536) == [6, 6, 0]
    assert algorithms(second, "allreduce", 4096, 65536) == [0, 3]
    assert {call.split(":")[0] for call in probed} == {"bcast", "allreduce"}, "one proof covers both collectives"
    assert cluster.active() == [second.id]
    assert text_of(second).count(f"with the rules of record {first.id}") == 1
    assert math.isclose(second.gain, 1 - math.sqrt(0.5 * 0.6)) and second.default.n == 10
    assert subject(second.parametrization) == "allreduce of 64 KiB and bcast of 4 KiB in a benchmark"
    with Database.open(cluster.path) as database:
        (retired,) = database.records(status=RecordStatus.RETIRED)
        summary = database.campaign(second.campaign_id or 0).summary
    assert retired.status_reason == f"its settings are among those of record {second.id}"
    assert summary["note"] == f"with the rules of record {first.id}"


def test_each_size_has_the_choice_of_the_newest_campaign_that_measured_it(cluster: Cluster) -> None:
    cluster.campaign(
        make(sizes=[1024, 4096, 65536]),
        comparison("bcast/1024", 6, 0.5, 0.4, 0.6),
        comparison("bcast/65536", 4, 0.5, 0.4, 0.6),
    )
    (second,) = cluster.campaign(
        make(sizes=[16384, 65536]),
        comparison("bcast/16384", 3, 0.5, 0.4, 0.6),
        comparison("bcast/65536", 4, 0.1, -0.1, 0.2),
    )
    assert algorithms(second, "bcast", 1024, 4096, 16384, 65536) == [6, 0, 3, 0]
    assert second.parametrization["measured"] == {"bcast": [1024, 4096, 16384, 65536]}
    (third,) = cluster.campaign(make(collectives=["allreduce"]), comparison("allreduce/4096", 3, 0.2, 0.1, 0.3))
    assert algorithms(third, "bcast", 1024, 4096, 16384, 65536) == [6, 0, 3, 0], (
        "choices from a file that is itself merged"
    )
    assert math.isclose(third.gain, 1 - (0.5 * 0.5 * 0.8) ** (1 / 3))
    of = {row["problem"]: row.get("record") for row in third.parametrization["rules"] if row["applied"]}
    assert of == {"allreduce/4096": None, "bcast/16384": second.id, "bcast/1024": 1}


def test_other_numbers_of_nodes_and_tasks_have_a_separate_file(cluster: Cluster) -> None:
    (four,) = cluster.campaign(make(), comparison("bcast/4096", 6, 0.5, 0.4, 0.6))
    (eight,) = cluster.campaign(make(nodes=8), comparison("bcast/4096", 3, 0.5, 0.4, 0.6))
    assert cluster.active() == [four.id, eight.id]
    assert algorithms(eight, "bcast", 4096, ranks=8) == [3] and algorithms(four, "bcast", 4096) == [6]
    both = make(nodes=[4, 8], collectives=["allreduce"])
    found = [comparison(f"{nodes}x1/allreduce/4096", 3, 0.2, 0.1, 0.3) for nodes in (4, 8)]
    of_four, of_eight = cluster.campaign(both, *found)
    assert cluster.active() == [of_four.id, of_eight.id]
    assert algorithms(of_four, "bcast", 4096) == [6] and algorithms(of_eight, "bcast", 4096, ranks=8) == [3]
    assert algorithms(of_eight, "allreduce", 4096, ranks=8) == [3]


def test_a_campaign_that_finds_nothing_leaves_the_active_record(cluster: Cluster) -> None:
    (first,) = cluster.campaign(make(), comparison("bcast/4096", 6, 0.5, 0.4, 0.6))
    assert not cluster.campaign(make(collectives=["allreduce"]), comparison("allreduce/4096", 3, 0.2, -0.1, 0.3))
    assert cluster.active() == [first.id]


def older(record: Record, **changes: Any) -> dict[str, Any]:
    """Return a record's parametrization as older releases wrote it, without the runs and the measured sizes."""
    rows = [
        {key: value for key, value in row.items() if key not in ("default", "tuned")}
        for row in record.parametrization["rules"]
    ]
    return {"rules": [{**row, **changes} for row in rows], "proof": record.parametrization["proof"]}


def test_records_of_older_releases_are_taken_over_by_the_problems_of_their_campaigns(cluster: Cluster) -> None:
    (first,) = cluster.campaign(
        make(sizes=[1024, 4096, 65536]),
        comparison("bcast/1024", 6, 0.5, 0.4, 0.6),
        comparison("bcast/65536", 4, 0.5, 0.4, 0.6),
    )
    old = cluster.change(first, parametrization=older(first))
    (second,) = cluster.campaign(make(collectives=["allreduce"]), comparison("allreduce/4096", 3, 0.5, 0.4, 0.6))
    assert algorithms(second, "bcast", 1024, 4096, 65536) == [6, 0, 4], "4096 was measured and has no rule"
    assert cluster.active() == [second.id] and old.id != second.id
    whole = second.default
    assert math.isclose(whole.mean, 1.0) and math.isclose(whole.high, first.default.high, rel_tol=0.05)
    assert whole.n == 15 and math.isclose(second.gain, 0.5)
    assert not is_withdrawn(subject(first.parametrization)) and is_withdrawn(subject(old.parametrization))
    assert is_withdrawn(subject(second.parametrization)), "part of the gain was measured by the withdrawn method"
    (third,) = cluster.campaign(
        make(sizes=[1024, 65536]),
        comparison("bcast/1024", 6, 0.5, 0.4, 0.6),
        comparison("bcast/65536", 4, 0.5, 0.4, 0.6),
    )
    assert not is_withdrawn(subject(third.parametrization)), "the whole gain was measured again"


def test_rules_of_two_active_files_of_older_releases_are_both_taken_over(cluster: Cluster) -> None:
    (first,) = cluster.campaign(make(), comparison("bcast/4096", 6, 0.5, 0.4, 0.6))
    cluster.change(first)
    with Database.open(cluster.path) as database:
        (hidden,) = database.records()
        database.set_record_status(hidden.id, RecordStatus.RETIRED, at=1.0)
    (second,) = cluster.campaign(make(collectives=["allreduce"]), comparison("allreduce/4096", 3, 0.5, 0.4, 0.6))
    with Database.open(cluster.path) as database:
        database.set_record_status(hidden.id, RecordStatus.ACTIVE, at=2.0)
    (third,) = cluster.campaign(make(collectives=["alltoall"]), comparison("alltoall/4096", 2, 0.5, 0.4, 0.6))
    assert algorithms(third, "bcast", 4096) == [6] and algorithms(third, "allreduce", 4096) == [3]
    assert algorithms(third, "alltoall", 4 * 4096) == [2] and cluster.active() == [third.id] != [second.id]


def published(record: Record, *problems: str) -> Sequence[Published]:
    return [Published(record, problems)]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"algorithm": 77}, "this Open MPI has no binomial that is safe for every job"),
        ({"algorithm_name": "another"}, "this Open MPI has no another that is safe for every job"),
        ({"problem": "bcast/8"}, "the sizes that its campaign measured are unknown"),
        ({"problem": "bcast"}, "its table cannot be read"),
        ({"problem": 3}, "its table cannot be read"),
    ],
)
def test_rules_that_cannot_be_taken_over_are_refused_before_anything_is_run(
    cluster: Cluster, changes: dict[str, Any], why: str
) -> None:
    (first,) = cluster.campaign(make(), comparison("bcast/4096", 6, 0.5, 0.4, 0.6))
    strange = dataclasses.replace(first, parametrization=older(first, **changes))
    with pytest.raises(TunerError, match=why) as refused:
        make(collectives=["allreduce"]).check_earlier(published(strange, "bcast/4096"))
    assert f"reprise records retire {first.id}" in str(refused.value) and "\n" not in str(refused.value)
    make(nodes=8).check_earlier(published(strange, "bcast/4096"))  # no error for another number of nodes


def test_rules_that_jobs_are_no_longer_given_are_not_taken_over(cluster: Cluster) -> None:
    (first,) = cluster.campaign(make(), comparison("bcast/4096", 6, 0.5, 0.4, 0.6))
    other = cluster.change(first, context={**first.context, "openmpi": ["4.1.0"]})
    (second,) = cluster.campaign(make(collectives=["allreduce"]), comparison("allreduce/4096", 3, 0.2, 0.1, 0.3))
    assert algorithms(second, "bcast", 4096) == [0]
    assert cluster.active() == [other.id, second.id]


def test_rules_that_hold_for_some_releases_only_leave_the_others_out(cluster: Cluster) -> None:
    (first,) = cluster.campaign(make(), comparison("bcast/4096", 6, 0.5, 0.4, 0.6))
    assert first.context["openmpi"] == ["4.1.4"]
    releases = {"openmpi": {"releases": ["4.1.4"]}}
    (second,) = cluster.campaign(
        make(releases, collectives=["allreduce"]), comparison("allreduce/4096", 3, 0.2, 0.1, 0.3)
    )
    assert second.context["openmpi"] == ["4.1.4"]
    several = cluster.change(second, context={**second.context, "openmpi": ["4.1.4", "4.1.6"]})
    (third,) = cluster.campaign(
        make({"openmpi": {"releases": ["4.1.4", "4.1.6"]}}, collectives=["alltoall"]),
        comparison("alltoall/4096", 2, 0.2, 0.1, 0.3),
    )
    assert third.context["openmpi"] == ["4.1.4", "4.1.6"] and cluster.active() == [third.id] != [several.id]


def test_a_campaign_overtaken_by_another_writes_nothing_until_it_is_resumed(cluster: Cluster) -> None:
    made = make(collectives=["allreduce"])
    found = made.publish_with((), [comparison("allreduce/4096", 3, 0.2, 0.1, 0.3)], open_mpi(), cluster.directory)
    cluster.campaign(make(), comparison("bcast/4096", 6, 0.5, 0.4, 0.6))
    with Database.open(cluster.path) as database:
        spec: dict[str, Any] = {"metadata": {}, "problems": []}
        number = database.add_campaign(Campaign("x", NAME, "1", 1.0, spec, {"cluster": "test"}))
        with pytest.raises(TunerError, match=f"meantime: include it with `reprise tune resume {number}`"):
            finish(database, database.campaign(number), DEFINITION, [], found, 2.0, (), ())
        assert database.campaign(number).state is CampaignState.RUNNING
    assert len(cluster.active()) == 1


def test_records_of_applications_are_not_taken_over(cluster: Cluster) -> None:
    with Database.open(cluster.path) as database:
        database.add_record(any_record(component=NAME, campaign_id=None, artifact_sha256=None))
        database.add_record(
            any_record(
                component=f"{NAME}+sro", scope=Scope.CLUSTER, metadata={}, campaign_id=None, artifact_sha256=None
            )
        )
        assert given_already(database, NAME) == []


def test_a_proof_of_the_merged_file_that_fails_publishes_nothing(cluster: Cluster) -> None:
    (first,) = cluster.campaign(make(), comparison("bcast/4096", 6, 0.5, 0.4, 0.6))

    def blind(plan: TrialPlan) -> TrialOutput:
        return open_mpi(lambda _: {})(plan)

    with pytest.raises(TunerError, match="not in effect as written"):
        cluster.campaign(make(collectives=["allreduce"]), comparison("allreduce/4096", 3, 0.2, 0.1, 0.3), run=blind)
    assert cluster.active() == [first.id]
