# SPDX-License-Identifier: Apache-2.0
"""Emulated accelerators: landscapes to compare searches on if the real accelerators are not available."""
