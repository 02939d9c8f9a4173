// SPDX-License-Identifier: Apache-2.0
// Replaces SimGrid's header: its tracing does nothing here.
#define TRACE_smpi_set_category(category) ((void)0)
