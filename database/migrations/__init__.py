# SPDX-License-Identifier: Apache-2.0
"""Numbered SQL scripts, `NNNN_subject.sql`, each one step of the schema. A released script is never changed."""
