# SPDX-License-Identifier: Apache-2.0
"""Collectives of NCCL and RCCL, tuned through the file of a tuner plugin."""
