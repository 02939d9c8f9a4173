# SPDX-License-Identifier: Apache-2.0
"""Reports as forwarders send them, for the tests of the council's service."""

from __future__ import annotations

import json
from typing import Any

from reprise.matcher.windows.report_message import ForwarderMessage, read

NONCE = "0123456789abcdef"
STRIDED: dict[str, Any] = {"files": 1, "request_mean": 16384.0, "distance_mean": 65536.0}
CONTIGUOUS: dict[str, Any] = {"files": 1, "request_mean": 16384.0, "distance_mean": 2.0**30}
INDIVIDUAL: dict[str, Any] = {"files": 8, "request_mean": 16384.0, "distance_mean": 0.0}


def pattern(job: str = "4711", moved: int = 1000, operation: str = "write", **changes: Any) -> dict[str, Any]:
    """Return the features of a job and operation."""
    return {
        **{"job": job, "operation": operation, "begun_at": 1764380000.0, "seconds": 1.0, "bytes": moved, "requests": 5},
        **{"request_min": 16384, "request_max": 16384, "window_us": 0, **STRIDED, **changes},
    }


def sent(number: int = 0, **changes: Any) -> dict[str, Any]:
    """Return a report as it is sent."""
    return {
        **{"version": 1, "nonce": NONCE, "host": "ion1", "number": number, "seconds": 1.0, "bytes": 100_000_000},
        **{"bandwidth": 100.0, "window": 0, "load": None, "jobs": ["4711"], "patterns": [pattern()], **changes},
    }


def message(number: int = 0, **changes: Any) -> ForwarderMessage:
    """Return a report as it is read."""
    return read(json.dumps(sent(number, **changes)).encode())
