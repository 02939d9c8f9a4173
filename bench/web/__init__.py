# SPDX-License-Identifier: Apache-2.0
"""Measure the web pages."""
