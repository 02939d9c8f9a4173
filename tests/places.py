# SPDX-License-Identifier: Apache-2.0
"""Paths of folders in the checkout under test."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden"
UNIT = ROOT / "tests" / "unit"
