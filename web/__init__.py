# SPDX-License-Identifier: Apache-2.0
"""Pages and REST over the database: for staff, for those who tune, and for users who look up their own jobs."""
