# SPDX-License-Identifier: Apache-2.0
"""What an admin writes down about a campaign, checked: its file, its component, its hours, its place."""
