/* SPDX-License-Identifier: Apache-2.0 */
/* Writes two datasets to a file, and prints the file's HDF5 settings and the offset of the second dataset.
 * In mode `own`, the program makes settings itself; in mode `mpio`, all ranks write. If compiled as a library, other
 * programs call `run`.
 */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 100000 };

int run(const char *path, const char *mode)
{
    hid_t list = H5P_DEFAULT;
    hsize_t count = COUNT, from, alignment, block;
    size_t sieve;
    hbool_t together = 0;
    static int data[COUNT];
    for (int i = 0; i < COUNT; i++)
        data[i] = i;
    if (strcmp(mode, "plain") != 0)
        list = H5Pcreate(H5P_FILE_ACCESS);
    if (strcmp(mode, "own") == 0) {
        H5Pset_alignment(list, 1, 512);
        H5Pset_meta_block_size(list, 4096);
    }
    if (strcmp(mode, "mpio") == 0)
        H5Pset_fapl_mpio(list, MPI_COMM_WORLD, MPI_INFO_NULL);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, list);
    hid_t space = H5Screate_simple(1, &count, NULL);
    hid_t first = H5Dcreate2(file, "first", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t second = H5Dcreate2(file, "second", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (H5Dwrite(first, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0 ||
        H5Dwrite(second, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
        return 1;
    hid_t used = H5Fget_access_plist(file);
    H5Pget_alignment(used, &from, &alignment);
    H5Pget_meta_block_size(used, &block);
    H5Pget_sieve_buf_size(used, &sieve);
    if (strcmp(mode, "mpio") == 0)
        H5Pget_coll_metadata_write(used, &together);
    printf("%llu %llu %llu %zu %d %llu\n", (unsigned long long)from, (unsigned long long)alignment,
           (unsigned long long)block, sieve, (int)together, (unsigned long long)H5Dget_offset(second));
    H5Pclose(used);
    H5Dclose(first);
    H5Dclose(second);
    H5Sclose(space);
    if (H5Fclose(file) < 0)
        return 1;
    file = H5Fopen(path, H5F_ACC_RDONLY, list);
    first = H5Dopen2(file, "second", H5P_DEFAULT);
    memset(data, 0, sizeof(data));
    if (H5Dread(first, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0 || data[COUNT - 1] != COUNT - 1)
        return 1;
    H5Dclose(first);
    H5Fclose(file);
    if (list != H5P_DEFAULT)
        H5Pclose(list);
    return H5Fopen("/nonexistent/file", H5F_ACC_RDONLY, H5P_DEFAULT) < 0 ? 0 : 1;
}

#ifndef LIBRARY
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    int status = run(argv[1], argv[2]);
    MPI_Finalize();
    return status;
}
#endif
