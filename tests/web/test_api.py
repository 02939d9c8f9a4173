# SPDX-License-Identifier: Apache-2.0
"""REST does what its OpenAPI description says, whatever it is asked."""

from __future__ import annotations

import os
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.web.site import WebSite
from web.app import create

pytestmark = pytest.mark.slow
EXAMPLES = int(os.environ.get("REPRISE_API_EXAMPLES", "40"))  # of requests to each operation
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
    "GET /api/components",
    "GET /api/components/{component}/campaign",
)
WATCHED = "GET /api/campaigns/{number}/events"  # goes on while a campaign runs: tests/web/test_browser.py


@pytest.fixture(scope="module")
def operations(filled: WebSite) -> dict[str, Any]:
    """Of an application that must not start anything, since nobody is an operator."""
    config = filled.config
    config = config.model_copy(update={"web": config.web.model_copy(update={"operators": ""})})
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", create(config, filled.file))
    found: Any = list(schema.get_all_operations())
    return {one.ok().label: one.ok() for one in found}


def test_every_operation_is_tried(operations: dict[str, Any]) -> None:
    assert set(operations) == {*OPERATIONS, WATCHED}


@pytest.mark.parametrize("label", OPERATIONS)
def test_answers_are_as_described(label: str, operations: dict[str, Any], filled: WebSite) -> None:
    headers = {"authorization": f"Bearer {filled.token()}"}

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=operations[label].as_strategy())
    def ask(case: Any) -> None:
        case.call_and_validate(headers=headers, checks=CHECKS)

    ask()
