# SPDX-License-Identifier: Apache-2.0
"""Begin, run, stop and resume campaigns, each with one coordinator at a time, and publish their records."""
