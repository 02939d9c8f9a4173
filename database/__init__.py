# SPDX-License-Identifier: Apache-2.0
"""The database of tuned jobs, decisions and outcomes. All SQL of the project is here; nothing of the project is imported."""
