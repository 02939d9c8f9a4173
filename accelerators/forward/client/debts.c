// SPDX-License-Identifier: Apache-2.0
#include "debts.h"

#include <string.h>
#include <time.h>

#include "raw.h"

// Wait for the lock, which is held for microseconds, by threads that have blocked all signals.
static void hold(struct debts *debts)
{
    while (!state_try(&debts->busy)) {
        raw_pause(20000);
    }
}

static bool is_of(const struct debt *debt, dev_t dev, ino_t ino)
{
    return debt->address[0] && debt->ino == ino && debt->dev == dev;
}

void debts_add(struct debts *debts, const struct remote_file *file, const char *address, bool lost, bool failed)
{
    hold(debts);
    struct debt *place = &debts->all[atomic_load(&debts->count) % DEBTS_MAX];
    for (int i = 0; i < DEBTS_MAX; i++) {
        if (is_of(&debts->all[i], file->dev, file->ino) && strcmp(debts->all[i].address, address) == 0) {
            place = &debts->all[i];
            lost |= place->lost;
            failed |= place->failed;
        }
    }
    place->dev = file->dev;
    place->ino = file->ino;
    place->lost = lost;
    place->failed = failed;
    memcpy(place->address, address, strlen(address) + 1);
    atomic_fetch_add(&debts->count, 1);
    state_let_go(&debts->busy);
}

void debts_lose(struct debts *debts, const char *address)
{
    hold(debts);
    for (int i = 0; i < DEBTS_MAX; i++) {
        debts->all[i].lost |= strcmp(debts->all[i].address, address) == 0;
    }
    state_let_go(&debts->busy);
}

bool debts_take(struct debts *debts, const struct stat *status, struct debt *debt)
{
    bool found = false;
    if (!atomic_load(&debts->count)) {
        return false;
    }
    hold(debts);
    for (int i = 0; i < DEBTS_MAX && !found; i++) {
        if (is_of(&debts->all[i], status->st_dev, status->st_ino)) {
            *debt = debts->all[i];
            debts->all[i].address[0] = '\0';
            found = true;
        }
    }
    state_let_go(&debts->busy);
    return found;
}
