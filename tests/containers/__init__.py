# SPDX-License-Identifier: Apache-2.0
"""Test what decisions assume about containers, with real container runtimes (`make test-containers`)."""
