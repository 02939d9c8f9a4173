# SPDX-License-Identifier: Apache-2.0
"""Test that campaigns, trials, records and artifacts are read back unchanged, and that invalid values are refused."""

from __future__ import annotations

import dataclasses
import math
import types
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from reprise.database import Database, NotFoundError, errors
from reprise.database.entities import (
    CampaignState,
    Measurement,
    Record,
    RecordProfile,
    RecordStatus,
    Scope,
    TrialState,
)
from reprise.database.masked_json import masked_json
from reprise.database.records import RECORD
from reprise.database.secret_masking import masked_text
from tests.examples import PATIENT, examples
from tests.unit.database_values import ON_SQLITE, SHA, artifact, campaign, record, trial

plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
documents = st.dictionaries(
    st.text(),
    st.recursive(plain, lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(), part, max_size=3)),
)


@settings(max_examples=examples(60), suppress_health_check=[*PATIENT, HealthCheck.function_scoped_fixture])
@given(spec=documents, name=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_json_document_is_read_back_unchanged(database: Database, spec: dict[str, Any], name: str) -> None:
    assume(masked_json(spec) == spec and masked_text(name) == name)  # skip documents with secrets, such as a key `Psw`
    number = database.add_campaign(campaign(spec=spec, name=name))
    if database.name != database.path:  # PostgreSQL stores no NUL in text
        name = name.replace("\0", "\N{REPLACEMENT CHARACTER}")
    assert database.campaign(number) == campaign(spec=spec, name=name, id=number)


@pytest.mark.parametrize("spec", [{"a": math.nan}, {"a": math.inf}, {"a": {1, 2}}, {"a": b"x"}])
def test_values_that_are_not_json_are_refused(database: Database, spec: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidValueError, match=r"campaign\.spec"):
        database.add_campaign(campaign(spec=spec))
    assert database.campaigns() == []


def test_a_campaigns_keys_stay_in_the_order_of_its_file(database: Database) -> None:
    """The order matters because a parameter may depend on the value of an earlier parameter."""
    spec = types.MappingProxyType({"b": (1, 2), "a": "ä"})
    number = database.add_campaign(campaign(spec=spec))
    assert database._read("SELECT spec FROM campaign")[0][0] == '{"b":[1,2],"a":"\\u00e4"}'
    assert list(database.campaign(number).spec) == ["b", "a"]


def test_json_is_canonical_elsewhere(database: Database) -> None:
    number = database.add_campaign(campaign())
    database.add_trial(trial(campaign_id=number, parametrization=types.MappingProxyType({"b": (1, 2), "a": "ä"})))
    assert database._read("SELECT parametrization FROM trial")[0][0] == '{"a":"\\u00e4","b":[1,2]}'


@pytest.mark.parametrize(
    "changes",
    [
        {"name": None},
        {"name": "\udcff"},
        {"state": "resting"},
        {"created_at": math.nan},
        {"spec": [1]},
        {"name": object()},
    ],
)
def test_bad_campaigns_are_refused_in_one_line(database: Database, changes: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidValueError) as caught:
        database.add_campaign(campaign(**changes))
    assert "\n" not in str(caught.value)
    assert database.campaigns() == []


def test_the_state_and_summary_of_a_campaign_are_updated(database: Database) -> None:
    number = database.add_campaign(campaign())
    database.set_campaign_state(number, CampaignState.STOPPED, {"why": "asked"})
    database.set_campaign_state(number, CampaignState.RUNNING)
    assert database.campaign(number) == campaign(id=number, summary={"why": "asked"})


def test_campaigns_come_newest_first(database: Database) -> None:
    numbers = [database.add_campaign(campaign()) for _ in range(3)]
    assert [found.id for found in database.campaigns()] == numbers[::-1]


def test_a_trial_is_updated_from_planned_to_complete(database: Database) -> None:
    number = database.add_campaign(campaign())
    planned = trial(number)
    running = dataclasses.replace(planned, id=database.add_trial(planned), state=TrialState.RUNNING, slurm_job_id=9)
    database.update_trial(running)
    done = dataclasses.replace(running, state=TrialState.COMPLETE, value=0.5, samples=(0.4, 0.6), ended_at=3.0)
    database.update_trial(done)
    assert database.trials(number) == [done]


def test_trials_are_selected_by_problem(database: Database) -> None:
    number = database.add_campaign(campaign())
    database.add_trial(trial(number))
    database.add_trial(trial(number, problem="bcast/8"))
    assert [found.problem for found in database.trials(number, "bcast/8")] == ["bcast/8"]
    assert [found.problem for found in database.trials(number)] == ["bcast/65536", "bcast/8"]


@pytest.mark.parametrize(
    "changes",
    [
        {"campaign_id": 99},
        {"number": -1},
        {"state": TrialState.COMPLETE, "value": None},
        {"state": TrialState.COMPLETE, "value": math.nan},
        {"samples": (math.inf,)},
    ],
)
def test_bad_trials_are_refused(database: Database, changes: dict[str, Any]) -> None:
    number = database.add_campaign(campaign())
    with pytest.raises(errors.InvalidValueError):
        database.add_trial(dataclasses.replace(trial(number), **changes))
    assert database.trials(number) == []


def test_two_trials_cannot_have_one_number(database: Database) -> None:
    number = database.add_campaign(campaign())
    database.add_trial(trial(number))
    with pytest.raises(errors.InvalidValueError, match=r"UNIQUE|unique"):
        database.add_trial(trial(number))


def test_a_record_with_all_values_is_read_back(database: Database) -> None:
    campaign_id = database.add_campaign(campaign())
    database.add_artifact(artifact())
    given_record = record(campaign_id=campaign_id, artifact_sha256=SHA)
    number = database.add_record(given_record)
    assert database.record(number) == dataclasses.replace(given_record, id=number)


@pytest.mark.parametrize(
    "changes",
    [
        {"artifact_sha256": SHA},
        {"campaign_id": 99},
        {"default": Measurement(1.0, 0.9, 1.1, 0)},
        {"default": Measurement(1.0, 1.1, 0.9, 3, "ms")},
        {"default": Measurement(1.0, 0.9, 1.1, 3, "s")},
        {"tuned": Measurement(math.nan, 0.9, 1.1, 3, "ms")},
        {"gain_low": 0.9, "gain_high": 0.1},
        {"scope": Scope.CLUSTER},
    ],
)
def test_bad_records_are_refused(database: Database, changes: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidValueError):
        database.add_record(record(**changes))
    assert database.records(status=None) == []


def test_records_are_selected_by_status_and_component(database: Database) -> None:
    first = database.add_record(record())
    second = database.add_record(record(component="romio"))
    database.set_record_status(first, RecordStatus.QUARANTINED, at=1.0)
    assert [found.id for found in database.records()] == [second]
    assert [found.id for found in database.records(status=None)] == [first, second]
    assert [found.id for found in database.records(status=RecordStatus.QUARANTINED)] == [first]
    assert database.records(component="openmpi") == []


def free(**changes: Any) -> Record:
    """Return a record that belongs to no campaign."""
    return record(campaign_id=None, artifact_sha256=None, **changes)


def taken(database: Database, since: int | None) -> tuple[list[int], list[int], bool, int] | None:
    """Return ids of changed and of deleted records, whether every record is listed, and the last change's number."""
    changes = database.record_changes(since)
    if changes is None:
        return None
    return [one.id for one in changes.changed], list(changes.gone), changes.all_of_them, changes.number


def test_a_records_text_equals_its_row(database: Database) -> None:
    number = database.add_record(free())
    (text,) = database.record_texts()
    row = RECORD.encode(free(id=number))
    added = {"quarantined_for": "[]", "subject": "[null,null]", "io_kinds": "[null,null]"}
    assert text._asdict() == {**{name: row.get(name, number) for name in text._fields}, **added}


def test_only_changed_records_are_returned_again(database: Database) -> None:
    assert taken(database, None) == ([], [], True, 0)
    assert taken(database, 0) is None
    first, second = (database.add_record(free()) for _ in range(2))
    assert taken(database, None) == ([first, second], [], True, 2)
    assert taken(database, 2) is None
    database.set_record_status(second, RecordStatus.QUARANTINED, at=1.0)
    database.set_record_status(second, RecordStatus.ACTIVE, at=1.0)
    assert taken(database, 2) == ([second], [], False, 4)
    with database._write() as connection:
        connection.execute("DELETE FROM record WHERE id = ?", (first,))
        connection.execute("UPDATE record SET id = 9 WHERE id = ?", (second,))
    assert taken(database, 4) == ([9], [first, second], False, 7)


def test_a_reader_that_missed_deleted_changes_reads_all_records(database: Database) -> None:
    first = database.add_record(free())
    with database._write() as connection:
        if database.name == database.path:
            connection.execute("UPDATE sqlite_sequence SET seq = 99999 WHERE name = 'record_change'")
        else:
            connection.execute("ALTER TABLE record_change ALTER id RESTART WITH 100000")
        connection.execute("UPDATE record SET gain = gain")
    assert taken(database, 1) == ([first], [], False, 100_000), "the first record's change is still logged"
    assert taken(database, 0) == ([first], [], False, 100_000)
    second = database.add_record(free())
    assert database._read("SELECT min(id), count(*) FROM record_change")[0][:] == (100_000, 2)
    assert taken(database, 99_999) == ([first, second], [], False, 100_001)
    assert taken(database, 99_998) == ([first, second], [], True, 100_001)
    assert taken(database, 100_002) == ([first, second], [], True, 100_001), "a change number from another database"


def test_artifact_published_again_takes_the_new_path(database: Database) -> None:
    database.add_artifact(artifact())
    database.add_artifact(artifact(path="/srv/b", created_at=9.0))
    assert database.artifact(SHA) == artifact(path="/srv/b")


@pytest.mark.parametrize("sha256", ["", "A" * 64, "../" + "a" * 61])
def test_artifact_name_is_a_hash(database: Database, sha256: str) -> None:
    with pytest.raises(errors.InvalidValueError):
        database.add_artifact(artifact(sha256=sha256))


def test_publish_writes_record_artifact_and_campaign_together(database: Database) -> None:
    campaign_id = database.add_campaign(campaign())
    number = database.publish(record(), artifact(), campaign_id=campaign_id, summary={"gain": 0.79})
    assert database.record(number) == record(id=number, campaign_id=campaign_id, artifact_sha256=SHA)
    assert database.artifact(SHA) == artifact()
    assert database.campaign(campaign_id).state is CampaignState.COMPLETE
    assert database.campaign(campaign_id).summary == {"gain": 0.79}


def test_publish_that_fails_writes_nothing(database: Database) -> None:
    campaign_id = database.add_campaign(campaign())
    with pytest.raises(errors.InvalidValueError):
        database.publish(record(gain=math.nan), artifact(), campaign_id=campaign_id, summary={})
    assert database.campaign(campaign_id) == campaign(id=campaign_id)
    assert database.counts() == dict.fromkeys(database.counts(), 0) | {"campaign": 1}


def test_unknown_ids_are_named(database: Database) -> None:
    for call in (
        lambda: database.campaign(7),
        lambda: database.set_campaign_state(7, CampaignState.FAILED),
        lambda: database.update_trial(trial(1, id=7)),
        lambda: database.record(7),
        lambda: database.set_record_status(7, RecordStatus.RETIRED, at=1.0),
        lambda: database.publish(record(), None, campaign_id=7, summary={}),
    ):
        with pytest.raises(NotFoundError, match="with id 7"):
            call()
    with pytest.raises(NotFoundError, match=SHA):
        database.artifact(SHA)


@ON_SQLITE
def test_an_invalid_row_is_named(database: Database) -> None:
    number = database.add_record(record())
    with database._write() as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("UPDATE record SET context = 'not json'")
    with pytest.raises(errors.CorruptedError, match=f"row {number} of table record.*reprise db check"):
        database.records()


def test_only_the_newest_profile_of_a_record_is_kept(database: Database) -> None:
    number = database.add_record(record())
    assert database.profile(number) is None
    for at in (1.0, 2.0):
        database.set_profile(RecordProfile(number, at, f"{at:.0%} compute", {"version": 1, "shares": {"compute": at}}))
    kept = database.profile(number)
    assert kept and (kept.at, kept.summary, kept.document["shares"]) == (2.0, "200% compute", {"compute": 2.0})
    with pytest.raises(NotFoundError):
        database.set_profile(RecordProfile(9, 1.0, "", {}))
