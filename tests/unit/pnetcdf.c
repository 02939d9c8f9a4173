/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a variable through PnetCDF; each rank writes one part. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1024 };

static void check(int status)
{
    if (status != NC_NOERR) {
        fprintf(stderr, "pnetcdf: %s\n", ncmpi_strerror(status));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv)
{
    int rank, ranks, file, dimension, variable, data[COUNT];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < COUNT; i++)
        data[i] = rank * COUNT + i;
    check(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER, MPI_INFO_NULL, &file));
    check(ncmpi_def_dim(file, "x", (MPI_Offset)ranks * COUNT, &dimension));
    check(ncmpi_def_var(file, "data", NC_INT, 1, &dimension, &variable));
    check(ncmpi_enddef(file));
    MPI_Offset start = (MPI_Offset)rank * COUNT, count = COUNT;
    check(ncmpi_put_vara_int_all(file, variable, &start, &count, data));
    check(ncmpi_close(file));
    MPI_Finalize();
    return 0;
}
