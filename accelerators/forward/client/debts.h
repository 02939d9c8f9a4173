// SPDX-License-Identifier: Apache-2.0
// Files that were written through a forwarder, and were closed there, or lost their connection, before an fsync. If the
// program asks for an fsync, the forwarder that wrote a file must do it, because its node may have the data in memory.
#ifndef FORWARD_DEBTS_H
#define FORWARD_DEBTS_H

#include <sys/stat.h>

#include "state.h"

// Note a file that is no longer open on a forwarder. `lost` and `failed` are those of the debt.
void debts_add(struct debts *debts, const struct remote_file *file, const char *address, bool lost, bool failed);

// Note that a burst buffer has ended which had its data only in memory.
void debts_lose(struct debts *debts, const char *address);

// Remove a debt of a file and copy it to `debt`. Returns false if there is none.
bool debts_take(struct debts *debts, const struct stat *status, struct debt *debt);

#endif
