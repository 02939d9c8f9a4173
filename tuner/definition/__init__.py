# SPDX-License-Identifier: Apache-2.0
"""An admin's definition of a campaign, with its checks: file, component, hours and directory."""
