# SPDX-License-Identifier: Apache-2.0
"""Benchmark that attacks a real daemon: harm by malicious users to others, and stored secrets (`make bench-trust`)."""
