# SPDX-License-Identifier: Apache-2.0
"""Training of detectors of access patterns (Bez 2020, chapter 3)."""
