# SPDX-License-Identifier: Apache-2.0
"""Cheap stand-ins for an application in trials, and whether they communicate as it does."""
