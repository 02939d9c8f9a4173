// SPDX-License-Identifier: Apache-2.0
// The event record of a rank; trace_format.h says what is in it.
#ifndef WITNESS_TRACE_H
#define WITNESS_TRACE_H

#include "trace_format.h"

struct mpi_call;

void trace_call(const struct mpi_call *call);
// `values`: as many as the event says.
void trace_add(const struct trace_event *event, const int64_t *values);
void trace_flush(void);

#endif
