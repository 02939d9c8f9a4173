# SPDX-License-Identifier: Apache-2.0
"""Benchmark of the web pages: their times on a large database, and their defects in a browser (`make bench-web`)."""
