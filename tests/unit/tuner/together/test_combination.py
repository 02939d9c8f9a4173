# SPDX-License-Identifier: Apache-2.0
"""Test how settings that were measured together are combined into one record, and the reasons for refusals."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprise.database import health
from reprise.database.entities import Artifact, Measurement, Record, Scope
from reprise.database.facade import Database
from reprise.database.gain_subject import subject
from reprise.matcher.decision.user_choices import conflict
from reprise.tuner.components.publication import variables
from reprise.tuner.errors import TunerError
from reprise.tuner.model.component import Comparison, Publication
from reprise.tuner.openmpi.rules_channel import CONFLICTS
from reprise.tuner.together.combination import Combination, Part, combine, publication
from tests.unit.component_values import component, shipped
from tests.unit.matcher.decision.test_one_record import ask
from tests.unit.matcher_daemon import RULES, job

NOW = 1.7e9
CLUSTER = {"cluster": "test"}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(tmp_path / "a.db", create=True) as one:
        yield one


def part(name: str = "sro", environment: dict[str, str] | None = None, *conflicts: str, **changes: Any) -> Part:
    given = environment or {f"{name.upper()}_SIZE": "4"}
    return Part(name, "1", {"parameters": {"size": 4}}, given, conflicts or list(given), **changes)


def shipped_part(name: str, environment: dict[str, str]) -> Part:
    """Return a part of a combination, with the conflicts of the shipped component of this name."""
    return Part(name, "1", {}, environment, variables(component(shipped(name)).description))


OMPIO = shipped_part("ompio", {"OMPI_MCA_io_ompio_num_aggregators": "4"})
ROMIO = shipped_part("romio", {"OMPI_MCA_io": "^ompio", "ROMIO_HINTS": "/srv/hints"})


def rules(path: Path, **changes: Any) -> Part:
    path.write_text("rules")
    path.chmod(0o644)
    artifact = Artifact(hashlib.sha256(b"rules").hexdigest(), str(path), "openmpi-rules", 5, NOW)
    of_bcast = {"rules": [{"problem": "bcast/4096", "applied": True}]}
    return Part("openmpi-collectives", "1", of_bcast, RULES, CONFLICTS, {"nodes": 4, "openmpi": ["4.1.4"]}, artifact)


def compared() -> Comparison:
    measured = Measurement(10.0, 9.0, 11.0, 8)
    return Comparison("", {}, measured, Measurement(8.0, 7.0, 9.0, 8), 0.2, 0.1, 0.3)


def stored(database: Database, combination: Combination, **context: Any) -> int:
    """Store the record of a combination as a campaign does, and return the record's number."""
    found = publication(combination, compared())
    for artifact in (found.artifact, *found.other_artifacts):
        if artifact:
            database.add_artifact(artifact)
    record = Record(
        component=found.component,
        component_version=found.version,
        scope=Scope.APPLICATION,
        created_at=NOW,
        context={**CLUSTER, **found.context, **context},
        metadata=job().to_json(),
        parametrization=found.parametrization,
        environment=found.environment,
        conflicts=found.conflicts,
        default=found.default,
        tuned=found.tuned,
        gain=found.gain,
        gain_low=found.gain_low,
        gain_high=found.gain_high,
        artifact_sha256=found.artifact.sha256 if found.artifact else None,
    )
    return database.add_record(record)


def test_a_combination_is_a_record_that_gives_all_of_it_to_the_jobs_of_the_application(
    database: Database, tmp_path: Path
) -> None:
    of_rules = rules(tmp_path / "rules.conf")
    number = stored(database, combine([part(), of_rules]), nodes=4)
    record = database.record(number)
    assert (record.component, record.component_version) == ("openmpi-collectives+sro", "1+1")
    assert record.environment == {"SRO_SIZE": "4", **RULES}
    assert set(record.conflicts) == {"SRO_SIZE", *CONFLICTS}
    assert record.context == {"cluster": "test", "nodes": 4, "openmpi": ["4.1.4"]}
    assert (record.gain_low, record.scope) == (0.1, Scope.APPLICATION)
    assert record.parametrization["parts"]["sro"] == {"version": "1", "parametrization": {"parameters": {"size": 4}}}
    assert subject(record.parametrization) == "", "the gain is that of the whole application"
    decision = ask(record)
    assert (decision.verdict, decision.injected) == ("apply", record.environment)
    assert (
        "measured gain of the tuned job: 20% (at least 10%)" in decision.reason and "benchmark" not in decision.reason
    )


