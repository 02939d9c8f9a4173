# SPDX-License-Identifier: Apache-2.0
"""A campaign's life: begun, run by one coordinator at a time, interrupted, resumed, ended, published."""
