# SPDX-License-Identifier: Apache-2.0
"""From a batch script to a campaign for it: what its profile shows is what is tried."""
