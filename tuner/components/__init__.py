# SPDX-License-Identifier: Apache-2.0
"""Components of kind `application`: a YAML file describes how to switch a component on, and its parameters."""
