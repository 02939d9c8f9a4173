# SPDX-License-Identifier: Apache-2.0
"""Build proxies, which stand in for an application in cheaper trials, and check that they communicate as it does."""
