# SPDX-License-Identifier: Apache-2.0
"""What users who mean harm can do to others, and what is stored of secrets: attacks on a real daemon."""
