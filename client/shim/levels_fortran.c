// SPDX-License-Identifier: MIT
/*
 * Arguments of MPI-IO as Fortran gives them, by gfortran and those that call like it: every one is an address; handles, counts
 * and the error are default integers, offsets and sizes 64 bits; behind them come the lengths of texts, which end in blanks.
 * By `use mpi_f08` the error may be left out: then nobody is told whether the call succeeded, but that a file was opened
 * shows by its handle.
 */
#include "client/shim/levels_args.h"

#if FT_LEVELS_ARE_HERE

#include "client/shim/reach.h"

enum { NO_ERROR = 0, NO_FILE = 0 }; /* MPI_SUCCESS, MPI_FILE_NULL of Fortran */

static int is_there(uint64_t address, size_t bytes)
{
    return address != 0 && ft_reach_bytes(&(struct ft_reach){0}, (const void *)(uintptr_t)address, bytes);
}

static uint64_t value_at(uint64_t address, size_t bytes)
{
    uint64_t value = 0;
    if (is_there(address, bytes))
        __builtin_memcpy(&value, (const void *)(uintptr_t)address, bytes);
    return value;
}

static uint64_t path_at(uint64_t address, uint64_t length)
{
    const char *text = (const char *)(uintptr_t)address;
    if (length >= FT_PAGE_BYTES || !is_there(address, length))
        return 0;
    while (length > 0 && text[length - 1] == ' ')
        length--;
    return (uint64_t)(uintptr_t)ft_levels_file_keep(text, length);
}

int ft_levels_fortran_read(struct ft_levels_call *call)
{
    const char *letters = call->function->letters;
    uint64_t error = 0, length = 0;
    int is_open = 0;
    for (unsigned i = 0; letters[i] != 0; i++) {
        uint64_t *argument = &call->integers[i];
        switch (letters[i]) {
        case 'i':
            error = *argument;
            break;
        case 'l':
            length = *argument;
            break;
        case 'h':
            is_open = (uint32_t)value_at(*argument, sizeof(uint32_t)) != NO_FILE;
            break;
        case 'o':
        case 's':
            *argument = value_at(*argument, sizeof(uint64_t));
            break;
        case 'f':
        case 'n':
        case 't':
            *argument = value_at(*argument, sizeof(uint32_t));
            break;
        default:
            break;
        }
    }
    for (unsigned i = 0; letters[i] != 0; i++)
        if (letters[i] == 'p')
            call->integers[i] = path_at(call->integers[i], length);
    return error == 0 ? is_open : is_there(error, sizeof(uint32_t)) && value_at(error, sizeof(uint32_t)) == NO_ERROR;
}

#endif
