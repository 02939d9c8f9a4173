# SPDX-License-Identifier: Apache-2.0
"""Attacks on a real daemon by real sockets, and what they reach."""
