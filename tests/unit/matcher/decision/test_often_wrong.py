# SPDX-License-Identifier: Apache-2.0
"""Test which matches are treated as often wrong: jobs with a generic program name, and other users' records."""

from __future__ import annotations

import pytest

from reprise.database.entities import Record, Scope
from reprise.matcher.decision.known_records import Known, readable
from reprise.matcher.decision.often_wrong import is_often_wrong
from tests.unit.matcher_daemon import job, record, text_of


def known(one: Record) -> Known:
    ((_, found),) = readable([text_of(one)])
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["a.out", "main.py", "run.sh", "test", "Main", "run2.sh", "test_07.x", "solver.x", ""])
def test_a_match_by_a_generic_program_name_is_often_wrong(name: str) -> None:
    assert is_often_wrong(known(record(metadata=job("alice").to_json())), user="alice", program=name)


@pytest.mark.parametrize("name", ["lattice", "gmx_mpi", "vasp_std", "maine.py", "run_glue.py", "2"])
def test_a_match_by_a_specific_program_name_of_the_same_user_is_not_often_wrong(name: str) -> None:
    assert not is_often_wrong(known(record(metadata=job("alice").to_json())), user="alice", program=name)


def test_a_match_with_another_users_record_is_often_wrong() -> None:
    assert is_often_wrong(known(record(metadata=job("alice").to_json())), user="bob", program="lattice")


def test_a_record_for_the_whole_cluster_is_never_often_wrong() -> None:
    everybodys = known(record(scope=Scope.CLUSTER, metadata={}))
    assert not is_often_wrong(everybodys, user="bob", program="a.out")
