// SPDX-License-Identifier: Apache-2.0
// Brings the records that an earlier forwarder left on flash back into the cache.
#ifndef FORWARDER_REPLAY_H
#define FORWARDER_REPLAY_H

#include "store.h"

// Open the journal and lay its records over their files, to be written at once. Return 0; -1 with one line in `error`.
int replay(struct cache *cache, char *error, size_t room);

#endif
