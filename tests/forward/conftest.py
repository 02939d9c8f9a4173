# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests of forwarders with other programs."""

from __future__ import annotations

from tests.forward.forwarder.conftest import place, program

__all__ = ["place", "program"]
