# SPDX-License-Identifier: Apache-2.0
"""Benchmark of skeletons: their messages and times, compared with those of their programs (`make bench-skeleton`)."""
