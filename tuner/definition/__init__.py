# SPDX-License-Identifier: Apache-2.0
"""Definition of a campaign by an admin, checked: its file, component, hours and directory."""
