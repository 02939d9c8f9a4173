# SPDX-License-Identifier: Apache-2.0
"""Benchmark of the web pages: response times with a large database, and defects in a browser (`make bench-web`)."""
