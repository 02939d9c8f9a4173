# SPDX-License-Identifier: Apache-2.0
"""Test the arbiter's work on a made-up site: who gets a map, when it changes, and what survives failures."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from reprise.database.errors import BusyError
from reprise.matcher.forwarding.map_directory import MapDirectory
from reprise.matcher.forwarding.slurm_queue import QueuedJob
from tests.unit.matcher.forwarding.forwarding_site import ALICE, FLAT, STEEP, Site, addresses

BOB = 1002


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.close()


def test_a_job_that_starts_gets_a_map_with_the_forwarders_that_suit_it(site: Site) -> None:
    site.turn()
    site.start(1)
    site.start(2, FLAT)
    site.turn()
    assert (site.map(1), site.map(2)) == (tuple(addresses(8)), ())


def test_the_set_of_jobs_changes_the_shares_and_ends_remove_maps_at_once(site: Site) -> None:
    site.start(1)
    site.turn()
    site.now += 60
    site.start(2)
    site.turn()
    assert site.numbers() == {1: 4, 2: 4}
    assert set(site.map(1) or ()).isdisjoint(site.map(2) or ())
    site.now += 60
    site.end(2)
    site.turn()  # Slurm still lists the job
    assert site.numbers() == {1: 8}


def test_a_job_whose_end_was_never_reported_is_gone_when_slurm_does_not_list_it(site: Site) -> None:
    site.start(1)
    site.turn()
    del site.queue[1]
    site.turn()
    assert site.numbers() == {1: 8}
    site.turn(search=True)
    assert site.numbers() == {}


def test_a_job_that_ended_without_a_report_is_not_taken_for_a_forged_start(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.start(1)
    site.turn()
    del site.queue[1]
    site.turn(search=True)
    assert site.numbers() == {} and "start-not-listed" not in caplog.text


def test_a_forged_start_does_not_hide_a_job_that_is_searched_for(site: Site) -> None:
    site.start(1)
    site.restart()  # the next arbiter reads only later starts
    site.turn(listed=False)
    site.start(1, queued=False, uid=BOB)
    site.turn(search=True)
    assert site.numbers() == {1: 8}


def test_a_start_that_slurm_does_not_confirm_gets_nothing(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    site.turn()
    site.start(1, queued=False)
    site.queue[2] = QueuedJob(BOB, 8, 64)
    site.start(2, queued=False)  # alice reports the start of bob's job
    site.turn()
    assert site.numbers() == {}
    site.turn()
    assert not site.arbiter.needs_listing
    assert "event=start-not-listed job=1 uid=1001" in caplog.text


def test_a_forged_start_and_end_of_anothers_job_change_nothing(site: Site) -> None:
    site.start(1)
    site.turn()
    site.start(1, queued=False, uid=BOB)
    site.end(1, uid=BOB)
    site.turn()
    site.turn(search=True)
    assert site.numbers() == {1: 8}


def test_jobs_are_not_lost_if_their_start_is_newer_than_slurms_list(site: Site) -> None:
    site.turn()
    old = site.listing()
    site.start(1)
    site.turn(listed=False)
    site.arbiter.take_listing(old, site.database, search=False)
    assert site.arbiter.needs_listing
    site.turn()
    assert site.numbers() == {1: 8}


def test_a_decision_that_arrives_after_the_start_is_found_with_the_next_search(site: Site) -> None:
    site.turn()
    site.start(1)
    with site.users.transaction():  # the start was read before its decision was written
        found = site.users.decision(f"d1-{site.now:.0f}")
        site.users._connection.execute("DELETE FROM decision")
    site.turn()
    assert site.numbers() == {}
    site.users.add_decision(found)
    site.turn(search=True)
    assert site.numbers() == {1: 8}


def test_nothing_happens_before_slurms_list_and_all_forwarders_are_known(site: Site) -> None:
    site.start(1)
    site.turn()
    site.restart()
    site.queue.clear()
    site.turn(listed=False)
    assert site.numbers() == {1: 8}  # squeue fails
    site.turn()
    assert site.numbers() == {}


def test_a_dead_forwarder_leaves_the_pool_after_two_checks_and_comes_back(site: Site) -> None:
    site.start(1)
    site.turn()
    site.failing["10.0.1.3:5640"] = "Connection refused"
    site.turn(5)
    assert site.numbers() == {1: 8}
    site.turn(20)
    assert site.numbers() == {1: 4} and "10.0.1.3:5640" not in (site.map(1) or ())
    assert [state.reason for state in site.users.states_now("c") if not state.works] == ["Connection refused"]
    site.failing.clear()
    site.turn(20)
    site.turn(20)
    assert site.numbers() == {1: 8}


def test_without_any_forwarder_all_jobs_have_direct_access(site: Site) -> None:
    site.start(1)
    site.turn()
    site.failing = dict.fromkeys(addresses(8), "timed out")
    site.turn(5)
    site.turn(20)
    assert site.map(1) == ()


def test_a_restarted_arbiter_leaves_the_maps_as_they_are(site: Site) -> None:
    site.start(1)
    site.turn()
    site.now += 60
    site.start(2)
    site.turn()
    before = {job: (site.map(job), (site.config.forwarding.maps / str(job)).stat().st_ino) for job in (1, 2)}
    shares = site.users.shares_now("c")
    site.restart()
    site.turn()
    assert {job: (site.map(job), (site.config.forwarding.maps / str(job)).stat().st_ino) for job in (1, 2)} == before
    assert site.users.shares_now("c") == shares


def test_what_happened_while_no_arbiter_ran_is_made_up_for(site: Site) -> None:
    site.start(1)
    site.start(2)
    site.turn()
    site.end(1)
    site.start(3)
    del site.queue[1]
    site.now += 60
    site.restart()
    site.turn()
    assert sorted(site.numbers()) == [2, 3]
    assert {share.job_id for share in site.users.shares_now("c")} == {2, 3}


def test_a_map_of_a_job_that_the_database_does_not_know_is_kept_while_slurm_runs_it(site: Site) -> None:
    site.maps.write(7, addresses(1))
    site.queue[7] = QueuedJob(BOB, 1, 1)
    site.restart()
    site.turn()
    assert site.numbers() == {7: 1}
    del site.queue[7]
    site.turn(search=True)
    site.start(8)
    site.turn()
    assert site.numbers() == {8: 8}


def test_a_damaged_map_is_written_again(site: Site) -> None:
    site.start(1)
    site.turn()
    (site.config.forwarding.maps / "1").write_text("reprise-forwarders 1\n10.0.1.1")
    site.restart()
    site.turn()
    assert site.map(1) == tuple(addresses(8))


def test_a_map_that_cannot_be_written_is_tried_again_and_the_job_keeps_its_old_one(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    site.start(1)
    site.turn()
    before = site.map(1)
    with monkeypatch.context() as patch:
        patch.setattr(MapDirectory, "write", fails)
        site.now += 60
        site.start(2)
        site.turn()
        assert (site.map(1), site.map(2)) == (before, None)
    assert "event=map-failed" in caplog.text and "No space left" in caplog.text
    site.turn()
    assert site.numbers() == {1: 4, 2: 4}


def test_a_database_that_cannot_be_written_delays_its_rows_but_no_map(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise BusyError("locked")

    site.turn()
    site.start(1)
    with monkeypatch.context() as patch:
        patch.setattr(type(site.database), "set_forwarding", fails)
        site.turn()
    assert site.numbers() == {1: 8} and site.users.shares_now("c") == []
    assert "event=not-stored-yet" in caplog.text
    site.turn()
    assert [share.job_id for share in site.users.shares_now("c")] == [1]


def test_another_database_file_takes_no_map_from_a_running_job(site: Site) -> None:
    site.start(1)
    site.turn()
    site.arbiter.reopened()
    with site.users.transaction():
        site.users._connection.execute("DELETE FROM outcome")
    site.turn()
    assert site.numbers() == {1: 8}


def test_a_requeued_job_starts_anew(site: Site) -> None:
    site.start(1)
    site.turn()
    site.end(1)
    del site.queue[1]
    site.turn()
    assert site.numbers() == {}
    site.now += 120
    site.start(1)
    site.turn()
    assert site.numbers() == {1: 8}
    assert len(site.users.shares_of_job("c", 1)) == 2


def test_the_reason_of_a_share_has_the_cause_and_the_bandwidths(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "reprise")
    site.turn()
    site.start(1)
    site.start(2, None)
    site.turn()
    reasons = {share.job_id: share.reason for share in site.users.shares_now("c")}
    assert reasons == {
        1: "jobs 1, 2 started: 598.9 MB/s; 8 give 698.7 MB/s, but no allocation with them has a larger sum",
        2: "jobs 1, 2 started: unknown application: the default",
    }
    assert 'event=map job=2 forwarders=10.0.1.5:5640 why="jobs 1, 2 started: unknown' in caplog.text
    assert "event=shared-out policy=mckp jobs=2 forwarders=8 used=5 changed=0" in caplog.text


def test_a_record_with_a_damaged_curve_counts_as_not_measured(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    site.turn()
    site.start(1)
    site.users._connection.execute('UPDATE record SET parametrization = \'{"bandwidth_mb_s":{"1":[-5]}}\'')
    site.turn()
    assert site.numbers() == {1: 1} and "event=curve-unreadable" in caplog.text


@pytest.mark.parametrize(("policy", "expected"), [("zero", 0), ("one", 1), ("static", 1), ("size", 4), ("oracle", 8)])
def test_the_configured_policy_decides(tmp_path: Path, policy: str, expected: int) -> None:
    site = Site(tmp_path, policy=policy)
    site.start(1)
    site.start(2)
    site.turn()
    assert site.numbers() == {1: expected, 2: expected}
    site.close()


def test_shares_of_a_job_that_was_changed_settle_before_they_change_again(tmp_path: Path) -> None:
    site = Site(tmp_path, settle_s=100)
    site.start(1)
    site.turn()
    site.start(2)
    site.turn()
    site.end(2)
    site.turn()
    assert site.numbers() == {1: 4}
    site.turn(101)
    assert site.numbers() == {1: 8}
    (now, *_) = site.users.shares_of_job("c", 1)
    assert now.reason.startswith("jobs that were changed may be changed again: 698.7 MB/s")
    site.close()


def test_uids_and_sizes_are_stored_with_the_shares(site: Site) -> None:
    site.start(1, STEEP, nodes=4)
    site.turn()
    (share,) = site.users.shares_now("c")
    assert (share.uid, share.nodes, share.processes, share.policy) == (ALICE, 4, 32, "mckp")