def test_the_health_check_examines_the_files_of_all_parts(database: Database, tmp_path: Path) -> None:
    of_rules = rules(tmp_path / "rules.conf")
    (tmp_path / "hints").write_text("hints")
    hints = Artifact(hashlib.sha256(b"hints").hexdigest(), str(tmp_path / "hints"), "hints", 5, NOW)
    stored(database, combine([of_rules, part("romio", {"ROMIO_HINTS": hints.path}, artifact=hints)]))
    assert health.examine(tmp_path / "a.db") == []
    (tmp_path / "hints").unlink()
    assert ["hints cannot be read" in one for one in health.examine(tmp_path / "a.db")] == [True]


def test_one_part_alone_is_a_record_of_its_component_with_the_applications_gain(
    database: Database, tmp_path: Path
) -> None:
    number = stored(database, combine([rules(tmp_path / "rules.conf")]))
    record = database.record(number)
    assert (record.component, record.component_version) == ("openmpi-collectives", "1")
    assert subject(record.parametrization) == "" and record.artifact_sha256


def test_a_part_is_what_a_component_would_publish_by_itself() -> None:
    measured = Measurement(1.0, 1.0, 1.0, 1)
    found = Publication({"parameters": {}}, {"SRO_SIZE": "4"}, ["SRO_*"], measured, measured, 0.1, 0.1, 0.1, note="hm")
    made = Part.of_publication("sro", "2", found)
    assert made.conflicts == ["SRO_*"] and publication(combine([made]), compared()).note == "hm"


def test_two_implementations_of_mpi_io_are_never_combined() -> None:
    for parts in ([OMPIO, ROMIO], [ROMIO, part(), OMPIO]):
        with pytest.raises(TunerError, match=r"exclude each other, since both decide OMPI_MCA_io\w*: omit one of them"):
            combine(parts)
    assert combine([OMPIO, part()]).component == "ompio+sro"


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ([], "the combination is empty"),
        ([part(), part()], "both decide the component sro"),
        ([part("sro+x", {"X": "1"}), part()], "both decide the component sro"),
        ([part(), Part("a", "1", {}, {}, [])], "a: sets nothing in jobs"),
        ([part("a", {"V": "1"}), part("b", {"V": "1"})], "both decide V"),
        ([part("a", {"V_A": "1"}), part("b", {"B": "1"}, "V_*")], "both decide V_A"),
        ([part("a", context={"nodes": 4}), part("b", context={"nodes": 8})], "different jobs, nodes 4 and 8"),
        ([part("a", context={"openmpi": ["4.1.4"]}), part("b", context={"openmpi": ["5.0.7"]})], "openmpi"),
    ],
)
def test_parts_that_conflict_are_refused_in_one_line(parts: list[Part], why: str) -> None:
    with pytest.raises(TunerError, match=why) as raised:
        combine(parts)
    assert "\n" not in str(raised.value)


def test_a_combination_applies_where_each_part_applies() -> None:
    one, other = (
        part("a", context={"openmpi": ["4.1.4", "4.1.6"]}),
        part("b", context={"openmpi": ["4.1.4"], "nodes": 2}),
    )
    assert combine([one, other]).context == {"openmpi": ["4.1.4"], "nodes": 2}
    assert combine([part("a", context={"predicted": True}), part("b", context={"predicted": False})]).context == {
        "predicted": True
    }


@pytest.mark.parametrize(("one", "other", "both"), [(2000, 4000, 4000), (4000, 2000, 4000), (0, 4000, 0), (2000, 0, 0)])
def test_a_combination_needs_the_larger_of_two_amounts_of_memory(one: int, other: int, both: int) -> None:
    parts = [part("a", {"A": "1"}, context={"memory": one}), part("b", {"B": "1"}, context={"memory": other})]
    assert combine(parts).context == {"memory": both}


names = st.sampled_from(("A", "A_B", "B", "B_C", "C"))
patterns = st.sampled_from(("A*", "A_B", "B_*", "C", "B"))
parts = st.lists(
    st.builds(
        lambda name, variables, conflicts: Part(name, "1", {}, dict.fromkeys(variables, "1"), sorted(conflicts)),
        st.sampled_from(("a", "b", "c", "d")),
        st.sets(names, min_size=1, max_size=2),
        st.sets(patterns, max_size=2),
    ),
    min_size=1,
    max_size=4,
)


@given(parts)
def test_no_part_of_a_combination_decides_what_another_does(found: list[Part]) -> None:
    try:
        made = combine(found)
    except TunerError:
        return
    assert len({one.component for one in found}) == len(found)
    assert len(made.environment) == sum(len(one.environment) for one in found)
    for one in found:
        others = [name for other in found if other is not one for name in other.environment]
        assert conflict(one.conflicts, others) is None
