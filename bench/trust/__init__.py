# SPDX-License-Identifier: Apache-2.0
"""Benchmark that attacks a real daemon to measure the harm to other users, and stored secrets (`make bench-trust`)."""
