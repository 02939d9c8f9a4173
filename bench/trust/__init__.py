# SPDX-License-Identifier: Apache-2.0
"""Benchmark that attacks a real daemon, and counts harm to other users and secrets stored (`make bench-trust`)."""
