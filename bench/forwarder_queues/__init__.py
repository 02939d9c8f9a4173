# SPDX-License-Identifier: Apache-2.0
"""Queues of jobs that share I/O forwarders, simulated from the results that Bez 2020 prints."""
