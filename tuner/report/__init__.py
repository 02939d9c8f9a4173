# SPDX-License-Identifier: Apache-2.0
"""Reports of a campaign's results, history and cost, for people: a self-contained page, and a text."""
