# SPDX-License-Identifier: Apache-2.0
"""Next steps of a campaign, computed from its definition and its trials so far."""
