# SPDX-License-Identifier: Apache-2.0
"""Test verdicts on a profile: the possible gain of each component, and whether a job behaves like its record."""

from __future__ import annotations

from reprise.matcher.benefit.profile_distance import behaves_otherwise, distance
from reprise.tuner.profile.profile_text import lines, size
from reprise.tuner.profile.profile_values import Profile
from reprise.tuner.profile.verdicts import NOTHING, Touches, overall, verdicts
from tests.unit.profile_values import profile

COMPONENTS = {
    "collectives": Touches(["mpi.collective.allreduce", "mpi.collective.bcast"]),
    "messages": Touches(["mpi.p2p"]),
    "sro": Touches(["io.read.small"]),
    "new": Touches([]),
}
FOUND = profile(
    {"mpi.collective.allreduce": 0.3, "mpi.collective.bcast": 0.1, "mpi.p2p.offnode": 0.04, "compute": 0.5}, 0.06
)


def test_a_component_can_gain_what_it_touches_and_no_more() -> None:
    found = {one.component: one for one in verdicts(FOUND, COMPONENTS)}
    assert found["collectives"].worth and round(found["collectives"].share, 6) == 0.4
    assert found["collectives"].words == (
        "touches 40.0% of the run time (mpi.collective.allreduce 30.0%, mpi.collective.bcast 10.0%), so it gains less "
        "than that"
    )
    assert not found["messages"].worth and "touches 4.0% of the run time: too little" in found["messages"].words
    assert found["sro"].share == 0 and not found["sro"].worth


def test_a_name_matches_what_lies_below_it_and_not_what_begins_like_it() -> None:
    found = verdicts(profile({"mpi.p2p.offnode": 0.5, "mpi.p2pish": 0.3}), {"messages": Touches(["mpi.p2p"])})
    assert found[0].share == 0.5
    assert verdicts(profile({"mpi.p2p.offnode": 0.5}), {"x": Touches(["mpi.p2p", "mpi.p2p.offnode"])})[0].share == 0.5


def test_a_component_for_a_library_is_worth_trying_only_if_the_library_is_loaded() -> None:
    hdf5 = {"hdf5": Touches(["io"], ["libhdf5"])}
    shares = profile({"io.read.small": 0.5})
    (without,) = verdicts(shares, hdf5)
    assert not without.worth and without.words == "acts on programs that load libhdf5, but none was loaded"
    loaded = shares.threads.model_copy(update={"libraries": ["libhdf5-1d3c.so.310", "libz.so.1"]})
    (found,) = verdicts(shares.model_copy(update={"threads": loaded}), hdf5)
    assert found.worth and found.share == 0.5


def test_rules_do_not_affect_collectives_of_some_ranks() -> None:
    call = {"kind": "alltoall", "nodes": 2, "bytes": 127, "calls": 9, "total_bytes": 900, "largest_bytes": 100}
    made = [{**call, "ranks": ranks, "time_s": s, "waiting_s": 1.0} for ranks, s in ((FOUND.ranks, 2.0), (1, 4.0))]
    content = {**profile({"mpi.collective.alltoall": 0.4}).model_dump(), "collectives": made}
    names = ["mpi.collective.alltoall"]
    found = verdicts(
        Profile.model_validate(content), {"all": Touches(names), "rules": Touches(names, of_all_ranks=True)}
    )
    assert [(one.component, round(one.share, 6)) for one in found] == [("all", 0.4), ("rules", 0.1)]


def test_components_worth_trying_come_first_and_there_may_be_none() -> None:
    assert [one.component for one in verdicts(FOUND, COMPONENTS)] == ["collectives", "messages", "sro", "new"]
    assert overall(verdicts(FOUND, COMPONENTS)) == "worth trying: collectives"
    assert overall(verdicts(profile({"compute": 0.99}), COMPONENTS)) == NOTHING


def test_a_component_that_does_not_say_what_it_touches_is_not_judged() -> None:
    (found,) = verdicts(FOUND, {"new": Touches([])})
    assert not found.known and not found.worth


def test_a_page_names_the_shares_and_the_verdicts() -> None:
    page = "\n".join(lines(FOUND, verdicts(FOUND, COMPONENTS)))
    assert "solve: 100.0 s, 4 ranks on 2 nodes" in page and "   30.0%  mpi.collective.allreduce" in page
    assert "    6.0%  waiting for other ranks" in page and page.endswith("worth trying: collectives")
    assert "not judged, since they do not declare what they touch: new" in page


def test_sizes_are_written_for_people() -> None:
    assert [size(one) for one in (1, 8192, 65536, 1 << 30)] == ["1 B", "8 KiB", "64 KiB", "1 GiB"]


def test_distance_is_the_share_of_time_spent_on_other_things() -> None:
    other = profile({"io.read.small": 0.9, "compute": 0.1})
    assert distance(FOUND, FOUND) == 0
    assert round(distance(FOUND, other), 9) == round(distance(other, FOUND), 9) == 0.9
    assert behaves_otherwise(FOUND, FOUND) == ""
    assert behaves_otherwise(other, FOUND) == (
        "this job behaves differently from its record: 90% of its run time is distributed differently; the largest "
        "difference is io.read.small (90% here, 0% in the record's profile)"
    )


def test_the_time_of_mpi_init_does_not_count_in_the_distance() -> None:
    short = profile({"mpi.begin": 0.5, "compute": 0.5})
    assert distance(short, profile({"compute": 1.0})) == 0
