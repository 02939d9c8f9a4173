# SPDX-License-Identifier: Apache-2.0
"""Components of kind `application`; a YAML file lists a component's parameters and says how to switch it on."""
