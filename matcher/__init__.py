# SPDX-License-Identifier: Apache-2.0
"""The matcher: what a submitted job is, which tuned job it is like, and what it gets for that."""
