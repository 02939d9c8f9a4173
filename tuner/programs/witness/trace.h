// SPDX-License-Identifier: Apache-2.0
// Writes the event record of a rank, whose format trace_format.h describes.
#ifndef WITNESS_TRACE_H
#define WITNESS_TRACE_H

#include "trace_format.h"

struct mpi_call;

void trace_call(const struct mpi_call *call);
// Record an event with its values. `event->values` is the number of values.
void trace_add(const struct trace_event *event, const int64_t *values);
void trace_flush(void);

#endif
