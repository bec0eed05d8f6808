// SPDX-License-Identifier: MIT
/* What a library's function was asked to do, by levels_args.def. */
#ifndef FT_SHIM_LEVELS_ARGS_H
#define FT_SHIM_LEVELS_ARGS_H

#include "client/shim/levels.h"

/* Of more datasets in one call neither size nor file is asked for: the count is the program's, and may be anything. */
enum { FT_LEVELS_MANY_MAX = 1024 };

enum ft_levels_kind {
    FT_LEVELS_OTHER,
    FT_LEVELS_MPIIO,
    FT_LEVELS_FORTRAN, /* the same, by its Fortran names: all arguments are addresses */
    FT_LEVELS_RANK,
    FT_LEVELS_HDF5,
    FT_LEVELS_NETCDF,
    FT_LEVELS_PNETCDF
};

/* Before the first call. */
void ft_levels_args_start(void);
/* Fills kind, letters and helpers of a new function, by its category ("-": FT_LEVELS_RANK), name and object. */
void ft_levels_args_learn(struct ft_levels_function *function);
/* Before the call: what will be gone when it has returned. */
void ft_levels_args_begin(struct ft_levels_call *call);
/* Once it has returned. Gives how many of `args`, which are FT_LEVELS_ARGS_MAX, there are. */
uint32_t ft_levels_args_tell(const struct ft_levels_call *call, uint64_t result, struct ft_annotate_arg *args);

/*
 * levels_sizes.c. What was moved, in bytes; 0: that cannot be told. The library is asked only of what it has just used
 * without an error, and by functions that end without one then, so that its record of the last error stays.
 */
void ft_levels_sizes_learn(struct ft_levels_function *function);
int ft_levels_size_by_type(const struct ft_levels_function *function, uint64_t type, uint64_t count, uint64_t *size);
/* HDF5: what of a dataset was moved, as the spaces say, of which the first that is not "all" counts. */
struct ft_levels_selection {
    uint64_t dataset, type, in_memory, in_file;
};
int ft_levels_size_of_selection(const struct ft_levels_function *function, const struct ft_levels_selection *selection,
                                uint64_t *size);
/* Of several: their number, and arrays. */
int ft_levels_size_of_many(const struct ft_levels_function *function, const uint64_t *arguments, uint64_t *size);
/* netCDF and PnetCDF: `is_one`: an element. Else `counts`, as the program gave them: NULL is all that there is. */
int ft_levels_size_of_part(const struct ft_levels_function *function, uint64_t file, uint64_t variable, int is_one,
                           const uint64_t *counts, uint64_t *size);

/* levels_fortran.c. The arguments as C has them, in their places; whether the call has succeeded, as far as is known. */
int ft_levels_fortran_read(struct ft_levels_call *call);

/* levels_files.c. Which file a handle is of; NULL: not known. */
const char *ft_levels_file_of(enum ft_levels_kind kind, uint64_t handle);
/* `file` NULL: none that is known. */
void ft_levels_file_opened(enum ft_levels_kind kind, uint64_t handle, const char *file);
/* Our own copy of a path; NULL: no more of them are kept. */
const char *ft_levels_file_keep(const char *path, size_t bytes);

#endif
