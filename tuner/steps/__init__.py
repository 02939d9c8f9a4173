# SPDX-License-Identifier: Apache-2.0
"""What a campaign does next, computed from its definition and its trials so far."""
