# SPDX-License-Identifier: Apache-2.0
"""Test every way of submission that needs only Slurm's basic daemons, on every release, with and without the plugin."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.machine import VirtualCluster
from tests.cluster.test_plugin import SOCKET, cluster
from tests.cluster.test_ways import GIVEN_NOTHING, assert_nothing_else_differs
from tests.cluster.ways import WAYS, Course, Tried
from tests.cluster.ways_measured import SETTINGS
from tests.spank.daemon import FakeDaemon, decision

__all__ = ["cluster"]
pytestmark = pytest.mark.matrix

PLUGSTACK = "/etc/slurm/plugstack.conf.d/test.conf"
MORE_DAEMONS = {"own-cluster", "far-cluster", "far-stdin", "rest", "scrontab"}
TRIED = [way for way in WAYS if way.name not in MORE_DAEMONS]
NAMES = [way.name for way in TRIED]


class CourseOfOneCluster(Course):
    def no_job_is_left(self) -> bool:
        return not self.cluster.run(["squeue", "--noheader"]).stdout.strip()


@pytest.fixture(scope="module")
def without(cluster: VirtualCluster) -> dict[str, Tried]:
    line = cluster.path(PLUGSTACK)
    words = line.read_text()
    line.write_text("")
    tried = dict(zip(NAMES, CourseOfOneCluster(cluster, "without").try_all(TRIED), strict=True))
    line.write_text(words)
    return tried


@pytest.fixture(scope="module")
def with_plugin(cluster: VirtualCluster, without: dict[str, Tried]) -> Iterator[dict[str, Tried]]:
    with FakeDaemon(cluster.path(SOCKET), reply=decision("apply", SETTINGS)).listening() as daemon:
        yield dict(zip(NAMES, CourseOfOneCluster(cluster, "with").try_all(TRIED), strict=True))
        assert daemon.refused == []


@pytest.mark.parametrize("name", [name for name in NAMES if name not in GIVEN_NOTHING])
def test_script_and_tasks_of_a_job_get_its_settings(name: str, with_plugin: dict[str, Tried]) -> None:
    found = with_plugin[name].environments
    assert found
    assert [place for place, environment in found.items() if not SETTINGS.items() <= environment.items()] == []


@pytest.mark.parametrize("name", NAMES)
def test_nothing_else_differs_from_a_submission_without_the_plugin(
    name: str, without: dict[str, Tried], with_plugin: dict[str, Tried]
) -> None:
    assert_nothing_else_differs(without[name], with_plugin[name])
