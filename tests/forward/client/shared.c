// SPDX-License-Identifier: Apache-2.0
// Writes and reads one file with all ranks of an MPI program: collectively, independently and strided, and checks each
// byte.
//
//   shared FILE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS (256 * 1024)
#define STRIDE 8192

static int *words;

static void fill(int rank, int round)
{
    for (int i = 0; i < WORDS; i++) {
        words[i] = rank << 24 | round << 20 | i;
    }
}

static void check(int rank, int round)
{
    for (int i = 0; i < WORDS; i++) {
        if (words[i] != (rank << 24 | round << 20 | i)) {
            printf("rank %d: wrong word %d of round %d\n", rank, i, round);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        words[i] = 0;
    }
}

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Datatype strided;
    int rank = 0, size = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    words = malloc(WORDS * sizeof *words);
    const MPI_Offset mine = (MPI_Offset)WORDS * 4 * rank;
    const int next = (rank + 1) % size;
    if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file)) {
        return 1;
    }
    MPI_Type_vector(WORDS / STRIDE, STRIDE, STRIDE * size, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    for (int round = 0; round < 3; round++) {
        fill(rank, round);
        if (round == 0) {
            MPI_File_write_at_all(file, mine, words, WORDS, MPI_INT, MPI_STATUS_IGNORE);
        } else if (round == 1) {
            MPI_File_write_at(file, mine, words, WORDS, MPI_INT, MPI_STATUS_IGNORE);
        } else {
            MPI_File_set_view(file, (MPI_Offset)STRIDE * 4 * rank, MPI_INT, strided, "native", MPI_INFO_NULL);
            MPI_File_write_all(file, words, WORDS, MPI_INT, MPI_STATUS_IGNORE);
        }
        MPI_File_sync(file);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_File_sync(file);
        if (round == 2) { // each rank reads the part of the next one
            MPI_File_set_view(file, (MPI_Offset)STRIDE * 4 * next, MPI_INT, strided, "native", MPI_INFO_NULL);
            MPI_File_read_all(file, words, WORDS, MPI_INT, MPI_STATUS_IGNORE);
        } else {
            MPI_File_read_at(file, (MPI_Offset)WORDS * 4 * next, words, WORDS, MPI_INT, MPI_STATUS_IGNORE);
        }
        check(next, round);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_File_close(&file);
    if (rank == 0) {
        puts("done");
    }
    MPI_Finalize();
    return 0;
}
