# SPDX-License-Identifier: Apache-2.0
"""Proxies, which replace an application in trials at lower cost, and checks that they communicate as it does."""
