# SPDX-License-Identifier: Apache-2.0
"""What a campaign found, did and cost, for people: a page that stands alone, and a text."""
