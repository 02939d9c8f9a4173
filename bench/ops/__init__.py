# SPDX-License-Identifier: Apache-2.0
"""What a site relies on month after month: `python -m bench.ops`."""
