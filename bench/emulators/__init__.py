# SPDX-License-Identifier: Apache-2.0
"""Emulated accelerators: landscapes to compare searches on, where the real ones are not at hand."""
