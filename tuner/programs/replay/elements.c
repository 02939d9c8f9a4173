// SPDX-License-Identifier: Apache-2.0
#include "elements.h"

#include <stdlib.h>

struct element {
    int bytes;
    MPI_Datatype type;
    struct element *next;
};

static struct element *made;
static MPI_Op made_op = MPI_OP_NULL;

static void combine(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const unsigned char *from = in;
    unsigned char *to = inout;
    int bytes = 0;

    if (MPI_Type_size(*type, &bytes) == MPI_SUCCESS)
        for (size_t i = 0; i < (size_t)bytes * (size_t)*count; i++)
            to[i] |= from[i];
}

static int derived(int bytes, MPI_Datatype *type)
{
    for (struct element *e = made; e; e = e->next) {
        if (e->bytes == bytes) {
            *type = e->type;
            return MPI_SUCCESS;
        }
    }
    struct element *e = malloc(sizeof(*e));
    if (!e)
        return MPI_ERR_NO_MEM;
    int status = MPI_Type_contiguous(bytes, MPI_BYTE, &e->type);
    if (status == MPI_SUCCESS)
        status = MPI_Type_commit(&e->type);
    if (status != MPI_SUCCESS) {
        free(e);
        return status;
    }
    e->bytes = bytes;
    e->next = made;
    made = e;
    *type = e->type;
    return MPI_SUCCESS;
}

int element_of(int bytes, MPI_Datatype *type, MPI_Op *op)
{
    int status;

    *op = MPI_SUM;
    switch (bytes) {
    case 1:
        *type = MPI_BYTE;
        *op = MPI_BOR;
        return MPI_SUCCESS;
    case 2:
        *type = MPI_INT16_T;
        return MPI_SUCCESS;
    case 4:
        *type = MPI_FLOAT;
        return MPI_SUCCESS;
    case 8:
        *type = MPI_DOUBLE;
        return MPI_SUCCESS;
    case 16:
        *type = MPI_C_DOUBLE_COMPLEX;
        return MPI_SUCCESS;
    }
    status = derived(bytes, type);
    if (status == MPI_SUCCESS && made_op == MPI_OP_NULL)
        status = MPI_Op_create(combine, 1, &made_op);
    *op = made_op;
    return status;
}
