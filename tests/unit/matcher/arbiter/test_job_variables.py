# SPDX-License-Identifier: Apache-2.0
"""Test the variables of jobs that use forwarders, which follow from the site's configuration."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from reprise.allowlist import is_allowed, is_reported
from reprise.config import Config, ConfigError, Forwarding, load
from reprise.matcher.arbiter.job_variables import of_jobs, of_site
from reprise.matcher.decision.configured import knowledge_of, model_of
from reprise.matcher.decision.known_records import read
from tests.unit.matcher_daemon import record, text_of

SITE = Forwarding.model_validate(
    {"forwarders": ["10.0.0.1:564"], "prefixes": ["/scratch", "/work"], "maps": "/shared/maps"}
)
FORWARDED = {"REPRISE_PRELOAD": "forward"}


def test_a_job_gets_its_map_the_maps_owner_the_directories_and_the_authentication() -> None:
    found = of_jobs(SITE)["forward"]
    assert found == {
        "REPRISE_FORWARD_MAP": "/shared/maps/%j",
        "REPRISE_FORWARD_MAP_OWNER": str(os.geteuid()),
        "REPRISE_FORWARD_PREFIXES": "/scratch:/work",
        "REPRISE_FORWARD_AUTH": "munge",
    }
    assert all(is_allowed(name) and is_reported(name) for name in found)
    assert found.items() >= of_site(SITE).items()


def test_all_jobs_with_burst_buffers_have_one_map_that_another_pool_does_not_change() -> None:
    found, other = of_jobs(SITE), of_jobs(SITE.model_copy(update={"forwarders": ["10.0.0.2:564"]}))
    assert {**found["burst"], "REPRISE_FORWARD_MAP": "/shared/maps/%j"} == found["forward"]
    assert re.fullmatch("/shared/maps/burst-[0-9a-f]{16}", found["burst"]["REPRISE_FORWARD_MAP"])
    assert found["burst"]["REPRISE_FORWARD_MAP"] != other["burst"]["REPRISE_FORWARD_MAP"]


@pytest.mark.parametrize("lacking", ["forwarders", "prefixes"])
def test_a_site_without_forwarders_or_directories_forwards_nothing(lacking: str) -> None:
    settings = SITE.model_copy(update={lacking: []})
    assert not of_jobs(settings) and not of_site(settings)
    known = read(text_of(record(environment=FORWARDED)), of_jobs(settings))
    assert known.terms.problem and "the site configures none" in known.terms.problem


def test_a_record_gets_the_sites_variables_in_place_of_its_own_if_it_loads_the_library() -> None:
    written = {**FORWARDED, "REPRISE_FORWARD_MAP": "/old/%j", "OMPI_MCA_btl_tcp_links": "2"}
    known = read(text_of(record(environment=written)), of_jobs(SITE))
    assert known.environment == {**written, **of_jobs(SITE)["forward"]} and known.terms.problem is None
    assert {"/shared/maps", "/"} <= set(known.terms.places), "a container must have the map and the directories"
    other = read(text_of(record(environment={"REPRISE_PRELOAD": "sro"})), of_jobs(SITE))
    assert other.environment == {"REPRISE_PRELOAD": "sro"}


def test_the_matchers_knowledge_has_them() -> None:
    config = Config.model_validate({"forwarding": SITE.model_dump()})
    knowledge = knowledge_of([text_of(record(id=1, environment=FORWARDED))], model_of(config), config)
    (known,) = knowledge.alike.values()
    assert known.environment["REPRISE_FORWARD_MAP"] == "/shared/maps/%j"


@pytest.mark.parametrize(
    "prefixes", [["/"], ["scratch"], ["/a/../b"], ["/a:b"], ["/a\nb"], ["/" + 4095 * "x"], [f"/{n}" for n in range(9)]]
)
def test_directories_that_the_library_would_refuse_are_refused_in_one_line(prefixes: Any, tmp_path: Path) -> None:
    file = tmp_path / "reprise.toml"
    file.write_text(f"[forwarding]\nprefixes = {json.dumps(prefixes)}\n")
    with pytest.raises(ConfigError, match=r"^[^\n]*forwarding\.prefixes[^\n]*$"):
        load(file)
