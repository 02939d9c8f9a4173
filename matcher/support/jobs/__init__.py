# SPDX-License-Identifier: Apache-2.0
"""Views for support staff: past jobs, jobs without a record, and a job's run time compared with similar jobs."""
