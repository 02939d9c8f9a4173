# SPDX-License-Identifier: Apache-2.0
"""Decisions about linked jobs: guards, the user's choices, the site's lists, and jobs held out for comparison."""
