// SPDX-License-Identifier: Apache-2.0
// The event record of a rank; trace_format.h describes its contents.
#ifndef WITNESS_TRACE_H
#define WITNESS_TRACE_H

#include "trace_format.h"

struct mpi_call;

void trace_call(const struct mpi_call *call);
// Record an event with its values; `event->values` is their number.
void trace_add(const struct trace_event *event, const int64_t *values);
void trace_flush(void);

#endif
