/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads a file collectively through MPI-IO. While the file is open, rank 0 prints the library's settings in
 * lines `setting NAME VALUE`. (The program cannot print the hints in effect, but ROMIO can: in Open MPI 4.1,
 * MPI_File_get_info returns only the hints that the program itself gave.) */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 65536 };

static void print_settings(void)
{
    int n = 0;
    MPI_T_cvar_get_num(&n);
    for (int i = 0; i < n; i++) {
        char name[256], text[4096] = "";
        int size = sizeof name, verbosity, bind, scope, count = 0, number = 0, none = 0;
        MPI_Datatype type;
        MPI_T_enum values;
        MPI_T_cvar_handle handle;
        if (MPI_T_cvar_get_info(i, name, &size, &verbosity, &type, &values, NULL, &none, &bind, &scope) != MPI_SUCCESS)
            continue;
        if (strncmp(name, "io_ompio_", 9) != 0 && strcmp(name, "fcoll") != 0)
            continue;
        if (MPI_T_cvar_handle_alloc(i, NULL, &handle, &count) != MPI_SUCCESS)
            continue;
        if (type == MPI_CHAR && count < (int)sizeof text && MPI_T_cvar_read(handle, text) == MPI_SUCCESS)
            printf("setting %s %s\n", name, text);
        else if (type == MPI_INT && MPI_T_cvar_read(handle, &number) == MPI_SUCCESS)
            printf("setting %s %d\n", name, number);
        MPI_T_cvar_handle_free(&handle);
    }
}

int main(int argc, char **argv)
{
    int rank, level;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int *data = calloc(COUNT, sizeof *data), *back = calloc(COUNT, sizeof *back);
    if (!data || !back || argc != 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < COUNT; i++)
        data[i] = rank * COUNT + i;
    if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Offset where = (MPI_Offset)rank * COUNT * (MPI_Offset)sizeof *data;
    MPI_File_write_at_all(file, where, data, COUNT, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(file, where, back, COUNT, MPI_INT, MPI_STATUS_IGNORE);
    if (memcmp(data, back, COUNT * sizeof *data) != 0)
        MPI_Abort(MPI_COMM_WORLD, 4);
    if (rank == 0)
        print_settings();
    MPI_File_close(&file);
    free(data);
    free(back);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
