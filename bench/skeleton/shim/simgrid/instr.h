// SPDX-License-Identifier: Apache-2.0
// SimGrid's traces are left out.
#define TRACE_smpi_set_category(category) ((void)0)
