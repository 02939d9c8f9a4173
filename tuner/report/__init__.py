# SPDX-License-Identifier: Apache-2.0
"""Reports of a campaign's results, history and cost for people, as a self-contained HTML page or as text."""
