// SPDX-License-Identifier: Apache-2.0
// Numbers messages equally on the sending and on the receiving rank.
#define _GNU_SOURCE
#include "mpi_state.h"
#include "table.h"

// Return the entry with this key, or NULL if there is none. `adds`: add the entry if it is missing and there is room.
static struct channel *channel_find(uint64_t key, bool adds)
{
    struct mpi_state *mpi = mpi_state();
    uint32_t at = (uint32_t)mix(key, 4) % CHANNELS_MAX;

    for (int i = 0; i < 64; i++, at = (at + 1) % CHANNELS_MAX) {
        struct channel *channel = &mpi->channels[at];
        if (channel->key == key)
            return channel;
        if (!channel->key) {
            channel->key = adds ? key : 0;
            return adds ? channel : NULL;
        }
    }
    return NULL;
}

// Return the key of the entry that exists if a receive from any source with this tag, or with any tag from this source,
// was posted.
static uint64_t wildcard_key(const struct comm *comm, int peer, int tag)
{
    return mix(mix(comm->id, (uint64_t)(uint32_t)tag), (uint64_t)(uint32_t)peer + (1ULL << 40)) | 1;
}

static void add_wildcard(struct comm *comm, int peer, int tag)
{
    const bool takes_all = peer == MPI_ANY_SOURCE && tag == MPI_ANY_TAG;

    comm->has_wildcards = true;
    if (takes_all || !channel_find(wildcard_key(comm, peer, tag), true))
        comm->is_unordered = true;
}

static bool is_wild(const struct comm *comm, int peer, int tag)
{
    if (!comm->has_wildcards || comm->is_unordered)
        return comm->is_unordered;
    return channel_find(wildcard_key(comm, MPI_ANY_SOURCE, tag), false) ||
           channel_find(wildcard_key(comm, peer, MPI_ANY_TAG), false);
}

// Messages are numbered in the order in which their sends or receives are posted, because MPI matches them in this
// order. After a receive from any source, receives with its tag have no numbers, and after a receive with any tag,
// receives from its source have none.
uint64_t channel_next(struct comm *comm, int peer, int tag, bool is_send)
{
    struct mpi_state *mpi = mpi_state();

    if (!comm || peer == MPI_PROC_NULL)
        return 0;
    if (!is_send && (peer == MPI_ANY_SOURCE || tag == MPI_ANY_TAG)) {
        add_wildcard(comm, peer, tag);
        return 0;
    }
    if (!is_send && is_wild(comm, peer, tag))
        return 0;
    const int other = comms_world_rank(comm, peer);
    if (other < 0)
        return 0;
    const uint64_t ends = is_send ? (uint64_t)(uint32_t)mpi->rank << 32 | (uint32_t)other
                                  : (uint64_t)(uint32_t)other << 32 | (uint32_t)mpi->rank;
    const uint64_t key = mix(mix(comm->id, (uint64_t)(uint32_t)tag), ends) | 1;
    // A rank that sends to itself has one channel for each direction.
    struct channel *channel = channel_find(key ^ (is_send ? 0 : 1ULL << 63), true);
    if (!channel) {
        mpi->unnumbered++;
        return 0;
    }
    const uint64_t number = mix(key, channel->messages++);
    return number ? number : 1;
}
