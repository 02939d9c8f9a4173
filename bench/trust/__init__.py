# SPDX-License-Identifier: Apache-2.0
"""Attack a real daemon: measure the harm that malicious users can do to others, and the secrets that are stored."""
