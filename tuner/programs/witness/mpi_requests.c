// SPDX-License-Identifier: Apache-2.0
// The table of pending requests. Open MPI uses a single handle for all small sends that complete immediately, so the
// table may contain a handle several times. In that case, it makes no difference which of these requests a wait
// completes.
#include "mpi_state.h"
#include "table.h"

static uint32_t home_of(uint64_t handle)
{
    return (uint32_t)mix(handle, 2) % REQUESTS_MAX;
}

struct request *requests_find(MPI_Request handle)
{
    struct request *requests = mpi_state()->requests;
    const uint64_t key = (uint64_t)(uintptr_t)handle;

    for (uint32_t at = home_of(key); requests[at].handle; at = (at + 1) % REQUESTS_MAX)
        if (requests[at].handle == key)
            return &requests[at];
    return NULL;
}

struct request *requests_add(MPI_Request handle, const struct request *request)
{
    struct mpi_state *mpi = mpi_state();
    uint32_t at = home_of((uint64_t)(uintptr_t)handle);

    if (mpi->requests_taken >= REQUESTS_MAX * 3 / 4 || !handle) {
        mpi->lost++;
        return NULL;
    }
    while (mpi->requests[at].handle)
        at = (at + 1) % REQUESTS_MAX;
    mpi->requests[at] = *request;
    mpi->requests[at].handle = (uint64_t)(uintptr_t)handle;
    mpi->requests_taken++;
    return &mpi->requests[at];
}

// Remove a request, and move up later entries where necessary, so that a search still finds all others.
void requests_forget(struct request *request)
{
    struct mpi_state *mpi = mpi_state();
    struct request *requests = mpi->requests;
    uint32_t hole = (uint32_t)(request - requests);

    requests[hole].handle = 0;
    mpi->requests_taken--;
    for (uint32_t at = (hole + 1) % REQUESTS_MAX; requests[at].handle; at = (at + 1) % REQUESTS_MAX) {
        const uint32_t home = home_of(requests[at].handle);
        if ((at - home + REQUESTS_MAX) % REQUESTS_MAX >= (at - hole + REQUESTS_MAX) % REQUESTS_MAX) {
            requests[hole] = requests[at];
            requests[at].handle = 0;
            hole = at;
        }
    }
}
