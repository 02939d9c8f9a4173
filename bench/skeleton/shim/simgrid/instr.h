// SPDX-License-Identifier: Apache-2.0
// Replaces SimGrid's header of the same name, so that its tracing macros do nothing.
#define TRACE_smpi_set_category(category) ((void)0)
