# SPDX-License-Identifier: Apache-2.0
"""Numbered SQL scripts, `NNNN_subject.sql`; each upgrades the schema by one version.

A released script is never changed.
"""
