# SPDX-License-Identifier: Apache-2.0
"""Life cycle of a campaign: begin, run by one coordinator at a time, stop, resume, and publish records."""
