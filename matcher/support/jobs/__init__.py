# SPDX-License-Identifier: Apache-2.0
"""Lists of jobs for support staff: past jobs, jobs without a record, and a job's run time among similar jobs."""
