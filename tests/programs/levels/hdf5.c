// SPDX-License-Identifier: MIT
// hdf5 FOLDER: parallel HDF5, a row of a dataset for each rank, collectively; prints what it read.
#include <hdf5.h>
#include <mpi.h>

#include <stdio.h>

enum { COLUMNS = 1000 };

int main(int argc, char **argv)
{
    int rank, size;
    char path[4096];
    double row[COLUMNS], back[COLUMNS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof(path), "%s/data.h5", argc > 1 ? argv[1] : ".");
    for (int i = 0; i < COLUMNS; i++)
        row[i] = rank * 1000 + i;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hsize_t dims[2] = {(hsize_t)size, COLUMNS}, start[2] = {(hsize_t)rank, 0}, count[2] = {1, COLUMNS};
    hid_t in_file = H5Screate_simple(2, dims, NULL), in_memory = H5Screate_simple(1, count + 1, NULL);
    hid_t data = H5Dcreate2(file, "rows", H5T_NATIVE_DOUBLE, in_file, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start, NULL, count, NULL);
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
    herr_t written = H5Dwrite(data, H5T_NATIVE_DOUBLE, in_memory, in_file, transfer, row);
    hid_t scalar = H5Screate(H5S_SCALAR),
          attribute = H5Acreate2(data, "version", H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT);
    int version = 7;
    H5Awrite(attribute, H5T_NATIVE_INT, &version);
    H5Aclose(attribute);
    H5Fflush(file, H5F_SCOPE_GLOBAL);
    start[0] = (hsize_t)((rank + 1) % size);
    H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start, NULL, count, NULL);
    herr_t read = H5Dread(data, H5T_NATIVE_DOUBLE, in_memory, in_file, transfer, back);
    H5Dclose(data);
    H5Sclose(scalar);
    H5Sclose(in_file);
    H5Sclose(in_memory);
    H5Pclose(transfer);
    H5Pclose(access);
    H5Fclose(file);
    double sum = 0, all = 0;
    for (int i = 0; i < COLUMNS; i++)
        sum += back[i];
    MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.1f %d %d\n", all, written, read);
    MPI_Finalize();
    return 0;
}
