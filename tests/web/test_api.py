# SPDX-License-Identifier: Apache-2.0
"""Test that the REST interface behaves as its OpenAPI description states, whatever the request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from reprise.config import Config
from reprise.web import campaign_control
from reprise.web.app import create
from reprise.web.request_guard import BODY_LIMIT
from tests.examples import examples
from tests.web.site import WebSite

pytestmark = [pytest.mark.slow, pytest.mark.hypothesis]
EXAMPLES = examples(40)  # number of requests to each operation
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
OPERATIONS = (
    "GET /api/me",
    "GET /api/overview",
    "GET /api/jobs",
    "GET /api/jobs/{job}",
    "GET /api/records",
    "GET /api/records/{number}",
    "GET /api/campaigns",
    "POST /api/campaigns",
    "GET /api/campaigns/{number}",
    "POST /api/campaigns/{number}",
    "GET /api/forwarders",
    "GET /api/components",
    "GET /api/components/{component}/campaign",
)
CHANGING = [label for label in OPERATIONS if label.startswith("POST ")]
WATCHED = "GET /api/campaigns/{number}/events"  # the stream of events, which tests/web/test_browser.py tests


def described(config: Config, file: Path) -> dict[str, Any]:
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", create(config, file))
    found: Any = list(schema.get_all_operations())
    return {one.ok().label: one.ok() for one in found}


@pytest.fixture(scope="module")
def operations(filled: WebSite) -> dict[str, Any]:
    """Return the API's operations on a site without operators, where no request can start a campaign."""
    config = filled.config
    return described(config.model_copy(update={"web": config.web.model_copy(update={"operators": ""})}), filled.file)


def test_every_operation_is_tried(operations: dict[str, Any]) -> None:
    assert set(operations) == {*OPERATIONS, WATCHED}


@pytest.mark.parametrize("mode", GenerationMode)
@pytest.mark.parametrize("label", OPERATIONS)
def test_answers_match_the_description(
    label: str, mode: GenerationMode, operations: dict[str, Any], filled: WebSite
) -> None:
    """Answers match the description, whether or not the requests do."""
    headers = {"authorization": f"Bearer {filled.token()}"}

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=operations[label].as_strategy(mode))
    def ask(case: Any) -> None:
        case.call_and_validate(headers=headers, checks=CHECKS)

    ask()


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"sec-fetch-site": "cross-site"}, b"{}", 403),
        ({}, b"x" * (BODY_LIMIT + 1), 413),
        ({"transfer-encoding": "chunked", "content-length": "10"}, b"x" * (BODY_LIMIT + 1), 413),
        ({}, b"\xff", 400),
    ],
    ids=["of another site", "too large", "larger than it says", "no UTF-8"],
)
@pytest.mark.parametrize("label", CHANGING)
def test_refusals_of_unreadable_requests_match_the_description(
    label: str, headers: dict[str, str], body: bytes, status: int, operations: dict[str, Any], filled: WebSite
) -> None:
    path = {"number": 1} if "{number}" in label else {}
    case = operations[label].Case(path_parameters=path, body=body, media_type="application/json")
    headers = {"authorization": f"Bearer {filled.token()}", **headers}
    assert case.call_and_validate(headers=headers, checks=CHECKS).status_code == status


@pytest.mark.parametrize("mode", GenerationMode)
@pytest.mark.parametrize("label", CHANGING)
def test_answers_to_an_operator_match_the_description(
    label: str, mode: GenerationMode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The requests are an operator's, but starting a campaign is patched to do nothing."""
    site = WebSite(tmp_path)
    site.run_campaign()
    monkeypatch.setattr(campaign_control, "_begin", lambda *_words: 1)
    operation = described(site.config, site.file)[label]
    headers = {"authorization": f"Bearer {site.token()}"}
    statuses = set()

    def checked(case: Any) -> None:
        statuses.add(case.call_and_validate(headers=headers, checks=CHECKS).status_code)

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(mode))
    def ask(case: Any) -> None:
        checked(case)

    ask()
    if label == "POST /api/campaigns":
        checked(operation.Case(body=site.campaign(), media_type="application/json"))
        assert {201, 409} <= statuses
    else:
        for action, number in (("pause", 1), ("resume", 1), ("stop", 1), ("stop", 987_654)):
            path = {"number": number}
            checked(operation.Case(path_parameters=path, body={"action": action}, media_type="application/json"))
        assert {409, 404} <= statuses, "the only campaign has ended (409), and other numbers do not exist (404)"
