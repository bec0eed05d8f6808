// SPDX-License-Identifier: MIT
// pnetcdf FOLDER: PnetCDF, each rank its part of a variable; prints what it read.
#include <mpi.h>
#include <pnetcdf.h>

#include <stdio.h>

enum { N = 100 };

int main(int argc, char **argv)
{
    int rank, size, id, dimension, variable, values[N], back[N], error = 0, sum = 0, all = 0;
    char path[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof(path), "%s/parallel.nc", argc > 1 ? argv[1] : ".");
    for (int i = 0; i < N; i++)
        values[i] = rank + i;
    MPI_Offset start = rank * N, count = N, *starts[] = {&start}, *counts[] = {&count};
    int *parts[] = {values};
    error |= ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER, MPI_INFO_NULL, &id);
    error |= ncmpi_def_dim(id, "x", (MPI_Offset)size * N, &dimension);
    error |= ncmpi_def_var(id, "v", NC_INT, 1, &dimension, &variable);
    error |= ncmpi_enddef(id);
    error |= ncmpi_put_vara_int_all(id, variable, &start, &count, values);
    error |= ncmpi_get_vara_int_all(id, variable, &start, &count, back);
    error |= ncmpi_mput_vara_int_all(id, 1, &variable, starts, counts, parts);
    error |= ncmpi_close(id);
    for (int i = 0; i < N; i++)
        sum += back[i];
    MPI_Reduce(&sum, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d %d\n", error, all);
    MPI_Finalize();
    return 0;
}
