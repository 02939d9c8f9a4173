# SPDX-License-Identifier: Apache-2.0
"""Test the name that the library gives to a job at forwarders, and that diod does not take it for a user."""

from __future__ import annotations

import struct
from collections.abc import Mapping

import pytest

from reprise.matcher.detection.job_name import STEADY
from tests.forward.client.conftest import Site
from tests.forward.client.diod import Diod
from tests.forward.client.fake_forwarder import TATTACH, FakeForwarder, Session

JOB = {"SLURM_JOB_ID": "4711"}
NAMES: list[tuple[Mapping[str, str], str]] = [
    ({}, ""),
    (JOB, "4711"),
    ({"SLURM_JOB_ID": "4294967295", "REPRISE_FORWARD_EXPLORE": "no"}, f"4294967295{STEADY}"),
    ({**JOB, "REPRISE_FORWARD_EXPLORE": "yes"}, "4711"),
    ({**JOB, "REPRISE_FORWARD_EXPLORE": ""}, "4711"),
    ({"REPRISE_FORWARD_EXPLORE": "no"}, ""),
    ({"SLURM_JOB_ID": "4711; rm"}, ""),
    ({"SLURM_JOB_ID": "99999999999"}, ""),
    ({"SLURM_JOB_ID": "0"}, ""),
]


@pytest.mark.parametrize(("env", "name"), NAMES, ids=[name or "none" for _, name in NAMES])
def test_forwarders_learn_the_number_of_the_job(site: Site, env: Mapping[str, str], name: str) -> None:
    seen = set()

    def note(session: Session, kind: int, tag: int, fields: bytes) -> bytes | None:
        if kind == TATTACH:
            length = struct.unpack_from("<H", fields, 8)[0]
            seen.add(fields[10 : 10 + length].decode())
        return None

    with FakeForwarder(site.directory / "forwarder", site.files, note) as one:
        site.map(one.address)
        assert site.plain(env).total("write_bytes") > 0
    assert seen == {name}


def test_another_value_is_reported_and_changes_nothing(site: Site) -> None:
    ran = site.run(
        site.programs / "subject", "plain", site.files / "subject", env={**JOB, "REPRISE_FORWARD_EXPLORE": "n"}
    )
    assert "REPRISE_FORWARD_EXPLORE" in ran.stderr and "use yes or no" in ran.stderr and ran.status == 0


def test_diod_serves_a_job_as_its_user(site: Site, diod: Diod) -> None:
    assert diod.address
    for env in (JOB, {**JOB, "REPRISE_FORWARD_EXPLORE": "no"}):
        assert site.plain(env).total("write_bytes") > 0
