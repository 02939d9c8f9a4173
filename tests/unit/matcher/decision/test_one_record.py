# SPDX-License-Identifier: Apache-2.0
"""Test the choice of one record: a job never gets settings that were not measured together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprise.database.entities import Decision, Record, RecordStatus, Scope
from reprise.matcher.decision.decide import Question, decide
from reprise.matcher.decision.guards import Policy
from reprise.matcher.linkage.linkage_model import load
from reprise.matcher.submission import Script, Submission
from tests.unit.matcher_daemon import RULES, SCRIPT, job, knowing, record

MODEL = load("thesis", 0.7)
POLICY = Policy("test", openmpi=("4.1.4",))

OMPIO = {
    "component": "ompio",
    "environment": {"OMPI_MCA_io_ompio_num_aggregators": "4"},
    "conflicts": ["OMPI_MCA_io_ompio_num_aggregators", "OMPI_MCA_io", "OMPI_MCA_io_*", "OMPI_MCA_fcoll"],
}
ROMIO = {
    "component": "romio",
    "environment": {"OMPI_MCA_io": "^ompio", "ROMIO_HINTS": "/srv/hints"},
    "conflicts": ["OMPI_MCA_io", "ROMIO_HINTS", "OMPI_MCA_io_*", "ROMIO_*"],
}
SRO = {"component": "sro", "environment": {"SRO_CACHE": "4096"}, "conflicts": ["SRO_*"]}
JOINT = {
    "component": "romio+sro",
    "environment": {**ROMIO["environment"], **SRO["environment"]},  # type: ignore[dict-item]
    "conflicts": [*ROMIO["conflicts"], *SRO["conflicts"]],
}


def gaining(low: float, number: int, **changes: Any) -> Record:
    return record(id=number, gain=low + 0.02, gain_low=low, gain_high=low + 0.04, **changes)


def ask(*records: Record, script: str = SCRIPT, user: str = "root") -> Decision:
    submission = Submission(
        "sbatch", ("sbatch", "/home/alice/job.sh"), "/home/alice", {}, (), Script("/home/alice/job.sh", script)
    )
    question = Question(submission, user, 0, "submit", "on", 1.7e9)
    return decide(question, knowing(*records, model=MODEL), POLICY, "d-1")


def why(decision: Decision) -> Mapping[int, str]:
    return {row["record"]: row["why"] for row in decision.alternatives}


def test_a_gain_in_run_time_is_preferred_to_a_larger_gain_in_a_benchmark() -> None:
    rules = {"gain_of": "allreduce of 8 B in a benchmark"}
    decision = ask(gaining(0.4, 1, parametrization=rules, **OMPIO), gaining(0.1, 2, **SRO))
    assert (decision.record_id, decision.injected) == (2, SRO["environment"])


def test_a_job_is_not_given_the_settings_of_two_implementations_of_mpi_io() -> None:
    """A regression: an IOR job once got the settings of ompio and ROMIO together."""
    decision = ask(gaining(0.3, 1, **OMPIO), gaining(0.5, 2, **ROMIO))
    assert (decision.record_id, decision.injected) == (2, ROMIO["environment"])
    assert why(decision)[1] == "excludes the settings of record 2 (romio): both decide OMPI_MCA_io"
    assert "of romio, measured gain of the tuned job: 52% (at least 50%)" in decision.reason
    other = ask(gaining(0.5, 1, **OMPIO), gaining(0.3, 2, **ROMIO))
    assert (other.record_id, other.injected) == (1, OMPIO["environment"])
    assert "both decide" in why(other)[2]


def test_settings_never_measured_together_are_not_both_given_even_without_a_conflict() -> None:
    decision = ask(gaining(0.2, 1), gaining(0.1, 2, **SRO))
    assert (decision.record_id, decision.injected) == (1, RULES)
    assert why(decision) == {
        1: "",
        2: "was never measured together with record 1 (openmpi-collectives), which is preferred",
    }
    assert [row["used"] for row in decision.alternatives] == [True, False]


def test_the_record_with_the_largest_lower_bound_of_the_gain_is_given() -> None:
    for first, second in ((0.1, 0.2), (0.2, 0.1)):
        assert ask(gaining(first, 1), gaining(second, 2, **SRO)).record_id == (2 if second > first else 1)


def test_a_combination_is_one_record_and_gives_the_settings_of_all_its_components() -> None:
    decision = ask(gaining(0.3, 1, **ROMIO), gaining(0.2, 2, **SRO), gaining(0.4, 3, **JOINT))
    assert (decision.record_id, decision.injected) == (3, JOINT["environment"])
    assert "3 variables of romio, sro, measured gain of the tuned job: 42%" in decision.reason
    assert why(decision)[1] == "record 3 has settings of romio too, measured together with sro"


def test_a_component_that_gains_more_is_preferred_to_its_combination() -> None:
    decision = ask(gaining(0.5, 1, **ROMIO), gaining(0.4, 2, **JOINT))
    assert decision.record_id == 1
    assert why(decision)[2] == "record 1 is preferred: it gains at least 50.0%, this one 40.0%"


def test_a_variable_of_one_component_set_by_the_user_stops_the_whole_combination() -> None:
    script = SCRIPT.replace("mpirun", "export SRO_SIZE=1\nmpirun")
    decision = ask(gaining(0.4, 3, **JOINT), gaining(0.1, 1, **ROMIO), script=script)
    assert decision.record_id == 1 and "who sets SRO_SIZE" in why(decision)[3]


def test_gains_are_compared_only_among_records_of_the_nearest_job() -> None:
    other = job(script=SCRIPT.replace("/bin/lattice", "/bin/latticf")).to_json()
    decision = ask(gaining(0.1, 1, **SRO), gaining(0.8, 2, **ROMIO, metadata=other))
    scores = {row["record"]: row["score"] for row in decision.alternatives}
    assert scores[1] > scores[2] > MODEL.threshold
    assert decision.record_id == 1 and "never measured together with record 1 (sro)" in why(decision)[2]


def test_a_gain_on_another_number_of_nodes_is_not_compared() -> None:
    larger = job(script=SCRIPT.replace("--nodes=4", "--nodes=5")).to_json()
    assert ask(gaining(0.1, 1, **SRO), gaining(0.8, 2, **ROMIO, context={}, metadata=larger)).record_id == 1


def test_the_users_own_record_is_preferred_to_another_users_with_a_larger_gain() -> None:
    others = job("alice").to_json()
    assert ask(gaining(0.1, 1, **SRO), gaining(0.8, 2, **ROMIO, metadata=others)).record_id == 1


CLUSTER = {"scope": Scope.CLUSTER, "metadata": {}}


def test_the_clusters_rules_are_not_added_to_an_applications_record() -> None:
    """The trials behind the application's record ran without the cluster's rules."""
    decision = ask(gaining(0.1, 1, **SRO), gaining(0.8, 2, **CLUSTER))
    assert (decision.record_id, decision.injected) == (1, SRO["environment"])
    assert why(decision)[2] == "was never measured together with record 1 (sro), which is preferred"


def test_an_applications_record_that_was_measured_with_the_clusters_rules_gives_both() -> None:
    both = {"component": "openmpi-collectives+sro", "environment": {**RULES, **SRO["environment"]}}  # type: ignore[dict-item]
    decision = ask(gaining(0.1, 1, **both), gaining(0.8, 2, **CLUSTER))
    assert (decision.record_id, decision.injected) == (1, both["environment"])
    assert why(decision)[2] == "record 1 has settings of openmpi-collectives too, measured together with sro"


def test_the_clusters_rules_serve_where_no_record_of_the_application_does() -> None:
    quarantined = gaining(0.4, 1, **SRO, status=RecordStatus.QUARANTINED)
    assert ask(quarantined, gaining(0.3, 2, **CLUSTER)).record_id == 2


BENCHMARKED = {"rules": [{"problem": f"bcast/{size}", "applied": True} for size in (4096, 65536)]}


def test_a_record_of_a_withdrawn_method_is_given_with_an_unknown_gain() -> None:
    rows = [{**row, "default_s": 1.0, "tuned_s": 0.5} for row in BENCHMARKED["rules"]]
    decision = ask(gaining(0.41, 1, **CLUSTER, parametrization={"rules": rows}))
    assert decision.record_id == 1
    assert decision.reason.endswith(
        "unknown gain (measured for bcast of 4 and 64 KiB in a benchmark by a withdrawn method)"
    )


@pytest.mark.parametrize("changes", [CLUSTER, {}], ids=["the cluster's", "an application's"])
def test_a_gain_in_a_benchmark_is_not_promised_to_a_job(changes: dict[str, Any]) -> None:
    decision = ask(gaining(0.41, 1, **changes, parametrization=BENCHMARKED))
    assert decision.reason.endswith("measured gain of bcast of 4 and 64 KiB in a benchmark: 43% (at least 41%)")


COMPONENTS = [OMPIO, ROMIO, SRO, JOINT, {}]
APPLICATIONS = [job(), job("alice"), job(script=SCRIPT.replace("lattice", "latticf"))]

records = st.lists(
    st.builds(
        lambda component, of, low, at, cluster, status: {
            **component,
            **(CLUSTER if cluster else {"metadata": of.to_json()}),
            "gain_low": low,
            "created_at": at,
            "status": status,
        },
        st.sampled_from(COMPONENTS),
        st.sampled_from(APPLICATIONS),
        st.sampled_from((-0.1, 0.0, 0.1, 0.2, 0.3)),
        st.sampled_from((1.0, 2.0, 3.0)),
        st.booleans(),
        st.sampled_from((RecordStatus.ACTIVE, RecordStatus.ACTIVE, RecordStatus.QUARANTINED)),
    ),
    min_size=1,
    max_size=9,
)


@given(records)
def test_no_decision_combines_records(found: list[dict[str, Any]]) -> None:
    """Whatever the records, a job gets exactly the settings of one active record with a gain."""
    known = [record(id=number, **changes) for number, changes in enumerate(found, 1)]
    decision = ask(*known)
    used = [row["record"] for row in decision.alternatives if row["used"]]
    if decision.verdict != "apply":
        assert not used and not decision.injected
        return
    assert used == [decision.record_id]
    (one,) = (one for one in known if one.id == decision.record_id)
    assert decision.injected == one.environment
    assert one.gain_low > 0 and one.status is RecordStatus.ACTIVE
    assert all(row["why"] for row in decision.alternatives if row["record"] != one.id)
