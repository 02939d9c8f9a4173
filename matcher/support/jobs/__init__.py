# SPDX-License-Identifier: Apache-2.0
"""Lists of jobs for support staff: past jobs, the run time of a job among similar ones, and jobs without a record."""
