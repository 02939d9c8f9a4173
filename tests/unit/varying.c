// SPDX-License-Identifier: Apache-2.0
// Runs MPI_Alltoallv and MPI_Allgatherv with uneven parts and in place, and MPI_Reduce_scatter_block with an operation
// that does not commute. Prints the name of each collective that gives a wrong result. With an argument, the ranks of
// MPI_Allgatherv describe their messages with different datatypes.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { RANKS_MAX = 16, UNIT_MAX = 3000, CELLS = 4, MODULUS = 101 };
static const int units[] = {1, 40, UNIT_MAX};

static char sent[RANKS_MAX * UNIT_MAX * 3], got[RANKS_MAX * UNIT_MAX * 3];
static long mine[RANKS_MAX * UNIT_MAX * CELLS], part[UNIT_MAX * CELLS], want[RANKS_MAX * UNIT_MAX * CELLS],
    other[RANKS_MAX * UNIT_MAX * CELLS];
static int counts[RANKS_MAX], places[RANKS_MAX];
static int rank, ranks;

static void multiply(void *left, void *both, int *count, MPI_Datatype *type)
{
    long *a = left;
    long *b = both;
    (void)type;
    for (int i = 0; i < *count; i++, a += CELLS, b += CELLS) {
        const long c[CELLS] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
                               a[2] * b[1] + a[3] * b[3]};
        for (int k = 0; k < CELLS; k++)
            b[k] = c[k] % MODULUS;
    }
}

static void fill(long *cells, int from, int count)
{
    for (int i = 0; i < count; i++, cells += CELLS) {
        cells[0] = (from * 3 + i) % 7 + 1;
        cells[1] = (from + i) % 5 + 1;
        cells[2] = from % 3 + 1;
        cells[3] = (from * 2 + i) % 11 + 1;
    }
}

// Returns 1 if a byte of part `from` differs from `expected`, and 0 otherwise.
static int differs(int from, int expected)
{
    for (int i = 0; i < counts[from]; i++) {
        if (got[places[from] + i] != (char)expected)
            return 1;
    }
    return 0;
}

static void lay_out(int unit, int shift)
{
    int total = 0;
    for (int to = 0; to < ranks; to++) {
        counts[to] = (shift + to) % 3 * unit;
        places[to] = total;
        total += counts[to];
    }
}

static int alltoallv(int unit)
{
    int wrong = 0;
    lay_out(unit, rank);
    for (int to = 0; to < ranks; to++)
        memset(sent + places[to], rank * ranks + to + 1, (size_t)counts[to]);
    MPI_Alltoallv(sent, counts, places, MPI_BYTE, got, counts, places, MPI_BYTE, MPI_COMM_WORLD);
    for (int from = 0; from < ranks; from++)
        wrong |= differs(from, from * ranks + rank + 1);
    memcpy(got, sent, sizeof got);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_BYTE, got, counts, places, MPI_BYTE, MPI_COMM_WORLD);
    for (int from = 0; from < ranks; from++)
        wrong |= differs(from, from * ranks + rank + 1);
    return wrong;
}

// If `mixed`, odd ranks send one element of a type with all of their bytes, and even ranks many elements of type
// MPI_BYTE.
static int allgatherv(int unit, int mixed)
{
    int wrong = 0;
    MPI_Datatype whole;
    lay_out(unit, 1);
    memset(sent, rank + 1, (size_t)counts[rank]);
    memset(got, 0, sizeof got);
    MPI_Type_contiguous(counts[rank], MPI_BYTE, &whole);
    MPI_Type_commit(&whole);
    if (mixed && rank % 2 && counts[rank])
        MPI_Allgatherv(sent, 1, whole, got, counts, places, MPI_BYTE, MPI_COMM_WORLD);
    else
        MPI_Allgatherv(sent, counts[rank], MPI_BYTE, got, counts, places, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Type_free(&whole);
    for (int from = 0; from < ranks; from++)
        wrong |= differs(from, from + 1);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, got, counts, places, MPI_BYTE, MPI_COMM_WORLD);
    for (int from = 0; from < ranks; from++)
        wrong |= differs(from, from + 1);
    return wrong;
}

static int reduce_scatter_block(int unit, MPI_Datatype type, MPI_Op op)
{
    int all = unit * ranks;
    fill(mine, rank, all);
    fill(want, ranks - 1, all);
    for (int from = ranks - 2; from >= 0; from--) {
        fill(other, from, all);
        multiply(other, want, &all, NULL);
    }
    MPI_Reduce_scatter_block(mine, part, unit, type, op, MPI_COMM_WORLD);
    const size_t size = (size_t)unit * CELLS * sizeof *part;
    const long *own = want + (size_t)rank * (size_t)unit * CELLS;
    int wrong = memcmp(part, own, size) != 0;
    MPI_Reduce_scatter_block(MPI_IN_PLACE, mine, unit, type, op, MPI_COMM_WORLD);
    return wrong | (memcmp(mine, own, size) != 0);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"alltoallv", "allgatherv", "reduce_scatter_block"};
    int wrong[3] = {0};
    int any[3];
    MPI_Datatype type;
    MPI_Op op;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Type_contiguous(CELLS, MPI_LONG, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(multiply, 0, &op);
    for (size_t i = 0; i < sizeof units / sizeof *units && ranks <= RANKS_MAX; i++) {
        wrong[0] |= alltoallv(units[i]);
        wrong[1] |= allgatherv(units[i], argc > 1);
        wrong[2] |= reduce_scatter_block(units[i], type, op);
    }
    MPI_Reduce(wrong, any, 3, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 3 && rank == 0; i++) {
        if (any[i])
            puts(names[i]);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Finalize();
    return 0;
}
