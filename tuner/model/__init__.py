# SPDX-License-Identifier: Apache-2.0
"""What every part of the tuner talks about: components, spaces, artifacts, trials as rows, statistics."""
