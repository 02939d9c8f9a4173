# SPDX-License-Identifier: Apache-2.0
"""The benchmark of releases: `python -m bench.releases`."""
