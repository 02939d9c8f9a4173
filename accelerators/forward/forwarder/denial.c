// SPDX-License-Identifier: Apache-2.0
#include "denial.h"

#include <stdlib.h>
#include <string.h>

struct denial {
    struct denial *next;
    struct denial *previous;
    char name[]; // of the burst buffer
};

static struct denial *first;

struct denial *denial_new(const char *name)
{
    const size_t bytes = strlen(name) + 1;
    struct denial *denial = malloc(sizeof *denial + bytes);
    if (!denial) {
        return NULL;
    }
    *denial = (struct denial){.next = first};
    memcpy(denial->name, name, bytes);
    if (first) {
        first->previous = denial;
    }
    first = denial;
    return denial;
}

bool denial_of(const char *name)
{
    const struct denial *denial = first;
    while (denial && strcmp(denial->name, name) != 0) {
        denial = denial->next;
    }
    return denial;
}

void denial_end(struct denial *denial)
{
    if (!denial) {
        return;
    }
    *(denial->previous ? &denial->previous->next : &first) = denial->next;
    if (denial->next) {
        denial->next->previous = denial->previous;
    }
    free(denial);
}
