# SPDX-License-Identifier: Apache-2.0
"""Build proxies, which replace an application in cheaper trials, and check that both communicate in the same way."""
