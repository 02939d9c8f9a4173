# SPDX-License-Identifier: Apache-2.0
"""Test how the files that Open MPI's monitoring writes are read and compared.

The files of tests/unit/data/monitoring are from a program on four ranks: one send of 800 bytes from rank 0 to 1, an
allreduce of 800 bytes, a bcast of 80 bytes, and a barrier.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from reprise.tuner.errors import ProxyError
from reprise.tuner.proxy.monitoring_matrix import (
    MonitoringMatrix,
    Traffic,
    differences,
    matrix_of,
    monitoring_arguments,
    read_matrix,
)
from tests.places import ROOT

RECORDED = ROOT / "tests/unit/data/monitoring/four_ranks"


@pytest.fixture
def recorded() -> MonitoringMatrix:
    return read_matrix(RECORDED, 4)


def test_messages_of_the_program_are_separate_from_messages_of_collectives(recorded: MonitoringMatrix) -> None:
    sent = recorded.point_to_point(0, 1)
    assert (sent.messages, sent.bytes) == (1, 800)
    assert recorded.point_to_point(1, 0).messages == 0
    within = recorded.pairs["I", 0, 1]
    assert (within.messages, within.bytes) == (3, 880)


def test_collectives_are_counted_by_shape_and_communicator(recorded: MonitoringMatrix) -> None:
    world = (0, 1, 2, 3)
    assert recorded.shapes["O2A", world, 0] == Traffic(1, 240)  # a bcast of 80 bytes to three other ranks
    assert recorded.shapes["A2A", world, 2] == Traffic(2, 2400)
    assert not any(members == (0,) for _, members, _ in recorded.shapes)


def test_a_run_does_not_differ_from_itself(recorded: MonitoringMatrix) -> None:
    assert list(differences(recorded, read_matrix(RECORDED, 4))) == []


def test_communicators_are_distinguished_by_members_and_not_by_names() -> None:
    text = "D\tMPI COMMUNICATOR 3 DUP FROM 0\tprocs: 0,1\nA2A\t0\t80 bytes\t1 msgs sent\n"
    other = "D\tMPI COMMUNICATOR 7 DUP FROM 0\tprocs: 0,1\nA2A\t0\t80 bytes\t1 msgs sent\n"
    assert matrix_of([text]) == matrix_of([other])
    assert matrix_of([text + other]).shapes == {("A2A", (0, 1), 0): Traffic(2, 160)}


def test_a_missing_message_is_a_difference(recorded: MonitoringMatrix) -> None:
    fewer = replace(recorded, pairs={k: v for k, v in recorded.pairs.items() if k != ("E", 0, 1)})
    assert list(differences(recorded, fewer)) == [
        "point-to-point messages, rank 0 to 1: 1 messages, 800 bytes in the application, "
        "0 messages, 0 bytes in the proxy"
    ]
    assert len(list(differences(fewer, recorded))) == 1


def test_messages_of_other_sizes_with_the_same_sum_are_a_difference() -> None:
    one, other = (matrix_of([f"E\t0\t1\t96 bytes\t2 msgs sent\t{histogram}\n"]) for histogram in ("0,0,1,1", "0,0,2,0"))
    assert list(differences(one, other)) == [
        "point-to-point messages, rank 0 to 1: 2 messages, 96 bytes in both, but in messages of other sizes"
    ]


def test_a_collective_too_many_is_a_difference(recorded: MonitoringMatrix) -> None:
    more = replace(recorded, shapes={**recorded.shapes, ("A2O", (0, 1, 2, 3), 3): Traffic(1, 8)})
    (only,) = differences(recorded, more)
    assert only.startswith("collectives from all ranks to one, rank 3 in a communicator of 4: 0 messages")


def test_a_different_number_of_ranks_is_the_only_difference_reported(recorded: MonitoringMatrix) -> None:
    (only,) = differences(recorded, replace(recorded, ranks=2))
    assert only == "the application ran with 4 ranks, the proxy with 2"


def test_a_run_that_did_not_end_has_no_files() -> None:
    with pytest.raises(ProxyError, match=r"four_ranks\.4\.prof: No such file.*MPI_Finalize"):
        read_matrix(RECORDED, 5)


def test_a_malformed_line_is_refused_with_its_line_number() -> None:
    with pytest.raises(ProxyError, match=r"profile of rank 1:2: not a line of Open MPI's monitoring: 'E\\t1\\tzero'"):
        matrix_of(["", "# POINT TO POINT\nE\t1\tzero\n"])


def test_arguments_name_the_prefix() -> None:
    assert monitoring_arguments(RECORDED)[-2:] == ["pml_monitoring_filename", str(RECORDED)]
