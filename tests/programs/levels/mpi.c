// SPDX-License-Identifier: MIT
// mpi FOLDER: MPI-IO on a file of its own, each rank its part, by several calls; prints what it read.
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INTS = 1024, DOUBLES = 512 };

static void must(int error, const char *what)
{
    if (error != MPI_SUCCESS) {
        fprintf(stderr, "%s: %d\n", what, error);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv)
{
    int rank, size, ints[INTS], back[INTS];
    double doubles[DOUBLES], more[DOUBLES];
    char path[4096];
    MPI_File file;
    MPI_Status status;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof(path), "%s/mpi.dat", argc > 1 ? argv[1] : ".");
    for (int i = 0; i < INTS; i++)
        ints[i] = rank * 10000 + i;
    for (int i = 0; i < DOUBLES; i++)
        doubles[i] = rank + i / 8.0;
    must(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "open");
    MPI_Offset part = sizeof(ints) + sizeof(doubles), base = rank * part;
    must(MPI_File_write_at_all(file, base, ints, INTS, MPI_INT, &status), "write_at_all");
    must(MPI_File_seek(file, base + (MPI_Offset)sizeof(ints), MPI_SEEK_SET), "seek");
    must(MPI_File_write(file, doubles, DOUBLES, MPI_DOUBLE, &status), "write");
    must(MPI_File_sync(file), "sync");
    MPI_Barrier(MPI_COMM_WORLD);
    int other = (rank + 1) % size;
    must(MPI_File_read_at(file, other * part, back, INTS, MPI_INT, &status), "read_at");
    must(MPI_File_iread_at(file, other * part + (MPI_Offset)sizeof(ints), more, DOUBLES, MPI_DOUBLE, &request),
         "iread");
    must(MPI_Wait(&request, &status), "wait");
    must(MPI_File_close(&file), "close");
    long sum = 0;
    for (int i = 0; i < INTS; i++)
        sum += back[i];
    for (int i = 0; i < DOUBLES; i++)
        sum += (long)(8 * more[i]);
    long all = 0;
    MPI_Reduce(&sum, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld %d\n", all, file == MPI_FILE_NULL);
    MPI_Finalize();
    return 0;
}
