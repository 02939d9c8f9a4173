# SPDX-License-Identifier: Apache-2.0
"""The matcher's daemon, which accepts connections, answers requests, writes to the database and exports metrics."""
