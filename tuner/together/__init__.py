# SPDX-License-Identifier: Apache-2.0
"""Joint tuning of several components on one application."""
