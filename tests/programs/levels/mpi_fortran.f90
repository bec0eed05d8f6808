! SPDX-License-Identifier: MIT
! mpi_fortran FOLDER: MPI-IO of Fortran, each rank its part of a file; prints what it read. Built with -DNEW by mpi_f08; with
! -DDELETE, the file that is not there is deleted, not opened: after a failed open, MPICH's mpi_f08 takes what lies on the stack
! for the file's handle, and may crash.
program mpi_fortran
#ifdef NEW
    use mpi_f08
#else
    use mpi
#endif
    implicit none
    integer, parameter :: n = 256
    integer :: rank, ranks, error, i, total, values(n), back(n)
    integer(kind=MPI_OFFSET_KIND) :: offset
    character(len=1024) :: folder
#ifdef NEW
    type(MPI_File) :: file
    type(MPI_Status) :: status
    type(MPI_Request) :: request
#else
    integer :: file, status(MPI_STATUS_SIZE), request
#endif
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    call get_command_argument(1, folder)
    values = [(rank * 1000 + i, i = 1, n)]
    offset = rank * n * 4_MPI_OFFSET_KIND
    call MPI_File_open(MPI_COMM_WORLD, trim(folder) // "/fortran.dat", MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, error)
    call MPI_File_write_at(file, offset, values, n, MPI_INTEGER, status, error)
    call MPI_File_seek(file, offset, MPI_SEEK_SET, error)
    call MPI_File_read(file, back, n / 2, MPI_INTEGER, status, error)
    call MPI_File_iread_at(file, offset, back, n, MPI_INTEGER, request, error)
    call MPI_Wait(request, status, error)
#ifdef NEW
    call MPI_File_write_at(file, offset, values, n, MPI_INTEGER, status) ! the error left out
#endif
    call MPI_File_close(file, error)
#ifdef DELETE
    call MPI_File_delete("/nonexistent/fortran.dat  ", MPI_INFO_NULL, error)
#else
    call MPI_File_open(MPI_COMM_SELF, "/nonexistent/fortran.dat  ", MPI_MODE_RDONLY, MPI_INFO_NULL, file, error)
#endif
    i = merge(1, 0, error /= MPI_SUCCESS)
    call MPI_Reduce(sum(back) + i, total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
    if (rank == 0) print *, total
    call MPI_Finalize(error)
end program mpi_fortran
